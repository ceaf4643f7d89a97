"""The warm parent: runs inside the sandbox and forks one kernel per submission.

It imports everything a notebook needs before any thread or event loop exists, then
waits for requests. Each request forks a *warden*, which forks the kernel into
namespaces of its own. The warden watches the limits and outlives the kernel; when it
ends, nothing of the submission is left.

A request is a JSON text with file descriptors attached: the lifeline, a socket on which
the warden reports how the kernel ended (and whose closing kills it), then the
listening sockets of the kernel's channels.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
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
    "ipykernel.debugger",
    "ipykernel.ipkernel",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "toolkit.figures",
    "torch",
    "tornado.platform.asyncio",
)


def main(control_fd: int) -> None:
    """Serve requests from the control socket until it is closed."""
    if not supported():
        raise RuntimeError("there is no filter of system calls for this processor")
    import_everything()
    control = socket.socket(fileno=control_fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens are not waited for
    gc.collect()
    gc.freeze()  # keeps the garbage collector from copying the shared pages
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
    for module in MODULES:
        importlib.import_module(module)
    from autograder.exercise import load_topic, topic_names

    for name in topic_names():
        load_topic(name)
    sys.modules["torch"].set_num_threads(1)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads run after the imports; forking needs 1")


if __name__ == "__main__":
    main(int(sys.argv[1]))
