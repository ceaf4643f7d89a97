"""Worker processes of this machine, and the one sandbox that they share.

Calls go to a process one after the other, through a connection of which nobody but the
two holds an end. So whoever waits for an outcome learns at once when the other process
is killed, even in the middle of a message.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from autograder.errors import GraderFault
from autograder.grading.worker import Workplace, start_worker
from autograder.interrupts import blocked
from autograder.processors import processors
from autograder.sandbox.connection import Sandbox

END_SECONDS = 10
AHEAD = 4  # submissions held ready for each worker

# Workers are forks of a server, so that all of them share its imports.
_context = multiprocessing.get_context("forkserver")


def warm_up() -> None:
    """Let the fork server import what workers need, while this process goes on."""
    _context.set_forkserver_preload(["__main__", "torch", __name__])
    resource_tracker.ensure_running()  # not below: when it starts, it unblocks them
    with blocked():  # the server would be interrupted in the middle of an import
        forkserver.ensure_running()


class Workers(Executor):
    """Processes that examine; each starts when it is needed.

    Each has a connection of its own, on which a thread of this process waits for it.
    So the death of one costs the others nothing. (In a ``ProcessPoolExecutor`` all of
    them write into one pipe. When one is killed in the middle of a message, nobody can
    tell, and the reader waits for the rest of it for ever.)

    Args:
        count: how many there are at most.
        folder: for their temporary files.
    """

    def __init__(self, count: int, folder: str) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(count)
        self._changing = threading.Lock()
        self._all: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._killed = False

    def submit(self, function: Callable, /, *arguments: Any) -> Future:
        """Have a worker call a function; its death is a ``ProcessEnded``."""
        with self._changing:
            if not self._all:
                # The first has to wait for the imports of the fork server: here, where
                # an interrupt ends that, and not in a thread.
                self._idle.append(self._start())
        return self._threads.submit(self._call, function, *arguments)

    def kill(self) -> None:
        """End all of them in mid-task: nobody needs their results any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._changing:
            self._killed = True
            for worker in self._all:
                worker.process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let all of them end, when they have done what was submitted."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        with self._changing:
            for worker in self._idle:
                worker.connection.close()
            for worker in self._idle:
                worker.wait_for_end()
            self._all.difference_update(self._idle)
            self._idle.clear()

    def _call(self, function: Callable, *arguments: Any) -> Any:
        with self._changing:
            worker = self._idle.pop() if self._idle else self._start()
        try:
            return worker.call(function, *arguments)
        finally:
            if worker.connection.closed:
                worker.wait_for_end()
            with self._changing:
                if worker.connection.closed:
                    self._all.remove(worker)
                else:
                    self._idle.append(worker)

    def _start(self) -> _Worker:
        if self._killed:
            raise ProcessEnded
        worker = _Worker(self._folder)
        self._all.add(worker)
        return worker


class _Worker:
    """One process, and this end of the connection to it."""

    def __init__(self, folder: str) -> None:
        self.connection, theirs = _context.Pipe()
        with theirs:  # only the process keeps it, so that it is closed when that ends
            self.process = _context.Process(
                target=_work, args=(theirs, folder), daemon=True
            )
            self.process.start()

    def call(self, function: Callable, *arguments: Any) -> Any:
        """What a function returns in the process.

        Raises:
            ProcessEnded: it is gone; the connection is closed.
            Exception: what the function raised.
        """
        try:
            self.connection.send((function, *arguments))
            returned, outcome = self.connection.recv()
        except (EOFError, OSError):
            self.connection.close()
            raise ProcessEnded from None
        if not returned:
            raise outcome
        return outcome

    def wait_for_end(self) -> None:
        """Wait for the process, whose connection is closed; see to it that it ends."""
        self.process.join(END_SECONDS)
        self.process.kill()
        self.process.join()


def _work(connection: Connection, folder: str) -> None:
    """Make the calls that the other end asks for, until it is gone."""
    start_worker(folder)
    with contextlib.suppress(EOFError, OSError):
        while True:
            function, *arguments = connection.recv()
            try:
                outcome = True, function(*arguments)
            except Exception as error:
                outcome = False, error
            connection.send(outcome)


class Pool:
    """Workers that examine submissions, for as many chapters as there are.

    Everything begins to warm up when it is made; each worker starts when it is needed.
    Use as a context manager.

    Args:
        jobs: how many submissions to examine at once; if None, two for each processor
            that this process may use, because worker and kernel wait for each other.

    Attributes:
        executor: the workers.
        ahead: how many submissions they get at a time, so that none has to wait.
        workplace: what they share.

    Raises:
        SandboxUnavailable: this machine cannot isolate submissions.
    """

    def __init__(self, jobs: int | None = None) -> None:
        jobs = jobs or 2 * processors()
        self._sandbox = Sandbox()
        warm_up()
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.workplace = Workplace(self._sandbox.address)
        self.executor, self.ahead = Workers(jobs, self._folder.name), AHEAD * jobs

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            self.executor.kill()
        self.executor.shutdown(cancel_futures=True)
        self._sandbox.close()
        self._folder.cleanup()


class ProcessEnded(GraderFault):
    """The process ended, or was ended, before it had sent an outcome."""

    def __init__(self) -> None:
        super().__init__("the process that examined it was ended")

    def __reduce__(self) -> tuple:
        return type(self), ()
