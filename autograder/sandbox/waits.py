"""How long a submission was kept waiting for a processor by others than itself.

Linux counts for each thread how long it could have run and had no processor. These
times are not added up: while one of sixty threads has the only processor, the other
fifty-nine wait for it, and that is the doing of the submission alone. Between two
looks, the longest wait of a single thread counts.

* Where nobody else runs, a thread only waits while a sibling runs. So what counts is
  never more than the processor time that the submission used meanwhile, which counts
  against it: at least half of the time that passes is charged, whatever it starts.
* Where others take the processor from a thread that has work to do, what counts is all
  that it waited. Of threads that wait in turns, some of it is lost; such a submission
  is examined again, and has ``limits.PATIENCE`` all the same.

The warden counts as one of these threads. Where it answers late because others have the
processor, that is what it waited for; and where it is kept busy by looking at what the
submission made, that is none of the neighbours' doing.

The kernel also knows how long all threads of a control group waited at once (its
``cpu.pressure``). That would say both exactly, but not every machine has control groups
for us, or counts pressure, and one rule for all is easier to trust than two.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from autograder.sandbox.usage import processes

Thread = tuple[str, str]  # process and thread


def threads_waited() -> dict[Thread, int]:
    """The nanoseconds that each thread has waited since it began."""
    found = {}
    for process in processes():
        with contextlib.suppress(OSError):  # it has just ended
            for thread in Path(f"/proc/{process}/task").iterdir():
                waited = (thread / "schedstat").read_text().split()[1]
                found[process, thread.name] = int(waited)
    return found


def own_waits() -> int | None:
    """A descriptor that tells what this process waits; ``None`` where none is counted.

    Open it before ``/proc`` shows the submission alone.
    """
    with contextlib.suppress(OSError):
        return os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    return None


class Waits:
    """Adds up what counts, from look to look.

    Args:
        read: tells how long each thread has waited; see ``threads_waited``.
        watcher: descriptor from ``own_waits`` of the process that watches them.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[Thread, int]] = threads_waited,
        watcher: int | None = None,
    ) -> None:
        self._read = read
        self._watcher = watcher
        self._before: Mapping[Thread, int] = {}
        self._waited = 0  # nanoseconds

    def seconds(self) -> float:
        """What was waited until now."""
        now = dict(self._read())
        if self._watcher is not None:
            now["", ""] = int(os.pread(self._watcher, 100, 0).split()[1])
        self._waited += max(
            (waited - self._earlier(thread, waited) for thread, waited in now.items()),
            default=0,
        )
        self._before = now
        return self._waited / 1e9

    def _earlier(self, thread: Thread, waited: int) -> int:
        """What it had waited at the last look; nothing if its number is used anew."""
        before = self._before.get(thread, 0)
        return before if before <= waited else 0
