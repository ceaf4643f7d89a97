"""The IPython kernel of a submission: its sockets are bound before it starts."""

from __future__ import annotations

import os
import pdb  # noqa: T100
import resource
import sys
from collections.abc import Callable, Iterator
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
from autograder.sandbox.confine import ONE_PROCESS
from autograder.stepwise import go_on_below_errors

_PIECE = 200_000  # characters of what was printed; the grader reads 1.5 MB at most
own_streams: dict[str, TextIO] = {}  # as they were before the first cell


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

    def showtraceback(self, *arguments: Any, **options: Any) -> None:
        """Show an error; where memory was short, in what was kept for that."""
        if isinstance(sys.exception(), MemoryError):
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        super().showtraceback(*arguments, **options)

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
    close_behind: Callable[[], None] | None = None

    def start(self) -> None:
        """Start; there are all sockets and threads now, and no code has run yet."""
        super().start()
        if self.close_behind is not None:
            self.close_behind()

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

    listening: dict[int, int]  # port number -> file descriptor

    def prepare(self) -> None:
        """The first steps of a kernel app, and all that come after its sockets."""
        BaseIPythonApplication.initialize(self, [])
        self.session.check_pid = False  # it is made before the fork: that is slow
        self.init_pdb()
        self.kernel = Kernel.instance(
            parent=self, log=self.log, profile_dir=self.profile_dir
        )
        self.init_path()
        self.init_shell()
        self.forbid_programs()
        go_on_below_errors(self.kernel.shell)
        self.log.disabled = True  # nobody reads it
        self.init_gui_pylab()
        self.init_extensions()
        self.init_code()

    def forbid_programs(self) -> None:
        """Have ``!``, ``%%bash`` and its kin say why they start nothing."""

        def refuse(*_: str) -> None:
            raise PermissionError(ONE_PROCESS)

        self.kernel.shell.system = refuse
        magics = self.kernel.shell.magics_manager
        scripts = ("script", *magics.registry["ScriptMagics"].script_magics)
        magics.magics["cell"].update(dict.fromkeys(scripts, refuse))

    def init_pdb(self) -> None:
        """Have ``set_trace`` not stop the run, like ``breakpoint``: nobody is there."""
        pdb.set_trace = debugger.set_trace = lambda *_, **__: None

    def initialize(self, argv: list[str] | None = None) -> None:
        """The remaining steps, which need sockets or threads."""
        self.init_sockets()
        self.init_io()
        own_streams.update(stdout=sys.stdout, stderr=sys.stderr)
        self.init_signal()
        self.init_kernel()

    def init_sockets(self) -> None:
        """Make a channel for requests and one for outputs: no more are used."""
        self.context = zmq.Context()
        self.shell_socket = self.context.socket(zmq.ROUTER)
        self._bind_socket(self.shell_socket, self.shell_port)
        self.init_iopub(self.context)

    def init_kernel(self) -> None:
        """Connect the kernel. Without threads of its own it reads requests itself."""
        kernel = self.kernel
        kernel.session = self.session
        kernel.shell_stream = ZMQStream(self.shell_socket)
        kernel.iopub_thread, kernel.iopub_socket = self.iopub_thread, self.iopub_socket
        for publisher in (kernel.shell.displayhook, kernel.shell.display_pub):
            publisher.session, publisher.pub_socket = self.session, self.iopub_socket
        self.displayhook.get_execution_count = lambda: kernel.execution_count

    def _try_bind_socket(self, s: zmq.Socket, port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.listening[port])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def init_iopub(self, context: zmq.Context) -> None:
        """Start the thread that sends outputs."""
        socket = context.socket(zmq.XPUB)
        socket.linger = 1000
        socket.sndhwm = (
            0  # drop nothing: the end of a cell may follow a thousand displays
        )
        self.iopub_port = self._bind_socket(socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = IOPubThread(socket, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_crash_handler(self) -> None:
        """Nobody reads the standard error of this process."""


def prepare_kernel() -> None:
    """Make as much of a kernel as can be made before the fork."""
    config = Config()
    config.HistoryManager.enabled = False
    config.IPKernelApp.ipython_dir = "/tmp"
    config.IPKernelApp.auto_create = True
    config.ProfileDir.location = "/tmp/profile"
    config.IPKernelApp.outstream_class = f"{__name__}.{Stream.__name__}"
    config.Kernel._execute_sleep = 0.0  # nothing here needs to be waited for
    SubmissionKernelApp.instance(config=config).prepare()


def run_kernel(
    key: str,
    channels: dict[str, int],
    answers: int,
    close_behind: Callable[[], None],
) -> None:
    """Run the prepared kernel on listening unix sockets until it is told to shut down.

    Args:
        key: the session key of the connection.
        channels: file descriptor of the listening socket of each channel.
        answers: that of the connected socket for answers.
        close_behind: called when everything is there, before any code runs.
    """
    os.set_inheritable(answers, False)
    os.environ[CHANNEL] = str(answers)
    respond.channel = answers
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
    app.kernel.close_behind = close_behind
    app.start()
