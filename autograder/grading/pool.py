"""Worker processes on this machine, and the one sandbox that they share."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

from autograder.grading.worker import Workplace
from autograder.grading.workers import Workers, warm_up
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
        self._sandbox = Sandbox()
        warm_up()
        self._folder = tempfile.TemporaryDirectory(prefix="attention-")
        self.workplace = Workplace(self._sandbox.address, self._folder.name)
        self.executor = Workers(self.jobs, self._folder.name)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            self.executor.kill()
        self.executor.shutdown(cancel_futures=True)
        self._sandbox.close()
        self._folder.cleanup()

    @contextlib.contextmanager
    def workers(self, count: int) -> Iterator[Workers]:
        """Some workers of their own, for a while."""
        executor = Workers(count, self._folder.name)
        try:
            yield executor
        except BaseException:
            executor.kill()
            raise
        finally:
            executor.shutdown(cancel_futures=True)
