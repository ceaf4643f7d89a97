"""What the process of a kernel has used, as the system counts it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Used:
    """What a kernel has used since it began.

    Attributes:
        own: seconds of processor time, of all its threads.
        waited: seconds in which it could have run and others had the processor: the run
            delay of its main thread (https://docs.kernel.org/scheduler/sched-stats.html).
    """

    own: float
    waited: float


def used_by(pid: int) -> Used | None:
    """What a process has used by now; ``None`` if it has ended or may not be seen."""
    try:
        own = sum(psutil.Process(pid).cpu_times()[:2])
        delay = Path(f"/proc/{pid}/schedstat")
        waited = int(delay.read_text().split()[1]) if delay.exists() else 0
    except (psutil.Error, OSError):
        return None
    return Used(own, waited / 1e9)


def process_of(pidfd: int) -> int | None:
    """The number that a process has here; ``None`` if it has ended.

    Args:
        pidfd: descriptor of the process, perhaps from another namespace.
    """
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    pid = int(next(line for line in lines if line.startswith("Pid:")).split()[1])
    return pid if pid > 0 else None
