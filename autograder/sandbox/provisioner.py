"""A Jupyter kernel provisioner whose kernels are forked inside the sandbox.

It is registered as an entry point, so jupyter_client and nbclient need no change.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import socket
import tempfile
from typing import Any

from jupyter_client.provisioning import KernelProvisionerBase

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from autograder.sandbox.warden import ABANDONED, CHANNELS, OVERDUE

KILL_SECONDS = 5
ANSWER_SECONDS, TRY_SECONDS = 1.0, 0.01  # to hear what a kernel has used


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
        self._spent: dict[str, float] | None = None
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
                self._hear(self._lifeline.recv(65536))
            except BlockingIOError:
                return None
            except ConnectionResetError:  # a question was not read; the report comes
                return await self.poll()
            except OSError:
                self._hear(b"")
        if self.ended is None and self._lifeline is not None:
            return None
        code = (self.ended or {}).get("exit")
        return 1 if code is None else code

    def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that the kernel has ended, which it has.

        Only the system, or somebody outside of the sandbox, can end the first process
        of a namespace with SIGKILL: it is deaf to all signals from inside. Others that
        come from outside do nothing, unless the submission has asked for them.
        """
        ended = self.ended or {"exit": None, "limit": None}
        if ended["limit"] in (ABANDONED, OVERDUE) or ended["exit"] is None:
            why = ended["limit"] or ended.get("failed", "its warden was lost")
            return GraderFault(f"the sandbox failed: {why}")
        if ended["limit"] is not None:
            return SubmissionFault(ended["limit"], ended.get("estimated", False))
        if ended["exit"] == -signal.SIGKILL:
            return GraderFault(
                "its process was killed from outside, perhaps because this machine "
                "has too little memory"
            )
        return SubmissionFault(how_it_exited(ended["exit"]))

    def _hear(self, message: bytes) -> None:
        """Take what the warden says: what was used so far, or how it ended."""
        lost = {"exit": None, "limit": None}
        said = json.loads(message) if message else lost
        if "exit" in said:
            self.ended = self.ended or said
        else:
            self._spent = said

    async def spent(self) -> dict[str, float] | None:
        """Seconds of processor time that were its ``own``, and that it ``waited`` for.

        ``None`` if the warden does not tell in a moment.
        """
        self._spent = None
        with contextlib.suppress(OSError):
            self._lifeline.send(b"?")
        for _ in range(round(ANSWER_SECONDS / TRY_SECONDS)):
            if await self.poll() is not None or self._spent is not None:
                break
            await asyncio.sleep(TRY_SECONDS)
        return self._spent

    async def wait(self) -> int | None:
        """Wait until the kernel has ended."""
        loop = asyncio.get_running_loop()
        while await self.poll() is None:
            try:
                self._hear(await loop.sock_recv(self._lifeline, 65536))
            except ConnectionResetError:
                continue
            except OSError:
                self._hear(b"")
        return await self.poll()

    async def send_signal(self, signum: int) -> None:
        """Any signal kills: a submission is never interrupted politely."""
        await self.kill()

    def abandon(self) -> None:
        """Have the warden kill every process of the submission, without waiting."""
        if self._lifeline is not None and self.ended is None:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)

    async def kill(self, restart: bool = False) -> None:
        """Kill every process of the submission, and wait until all are gone."""
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
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
