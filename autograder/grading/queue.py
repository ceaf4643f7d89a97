"""Hand submissions to workers, and examine suspects again, alone.

What a worker returns is recorded. Whatever it raises, and its own death, is no proof
against the submission: that one is examined again when the others are done, and if the
same happens once more, it is left as it is and named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field, replace

from autograder.errors import AutograderError
from autograder.grading.chapter import ChapterSubmissions
from autograder.grading.worker import Workplace, examine_submission
from autograder.grading.workers import Pool, ProcessEnded
from autograder.interrupts import held_back
from autograder.submissions.submitted import Submission

AHEAD = 4  # submissions held ready for each worker
AHEAD_ON_A_CLUSTER = 200
LONGEST_REASON = 300  # characters


@dataclass(frozen=True)
class Entry:
    """A submission that is to be examined: its chapter, and the name of a student."""

    chapter: ChapterSubmissions
    name: str


@dataclass
class Queue:
    """What waits to be examined, and what has to be examined again.

    Attributes:
        waiting: what was not begun.
        suspects: what was begun and has no outcome, with the reason.
        workplace: what the workers share.
    """

    waiting: deque[Entry]
    suspects: list[tuple[Entry, Exception]] = field(default_factory=list)
    workplace: Workplace = Workplace()

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Queue:
        """A queue of these."""
        return cls(deque(entries))

    def on_this_machine(self, pool: Pool) -> Iterator[str]:
        """Examine with worker processes; the names of those that are done with."""
        self.workplace = pool.workplace
        yield from self._on(pool.executor, self.waiting, AHEAD * pool.jobs)
        for entry in self._taken_suspects():
            with pool.workers(1) as alone:
                yield from self._alone(alone, entry)
            yield from self._give_up()

    def on_a_cluster(self, executor: Executor) -> Iterator[str]:
        """Examine on the machines of others.

        When the executor is lost, what it has not done is given up.
        """
        yield from self._on(executor, self.waiting, AHEAD_ON_A_CLUSTER)
        lost = next(
            (e for _, e in self.suspects if isinstance(e, CancelledError)), None
        )
        if lost is not None:
            self.suspects += [(entry, lost) for entry in self.waiting]
            self.waiting.clear()
            yield from self._give_up()
            return
        for entry in self._taken_suspects():
            yield from self._alone(executor, entry)
            yield from self._give_up()

    def _taken_suspects(self) -> list[Entry]:
        taken, self.suspects = [entry for entry, _ in self.suspects], []
        return taken

    def _alone(self, executor: Executor, entry: Entry) -> Iterator[str]:
        """Examine one submission by itself; if that fails, it is a suspect again."""
        self.suspects = []
        workplace, self.workplace = self.workplace, replace(self.workplace, alone=True)
        try:
            yield from self._on(executor, deque([entry]), 1)
        finally:
            self.workplace = workplace

    def _give_up(self) -> Iterator[str]:
        """Say of the suspects that they have no outcome, and why."""
        for entry, error in self.suspects:
            entry.chapter.outcome.unexamined[entry.name] = _reason(error)
            yield entry.name
        self.suspects = []

    def _on(self, executor: Executor, work: deque[Entry], ahead: int) -> Iterator[str]:
        """Examine with an executor, at most ``ahead`` submissions at a time.

        Returns when all are done, or the executor is lost; then ``work`` holds what
        was not begun. What has no outcome is added to ``suspects``.
        """
        running: dict[Future, tuple[Entry, Submission]] = {}
        lost = False
        try:
            while True:
                while work and not lost and len(running) < ahead:
                    entry = work.popleft()
                    try:
                        submission = entry.chapter.read(entry.name)
                        future = executor.submit(
                            examine_submission,
                            entry.chapter.job,
                            submission,
                            self.workplace,
                        )
                        running[future] = entry, submission
                    except Exception as error:
                        self.suspects.append((entry, error))
                if not running:
                    return
                done = {}
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    entry, submission = running.pop(future)
                    error = _error_of(future)
                    if error is None:
                        done[future] = entry, submission
                        continue
                    lost = lost or isinstance(error, CancelledError)
                    self.suspects.append((entry, error))
                with held_back():
                    _write(done)
                yield from (entry.name for entry, _ in done.values())
        except KeyboardInterrupt:  # what is finished is not lost
            done = {f: w for f, w in running.items() if f.done() and not _error_of(f)}
            with held_back():
                _write(done)
            raise
        finally:
            for future in running:
                future.cancel()


def _write(done: dict[Future, tuple[Entry, Submission]]) -> None:
    """Write what has an outcome, chapter by chapter."""
    chapters = {id(entry.chapter): entry.chapter for entry, _ in done.values()}
    for chapter in chapters.values():
        chapter.write(
            [
                (submission, *future.result())
                for future, (entry, submission) in done.items()
                if entry.chapter is chapter
            ]
        )


def _error_of(future: Future) -> Exception | None:
    """What a worker that is done raised, or what became of it."""
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _reason(error: Exception) -> str:
    """Why a submission has no outcome, in one line."""
    if isinstance(error, CancelledError):
        return "the cluster was lost"
    if isinstance(error, ProcessEnded):
        return "the process that examined it was ended, twice"
    said = " ".join(str(error).split())
    if not isinstance(error, AutograderError):
        said = f"{type(error).__name__}: {said}"
    return said[:LONGEST_REASON]
