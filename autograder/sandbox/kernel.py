"""The IPython kernel of a submission: its sockets are bound before it starts."""

from __future__ import annotations

import os
import pdb  # noqa: T100
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import zmq
from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core import debugger
from IPython.core.application import BaseIPythonApplication
from IPython.core.compilerop import CachingCompiler
from traitlets import Type, observe
from traitlets.config import Config
from zmq.eventloop.zmqstream import ZMQStream

from autograder import respond
from autograder.respond import CHANNEL
from autograder.stepwise import go_on_below_errors

_FORKED = "ipc:///tmp/.printed-by-forked-processes"
_PIECE = 2**20  # characters of what was printed, in one message
own_streams: dict[str, TextIO] = {}  # as they were before the first cell


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

    def _flush_buffers(self) -> Iterator[tuple[Any, str]]:
        """What was printed, in pieces: a message that is too long ends the kernel."""
        for parent, text in super()._flush_buffers():
            for start in range(0, len(text), _PIECE):
                yield parent, text[start : start + _PIECE]


def give_streams_back() -> None:
    """Replace a stream that a cell has closed or removed.

    ipykernel flushes both after each cell and before it shows an error; where that
    fails, the cell never ends.
    """
    for name, own in own_streams.items():
        try:
            getattr(sys, name).flush()
        except Exception:
            setattr(sys, name, own)


class _Shell(ZMQInteractiveShell):
    _transformed = ("", "")

    def _showtraceback(self, etype: type[BaseException], *arguments: Any) -> None:
        give_streams_back()
        super()._showtraceback(etype, *arguments)

    def transform_cell(self, raw_cell: str) -> str:
        """Turn magics and the like into Python; ipykernel asks twice for each cell."""
        if self._transformed[0] != raw_cell:
            self._transformed = (raw_cell, super().transform_cell(raw_cell))
        return self._transformed[1]

    @observe("exit_now")
    def _update_exit_now(self, change: dict[str, Any]) -> None:
        """``quit()`` ends nothing: the cells below are still to be graded."""


class Kernel(IPythonKernel):
    """A kernel that can be made before its channels."""

    shell_class = Type(_Shell)
    compiler_class = Type(CachingCompiler)  # names cells without a slow hash

    @classmethod
    def instance(cls, **traits: Any) -> Kernel:
        """The kernel of this process, with these traits."""
        if not cls.initialized():
            return super().instance(**traits)
        kernel = super().instance()
        for name, value in traits.items():
            if value is not None:
                setattr(kernel, name, value)
        for publisher in (kernel.shell.displayhook, kernel.shell.display_pub):
            publisher.session = kernel.session
            publisher.pub_socket = kernel.iopub_socket
        return kernel

    def pre_handler_hook(self) -> None:
        """Let SIGINT be ignored, as between two messages.

        Nobody interrupts a cell here. Whoever sends this signal sends it from outside,
        and an answer that it stopped would be blamed for that.
        """

    def post_handler_hook(self) -> None:
        """Nothing was changed."""

    async def do_execute(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Run a cell, then replace the streams that it has closed."""
        try:
            return await super().do_execute(*arguments, **options)
        finally:
            give_streams_back()

    def _publish_execute_input(self, *arguments: Any) -> None:
        """Send no echo: the examiner knows what it asked for."""

    def _publish_status(self, status: str, *arguments: Any) -> None:
        """The examiner waits for the kernel to be idle again, not for it to begin."""
        if status == "idle":
            super()._publish_status(status, *arguments)


class SubmissionKernelApp(IPKernelApp):
    """A kernel app that takes over listening sockets instead of making its own.

    So the folder with the socket files is never visible to the submission. What needs
    neither threads nor sockets is made before the fork, by ``prepare``.
    """

    kernel_class = Type(Kernel)
    listening: dict[int, int]  # port number -> file descriptor

    def prepare(self) -> None:
        """The first steps of a kernel app, and all that come after its sockets."""
        BaseIPythonApplication.initialize(self, [])
        self.init_pdb()
        self.kernel = self.kernel_class.instance(
            parent=self, log=self.log, profile_dir=self.profile_dir
        )
        self.init_path()
        self.init_shell()
        go_on_below_errors(self.kernel.shell)
        self.init_gui_pylab()
        self.init_extensions()
        self.init_code()

    def init_pdb(self) -> None:
        """Have ``set_trace`` not stop the run, like ``breakpoint``: nobody is there."""
        pdb.set_trace = debugger.set_trace = lambda *_, **__: None

    def initialize(self, argv: list[str] | None = None) -> None:
        """The remaining steps, which need sockets or threads."""
        self.init_sockets()
        self.log_connection_info()
        self.init_io()
        own_streams.update(stdout=sys.stdout, stderr=sys.stderr)
        self.init_signal()
        self.init_kernel()

    def _try_bind_socket(self, s: zmq.Socket, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.listening[port])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def parse_command_line(self, argv: list[str] | None = None) -> None:
        """Skip this: there is no command line, and building the parser is slow."""

    def _configure_logging(self) -> None:
        """Nobody reads the log."""

    def init_iopub(self, context: zmq.Context) -> None:
        """Start the thread that sends outputs."""
        socket = context.socket(zmq.XPUB)
        socket.linger = 1000
        socket.sndhwm = (
            0  # drop nothing: the end of a cell may follow a thousand displays
        )
        self.iopub_port = self._bind_socket(socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = _IOPubThread(socket, pipe=True, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_crash_handler(self) -> None:
        """Nobody reads the standard error of this process."""


def prepare_kernel() -> None:
    """Make as much of a kernel as can be made before the fork."""
    config = Config()
    config.HistoryManager.enabled = False
    config.IPKernelApp.log_level = 50
    config.IPKernelApp.ipython_dir = "/tmp"
    config.IPKernelApp.auto_create = True
    config.ProfileDir.location = "/tmp/profile"
    config.IPKernelApp.outstream_class = f"{__name__}.{Stream.__name__}"
    config.Kernel._execute_sleep = 0.0  # nothing here needs to be waited for
    SubmissionKernelApp.instance(config=config).prepare()


def run_kernel(key: str, channels: dict[str, int], answers: Sequence[int]) -> None:
    """Run the prepared kernel on listening unix sockets until it is told to shut down.

    Args:
        key: the session key of the connection.
        channels: file descriptor of the listening socket of each channel.
        answers: that of the connected socket for answers, if there is one.
    """
    for fd in answers:
        os.set_inheritable(fd, False)
        os.environ[CHANNEL] = str(fd)
        respond.channel = fd
    app = SubmissionKernelApp.instance()
    app.session.key = key.encode()
    app.transport = "ipc"
    app.ip = "/tmp/kernel"
    app.listening = {}
    for port, (channel, fd) in enumerate(channels.items(), start=1):
        os.set_inheritable(fd, False)
        setattr(app, f"{channel}_port", port)
        app.listening[port] = fd
    app.initialize()
    app.start()
