"""How long others kept a submission waiting for a processor.

Linux counts for each thread how long it could have run and had no processor. These
times are not added up: while one of sixty threads has the only processor, the other
fifty-nine wait for it, and that is the doing of the submission alone. Between two
looks, the longest wait of a single thread counts.

* Where nobody else runs, a thread only waits while a sibling runs. So what counts is
  no more than the processor time that the submission used until then, which counts
  against it: about half of the time that passes is charged at least.
* Where others take the processor from a thread that has work to do, what counts is all
  that it waited. Of threads that wait in turns, some of it is lost; such a submission
  is examined again, and has ``limits.PATIENCE`` all the same.

A wait has to count once, when it ends. A thread that starts another program takes over
the number of its process and keeps what it has waited, which would look like a wait
that has just ended: threads that waited together could show it one after the other, and
charge nothing. So a thread with the number of its process may be any that has vanished
there, and no thread can have waited for longer than the time between two looks.

A kernel that was stopped waits, too: for whoever has stopped it (``Stops``).

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
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from autograder.sandbox.usage import processes

Thread = tuple[str, str]  # process and thread


def threads_waited(of: Iterable[str] | None = None) -> dict[Thread, int]:
    """The nanoseconds that each thread has waited since it began.

    Args:
        of: the numbers of the processes to look at; all that there are if None.
    """
    found = {}
    for process in processes() if of is None else of:
        threads: list[Path] = []
        with contextlib.suppress(OSError):  # it has just ended
            threads = list(Path(f"/proc/{process}/task").iterdir())
        for thread in threads:
            with contextlib.suppress(OSError):  # only this thread has ended
                waited = (thread / "schedstat").read_text().split()[1]
                found[process, thread.name] = int(waited)
    return found


def is_stopped(process: str = "1") -> bool:
    """Whether somebody has stopped a process and not continued it.

    Nobody inside can stop the first process of a sandbox.
    """
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{process}/stat").read_bytes()
        return stat.rpartition(b")")[2].split()[0] == b"T"
    return False


class Stops:
    """Adds up for how long a kernel was stopped, from look to look.

    Args:
        stopped: tells whether it is.
        clock: tells the time, in seconds.
    """

    def __init__(
        self,
        stopped: Callable[[], bool] = is_stopped,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stopped = stopped
        self._clock = clock
        self._looked = clock()
        self._seconds = 0.0

    def seconds(self) -> float:
        """For how long, until now."""
        looked, self._looked = self._looked, self._clock()
        if self._stopped():
            self._seconds += self._looked - looked
        return self._seconds


def own_waits() -> int | None:
    """A descriptor that tells what this process waits; ``None`` where none is counted.

    Open it before ``/proc`` shows the submission alone.
    """
    with contextlib.suppress(OSError):
        return os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    return None


class Waits:
    """Adds up what counts, from look to look; make it before what it looks at begins.

    Args:
        read: tells how long each thread has waited; see ``threads_waited``.
        watcher: descriptor from ``own_waits`` of the process that watches them.
        clock: tells the time, in nanoseconds.
    """

    def __init__(
        self,
        read: Callable[[], Mapping[Thread, int]] = threads_waited,
        watcher: int | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._read = read
        self._watcher = watcher
        self._clock = clock
        self._looked = clock()
        self._last: dict[Thread, int] = {}
        # Threads that were known before, and missing at the last look.
        self._older: dict[Thread, int] = {}
        self._waited = 0  # nanoseconds

    def seconds(self) -> float:
        """What was waited until now."""
        now = dict(self._read())
        if self._watcher is not None:
            now["", ""] = int(os.pread(self._watcher, 100, 0).split()[1])
        looked, before = self._looked, self._older | self._last
        self._looked = self._clock()
        vanished: dict[str, list[int]] = {}
        for thread, waited in before.items():
            if thread not in now:
                vanished.setdefault(thread[0], []).append(waited)
        longest = 0
        for thread, waited in now.items():
            known = [before.get(thread, 0)]
            if thread[0] == thread[1]:
                known += vanished.get(thread[0], [])
            # Those that had waited longer are others: their numbers are used anew.
            earlier = max((value for value in known if value <= waited), default=0)
            longest = max(longest, waited - earlier)
        self._waited += min(longest, self._looked - looked)
        # A look can miss a thread, which changes its number or begins behind one that
        # ends while the threads are listed. So each is remembered for one look more.
        self._older = {key: last for key, last in self._last.items() if key not in now}
        self._last = now
        return self._waited / 1e9
