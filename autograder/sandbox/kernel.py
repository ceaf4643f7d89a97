"""Runs in the sandbox: IPython for the notebook of a submission, at one socket.

Requests come in, one at a time, and frames go out: a header, and what came of the cell.
Jupyter's own kernel would do that with ZeroMQ and three threads. They take most of the
time of a short notebook, and messages whose parts a hostile kernel can multiply.

Nothing here is trusted: a submission may replace all of it, and write to the socket
what it likes.
"""

from __future__ import annotations

import base64
import json
import os
import pdb
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from io import TextIOBase
from time import monotonic
from typing import Any, TextIO

from IPython.core import debugger, page
from IPython.core.async_helpers import get_asyncio_loop
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import activate_matplotlib
from matplotlib import pyplot
from matplotlib_inline.backend_inline import configure_inline_support
from traitlets import Type
from traitlets.config import Config

from autograder import stepwise
from autograder.respond import respond
from autograder.sandbox.confine import ONE_PROCESS
from autograder.sandbox.frames import (
    ANSWER,
    BETWEEN,
    CLEAR,
    DISPLAY,
    DONE,
    ERROR,
    HEADER,
    REQUEST,
    STDERR,
    STDOUT,
    WAIT,
)

TOGETHER = 65536  # bytes; waking the examiner costs more than sending a short frame
LATE = 1  # seconds for which what is printed may wait
INLINE = "module://matplotlib_inline.backend_inline"  # where figures are drawn
PIECE = 200_000  # characters of text in a frame
PICTURE = 3 * 2**19  # of a picture; a larger one is not sent


class Wire:
    """This end of the socket.

    Frames wait for the end of the request, for a second, or until there are many:
    whatever ends the process takes with it what it printed last.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._reading = sock.makefile("rb")
        self._sending = threading.RLock()  # threads of a submission may print as well
        self._waiting = bytearray()
        self._text: tuple[bytes, list[str]] = (STDOUT, [])
        self._sent = monotonic()
        self.number = 0

    def requests(self) -> Iterator[tuple[str, list[Any]]]:
        """Read requests until the socket is closed: what to do, and its arguments."""
        while length := self._reading.read(REQUEST.size):
            request = self._reading.read(*REQUEST.unpack(length))
            self.number, what, *arguments = json.loads(request)
            yield what, arguments

    def send(self, kind: bytes, data: bytes = b"") -> None:
        """Send a frame, after all that was printed before."""
        with self._sending:
            self._add_text()
            self._add(kind, data)
            self._flush(0 if kind == DONE else TOGETHER)

    def print(self, kind: bytes, text: str) -> None:
        """Send text, together with what follows on the same stream."""
        with self._sending:
            if kind != self._text[0] or len(self._text[1]) > 1000:
                self._add_text()
                self._text = kind, []
            self._text[1].append(text)
            late = monotonic() > self._sent + LATE
            if late or len(text) > PIECE:
                self._add_text()
            self._flush(0 if late else TOGETHER)

    def _flush(self, most: int) -> None:
        """Send what waits, if that is more than so many bytes."""
        if len(self._waiting) > most:
            waiting, self._waiting = self._waiting, bytearray()
            self._sent = monotonic()
            self._socket.sendall(waiting)

    def _add_text(self) -> None:
        kind, texts = self._text
        self._text = kind, []
        text = "".join(texts)
        for start in range(0, len(text), PIECE):
            self._add(kind, _bytes(text[start : start + PIECE]))

    def _add(self, kind: bytes, data: bytes) -> None:
        self._waiting += HEADER.pack(self.number, kind, len(data)) + data


wire: Wire | None = None  # of this process, once it is a kernel


def _bytes(*texts: str) -> bytes:
    """Texts in one frame."""
    *first, last = texts
    first = [text.replace(BETWEEN, "") for text in first]
    return BETWEEN.join([*first, last]).encode("utf-8", "replace")


def _display(data: Mapping[str, Any]) -> None:
    """Send what of a display is kept: text, and a picture."""
    text, picture = data.get("text/plain") or "", data.get("image/png") or ""
    if isinstance(picture, bytes):
        picture = base64.b64encode(picture).decode()
    if text or picture:
        picture = str(picture) if len(picture) <= PICTURE else ""
        wire.send(DISPLAY, _bytes(picture, str(text)[:PIECE]))


class _Stream(TextIOBase):
    """Standard output or error of a submission; closing it leaves it open."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, kind: bytes) -> None:
        self._kind = kind

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        wire.print(self._kind, str(text))
        return len(text)

    def close(self) -> None:
        """Cells below are still to print."""


class _Publisher(DisplayPublisher):
    def publish(self, data: Mapping[str, Any], *_: Any, **options: Any) -> None:
        """Send what ``display`` is called with."""
        if not options.get("update"):
            _display(data)

    def clear_output(self, wait: bool = False) -> None:
        """Have the outputs of the cell dropped, now or before the next one."""
        wire.send(CLEAR, WAIT.encode() if wait else b"")


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        """There is none in a notebook."""

    def write_format_data(self, format_dict: Mapping[str, Any], *_: Any) -> None:
        """Send the value of the last expression."""
        _display(format_dict)

    def finish_displayhook(self) -> None:
        """Nothing is left to be written."""
        self._is_active = False


class _Shell(InteractiveShell):
    displayhook_class, display_pub_class = Type(_Hook), Type(_Publisher)

    _was_shown = False

    def showtraceback(self, *arguments: Any, **options: Any) -> None:
        """Show an error; where memory was short, in what was kept for that.

        IPython cannot format it where there are no open files left, for example.
        """
        error = sys.exception()
        if isinstance(error, MemoryError):
            _, most = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        self._was_shown = False
        super().showtraceback(*arguments, **options)
        if error is not None and not self._was_shown:
            self._showtraceback(type(error), error, [])

    def _showtraceback(
        self, etype: type[BaseException], evalue: object, stb: list[str]
    ) -> None:
        try:
            said = str(evalue)
        except Exception:  # an exception of their own may fail to print
            said = ""
        lines = [stb] if isinstance(stb, str) else stb
        texts = (etype.__name__, said, "\n".join(lines))
        wire.send(ERROR, _bytes(*(text[:PIECE] for text in texts)))
        self._was_shown = True

    def show_usage_error(self, exc: BaseException) -> None:
        """Show that a magic is unknown, or was called in a wrong way."""
        self._showtraceback(type(exc), exc, [f"UsageError: {exc}"])

    def ask_exit(self) -> None:
        """``quit()`` ends nothing: the cells below are still to be graded."""

    def enable_gui(self, gui: str | None = None) -> None:
        """There are no windows."""


def prepare_kernel() -> None:
    """Make as much of a kernel as can be made before the fork."""
    config = Config()
    config.HistoryManager.enabled = False
    pdb.set_trace = debugger.set_trace = lambda *_, **__: None  # nobody is there
    shell = _Shell.instance(config=config, ipython_dir="/tmp")
    activate_matplotlib(INLINE)  # its backend was imported without a shell
    configure_inline_support(shell, INLINE)
    shell.set_hook("show_in_pager", page.as_hook(page.display_page), 99)
    stepwise.go_on_below_errors(shell)
    _forbid_programs(shell)
    sys.path.append("")  # files of Python that were handed in with the notebook


def _forbid_programs(shell: InteractiveShell) -> None:
    """Have ``!``, ``%%bash`` and its kin say why they start nothing."""

    def refuse(*_: str) -> None:
        raise PermissionError(ONE_PROCESS)

    shell.system = refuse
    magics = shell.magics_manager
    scripts = ("script", *magics.registry["ScriptMagics"].script_magics)
    magics.magics["cell"].update(dict.fromkeys(scripts, refuse))


def run_kernel(sock: socket.socket, close_behind: Callable[[], None]) -> None:
    """Do what is asked for through a socket, until it is closed.

    Args:
        sock: connected to the grader.
        close_behind: called when everything is there, before any code runs.
    """
    global wire
    os.set_inheritable(sock.fileno(), False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wire = Wire(sock)
    streams = {"stdout": _Stream(STDOUT), "stderr": _Stream(STDERR)}
    vars(sys).update(streams)
    get_asyncio_loop()  # for cells that await something: later, it gets no sockets
    close_behind()
    for what, arguments in wire.requests():
        try:
            _DO[what](*arguments)
        except BaseException:  # whatever a submission has put in the place of our code
            InteractiveShell.instance().showtraceback()
        finally:
            _give_back(streams)
            wire.send(DONE)


def _give_back(streams: Mapping[str, TextIO]) -> None:
    """Replace a stream that a cell has removed or closed: IPython itself uses them."""
    for name, stream in streams.items():
        try:
            getattr(sys, name).flush()
        except Exception:
            setattr(sys, name, stream)


def _run(source: str) -> None:
    """Run a cell."""
    InteractiveShell.instance().run_cell(source, store_history=True)


def _ask(topic: str, name: str, seeds: list[int]) -> None:
    """Answer the cases of an exercise."""
    respond(topic, name, seeds, lambda data: wire.send(ANSWER, data))
    pyplot.close("all")  # the next cell would show what an answer has drawn


_DO: dict[str, Callable[..., None]] = {
    "begin": stepwise.begin,
    "define": stepwise.define,
    "run": _run,
    "ask": _ask,
}
