"""The IPython kernel of a submission: its sockets are bound before it starts."""

from __future__ import annotations

import os
from typing import Any

import zmq
from ipykernel.kernelapp import IPKernelApp
from traitlets.config import Config


class SubmissionKernelApp(IPKernelApp):
    """A kernel app that takes over listening sockets instead of making its own.

    So the folder with the socket files is never visible to the submission.
    """

    listening: dict[int, int]  # port number -> file descriptor

    def _try_bind_socket(self, s: zmq.Socket, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.listening[port])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def init_connection_file(self) -> None:
        """There is none: the connection is handed over by the parent."""

    def write_connection_file(self, **kwargs: Any) -> None:
        """There is none."""

    def init_heartbeat(self) -> None:
        """The grader watches the process itself."""

    def init_crash_handler(self) -> None:
        """Nobody reads the standard error of this process."""


def run_kernel(key: str, channels: dict[str, int]) -> None:
    """Run a kernel on listening unix sockets until it is told to shut down.

    Args:
        key: the session key of the connection.
        channels: file descriptor of the listening socket of each channel.
    """
    config = Config()
    config.HistoryManager.enabled = False
    config.Session.key = key.encode()
    config.IPKernelApp.log_level = 50
    app = SubmissionKernelApp.instance(config=config)
    app.transport = "ipc"
    app.ip = "/tmp/kernel"
    app.listening = {}
    for port, (channel, fd) in enumerate(channels.items(), start=1):
        os.set_inheritable(fd, False)
        setattr(app, f"{channel}_port", port)
        app.listening[port] = fd
    app.initialize([])
    app.start()
