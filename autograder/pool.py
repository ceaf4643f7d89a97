"""Worker processes on this machine, and the one sandbox that they share."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver

from autograder import worker
from autograder.sandbox import Sandbox


class Pool:
    """Workers that examine submissions, for as many chapters as there are.

    Everything begins to warm up when it is made; each worker starts when it is needed.
    Use as a context manager.

    Args:
        jobs: how many submissions to examine at once; two for each processor if None,
            because worker and kernel wait for each other in turn.

    Raises:
        SandboxUnavailable: this machine cannot isolate submissions.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or 2 * (os.cpu_count() or 1)
        self._sandbox = Sandbox()
        # Workers are forks of a server, so that all of them share its imports.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["__main__", "torch", worker.__name__])
        forkserver.ensure_running()
        self._shared = tempfile.TemporaryDirectory(prefix="attention-")
        self.executor = self.workers(self.jobs)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.executor.shutdown(cancel_futures=True)
        self._sandbox.close()
        self._shared.cleanup()

    def workers(self, count: int) -> ProcessPoolExecutor:
        """Some workers of their own."""
        return ProcessPoolExecutor(
            count,
            self._context,
            initializer=worker.start_worker,
            initargs=(self._sandbox.address, self._shared.name),
        )

    def replace(self) -> None:
        """Have new workers, after one of them died."""
        self.executor.shutdown()
        self.executor = self.workers(self.jobs)
