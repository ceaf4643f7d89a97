"""Fork servers and wardens: they run in the sandbox, outside of what they start there.

The first process imports everything a notebook needs before any thread or event loop
exists, then forks a server for each grader that connects. That one waits for
requests. Each request forks a *warden*, which forks the kernel into namespaces of its
own. The kernel cannot see its warden, and its namespaces end with it, so nothing of the
submission is left. What that uses is counted and limited by the system itself: the
kernel is its only process.

A request is a JSON text of limits, with file descriptors attached: the lifeline, a
socket on which the warden reports how the kernel ended (and whose closing kills it),
and the socket of the kernel.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import traceback

from autograder.sandbox.confine import close_behind, drop_privileges, enter_namespaces
from autograder.sandbox.filter import compiled, supported
from autograder.sandbox.frames import STARTED
from autograder.sandbox.limits import Limits

CONFINED = "confined\n"  # says a kernel to its warden
FULL = 0.5  # of the memory limit: who ends then may have been refused as much
MODULES = (
    "autograder.answers",
    "autograder.check",
    "autograder.arrays",
    "autograder.inputs",
    "autograder.outside",
    "autograder.stepwise",
    "autograder.sandbox.kernel",
    "autograder.respond",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.magics.execution",
    "IPython.core.oinspect",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "pygments.formatters.html",  # with these, IPython shows an error
    "pygments.formatters.terminal256",
    "pygments.lexers.python",
    "stack_data",
    "numpy.random",  # NumPy itself imports it when it is first used, by each kernel
    "toolkit.figures",
    "torch",
    "torch.utils._device",  # torch imports it when it is asked for its device
)


def main(listener_fd: int, lifeline_fd: int) -> None:
    """Fork a server for each connection to a listening socket.

    All of them end when the other end of the lifeline is closed, also by the death of
    the grader: this process is the first one in the sandbox.
    """
    if not supported():
        raise RuntimeError("there is no filter of system calls for this processor")
    gc.disable()  # nothing of what is imported is garbage
    import_everything()
    from autograder.sandbox.kernel import prepare_kernel

    prepare_kernel()
    compiled()  # once, for all kernels
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads run after the imports; forking needs 1")
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the system
    gc.collect()
    gc.freeze()  # keeps the garbage collector from copying the shared pages
    listener = socket.socket(fileno=listener_fd)
    poller = select.poll()
    poller.register(listener_fd, select.POLLIN)
    poller.register(lifeline_fd, select.POLLIN)
    while all(fd != lifeline_fd for fd, _ in poller.poll()):
        control, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            serve(control)
            os._exit(0)
        control.close()


def serve(control: socket.socket) -> None:
    """Serve requests from a control socket until it is closed."""
    control.send(b"ready")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 65536, 2)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            supervise(json.loads(message), fds)
            os._exit(0)
        for fd in fds:
            os.close(fd)


def import_everything() -> None:
    """Import what notebooks, cases and kernels use, while there is one thread."""
    for module in MODULES:
        importlib.import_module(module)
    from autograder.exercise import load_topic, topic_names

    for name in topic_names():
        load_topic(name)
    torch = sys.modules["torch"]
    torch.set_num_threads(1)
    torch.backends.cpu.get_cpu_capability()  # kernels see no /proc/cpuinfo


# A warden -----------------------------------------------------------------------------


def supervise(request: dict, fds: list[int]) -> None:
    """Run one kernel to its end and report how it ended.

    The first report is ``STARTED``, with a descriptor of the kernel's process. The last
    one holds its exit code (negative if a signal ended it), the limit that it broke, if
    any, and the one that it ``perhaps`` reached; or why this warden failed.

    Args:
        request: the limits.
        fds: the lifeline, and the socket of the kernel.
    """
    lifeline, kernels = (socket.socket(fileno=fd) for fd in fds)
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limits = Limits(**request)
        enter_namespaces(limits)
        hears, tells = os.pipe()
        kernel = os.fork()
        if kernel == 0:
            _become_kernel(kernels, limits, tells)
        os.close(tells)
        kernels.close()
        with open(hears) as told:
            if told.readline() != CONFINED:
                raise RuntimeError(told.read().strip() or "it ended at once")
        ended = _watch(kernel, lifeline, limits)
    except Exception as error:
        reason = traceback.format_exception_only(error)[-1].strip()
        ended = {"exit": None, "limit": None, "failed": reason}
    with contextlib.suppress(OSError):
        lifeline.send(json.dumps(ended).encode())


def _become_kernel(sock: socket.socket, limits: Limits, tells: int) -> None:
    try:
        with open(tells, "w") as tell:

            def last() -> None:
                close_behind(limits)
                tell.write(CONFINED)
                tell.close()

            try:
                drop_privileges(limits, {tells, sock.fileno()})
                from autograder.sandbox.kernel import run_kernel

                run_kernel(sock, last)
            except Exception as error:
                if not tell.closed:
                    reason = traceback.format_exception_only(error)[-1]
                    tell.write(f"\n{reason}")
    finally:
        os._exit(1)


def _watch(kernel: int, lifeline: socket.socket, limits: Limits) -> dict:
    """Wait until the kernel ends, or is abandoned by the grader."""
    ending = os.pidfd_open(kernel)
    socket.send_fds(lifeline, [STARTED], [ending])
    poller = select.poll()
    poller.register(ending, select.POLLIN)
    poller.register(lifeline, select.POLLIN | select.POLLHUP)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # it began as we did
    poller.poll()
    with contextlib.suppress(ProcessLookupError):
        os.kill(kernel, signal.SIGKILL)
    _, status, used = os.wait4(kernel, 0)
    code = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    too_long = seconds > math.ceil(limits.cpu_seconds) - 0.5
    reason = limits.called("cpu_seconds") if code == -9 and too_long else None
    full = (used.ru_maxrss - before) * 1024 > FULL * limits.memory
    perhaps = limits.called("memory") if full else None
    return {"exit": code, "limit": reason, "perhaps": perhaps}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
