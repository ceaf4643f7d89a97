"""Watches over one submission: starts its kernel, passes on what it sends, ends it.

The kernel lives in namespaces of its own, which end with it. The warden is outside: the
kernel cannot see it. What the submission uses is counted and limited by the system
itself, since the kernel is its only process.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import select
import signal
import socket
import traceback

from autograder.sandbox.confine import close_behind, drop_privileges, enter_namespaces
from autograder.sandbox.limits import Limits
from autograder.sandbox.relay import Relay

ABANDONED = "it was abandoned"  # by the grader
CHANNELS = ("shell", "iopub")
DRAIN_SECONDS = 0.3
CONFINED, STARTED = "confined\n", b"started"
FULL = 0.5  # of the memory limit: who ends then may have been refused as much


def supervise(request: dict, fds: list[int]) -> None:
    """Run one kernel to its end and report how it ended.

    The first report is ``STARTED``, with a descriptor of the kernel's process. The last
    one holds its exit code (negative if a signal ended it), the limit that it broke, if
    any, and the one that it ``perhaps`` reached; or why this warden failed.

    Args:
        request: ``key`` of the session, and ``limits``.
        fds: the lifeline, a connected socket for answers, and the listening one of each
            channel.
    """
    lifeline, answers, *outer = (socket.socket(fileno=fd) for fd in fds)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limits = Limits(**request["limits"])
        enter_namespaces(limits)
        poller = select.poll()
        relay = Relay(outer, poller)
        relay.join(answers)
        hears, tells = os.pipe()
        kernel = os.fork()
        if kernel == 0:
            _become_kernel(request["key"], limits, relay.inner, tells)
        os.close(tells)
        for sock in relay.inner:
            sock.close()
        with open(hears) as told:
            if told.readline() != CONFINED:
                raise RuntimeError(told.read().strip() or "it ended at once")
        ended = _watch(kernel, lifeline, poller, relay, limits)
    except Exception as error:
        reason = traceback.format_exception_only(error)[-1].strip()
        ended = {"exit": None, "limit": None, "failed": reason}
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(ended).encode())


def _become_kernel(
    key: str, limits: Limits, sockets: list[socket.socket], tells: int
) -> None:
    try:
        with open(tells, "w") as tell:

            def last() -> None:
                close_behind(limits)
                tell.write(CONFINED)
                tell.close()

            try:
                fds = [sock.detach() for sock in sockets]
                drop_privileges(limits, {tells, *fds})
                from autograder.sandbox.kernel import run_kernel

                *listening, answers = fds
                channels = dict(zip(CHANNELS, listening, strict=True))
                run_kernel(key, channels, answers, last)
            except Exception as error:
                if not tell.closed:
                    reason = traceback.format_exception_only(error)[-1]
                    tell.write(f"\n{reason}")
    finally:
        os._exit(1)


def _watch(
    kernel: int,
    lifeline: socket.socket,
    poller: select.poll,
    relay: Relay,
    limits: Limits,
) -> dict:
    """Wait until the kernel ends, is abandoned by the grader, or sends too much."""
    ending = os.pidfd_open(kernel)
    socket.send_fds(lifeline, [STARTED], [ending])
    poller.register(ending, select.POLLIN)
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # it began as we did
    reason, running = None, True
    while running and reason is None:
        for fd, event in poller.poll():
            if fd == ending:
                running = False
            elif fd == lifeline.fileno():
                reason = ABANDONED
            else:
                relay.handle(fd, event)
        if relay.received > limits.message_bytes:
            reason = limits.called("message_bytes")
        reason = reason or relay.refused
    with contextlib.suppress(ProcessLookupError):
        os.kill(kernel, signal.SIGKILL)
    _, status, used = os.wait4(kernel, 0)
    for fd in (ending, lifeline):
        poller.unregister(fd)
    if reason is None:
        relay.drain(DRAIN_SECONDS)
    code = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    if code == -signal.SIGKILL and seconds > math.ceil(limits.cpu_seconds) - 0.5:
        reason = reason or limits.called("cpu_seconds")
    full = (used.ru_maxrss - before) * 1024 > FULL * limits.memory
    perhaps = limits.called("memory") if full else None
    return {"exit": code, "limit": reason, "perhaps": perhaps}
