"""Kernels that are forked from one process in which the large libraries are loaded.

Starting a kernel and importing torch and matplotlib takes four seconds of a processor,
and the book starts one for each chapter. ``use`` registers the provisioner by which
jupyter_client then starts all kernels of this process. Forking is only safe on Linux;
elsewhere, each kernel starts by itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "warm-provisioner"
# Not matplotlib's backend for notebooks: it asks the kernel that loads it how to draw.
LOADED = (
    "ipykernel.kernelapp",
    "matplotlib.pyplot",
    "altair",
    "torch",
    "torch._dynamo",
)
FIGURES = "module://matplotlib_inline.backend_inline"  # what kernels set for themselves


def use() -> None:
    """Let jupyter_client fork the kernels of this process."""
    if sys.platform == "linux":
        factory = KernelProvisionerFactory.instance()
        entry = EntryPoint(NAME, f"{__name__}:WarmProvisioner", factory.GROUP_NAME)
        factory.provisioners[NAME] = entry
        factory.default_provisioner_name = NAME


class WarmProvisioner(LocalProvisioner):
    """Does what its parent does with a process that is forked, not started anew."""

    async def launch_kernel(
        self, cmd: list[str], **options: Any
    ) -> KernelConnectionInfo:
        """Fork the kernel; ``cmd`` is that of the kernel's specification."""
        wish = {
            "arguments": cmd[cmd.index("-m") + 2 :],
            "environment": options["env"],
            "folder": str(options.get("cwd") or Path.cwd()),
        }
        server = fork_server(tuple(sorted(options["env"].items())))
        server.stdin.write(json.dumps(wish) + "\n")
        server.stdin.flush()
        self.process = Forked(int(server.stdout.readline()))
        self.pid = self.process.pid
        return self.connection_info


class Forked:
    """What provisioners use of ``subprocess.Popen``, for a child of another process."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)  # ready to be read when the process has ended

    def poll(self) -> int | None:
        """Nothing while it runs; how it ended is not told."""
        return 0 if select.select([self._handle], [], [], 0)[0] else None

    def wait(self) -> int:
        """Wait for its end."""
        select.select([self._handle], [], [])
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)


@cache
def fork_server(environment: tuple[tuple[str, str], ...]) -> subprocess.Popen[str]:
    """The process from which kernels are forked; it ends with this one.

    One for each environment, because the libraries read theirs when they are loaded.
    """
    server = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(environment),
        start_new_session=True,  # the interrupt key is not for kernels
    )
    atexit.register(server.stdin.close)
    return server


def serve() -> None:
    """Fork a kernel for each line of the standard input, and answer with its number."""
    os.environ.setdefault("MPLBACKEND", FIGURES)
    for name in LOADED:
        import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels print to their own standard output is not an answer
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a kernel ended
    while line := sys.stdin.readline():
        wish = json.loads(line)
        if pid := os.fork():
            print(pid, file=answers, flush=True)
        else:
            answers.close()
            run_kernel(**wish)


def run_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a kernel until it is shut down, and end."""
    from ipykernel import kernelapp

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.setdefault("MPLBACKEND", FIGURES)
    os.chdir(folder)
    ends_with = f"--IPKernelApp.parent_handle={os.getppid()}"
    sys.argv = ["ipykernel_launcher", *arguments, ends_with]
    kernelapp.launch_new_instance()
    sys.exit()


if __name__ == "__main__":
    serve()
