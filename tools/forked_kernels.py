"""Kernels that are copies of one process, which has imported what all chapters need.

Each kernel would spend two seconds of a processor on importing IPython, Matplotlib and
torch. A nursery imports them once, and forks itself for each kernel. Where a process
cannot be forked and watched in this way, kernels are started as usual.

    with Nursery(env) as nursery:
        client = NotebookClient(notebook, kernel_manager_class=nursery.manager())
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager

PRELOADED = ("ipykernel.kernelapp", "matplotlib.pyplot", "torch", "altair")
INLINE = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it
POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open")


class Nursery:
    """A process of which kernels are copies, as long as the ``with`` block lasts.

    Args:
        env: the environment in which the modules are imported.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = dict(env)

    def __enter__(self) -> Nursery:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            env=self.env | {"MPLBACKEND": INLINE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
            start_new_session=True,  # so the interrupt key does not reach it
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()  # which ends it, and kernels that are left
        self._process.wait()
        self._process.stdout.close()

    def fork(self, arguments: list[str], env: Mapping[str, str], cwd: str) -> Copy:
        """Start a kernel with these command line arguments."""
        asked = {"arguments": arguments, "env": dict(env), "cwd": cwd}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return Copy(int(self._process.stdout.readline()))

    def manager(self) -> type[AsyncKernelManager]:
        """A class of kernel managers that get their kernels here."""
        nursery = self

        class Manager(AsyncKernelManager):
            async def _async_launch_kernel(
                self, cmd: list[str], **options: Any
            ) -> None:
                if cmd[0] != sys.executable or "ipykernel_launcher" not in cmd:
                    await super()._async_launch_kernel(cmd, **options)
                    return
                arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
                kernel = nursery.fork(arguments, options["env"], str(options["cwd"]))
                self.provisioner.process = kernel
                self.provisioner.pid = self.provisioner.pgid = kernel.pid

        return Manager


class Copy:
    """A kernel, with the methods of ``subprocess.Popen`` that its manager calls.

    Args:
        pid: of a process that is not a child of this one.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._watched = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._watched = None

    def poll(self) -> int | None:
        """None while it runs; then 0, since only its parent learns how it ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end."""
        return self._ended(timeout)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._watched, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def _ended(self, timeout: float | None) -> int | None:
        if self._watched is not None:
            if not select.select([self._watched], [], [], timeout)[0]:
                return None
            os.close(self._watched)
            self._watched = None
        return 0


def main() -> None:
    """Import the modules; then become a kernel for each line that is read."""
    del sys.path[0]  # the folder of the book, which other kernels do not have there
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # kernels end when it does
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each collection would copy all pages into every kernel
    if asked := fork_for_each_line():
        become_kernel(**asked)


def fork_for_each_line() -> dict[str, Any] | None:
    """What a copy is asked for, in that copy; None in the nursery at its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel ended
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return json.loads(line)
        print(pid, flush=True)
    return None


def become_kernel(arguments: list[str], env: dict[str, str], cwd: str) -> None:
    """Do what ``python -m ipykernel_launcher`` does."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the pipe is the nursery's
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()), MPLBACKEND=INLINE)
    sys.argv = ["ipykernel_launcher", *arguments]
    importlib.import_module("ipykernel.kernelapp").launch_new_instance()


if __name__ == "__main__":
    main()
