"""What a kernel without a sandbox has used, looked up from outside of it.

No warden watches such a kernel, and its processes are among all others of the machine.
They are known as its children and what those have started. A child whose parent has
ended is lost sight of, with the time that it uses from then on: that counts as time in
which the kernel was idle.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from autograder.sandbox.waits import Stops, Thread, Waits, threads_waited


def waits_are_counted() -> bool:
    """Whether the system tells how long a thread has waited for a processor."""
    return Path("/proc/self/schedstat").exists()


class ProcessTree:
    """The processes of one kernel.

    Args:
        kernel: the number of its process.
    """

    def __init__(self, kernel: int) -> None:
        self._kernel = psutil.Process(kernel)
        self._waits = Waits(self._threads) if waits_are_counted() else None
        self._stops = Stops(self._is_stopped)
        self._stops_itself = False
        self._own = 0.0

    def spent(self, stops_itself: bool) -> dict[str, float] | None:
        """Seconds of processor time that were its ``own``, and that it ``waited``.

        A kernel that somebody has stopped waits to be continued.

        Args:
            stops_itself: whether it is its own doing if it is stopped.

        Returns:
            ``None`` if it has ended, or may not be looked at.
        """
        self._stops_itself = stops_itself
        try:
            own = sum(map(_processor_time, self._processes()))
            waited = self._stops.seconds()
        except psutil.Error:
            return None
        self._own = max(self._own, own)
        if self._waits is not None:
            waited += self._waits.seconds()
        return {"own": self._own, "waited": waited}

    def _is_stopped(self) -> bool:
        stopped = self._kernel.status() == psutil.STATUS_STOPPED
        return stopped and not self._stops_itself

    def _processes(self) -> list[psutil.Process]:
        return [self._kernel, *self._kernel.children(recursive=True)]

    def _threads(self) -> dict[Thread, int]:
        try:
            return threads_waited(str(process.pid) for process in self._processes())
        except psutil.Error:
            return {}


def _processor_time(process: psutil.Process) -> float:
    """Of a process, and of ended children that it waited for; 0 if it has ended."""
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return times.user + times.system + times.children_user + times.children_system
    return 0.0
