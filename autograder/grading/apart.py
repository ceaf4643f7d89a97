"""Call functions in a process of their own, whose main thread runs them.

For workers of a cluster: their tasks are threads, and their processes may not have any
of ``multiprocessing``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from autograder.grading.worker import start_worker
from autograder.grading.workers import call, serve

END_SECONDS = 10

_of_this_thread = threading.local()


def call_apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, called in the process that belongs to this thread.

    Raises:
        ProcessEnded: that process is gone; the next call starts another.
        Exception: what the function raised.
    """
    if not hasattr(_of_this_thread, "process"):
        _of_this_thread.process = _Process()
    try:
        return call(_of_this_thread.process.connection, function, *arguments)
    finally:
        if _of_this_thread.process.connection.closed:
            del _of_this_thread.process


class _Process:
    """A process that makes one call after the other, and ends when nobody asks."""

    def __init__(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.connection, theirs = Pipe()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), folder.name],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        weakref.finalize(self, _end, self.connection, process, folder)


def _end(
    connection: Connection,
    process: subprocess.Popen,
    folder: tempfile.TemporaryDirectory,
) -> None:
    """Let a process end, and see to it that it does."""
    connection.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    folder.cleanup()


if __name__ == "__main__":
    start_worker(sys.argv[2])
    serve(Connection(int(sys.argv[1])))
