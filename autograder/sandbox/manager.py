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
from autograder.sandbox.provisioner import how_it_exited
from autograder.sandbox.usage import Used, used_by

KERNEL_NAME = "attention-sandbox"


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

    async def used(self) -> Used | None:
        """What its kernel has used by now; ``None`` if it has ended."""
        return await self.provisioner.used()

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

    Nobody knows who has sent a signal to such a kernel.
    """

    async def start_kernel(self, **kwargs: Any) -> None:
        """Start a kernel.

        Args:
            kwargs: ``env``, ``pass_fds`` and others as ``subprocess.Popen`` has them.
        """
        kwargs["env"] = {**kwargs.get("env", os.environ), **KERNEL_SETTINGS}
        await super().start_kernel(**kwargs)

    async def used(self) -> Used | None:
        """What its kernel has used by now; ``None`` if it does not run."""
        return self.provisioner and used_by(self.provisioner.pid)

    async def fault(self) -> SubmissionFault | GraderFault:
        """Whose fault it was that its kernel has ended."""
        code = await self.provisioner.poll()
        if code is None:
            return GraderFault("its kernel does not answer any more")
        if -code in _SENT:
            return GraderFault(
                f"{how_it_exited(code)}, perhaps from outside, as on a machine that "
                "has too little memory"
            )
        return SubmissionFault(how_it_exited(code))

    @property
    def kernel_spec(self) -> KernelSpec:
        """How one is started."""
        module = "autograder.sandbox.unprotected"
        return KernelSpec(
            argv=[sys.executable, "-m", module, "-f", "{connection_file}"],
            display_name="Python 3",
            language="python",
        )
