"""Warm parents: they run inside the sandbox and fork one kernel per submission.

The first process imports everything a notebook needs before any thread or event loop
exists, then forks a warm parent for each grader that connects. That one waits for
requests. Each request forks a *warden*, which forks the kernel into namespaces of its
own. The warden watches the limits and outlives the kernel; when it ends, nothing of
the submission is left.

A request is a JSON text with file descriptors attached: the lifeline, a socket on which
the warden reports how the kernel ended (and whose closing kills it), then the
listening sockets of the kernel's channels.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

from autograder.seccomp import supported
from autograder.warden import CHANNELS, guard

MODULES = (
    "autograder.answers",
    "autograder.check",
    "autograder.inputs",
    "autograder.kernel",
    "autograder.respond",
    "faulthandler",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.ipkernel",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "toolkit.figures",
    "torch",
    "tornado.platform.asyncio",
)


def main(listener_fd: int, lifeline_fd: int) -> None:
    """Fork a warm parent for each connection to a listening socket.

    All of them end when the other end of the lifeline is closed, also by the death of
    the grader: this process is the first one in the sandbox.
    """
    if not supported():
        raise RuntimeError("there is no filter of system calls for this processor")
    gc.disable()  # nothing of what is imported is garbage
    import_everything()
    from autograder.kernel import prepare_kernel

    prepare_kernel()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads run after the imports; forking needs 1")
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody is waited for
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
        message, fds, _, _ = socket.recv_fds(control, 65536, 1 + len(CHANNELS))
        if not message:
            return
        if os.fork() == 0:
            control.close()
            guard(json.loads(message), fds)
            os._exit(0)
        for fd in fds:
            os.close(fd)


def import_everything() -> None:
    """Import what notebooks, cases and kernels use, while there is one thread."""
    sys.modules["debugpy"] = None  # a large import, and ipykernel does without
    for module in MODULES:
        importlib.import_module(module)
    from autograder.exercise import load_topic, topic_names

    for name in topic_names():
        load_topic(name)
    sys.modules["torch"].set_num_threads(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
