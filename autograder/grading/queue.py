"""Hand submissions to workers, and examine suspects again, alone.

What a worker returns is recorded. Whatever it raises, and its own death, is no proof
against the submission: that one is examined again when the others are done, and if the
same happens once more, it is left as it is and named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, wait
from dataclasses import replace
from typing import NamedTuple

from autograder.errors import AutograderError
from autograder.grading.chapter import ChapterSubmissions
from autograder.grading.worker import Workplace, examine_submission
from autograder.grading.workers import ProcessEnded
from autograder.interrupts import held_back
from autograder.submissions.submitted import Submission

LONGEST_REASON = 300  # characters
TOGETHER = 0.5  # seconds of outcomes are written at once: each time takes a while


class Entry(NamedTuple):
    """A submission that is to be examined: its chapter, and the name of a student."""

    chapter: ChapterSubmissions
    name: str


Suspects = list[tuple[Entry, Exception]]  # begun, and without an outcome; with why


def examined(
    waiting: Iterable[Entry], executor: Executor, ahead: int, workplace: Workplace
) -> Iterator[str]:
    """Examine submissions, and write what comes out.

    When the executor is lost, what it has not done is given up.

    Args:
        waiting: the submissions.
        executor: of the workers.
        ahead: how many submissions they get at a time.
        workplace: what the workers share.

    Yields:
        The names of those that are done with.
    """
    suspects: Suspects = []
    yield from _examined(deque(waiting), executor, ahead, workplace, suspects)
    if not any(isinstance(error, CancelledError) for _, error in suspects):
        again, suspects = suspects, []
        alone = replace(workplace, alone=True)
        for entry, _ in again:
            yield from _examined(deque([entry]), executor, 1, alone, suspects)
    for entry, error in suspects:
        entry.chapter.outcome.unexamined[entry.name] = _reason(error)
        yield entry.name


def _examined(
    work: deque[Entry],
    executor: Executor,
    ahead: int,
    workplace: Workplace,
    suspects: Suspects,
) -> Iterator[str]:
    """Examine each once; what has no outcome is added to ``suspects``."""
    running: dict[Future, tuple[Entry, Submission]] = {}
    done: dict[Future, tuple[Entry, Submission]] = {}  # and not yet written
    lost: CancelledError | None = None
    try:
        while True:
            while work and lost is None and len(running) < ahead:
                entry = work.popleft()
                try:
                    submission = entry.chapter.read(entry.name)
                    job = entry.chapter.job
                    future = executor.submit(
                        examine_submission, job, submission, workplace
                    )
                    running[future] = entry, submission
                except Exception as error:
                    suspects.append((entry, error))
            if not running:
                suspects += [(entry, lost) for entry in work if lost]
                return
            for future in wait(running, TOGETHER).done:
                entry, submission = running.pop(future)
                error = _error_of(future)
                if error is None:
                    done[future] = entry, submission
                    continue
                lost = error if isinstance(error, CancelledError) else lost
                suspects.append((entry, error))
            with held_back():
                _write(done)
                names = [entry.name for entry, _ in done.values()]
                done = {}
            yield from names
    except KeyboardInterrupt:  # what is finished is not lost
        done |= {f: w for f, w in running.items() if f.done() and not _error_of(f)}
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
