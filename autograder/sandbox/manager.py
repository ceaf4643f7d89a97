"""Sandboxed kernels: a manager and a client, as nbclient uses them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import tempfile
import time
from queue import Empty
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client import AsyncKernelClient

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.bubblewrap import ADVICE, SandboxUnavailable
from autograder.sandbox.connection import START_SECONDS, ForkServers, fork_servers
from autograder.sandbox.limits import MAX_MESSAGE, Limits
from autograder.sandbox.messages import FlatSession
from autograder.sandbox.usage import Used, process_of, used_by
from autograder.sandbox.warden import ABANDONED, CHANNELS, STARTED

KILL_SECONDS = 5
TRY_SECONDS = 0.005


class SandboxKernelManager:
    """One kernel, which a fork server forks inside the sandbox.

    Attributes:
        limits: what the kernel may use.
        servers: where it is forked; the fork servers of this process if None.
        context: of the sockets that speak to it.
        ended: how it ended, if it has.
    """

    def __init__(
        self, limits: Limits | None = None, servers: ForkServers | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.servers = servers or fork_servers()
        self.ended: dict[str, Any] | None = None
        self._key = secrets.token_hex(16)
        self._kernel: int | None = None  # descriptor of its process
        self._lifeline: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory | None = None
        self.context = zmq.asyncio.Context()
        # The warden passes no larger message on; this is for a part that claims to be.
        self.context.setsockopt(zmq.LINGER, 0)
        self.context.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self.context.setsockopt(zmq.RCVHWM, 2)  # messages of each channel that wait

    @property
    def has_kernel(self) -> bool:
        """Whether a kernel was forked and not cleaned up."""
        return self._lifeline is not None

    async def start_kernel(self, answers: int, **_: Any) -> None:
        """Bind the kernel's channels here and have a fork server fork the kernel.

        Args:
            answers: a connected socket for the answers of the kernel.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        listening = []
        try:
            for port in range(1, len(CHANNELS) + 1):
                sock = socket.socket(socket.AF_UNIX)
                listening.append(sock)
                sock.bind(f"{self._address}-{port}")
                sock.listen(16)
            fds = [answers, *(sock.fileno() for sock in listening)]
            self._lifeline = self.servers.launch(self._key, fds, self.limits)
            self._lifeline.setblocking(False)
        finally:
            for sock in listening:
                sock.close()

    @property
    def _address(self) -> str:
        return f"{self._folder.name}/kernel"

    def client(self) -> SandboxKernelClient:
        """What speaks to the kernel."""
        ports = {f"{name}_port": n for n, name in enumerate(CHANNELS, start=1)}
        client = SandboxKernelClient(
            context=self.context,
            session=FlatSession(key=self._key.encode()),
            transport="ipc",
            ip=self._address,
            **ports,
        )
        client.manager = self
        return client

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

    async def is_alive(self) -> bool:
        """Whether the kernel runs."""
        return await self.poll() is None

    async def wait(self) -> None:
        """Wait until the kernel has ended."""
        while await self.is_alive():
            await asyncio.sleep(TRY_SECONDS)

    async def used(self) -> Used | None:
        """What the kernel has used by now; ``None`` if it has ended."""
        await self.poll()  # the descriptor of its process may have come
        pid = None if self._kernel is None else process_of(self._kernel)
        return None if pid is None else used_by(pid)

    async def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that the kernel has ended, or is about to.

        Only the system, or somebody outside of the sandbox, can end the first process
        of a namespace with SIGKILL: it is deaf to all signals from inside. Others that
        come from outside do nothing, unless the submission has asked for them.
        """
        await self.wait()
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
        how = _how_it_exited(ended["exit"])
        if ended["perhaps"]:
            how += f", perhaps at the {ended['perhaps']}"
        return SubmissionFault(how)

    def abandon(self) -> None:
        """Have the warden kill the kernel, without waiting."""
        if self._lifeline is not None and self.ended is None:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)

    async def shutdown_kernel(self, now: bool = True) -> None:
        """Kill the kernel, wait until it is gone, and forget it."""
        self.abandon()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), KILL_SECONDS)
        await self.cleanup_resources()

    async def cleanup_resources(self) -> None:
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


def _how_it_exited(code: int) -> str:
    """The exit code of a process, negative if a signal ended it, in words."""
    if code >= 0:
        return f"the process ended with code {code}"
    what = signal.strsignal(-code) or "unknown"
    return f"the process was ended by signal {-code} ({what.lower()})"


class SandboxKernelClient(AsyncKernelClient):
    """A client that is ready as soon as the kernel has welcomed it.

    The stock client waits a fixed 0.2 s for silence, and starts a heartbeat thread:
    here the warden watches the process.
    """

    manager: SandboxKernelManager

    def start_channels(self, *args: bool, **kwargs: bool) -> None:
        """Open the two channels that are used, for requests and for outputs."""
        super().start_channels(stdin=False, hb=False, control=False)

    async def is_alive(self) -> bool:
        """Whether the kernel runs."""
        return await self.manager.is_alive()

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait for the welcome that the kernel sends to whoever will get its outputs.

        Raises:
            SandboxUnavailable: the sandbox could not make the kernel.
            RuntimeError: the kernel ended, or did not answer in ``timeout`` seconds.
        """
        deadline = time.monotonic() + (timeout or START_SECONDS)
        while time.monotonic() < deadline:
            with contextlib.suppress(Empty):
                message = await self.get_iopub_msg(timeout=0.5)
                if message["msg_type"] == "iopub_welcome":
                    return
            if not await self.is_alive():
                if reason := (self.manager.ended or {}).get("failed"):
                    raise SandboxUnavailable(
                        f"no submission can be isolated here ({reason}): {ADVICE}"
                    )
                raise RuntimeError("the kernel ended before it was ready")
        raise RuntimeError("the kernel did not start in time")
