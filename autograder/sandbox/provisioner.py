"""A Jupyter kernel provisioner whose kernels are forked inside the sandbox.

It is registered as an entry point, so jupyter_client and nbclient need no change.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import tempfile
from typing import Any

from jupyter_client.provisioning import KernelProvisionerBase

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from autograder.sandbox.usage import Used, process_of, used_by
from autograder.sandbox.warden import ABANDONED, CHANNELS, STARTED

KILL_SECONDS = 5
TRY_SECONDS = 0.005


def how_it_exited(code: int) -> str:
    """The exit code of a process, negative if a signal ended it, in words."""
    if code >= 0:
        return f"the process ended with code {code}"
    what = signal.strsignal(-code) or "unknown"
    return f"the process was ended by signal {-code} ({what.lower()})"


class SandboxProvisioner(KernelProvisionerBase):
    """Kernel provisioner that has a fork server fork its kernels.

    The kernel manager, its parent, says in which sandbox and with which limits.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ended: dict[str, Any] | None = None
        self._kernel: int | None = None  # descriptor of its process
        self._lifeline: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory | None = None

    @property
    def has_process(self) -> bool:
        """Whether a kernel was forked and not cleaned up."""
        return self._lifeline is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Nothing of this process's environment reaches the kernel."""
        kwargs = await super().pre_launch(**{**kwargs, "env": {}})
        return {**kwargs, "cmd": []}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Bind the kernel's channels here and have a fork server fork the kernel.

        Args:
            cmd: there is none.
            kwargs: ``pass_fds``, as ``subprocess.Popen`` has it, but for one
                descriptor at most: a connected socket for the answers of the kernel.
        """
        self.ended = None
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        address = f"{self._folder.name}/kernel"
        key = secrets.token_hex(16)
        listening = []
        try:
            for port in range(1, len(CHANNELS) + 1):
                sock = socket.socket(socket.AF_UNIX)
                listening.append(sock)
                sock.bind(f"{address}-{port}")
                sock.listen(16)
            servers = getattr(self.parent, "servers", None) or fork_servers()
            limits = getattr(self.parent, "limits", Limits())
            fds = [*(sock.fileno() for sock in listening), *kwargs.get("pass_fds", ())]
            try:
                self._lifeline = servers.current().launch(key, fds, limits)
            except OSError:  # the fork server has just died
                servers.close()
                self._lifeline = servers.current().launch(key, fds, limits)
            self._lifeline.setblocking(False)
        finally:
            for sock in listening:
                sock.close()
        ports = {f"{name}_port": n for n, name in enumerate(CHANNELS, start=1)}
        self.connection_info = {
            "transport": "ipc",
            "ip": address,
            "key": key.encode(),
            "signature_scheme": "hmac-sha256",
            "hb_port": len(CHANNELS) + 1,
            **ports,
        }
        return self.connection_info

    async def poll(self) -> int | None:
        """``None`` while the kernel runs; ``ended`` says how it ended."""
        if self.ended is None and self._lifeline is not None:
            try:
                message, fds, _, _ = socket.recv_fds(self._lifeline, 65536, 1)
            except BlockingIOError:
                return None
            except OSError:
                message = b""
            if message == STARTED:
                self._kernel = fds[0] if fds else None
                return await self.poll()
            lost = {"exit": None, "limit": None}
            self.ended = json.loads(message) if message else lost
        code = (self.ended or {}).get("exit")
        return 1 if code is None else code

    def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that the kernel has ended, which it has.

        Only the system, or somebody outside of the sandbox, can end the first process
        of a namespace with SIGKILL: it is deaf to all signals from inside. Others that
        come from outside do nothing, unless the submission has asked for them.
        """
        ended = self.ended or {"exit": None, "limit": None}
        if ended["limit"] == ABANDONED or ended["exit"] is None:
            why = ended["limit"] or ended.get("failed", "its warden was lost")
            return GraderFault(f"the sandbox failed: {why}")
        if ended["limit"] is not None:
            return SubmissionFault(ended["limit"])
        if ended["exit"] == -signal.SIGKILL:
            return GraderFault(
                "its process was killed from outside, perhaps because this machine "
                "has too little memory"
            )
        how = how_it_exited(ended["exit"])
        if ended["perhaps"]:
            how += f", perhaps at the {ended['perhaps']}"
        return SubmissionFault(how)

    async def used(self) -> Used | None:
        """What the kernel has used by now; ``None`` if it has ended."""
        await self.poll()  # the descriptor of its process may have come
        pid = None if self._kernel is None else process_of(self._kernel)
        return None if pid is None else used_by(pid)

    async def wait(self) -> int | None:
        """Wait until the kernel has ended."""
        while (code := await self.poll()) is None:
            await asyncio.sleep(TRY_SECONDS)
        return code

    async def send_signal(self, signum: int) -> None:
        """Any signal kills: a submission is never interrupted politely."""
        await self.kill()

    def abandon(self) -> None:
        """Have the warden kill the kernel, without waiting."""
        if self._lifeline is not None and self.ended is None:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel, and wait until it is gone."""
        self.abandon()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), KILL_SECONDS)

    async def terminate(self, restart: bool = False) -> None:
        """The same as ``kill``."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Forget the kernel and remove its socket files."""
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if self._kernel is not None:
            os.close(self._kernel)
            self._kernel = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
