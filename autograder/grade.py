"""Grade many submissions of one chapter into the gradebook of a course.

Workers examine, one writer records. A submission's report is the last thing to be
written, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.course import Settings, master_text, settings_of
from autograder.gradebook import MarkWriter
from autograder.pool import Pool
from autograder.sandbox import Limits
from autograder.submissions import Submission, read, students
from autograder.worker import Job, examine_submission, refuse_submission

AHEAD = 4  # submissions held ready for each worker
AHEAD_ON_A_CLUSTER = 200


@dataclass
class Outcome:
    """What a grading run did.

    Attributes:
        graded: reports by student, of submissions examined in this run.
        unchanged: students whose report was there already.
        refused: names that were not graded at all, with the reason.
        changes: lines about scores that differ from what was in the gradebook.
    """

    graded: dict[str, dict[str, Any]] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)


def grade(
    chapter: str,
    course: Path,
    *,
    jobs: int | None = None,
    force: bool = False,
    limits: Limits | None = None,
    executor: Executor | None = None,
    pool: Pool | None = None,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> Outcome:
    """Examine every submission of a chapter and record the marks.

    Args:
        chapter: name of the chapter.
        course: folder of an nbgrader course, made by ``course.make_course``.
        jobs: how many to examine at once, if there is no pool; see ``Pool``.
        force: examine again what has a report already.
        limits: what a submission may use; as the course says if None.
        executor: where to examine, in place of processes on this machine.
        pool: workers on this machine, if there are some already; they stay.
        progress: wraps the stream of finished submissions; gets it and its length.

    Raises:
        CourseError: the folder is no course, or has no such chapter.
        UnknownExercise: there is no such chapter at all.
        NothingSubmitted: the course has no submissions.
        GradebookError: the gradebook cannot be used.
        SandboxUnavailable: this machine cannot isolate submissions.
    """
    course = course.resolve()
    settings = settings_of(course)
    master = master_text(course, chapter)
    secret = secrets.token_bytes()
    job = Job(chapter, master, secret, limits or settings.limits)
    names, refused = students(course / "submitted")
    outcome = Outcome(refused=refused)
    waiting = []
    for name in names:
        submission = read(course / "submitted", name, chapter)
        if not force and _is_finished(course, job, submission):
            outcome.unchanged.append(name)
        else:
            waiting.append(name)
    run = _Run(course, settings, job, outcome)
    with MarkWriter(settings.gradebook, settings.course_id, chapter) as writer:
        run.writer = writer
        with contextlib.ExitStack() as stack:
            names = iter(waiting)
            if executor is not None:
                finished = run.on(executor, names, AHEAD_ON_A_CLUSTER)
            elif waiting:
                pool = pool or stack.enter_context(Pool(jobs))
                finished = run.on_this_machine(names, pool)
            else:
                finished = names
            for _ in progress(finished, len(waiting)):
                pass
    return outcome


@dataclass
class _Run:
    """One grading run."""

    course: Path
    settings: Settings
    job: Job
    outcome: Outcome
    writer: MarkWriter | None = None
    suspects: list[str] = field(default_factory=list)

    def on_this_machine(self, names: Iterator[str], pool: Pool) -> Iterator[str]:
        """Examine with worker processes.

        When a worker dies, what the workers were at is examined again one by one, so
        that only the submission that kills a worker is lost. Then new workers go on.
        """
        while True:
            yield from self.on(pool.executor, names, AHEAD * pool.jobs)
            if not self.suspects:
                return
            pool.replace()
            suspects, self.suspects = self.suspects, []
            for name in suspects:
                with pool.workers(1) as alone:
                    yield from self.on(alone, iter([name]), 1)
                if self.suspects:
                    self.suspects.clear()
                    reason = "it ended the process that examined it"
                    self._record(self._read(name), *refuse_submission(self.job, reason))
                    yield name

    def on(self, executor: Executor, names: Iterator[str], ahead: int) -> Iterator[str]:
        """Examine with an executor, at most ``ahead`` submissions at a time.

        When the executor breaks, ``suspects`` holds the names that it took with it,
        and ``names`` those that were not begun.
        """
        running: dict[Future, Submission] = {}
        try:
            while True:
                while len(running) < ahead and not self.suspects:
                    name = next(names, None)
                    if name is None:
                        break
                    submission = self._read(name)
                    try:
                        future = executor.submit(
                            examine_submission, self.job, submission
                        )
                        running[future] = submission
                    except BrokenExecutor:
                        self.suspects.append(name)
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    submission = running.pop(future)
                    try:
                        report, notebook = _result(future, self.job)
                    except BrokenExecutor:
                        self.suspects.append(submission.student)
                        continue
                    self._record(submission, report, notebook)
                    yield submission.student
        finally:
            for future in running:
                future.cancel()

    def _read(self, name: str) -> Submission:
        return read(self.course / "submitted", name, self.job.chapter)

    def _record(self, submission: Submission, report: dict, notebook: str) -> None:
        """Write one outcome: notebook, gradebook, and last of all the report."""
        student, chapter = submission.student, self.job.chapter
        for name, before in self.writer.scores(student).items():
            now = next((e for e in report["exercises"] if e["name"] == name), None)
            if now and now["score"] != before:
                line = f"{student}: {name} {before:g} -> {now['score']:g}"
                self.outcome.changes.append(line)
        if submission.note:
            report["notes"].append(submission.note)
        folder = self.course / "autograded" / student / chapter
        _write_atomically(folder / f"{chapter}.ipynb", notebook)
        if submission.timestamp:
            _write_atomically(folder / "timestamp.txt", submission.timestamp)
        if not self.writer.write(student, report, submission.timestamp):
            report["notes"].append("the time stamp could not be read")
        record = {
            **report,
            "student": student,
            "submission": submission.digest,
            "chapter_notebook": self.job.fingerprint,
        }
        path = report_path(self.course, chapter, student)
        _write_atomically(path, json.dumps(record, indent=1))
        self.outcome.graded[student] = report


def _result(future: Future, job: Job) -> tuple[dict, str]:
    """The outcome of a worker; if the worker failed, zero with the reason."""
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as error:
        reason = f"could not be examined: {type(error).__name__}: {error}"
        return refuse_submission(job, " ".join(reason.split())[:300])


def report_path(course: Path, chapter: str, student: str) -> Path:
    """Where the report on a submission is kept."""
    return course / "reports" / chapter / f"{student}.json"


def _is_finished(course: Path, job: Job, submission: Submission) -> bool:
    """Whether an earlier run recorded this very submission to this very chapter."""
    try:
        path = report_path(course, job.chapter, submission.student)
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (
        report.get("submission") == submission.digest
        and report.get("chapter_notebook") == job.fingerprint
    )


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
