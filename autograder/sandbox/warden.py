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

from autograder.sandbox.confine import drop_privileges, enter_namespaces
from autograder.sandbox.limits import PATIENCE, Limits
from autograder.sandbox.relay import Relay
from autograder.sandbox.usage import ControlGroup, Meter, Sampling, Usage
from autograder.sandbox.waits import Stops, Waits, own_waits

# Reasons given for a kernel that the grader abandoned or forgot.
ABANDONED, OVERDUE = "it was abandoned", "it was forgotten"
CHANNELS = ("shell", "stdin", "control", "iopub")
POLL_SECONDS = 0.05
DRAIN_SECONDS = 0.3
GROUP_FILES = 3  # of a control group: to enter it, and the two that a meter reads
CONFINED = "confined\n"


def supervise(request: dict, fds: list[int]) -> None:
    """Run one kernel to its end and report how it ended.

    Whoever sends anything through the lifeline is told the seconds of processor time
    that were used so far, and waited for; see ``waits``. The last report holds the exit
    code of the kernel (negative if a signal ended it) and the limit that it broke, if
    any, and whether that is estimated; or why this warden failed.

    Args:
        request: ``key`` of the session, ``limits``, and whether there is a ``group``.
        fds: the lifeline; three files of its control group, if there is one; the
            listening socket of each channel, and perhaps a connected one for answers.
    """
    lifeline, fds = socket.socket(fileno=fds[0]), fds[1:]
    group, fds = (
        (fds[:GROUP_FILES], fds[GROUP_FILES:]) if request["group"] else ([], fds)
    )
    outer = [socket.socket(fileno=fd) for fd in fds]
    outer, answers = outer[: len(CHANNELS)], outer[len(CHANNELS) :]
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limits = Limits(**request["limits"])
        enter_namespaces(limits)
        poller = select.poll()
        relay = Relay(outer, poller)
        for sock in answers:
            relay.join(sock)
        meter = ControlGroup(limits, *group[1:]) if group else Sampling(limits)
        waits = Waits(watcher=own_waits())
        hears, tells = os.pipe()
        kernel = os.fork()
        if kernel == 0:
            _become_kernel(request["key"], limits, relay.inner, group[:1], tells)
        os.close(tells)
        for sock in relay.inner:
            sock.close()
        with open(hears) as told:
            if told.readline() != CONFINED:
                raise RuntimeError(told.read().strip() or "it ended at once")
        if isinstance(meter, Sampling):
            meter.start()
        ended = _watch(kernel, lifeline, poller, relay, limits, meter, waits)
    except Exception as error:
        reason = traceback.format_exception_only(error)[-1].strip()
        ended = {"exit": None, "limit": None, "failed": reason}
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(ended).encode())
        # An unread question would reset the connection and lose the report.
        while lifeline.recv(1, socket.MSG_DONTWAIT):
            pass


def _become_kernel(
    key: str,
    limits: Limits,
    sockets: list[socket.socket],
    group: list[int],
    tells: int,
) -> None:
    try:
        fds = [sock.detach() for sock in sockets]
        try:
            for fd in group:
                os.write(fd, b"0")  # this process
            drop_privileges(limits, {tells, *fds})
        except Exception as error:
            reason = traceback.format_exception_only(error)[-1]
            os.write(tells, f"\n{reason}".encode())
            raise
        os.write(tells, CONFINED.encode())
        os.close(tells)
        from autograder.sandbox.kernel import run_kernel

        channels = dict(zip(CHANNELS, fds, strict=False))
        run_kernel(key, channels, answers=fds[len(CHANNELS) :])
    finally:
        os._exit(1)


def _watch(
    kernel: int,
    lifeline: socket.socket,
    poller: select.poll,
    relay: Relay,
    limits: Limits,
    meter: Meter,
    waits: Waits,
) -> dict:
    """Wait until the kernel ends, is abandoned by the grader, or breaks a limit."""
    ending = os.pidfd_open(kernel)
    poller.register(ending, select.POLLIN)
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    start = look = time.monotonic()
    reason, running, used, stops = None, True, Usage(), Stops()
    while running and reason is None:
        wait = max(0.0, look - time.monotonic())
        for fd, event in poller.poll(wait * 1000):
            if fd == ending:
                running = False
            elif fd == lifeline.fileno():
                if _is_asked(lifeline):
                    waited = waits.seconds() + stops.seconds()
                    spent = {"own": meter.seconds(), "waited": waited}
                    lifeline.send(json.dumps(spent).encode())
                else:
                    reason = ABANDONED
            else:
                relay.handle(fd, event)
        now = time.monotonic()
        if relay.received > limits.message_bytes:
            reason = limits.called("message_bytes")
        elif relay.refused:
            reason = relay.refused
        elif now >= look:
            used = meter.look()
            reason = reason or _broken(used, now - start, limits)
            look = time.monotonic() + POLL_SECONDS
    with contextlib.suppress(ProcessLookupError):
        os.kill(kernel, signal.SIGKILL)  # the first process takes the others with it
    _, status, resources = os.wait4(kernel, 0)
    for fd in (ending, lifeline):
        poller.unregister(fd)
    if reason is None:
        relay.drain(DRAIN_SECONDS)
    code = os.waitstatus_to_exitcode(status)
    if reason is None and code == -signal.SIGKILL:  # killed by something else
        used = meter.look()
        reason = _broken(used, 0.0, limits)
        seconds = max(used.measured("seconds"), resources.ru_utime + resources.ru_stime)
        if reason is None and seconds > limits.cpu_seconds - 1:
            reason = limits.called("cpu_seconds")
    estimated = reason in _estimated(used, limits)
    return {"exit": code, "limit": reason, "estimated": estimated}


# The limits on what a meter counts, by what it calls that.
_COUNTED = {"memory": "memory", "sessions": "sessions", "seconds": "cpu_seconds"}


def _broken(used: Usage, seconds: float, limits: Limits) -> str | None:
    """The limit that is broken, if one is."""
    if seconds > PATIENCE * limits.submission_seconds:  # the examiner normally ends it
        return OVERDUE
    for name, limit in _COUNTED.items():
        if getattr(used, name) > getattr(limits, limit):
            return limits.called(limit)
    return None


def _estimated(used: Usage, limits: Limits) -> set[str]:
    """The limits that are not broken by what was measured alone."""
    return {
        limits.called(limit)
        for name, limit in _COUNTED.items()
        if used.measured(name) <= getattr(limits, limit) < getattr(used, name)
    }


def _is_asked(lifeline: socket.socket) -> bool:
    """Whether the grader asks for something, and has not let go."""
    try:
        return bool(lifeline.recv(1))
    except OSError:
        return False
