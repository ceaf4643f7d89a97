"""The IPython kernel of a submission: its sockets are bound before it starts."""

from __future__ import annotations

import os
from typing import Any

import zmq
from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from traitlets import Type, observe
from traitlets.config import Config
from zmq.eventloop.zmqstream import ZMQStream

_FORKED = "ipc:///tmp/.printed-by-forked-processes"


class _IOPubThread(IOPubThread):
    """Takes what forked processes print from a unix socket: there is no network."""

    def _setup_pipe_in(self) -> None:
        self._pipe_uuid = os.urandom(16)
        pipe = self.socket.context.socket(zmq.PULL)
        pipe.linger = 0
        pipe.bind(_FORKED)
        self._pipe_in = ZMQStream(pipe, self.io_loop)
        self._pipe_in.on_recv(self._handle_pipe_msg)

    def _setup_pipe_out(self) -> tuple[zmq.Context, zmq.Socket]:
        context = zmq.Context()
        pipe = context.socket(zmq.PUSH)
        pipe.linger = 3000
        pipe.connect(_FORKED)
        return context, pipe


class Stream(OutStream):
    """Standard output or error of a submission."""

    def flush(self) -> None:
        """Send what was printed, if anything was: waiting for the other thread is slow.

        ipykernel flushes both streams before each display and after each cell.
        """
        if self._buffers:
            super().flush()


class _Shell(ZMQInteractiveShell):
    @observe("exit_now")
    def _update_exit_now(self, change: dict[str, Any]) -> None:
        """``quit()`` ends nothing: the cells below are still to be graded."""


class _Kernel(IPythonKernel):
    shell_class = Type(_Shell)


class SubmissionKernelApp(IPKernelApp):
    """A kernel app that takes over listening sockets instead of making its own.

    So the folder with the socket files is never visible to the submission.
    """

    kernel_class = Type(_Kernel)
    listening: dict[int, int]  # port number -> file descriptor

    def _try_bind_socket(self, s: zmq.Socket, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.listening[port])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def parse_command_line(self, argv: list[str] | None = None) -> None:
        """There is none, and a parser of all possible options takes its time."""

    def _configure_logging(self) -> None:
        """Nobody reads the log."""

    def init_connection_file(self) -> None:
        """There is none: the connection is handed over by the parent."""

    def write_connection_file(self, **kwargs: Any) -> None:
        """There is none."""

    def init_iopub(self, context: zmq.Context) -> None:
        """Start the thread that sends outputs."""
        socket = context.socket(zmq.XPUB)
        socket.linger = 1000
        self.iopub_port = self._bind_socket(socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = _IOPubThread(socket, pipe=True, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

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
    config.IPKernelApp.outstream_class = f"{__name__}.{Stream.__name__}"
    config.Kernel._execute_sleep = 0.0  # nothing here needs to be waited for
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
