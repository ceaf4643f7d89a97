"""Watches over one submission: starts its kernel, counts what it uses, ends it.

The kernel and all that it starts live in namespaces of their own, and end when their
first process, the kernel, ends. The warden is outside: they cannot see it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
import traceback
from dataclasses import dataclass

from autograder.confine import PRIVATE_FOLDERS, enter_namespaces, shut_the_door
from autograder.limits import Limits
from autograder.relay import Relay

CHANNELS = ("shell", "stdin", "control", "iopub")
POLL_SECONDS = 0.05
DRAIN_SECONDS = 0.3
# A socket keeps unread bytes in memory that belongs to no process.
FREE_DESCRIPTORS, DESCRIPTOR_BYTES = 512, 128 * 1024
_NUMBERS = {
    *("RssAnon", "VmSwap", "HugetlbPages", "FDSize"),  # in status
    *("Pss_Anon", "SwapPss", "Private_Dirty"),  # in smaps_rollup
}


def guard(request: dict, fds: list[int]) -> None:
    """Run one kernel to its end and report how it ended.

    Args:
        request: ``key`` of the session and ``limits``.
        fds: the lifeline, then the listening socket of each channel.
    """
    lifeline, *outer = (socket.socket(fileno=fd) for fd in fds)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limits = Limits(**request["limits"])
        enter_namespaces(limits)
        poller = select.poll()
        relay = Relay(outer, poller)
        kernel = os.fork()
        if kernel == 0:
            _become_kernel(request["key"], limits, relay.inner)
        for sock in relay.inner:
            sock.close()
        ended = _watch(kernel, lifeline, poller, relay, limits)
    except Exception:
        ended = {"exit": -1, "limit": None, "failed": traceback.format_exc(limit=-3)}
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(ended).encode())


def _become_kernel(key: str, limits: Limits, listening: list[socket.socket]) -> None:
    try:
        channels = {n: s.detach() for n, s in zip(CHANNELS, listening, strict=True)}
        shut_the_door(limits, set(channels.values()))
        from autograder.kernel import run_kernel

        run_kernel(key, channels)
    finally:
        os._exit(1)


def _watch(
    kernel: int,
    lifeline: socket.socket,
    poller: select.poll,
    relay: Relay,
    limits: Limits,
) -> dict:
    """Wait until the kernel ends, is abandoned by the grader, or breaks a limit."""
    ending = os.pidfd_open(kernel)
    poller.register(ending, select.POLLIN)
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    start, baseline = time.monotonic(), usage(kernel).memory
    look, reason, used, running = start, None, Usage(), True
    while running and reason is None:
        wait = max(0.0, look - time.monotonic())
        for fd, event in poller.poll(wait * 1000):
            if fd == ending:
                running = False
            elif fd == lifeline.fileno():
                reason = "abandoned"
            else:
                relay.handle(fd, event)
        now = time.monotonic()
        if relay.received > limits.message_bytes:
            reason = limits.called("message_bytes")
        elif now >= look:
            used = usage(kernel)
            reason = reason or _broken(used, now - start, kernel, baseline, limits)
            look = time.monotonic() + POLL_SECONDS
    with contextlib.suppress(ProcessLookupError):
        os.kill(kernel, signal.SIGKILL)  # the first process takes the others with it
    _, status = os.waitpid(kernel, 0)
    for fd in (ending, lifeline):
        poller.unregister(fd)
    if reason is None:
        relay.drain(DRAIN_SECONDS)
    code = os.waitstatus_to_exitcode(status)
    if reason is None and code == -signal.SIGKILL:  # it cannot do this itself
        reason = "the memory of this machine"
        if used.seconds > limits.cpu_seconds - 1:
            reason = limits.called("cpu_seconds")
    return {"exit": code, "limit": reason}


def _broken(
    used: Usage, seconds: float, kernel: int, baseline: int, limits: Limits
) -> str | None:
    """The limit that is broken, if one is."""
    if seconds > limits.submission_seconds:
        return limits.called("submission_seconds")
    if used.seconds > limits.cpu_seconds:
        return limits.called("cpu_seconds")
    if used.sessions > limits.sessions:
        return limits.called("sessions")
    most = limits.memory - _private_files()
    if used.memory - baseline > most and usage(kernel, baseline).memory > most:
        return limits.called("memory")
    return None


def _private_files() -> int:
    """Bytes in the private folders, open files that have no name included."""
    total = 0
    for folder in PRIVATE_FOLDERS:
        usage = os.statvfs(folder)
        total += (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    return total


@dataclass(frozen=True)
class Usage:
    """What the processes of a submission use together: bytes, seconds, sessions."""

    memory: int = 0
    seconds: float = 0.0
    sessions: int = 0


def usage(kernel: int, imports: int | None = None) -> Usage:
    """Measure a kernel and all processes that it started.

    Args:
        kernel: the first process of the submission.
        imports: memory of a fork that has done nothing yet. If given, memory is
            measured exactly, which is slower: pages that several processes use are
            shared out, and those of the imports are not counted. Otherwise each
            process counts in full, which is never too little.
    """
    memory, seconds, descriptors, imported = 0, 0.0, 0, 0
    sessions = set()
    share = 0 if imports is None else _share_of_imports()
    for process in _processes(kernel):
        fields = _numbers(f"{process}/status")
        held = sum(fields.get(n, 0) for n in ("RssAnon", "VmSwap", "HugetlbPages"))
        if imports is not None and (parts := _numbers(f"{process}/smaps_rollup")):
            imported += share * 1024 if held * 1024 >= imports else 0
            held = parts["Pss_Anon"] + parts["SwapPss"]
        memory += held * 1024
        descriptors += fields.get("FDSize", 0)
        used, session = _seconds_and_session(process)
        seconds += used
        sessions.add(session)
    memory += max(0, descriptors - FREE_DESCRIPTORS) * DESCRIPTOR_BYTES
    memory -= min(imported, imports or 0)  # large programs may look like forks
    return Usage(memory, seconds, len(sessions))


def _share_of_imports() -> int:
    """What each fork of the warm parent counts of its pages now, in kB.

    This process is one and has hardly written to them.
    """
    parts = _numbers("/proc/self/smaps_rollup")
    return max(0, parts["Pss_Anon"] - parts["Private_Dirty"])


def _processes(kernel: int) -> list[str]:
    """Where /proc describes a kernel and all processes that it started.

    As the kernel sees /proc, they are the only ones: to look for them among all on a
    machine with many submissions at once would take each warden longer for each other.
    """
    inside = f"/proc/{kernel}/root/proc"
    try:
        if os.stat(inside).st_dev == os.stat("/proc").st_dev:  # not mounted yet
            return [f"/proc/{kernel}"]
        return [f"{inside}/{name}" for name in os.listdir(inside) if name.isdigit()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []


def _numbers(path: str) -> dict[str, int]:
    """The numbers in a file of /proc, memory in kB; none if it may not be read."""
    fields = {}
    with contextlib.suppress(OSError), open(path) as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name in _NUMBERS:
                fields[name] = int(value.split()[0])
    return fields


def _seconds_and_session(process: str) -> tuple[float, int]:
    """Processor time of a process and of its ended children; its session."""
    try:
        with open(f"{process}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0, 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), int(fields[3])
