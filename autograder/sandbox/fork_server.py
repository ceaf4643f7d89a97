"""The fork servers: they run inside the sandbox and fork a kernel per submission.

The first process imports everything a notebook needs before any thread or event loop
exists, then forks a server for each grader that connects. That one waits for
requests. Each request forks a *warden*, which forks the kernel into namespaces of its
own. The warden outlives the kernel; when it ends, nothing of the submission is left.

A request is a JSON text with file descriptors attached: the lifeline, a socket on which
the warden reports how the kernel ended (and whose closing kills it), a connected socket
for its answers, and the listening ones of its channels.
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

from autograder.sandbox.filter import compiled, supported
from autograder.sandbox.warden import CHANNELS, supervise

MOST_FILES = 2 + len(CHANNELS)  # that come with a request
MODULES = (
    "autograder.answers",
    "autograder.check",
    "autograder.arrays",
    "autograder.inputs",
    "autograder.outside",
    "autograder.stepwise",
    "autograder.sandbox.kernel",
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
    "numpy.random",  # NumPy itself imports it when it is first used, by each kernel
    "toolkit.figures",
    "torch",
    "torch.utils._device",  # torch imports it when it is asked for its device
    "tornado.platform.asyncio",
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
        message, fds, _, _ = socket.recv_fds(control, 65536, MOST_FILES)
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
    sys.modules["debugpy"] = None  # a large import, and ipykernel does without
    for module in MODULES:
        importlib.import_module(module)
    from autograder.exercise import load_topic, topic_names

    for name in topic_names():
        load_topic(name)
    torch = sys.modules["torch"]
    torch.set_num_threads(1)
    torch.backends.cpu.get_cpu_capability()  # kernels see no /proc/cpuinfo


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
