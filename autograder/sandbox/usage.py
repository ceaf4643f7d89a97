"""What the processes of one submission use together, counted in one of two ways.

Where the grader may make control groups, the kernel of the system counts everything
that is done for a submission, and stops it at its memory limit by itself. Elsewhere the
warden looks at the processes again and again. Whatever sampling cannot see is counted
at its upper bound.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from autograder.sandbox.confine import PRIVATE_FOLDERS
from autograder.sandbox.limits import Limits
from autograder.sandbox.mappings import Mappings

# Memory of the system that belongs to a process, in bytes. It may differ a little.
_MAPPING_BYTES, _THREAD_BYTES = 256, 32 * 1024
# A socket keeps what nobody has read, whether or not a process holds the socket.
_FREE_SOCKETS, _SOCKET_BYTES = 64, 256 * 1024
# As many datagrams as Linux lets wait by itself. ``confine`` asks for fewer, which not
# every system grants.
_DATAGRAM, _DATAGRAMS = b"0002", 10
# A pipe has two descriptors and keeps 64 kB.
_FREE_DESCRIPTORS, _DESCRIPTOR_BYTES = 512, 32 * 1024

_HELD = ("RssAnon", "VmSwap", "HugetlbPages")  # in status
_NUMBERS = {
    *(name.encode() for name in (*_HELD, "VmPTE", "VmSize", "Threads", "FDSize")),
    *(b"Pss_Anon", b"SwapPss", b"Private_Dirty"),  # in smaps_rollup
}


@dataclass(frozen=True)
class Usage:
    """What the processes of a submission have used: bytes, seconds, sessions.

    Attributes:
        memory: in bytes.
        seconds: of processor time.
        sessions: how many there are.
        unmeasured: what ``memory`` and ``seconds`` contain of what could not be
            measured, by name: the most that it can be.
    """

    memory: int = 0
    seconds: float = 0.0
    sessions: int = 0
    unmeasured: Mapping[str, float] = field(default_factory=dict)

    def measured(self, name: str) -> float:
        """What of ``memory``, ``seconds`` or ``sessions`` was measured."""
        return getattr(self, name) - self.unmeasured.get(name, 0)


class Meter(Protocol):
    """Counts what a submission uses."""

    def look(self) -> Usage:
        """All that was used until now; after the submission has ended, too."""
        ...

    def seconds(self) -> float:
        """Measured processor time alone, in a moment, whatever the submission holds."""
        ...


class ControlGroup:
    """Reads what the system counts for the control group of a submission.

    Sessions are not counted: a group has one share of the processor whatever is in it.

    Args:
        limits: those that the group was given.
        memory_events: descriptor of its file ``memory.events``.
        cpu_stat: descriptor of its file ``cpu.stat``.
    """

    def __init__(self, limits: Limits, memory_events: int, cpu_stat: int) -> None:
        self._limits = limits
        self._memory_events = memory_events
        self._cpu_stat = cpu_stat

    def look(self) -> Usage:
        """See ``Meter``; more memory than the limit if the system ended it for that.

        ``oom_kill`` also counts who was ended because the whole machine, or a group
        around this one, had no memory left; ``oom`` counts the group's own limit alone.
        """
        events = _lines(self._memory_events)
        own = events.get("oom_kill", 0) and events.get("oom", 0)
        memory = self._limits.memory + 1 if own else 0
        return Usage(memory, self.seconds())

    def seconds(self) -> float:
        """See ``Meter``."""
        return _lines(self._cpu_stat)["usage_usec"] / 1e6


def _lines(fd: int) -> dict[str, int]:
    """The numbers in a file of a control group, read from its beginning."""
    text = os.pread(fd, 65536, 0).decode()
    pairs = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in pairs if value.isdigit()}


class Sampling:
    """Looks at all processes of a submission.

    Make it in the warden before ``/proc`` shows the submission, and ``start`` it when
    it does, before any code of the student runs.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._warden = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
        self._imports = 0  # memory of a fork that has done nothing yet
        self._mappings = Mappings()
        self._clock = ProcessorClock()

    def start(self) -> None:
        """What is there now was not used by the submission."""
        self._imports = self._look(exact=False).memory

    def look(self) -> Usage:
        """See ``Meter``. Memory is measured exactly when it seems to be too much.

        That is slower: pages that several processes use are shared out, and those of
        the imports are not counted. Otherwise each process counts in full, which is
        never too little.
        """
        used = self._look(exact=False)
        if used.memory - self._imports > self._limits.memory:
            return self._look(exact=True)
        return replace(used, memory=max(0, used.memory - self._imports))

    def seconds(self) -> float:
        """See ``Meter``. Memory is left out: to measure that may take long."""
        times = [ProcessTimes.of(process) for process in processes()]
        seconds = self._clock.seconds([found for found in times if found is not None])
        return seconds - self._clock.unseen

    def _look(self, exact: bool) -> Usage:
        memory, descriptors, imported, sessions = _private_files(), 0, 0, set()
        share = self._share_of_imports() if exact else 0
        times, sizes = [], {}
        for process in processes():
            fields = _numbers(f"/proc/{process}/status")
            held = sum(fields.get(name, 0) for name in _HELD) * 1024
            if exact and (parts := _numbers(f"/proc/{process}/smaps_rollup")):
                imported += share if held >= self._imports else 0
                held = (parts["Pss_Anon"] + parts["SwapPss"]) * 1024
            memory += held + fields.get("VmPTE", 0) * 1024
            memory += fields.get("Threads", 0) * _THREAD_BYTES
            sizes[process] = fields.get("VmSize", 0) * 1024
            descriptors += fields.get("FDSize", 0)
            if time_of := ProcessTimes.of(process):
                times.append(time_of)
                sessions.add(time_of.session)
        memory += self._mappings.look(sizes) * _MAPPING_BYTES
        memory -= min(imported, self._imports)  # large programs may look like forks
        unread = max(0, descriptors - _FREE_DESCRIPTORS) * _DESCRIPTOR_BYTES
        unread += max(0, self._sockets() - _FREE_SOCKETS) * _SOCKET_BYTES
        seconds = self._clock.seconds(times)
        unmeasured = {"memory": unread, "seconds": self._clock.unseen}
        return Usage(memory + unread, seconds, len(sessions), unmeasured)

    def _share_of_imports(self) -> int:
        """What each fork counts now of the pages of the fork server, in bytes.

        This process is one and has hardly written to them.
        """
        parts = _numbers("smaps_rollup", self._warden)
        return max(0, parts["Pss_Anon"] - parts["Private_Dirty"]) * 1024

    def _sockets(self) -> int:
        """Sockets in the network of the submission, one that takes datagrams as more.

        That is all: those in no process, too, because they were sent to a process that
        does not take them, or connect to one that does not accept.
        """
        fd = os.open("net/unix", os.O_RDONLY, dir_fd=self._warden)
        with open(fd, "rb") as table:
            rows = [line.split() for line in table.read().split(b"\n")]
        kinds = [row[4] for row in rows if len(row) > 4]  # names may break lines
        return len(kinds) + kinds.count(_DATAGRAM) * _DATAGRAMS


@dataclass(frozen=True)
class ProcessTimes:
    """Processor time of a process: its own, and that of ended children it waited for.

    In ticks of the clock, as its beginning is.
    """

    pid: int
    began: int
    session: int
    own: int
    of_children: int

    @staticmethod
    def of(process: str) -> ProcessTimes | None:
        """Those of a process, unless it has just ended."""
        try:
            with open(f"/proc/{process}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            return None
        number = [int(field) for field in fields[1:20]]
        return ProcessTimes(
            int(process),
            began=number[18],
            session=number[2],
            own=number[10] + number[11],
            of_children=number[12] + number[13],
        )


class ProcessorClock:
    """Adds up processor time, including that of processes that nobody waited for.

    The system forgets what those have used. So what is gone and has not turned up as
    the time of a parent's children is kept here; and a process that came and went
    between two looks, seen by the numbers that processes are given in turn, counts as
    if it had run from one to the other.

    Attributes:
        unseen: seconds that such processes count, which nobody has measured.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], ProcessTimes] = {}
        self._newest: ProcessTimes | None = None
        self._newest_seen = self._looked = time.monotonic()
        self._lost = 0.0  # seconds
        self._used = 0.0
        self.unseen = 0.0

    def seconds(self, times: list[ProcessTimes]) -> float:
        """All processor time, given that of the processes that there are now."""
        now = time.monotonic()
        ticks = os.sysconf("SC_CLK_TCK")
        found = {(t.pid, t.began): t for t in times}
        gone = [t for key, t in self._known.items() if key not in found]
        waited_for = sum(
            t.of_children - (self._known[key].of_children if key in self._known else 0)
            for key, t in found.items()
        )
        missing = sum(t.own + t.of_children for t in gone) - waited_for
        self._lost += max(0, missing) / ticks
        self.unseen += self._unseen(found, now, waited_for / ticks)
        self._known, self._looked = found, now
        used = sum(t.own + t.of_children for t in times) / ticks + self._lost
        self._used = max(self._used, used)
        return self._used + self.unseen

    def _unseen(
        self, found: dict[tuple[int, int], ProcessTimes], now: float, waited_for: float
    ) -> float:
        """The most that processes can have used that came and went unseen."""
        newest = max(found.values(), key=lambda t: (t.began, t.pid), default=None)
        before, self._newest = self._newest, newest or self._newest
        if newest is None or before is None or newest == before:
            return 0.0
        new = sum(1 for key in found if key not in self._known)
        unseen = newest.pid - before.pid - new
        if unseen <= 0:  # also when the numbers begin anew
            return 0.0
        since, self._newest_seen = now - self._newest_seen, now
        processors = len(os.sched_getaffinity(0))
        most = min(unseen * (now - self._looked), processors * since)
        return max(0.0, most - waited_for)


def processes() -> list[str]:
    """The names of the processes of the submission: ``/proc`` shows no others."""
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _private_files() -> int:
    """Bytes in the private folders, open files that have no name included."""
    total = 0
    for folder in PRIVATE_FOLDERS:
        usage = os.statvfs(folder)
        total += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    return total


def _numbers(path: str, folder: int | None = None) -> dict[str, int]:
    """The numbers in a file of /proc, memory in kB; none if it may not be read.

    Processes choose their own names, of any bytes. Linux writes a line feed in them as
    two characters, so only that ends a line: a carriage return would not.
    """
    fields = {}
    with (
        contextlib.suppress(OSError),
        open(os.open(path, os.O_RDONLY, dir_fd=folder), "rb") as file,
    ):
        for line in file.read().split(b"\n"):
            name, _, value = line.partition(b":")
            if name in _NUMBERS:
                fields[name.decode()] = int(value.split()[0])
    return fields
