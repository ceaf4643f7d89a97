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
    warms up while this process goes on. Close it.

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


class ForkServers(contextlib.AbstractContextManager):
    """Where the kernels of this process are forked; close it, or use it in a ``with``.

    Args:
        address: of a sandbox that belongs to another process. Without one, this process
            starts one of its own when it needs it.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._own: Sandbox | None = None
        self._server: ForkServer | None = None

    def launch(self, key: str, fds: list[int], limits: Limits) -> socket.socket:
        """Fork a kernel, see ``ForkServer.launch``; in a new server if one has died.

        Raises:
            SandboxUnavailable: there is none, and none can be started.
        """
        try:
            return self.current().launch(key, fds, limits)
        except OSError:
            self.close()
            return self.current().launch(key, fds, limits)

    def current(self) -> ForkServer:
        """The fork server of this process.

        Raises:
            SandboxUnavailable: there is none, and none can be started.
        """
        if self._server is None:
            if self._address is None:
                self._own = Sandbox()
            self._server = ForkServer(self._own.address if self._own else self._address)
        return self._server

    def close(self) -> None:
        """End the fork server, and the sandbox if it is this process's own."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._own is not None:
            self._own.close()
            self._own = None

    def __exit__(self, *exc: object) -> None:
        self.close()


@cache
def fork_servers(address: str | None = None) -> ForkServers:
    """The fork servers of this process, which end with it; see ``ForkServers``."""
    servers = ForkServers(address)
    atexit.register(servers.close)
    return servers
