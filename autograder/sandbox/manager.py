"""Kernel manager and client for sandboxed kernels, as nbclient uses them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from queue import Empty
from typing import Any

import zmq
from jupyter_client import AsyncKernelClient, AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from traitlets import Instance

from autograder.errors import GraderFault, SubmissionFault
from autograder.sandbox.bubblewrap import ADVICE, KERNEL_SETTINGS, SandboxUnavailable
from autograder.sandbox.connection import START_SECONDS, ForkServers
from autograder.sandbox.limits import MAX_MESSAGE, Limits
from autograder.sandbox.messages import FlatSession
from autograder.sandbox.own_signals import OWN_SIGNALS
from autograder.sandbox.process_tree import ProcessTree
from autograder.sandbox.provisioner import how_it_exited

KERNEL_NAME = "attention-sandbox"
PIECE = 4096  # bytes read at once of what a kernel says of its signals
WHOLE_PIPE = 2 * (1 << 20) // PIECE  # reads; a pipe holds 1 MB at most


class _OnlyTheSandbox(KernelSpecManager):
    """The only kernel there is: whatever a notebook names, it gets the sandbox."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The sandboxed Python kernel."""
        return KernelSpec(
            argv=[],
            display_name="Python 3 (sandbox)",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": KERNEL_NAME}},
        )


class SandboxKernelClient(AsyncKernelClient):
    """A client that is ready as soon as the kernel has answered once.

    The stock client waits a fixed 0.2 s for silence, and starts a heartbeat thread:
    here the warden watches the process.
    """

    def start_channels(self, *args: bool, **kwargs: bool) -> None:
        """Open the channels, without standard input and heartbeat."""
        super().start_channels(stdin=False, hb=False)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until a request was answered and its last message has arrived.

        Raises:
            SandboxUnavailable: the sandbox could not make the kernel.
            RuntimeError: the kernel ended, or did not answer in ``timeout`` seconds.
        """
        deadline = time.monotonic() + (timeout or START_SECONDS)
        while time.monotonic() < deadline:
            request = self.kernel_info()
            if await self._answered(request, time.monotonic() + 0.5):
                return
            if not await self.is_alive():
                if reason := (self.parent.provisioner.ended or {}).get("failed"):
                    raise SandboxUnavailable(
                        f"no submission can be isolated here ({reason}): {ADVICE}"
                    )
                raise RuntimeError("the kernel ended before it was ready")
        raise RuntimeError("the kernel did not start in time")

    async def _answered(self, request: str, deadline: float) -> bool:
        """Whether the kernel told that it is idle again after ``request``."""
        with contextlib.suppress(Empty):
            while (left := deadline - time.monotonic()) > 0:
                message = await self.get_iopub_msg(timeout=left)
                if (
                    message["parent_header"].get("msg_id") == request
                    and message["content"].get("execution_state") == "idle"
                ):
                    return True
        return False


class SandboxKernelManager(AsyncKernelManager):
    """Starts sandboxed kernels with the given limits, in the given sandbox."""

    limits = Instance(Limits, args=())
    servers = Instance(ForkServers, allow_none=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            kernel_spec_manager=_OnlyTheSandbox(),
            client_factory=SandboxKernelClient,
            session=FlatSession(),
            **kwargs,
        )
        # The warden passes no larger message on; this is for a part that claims to be.
        self.context.setsockopt(zmq.LINGER, 0)
        self.context.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self.context.setsockopt(zmq.RCVHWM, 2)  # messages of each channel that wait

    async def spent(self) -> dict[str, float] | None:
        """What its kernel has used; see ``SandboxProvisioner.spent``."""
        return await self.provisioner.spent()

    async def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that its kernel has ended, or is about to."""
        await self.provisioner.wait()
        return self.provisioner.fault()


# They end a process, and anybody may have sent them. Others that end one follow from
# what it did itself, like a crash.
_SENT = frozenset(
    (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
)


class UnprotectedKernelManager(AsyncKernelManager):
    """Starts kernels with all rights of this process, where there is no sandbox.

    Its kernel says so before it sends a signal to itself; see ``own_signals``. Of
    others, nobody knows who has sent them.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._tree: ProcessTree | None = None
        self._hears: int | None = None  # what the kernel says
        self._own_signals: set[int] = set()

    async def start_kernel(self, **kwargs: Any) -> None:
        """Start a kernel, and begin to count what it uses.

        Args:
            kwargs: ``env``, ``pass_fds`` and others as ``subprocess.Popen`` has them.
        """
        self._hears, tells = os.pipe()
        os.set_blocking(self._hears, False)
        environment = {**kwargs.get("env", os.environ), **KERNEL_SETTINGS}
        kwargs["env"] = {**environment, OWN_SIGNALS: str(tells)}
        kwargs["pass_fds"] = [*kwargs.get("pass_fds", ()), tells]
        try:
            await super().start_kernel(**kwargs)
        finally:
            os.close(tells)
        self._tree = ProcessTree(self.provisioner.pid)

    async def spent(self) -> dict[str, float] | None:
        """Seconds of processor time that were its ``own``, and that it ``waited``."""
        if self._tree is None:
            return None
        return self._tree.spent(signal.SIGSTOP in self._said())

    async def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that its kernel has ended."""
        code = await self.provisioner.poll()
        if code is None:
            return GraderFault("its kernel does not answer any more")
        if -code in _SENT - self._said(most=WHOLE_PIPE):
            return GraderFault(
                f"{how_it_exited(code)}, perhaps from outside, as on a machine that "
                "has too little memory"
            )
        return SubmissionFault(how_it_exited(code))

    async def shutdown_kernel(self, *args: Any, **kwargs: Any) -> None:
        """End the kernel."""
        try:
            await super().shutdown_kernel(*args, **kwargs)
        finally:
            if self._hears is not None:
                os.close(self._hears)
                self._hears = None

    def _said(self, most: int = 4) -> set[int]:
        """The signals that the kernel has said it would send to itself.

        Args:
            most: how often to read, whatever its processes go on to say.
        """
        with contextlib.suppress(BlockingIOError):
            for _ in range(most):
                if self._hears is None or not (said := os.read(self._hears, PIECE)):
                    break
                self._own_signals.update(said)
        return self._own_signals

    @property
    def kernel_spec(self) -> KernelSpec:
        """How one is started."""
        module = "autograder.sandbox.unprotected"
        return KernelSpec(
            argv=[sys.executable, "-m", module, "-f", "{connection_file}"],
            display_name="Python 3",
            language="python",
        )
