"""A running sandbox, and how this process reaches the fork servers in it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
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
READY = b"ready"  # says a fork server


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


class ForkServers(contextlib.AbstractContextManager):
    """Where the kernels of this process are forked; close it, or use it in a ``with``.

    Args:
        address: of a sandbox that belongs to another process. Without one, this process
            starts one of its own when it needs it.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._own: Sandbox | None = None
        self._control: socket.socket | None = None

    def launch(self, kernels: socket.socket, limits: Limits) -> socket.socket:
        """Fork a kernel that reads requests from a socket; return its lifeline.

        On the lifeline comes a descriptor of its process; when it ends, a JSON message
        that says how. Closing the lifeline kills it.

        Raises:
            SandboxUnavailable: there is no fork server, and none can be started.
        """
        lifeline, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        message = [json.dumps(asdict(limits)).encode()]
        with other:
            fds = [other.fileno(), kernels.fileno()]
            try:
                socket.send_fds(self._server(), message, fds)
            except OSError:  # the server has died
                self.close()
                socket.send_fds(self._server(), message, fds)
        return lifeline

    def _server(self) -> socket.socket:
        """The connection to a process that has imported everything and forks kernels.

        Raises:
            SandboxUnavailable: there is none, and none can be started.
        """
        if self._control is not None:
            return self._control
        if self._address is None:
            self._own = Sandbox()
        address = self._own.address if self._own else self._address
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            control.connect(address)
            control.settimeout(START_SECONDS)
            ready = control.recv(16) == READY
            control.settimeout(None)
        except OSError:
            ready = False
        if not ready:
            control.close()
            last = []
            with contextlib.suppress(OSError):
                log = Path(_log(address)).read_bytes().decode(errors="replace")
                last = log.strip().splitlines()[-1:]
            said = " ".join(last) or "no reason given"
            raise SandboxUnavailable(f"the sandbox did not start, or is gone: {said}")
        self._control = control
        return control

    def close(self) -> None:
        """End the fork server, and the sandbox if it is this process's own."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._own is not None:
            self._own.close()
            self._own = None

    def __exit__(self, *exc: object) -> None:
        self.close()


def _log(address: str) -> str:
    """Where a sandbox writes its errors."""
    return f"{address}.log"


@cache
def fork_servers(address: str | None = None) -> ForkServers:
    """The fork servers of this process, which end with it; see ``ForkServers``."""
    servers = ForkServers(address)
    atexit.register(servers.close)
    return servers
