"""Worker processes on this machine, and the one sandbox that they share."""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver

from autograder.grading import worker
from autograder.processors import processors
from autograder.sandbox.connection import Sandbox


class Pool:
    """Workers that examine submissions, for as many chapters as there are.

    Everything begins to warm up when it is made; each worker starts when it is needed.
    Use as a context manager.

    Args:
        jobs: how many submissions to examine at once; if None, two for each processor
            that this process may use, because worker and kernel wait for each other.

    Raises:
        SandboxUnavailable: this machine cannot isolate submissions.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or 2 * processors()
        self._others = set(multiprocessing.active_children())
        self._sandbox = Sandbox()
        # Workers are forks of a server, so that all of them share its imports.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["__main__", "torch", worker.__name__])
        forkserver.ensure_running()
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.workplace = worker.Workplace(self._sandbox.address, self._folder.name)
        self.executor = self._new_executor(self.jobs)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            self._kill_workers()
        self.executor.shutdown(cancel_futures=True)
        self._sandbox.close()
        self._folder.cleanup()

    @contextlib.contextmanager
    def workers(self, count: int) -> Iterator[ProcessPoolExecutor]:
        """Some workers of their own, for a while."""
        executor = self._new_executor(count)
        try:
            yield executor
        except BaseException:
            self._kill_workers()
            raise
        finally:
            executor.shutdown(cancel_futures=True)

    def replace(self) -> None:
        """Have new workers, after one of them died."""
        self.executor.shutdown()
        self.executor = self._new_executor(self.jobs)

    def _new_executor(self, count: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            count,
            self._context,
            initializer=worker.start_worker,
            initargs=(self._folder.name,),
        )

    def _kill_workers(self) -> None:
        """Kill the workers in mid-task: nobody needs their results any more."""
        for process in set(multiprocessing.active_children()) - self._others:
            process.kill()
