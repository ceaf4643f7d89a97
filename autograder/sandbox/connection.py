"""A running sandbox, and how this process reaches the fork servers in it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

from autograder.sandbox.bubblewrap import (
    SandboxUnavailable,
    bubblewrap_command,
    require_bubblewrap,
)
from autograder.sandbox.limits import Limits

START_SECONDS = 120


class Sandbox:
    """One bubblewrap, in which fork servers fork kernels.

    Everything is imported once. Then each grader that connects to ``address`` gets a
    fork server of its own, so that what ends one costs the others nothing. The sandbox
    warms up while this process goes on. Use as a context manager, or close it.

    Raises:
        SandboxUnavailable: bubblewrap is missing or may not make namespaces here.
    """

    def __init__(self) -> None:
        require_bubblewrap()
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.address = f"{self._folder.name}/sandbox"
        self._lifeline, theirs = socket.socketpair()
        with (
            theirs,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
            Path(_log(self.address)).open("wb") as log,
        ):
            listener.bind(self.address)
            listener.listen(socket.SOMAXCONN)
            self._process = subprocess.Popen(
                bubblewrap_command(listener.fileno(), theirs.fileno()),
                pass_fds=[listener.fileno(), theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.defpath},
                start_new_session=True,  # an interrupt is for the grader alone
            )

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process of bubblewrap."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether bubblewrap still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End everything that runs in it."""
        self._lifeline.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


class ForkServer:
    """A process in a sandbox that has imported everything and forks kernels.

    Args:
        address: of the sandbox.

    Raises:
        SandboxUnavailable: the sandbox is gone.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._ready = False
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._control.connect(address)
        except OSError as error:
            self._control.close()
            raise SandboxUnavailable(f"the sandbox is gone: {error}") from error

    def wait_until_ready(self) -> None:
        """Wait until it has imported everything.

        Raises:
            SandboxUnavailable: it did not come up.
        """
        self._ready = self._ready or self._told_ready()
        if not self._ready:
            last = []
            with contextlib.suppress(OSError):
                log = Path(_log(self._address)).read_bytes().decode(errors="replace")
                last = log.strip().splitlines()[-1:]
            raise SandboxUnavailable(
                f"the sandbox did not start: {' '.join(last) or 'no reason given'}"
            )

    def _told_ready(self) -> bool:
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        try:
            told = poller.poll(START_SECONDS * 1000)
            return bool(told) and self._control.recv(16) == b"ready"
        except OSError:
            return False

    @property
    def alive(self) -> bool:
        """Whether it still listens."""
        try:
            return bool(self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def launch(self, key: str, fds: list[int], limits: Limits) -> socket.socket:
        """Fork a kernel that serves sockets; return its lifeline.

        ``fds`` are the listening sockets of its channels and, if it is to be asked
        questions, the connected one for its answers.

        On the lifeline comes a descriptor of its process; when it ends, a JSON message
        that says how. Closing the lifeline kills it.
        """
        self.wait_until_ready()
        lifeline, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {"key": key, "limits": asdict(limits)}
        message = [json.dumps(request).encode()]
        try:
            socket.send_fds(self._control, message, [other.fileno(), *fds])
        finally:
            other.close()
        return lifeline

    def close(self) -> None:
        """Let it end."""
        self._control.close()


def _log(address: str) -> str:
    """Where a sandbox writes its errors."""
    return f"{address}.log"


class ForkServers:
    """Where the kernels of this process are forked; replaced when it dies.

    Use as a context manager, or close it.

    Args:
        address: of a sandbox that belongs to another process, used as long as it is
            there. Otherwise this process starts one of its own when it needs one.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._own: Sandbox | None = None
        self._server: ForkServer | None = None

    def __enter__(self) -> ForkServers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def own(self) -> Sandbox | None:
        """The sandbox that this process has started, if it has."""
        return self._own

    def current(self) -> ForkServer:
        """The fork server of this process.

        Raises:
            SandboxUnavailable: there is none, and none can be started.
        """
        if self._own is not None and not self._own.alive:
            self.close()
        if self._server is not None and not self._server.alive:
            self._server.close()
            self._server = None
        if self._server is None:
            self._server = self._connect()
        return self._server

    def _connect(self) -> ForkServer:
        if self._address is not None:
            try:
                return ForkServer(self._address)
            except SandboxUnavailable:  # its owner has ended
                self._address = None
        if self._own is None:
            self._own = Sandbox()
        return ForkServer(self._own.address)

    def close(self) -> None:
        """End the fork server, and the sandbox if it is this process's own."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._own is not None:
            self._own.close()
            self._own = None


@cache
def fork_servers(address: str | None = None) -> ForkServers:
    """The fork servers of this process, which end with it; see ``ForkServers``."""
    servers = ForkServers(address)
    atexit.register(servers.close)
    return servers
