"""Grade many submissions into the gradebook of a course.

Workers examine, one writer records. A submission's report is the last thing to be
written, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
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

import nbformat

from autograder.course import CourseError, master_text, settings_of
from autograder.gradebook import ChapterMarks, longest_name
from autograder.limits import Limits
from autograder.pool import Pool
from autograder.release import points_in
from autograder.sandbox import SandboxUnavailable
from autograder.submissions import Submission, read, students
from autograder.worker import Job, examine_submission, refuse_submission

AHEAD = 4  # submissions held ready for each worker
AHEAD_ON_A_CLUSTER = 200
PAUSES = (0, 2, 10)  # seconds, before a submission is examined alone, and again


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


def grade(chapter: str, course: Path, **options: Any) -> Outcome:
    """Examine every submission of a chapter and record the marks.

    For the options and errors, see ``grade_chapters``.
    """
    return grade_chapters([chapter], course, **options)[chapter]


def grade_chapters(
    chapters: Iterable[str],
    course: Path,
    *,
    jobs: int | None = None,
    force: bool = False,
    limits: Limits | None = None,
    executor: Executor | None = None,
    pool: Pool | None = None,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> dict[str, Outcome]:
    """Examine every submission of some chapters and record the marks.

    Args:
        chapters: their names.
        course: folder of an nbgrader course, made by ``course.make_course``.
        jobs: how many to examine at once, if there is no pool; see ``Pool``.
        force: examine again what has a report already.
        limits: what a submission may use; as the course says if None.
        executor: where to examine, in place of processes on this machine.
        pool: workers on this machine, if there are some already; they stay.
        progress: wraps the stream of finished submissions; gets it and its length.

    Returns:
        What was done, by chapter.

    Raises:
        CourseError: the folder is no course, or has no such chapter.
        UnknownExercise: there is no such chapter at all.
        NothingSubmitted: the course has no submissions.
        GradebookError: the gradebook cannot be used.
        SandboxUnavailable: this machine cannot isolate submissions.
    """
    course = course.resolve()
    settings = settings_of(course)
    masters = {chapter: master_text(course, chapter) for chapter in chapters}
    longest = longest_name(settings.gradebook)
    names, refused = students(course / "submitted", longest)
    with contextlib.ExitStack() as stack:
        parts = []
        for chapter, master in masters.items():
            secret = secrets.token_bytes()
            job = Job(chapter, master, secret, limits or settings.limits)
            marks = stack.enter_context(
                ChapterMarks(
                    settings.gradebook, settings.course_id, chapter, settings.late
                )
            )
            before = {name: found.automatic for name, found in marks.read().items()}
            points = points_in(nbformat.reads(master, as_version=4))
            outcome = Outcome(refused=dict(refused))
            parts.append(_Chapter(course, job, points, marks, before, outcome))
        waiting = [
            (part, name)
            for part in parts
            for name in names
            if force or not part.is_finished(name)
        ]
        if settings.late is not None:
            for part in parts:
                part.marks.assign_penalties(part.outcome.unchanged)
        run = _Run(iter(waiting))
        if executor is not None:
            finished = run.on_a_cluster(executor)
        elif waiting:
            pool = pool or stack.enter_context(Pool(jobs))
            finished = run.on_this_machine(pool)
        else:
            finished = iter(())
        for _ in progress(finished, len(waiting)):
            pass
    return {part.job.chapter: part.outcome for part in parts}


@dataclass(frozen=True)
class _Chapter:
    """The submissions to one chapter.

    ``points`` are those of its exercises, as released; ``before`` are the automatic
    scores that the gradebook held when the run began, by student and exercise.
    """

    course: Path
    job: Job
    points: dict[str, float]
    marks: ChapterMarks
    before: dict[str, dict[str, float | None]]
    outcome: Outcome

    def is_finished(self, name: str) -> bool:
        """Whether an earlier run recorded this very submission; remembers that.

        Not if the gradebook says something else: it may be a new one, or nbgrader's own
        autograder may have been at it.
        """
        report = _report_on(self.course, self.job, self.read(name))
        if report is None:
            return False
        before = self.before.get(name, {})
        finished = all(
            before.get(e["name"]) == e["score"] for e in report["exercises"]
        ) and report["kept"] == _digest(self._kept_notebook(name))
        if finished:
            self.outcome.unchanged.append(name)
        return finished

    def _kept_notebook(self, student: str) -> Path:
        """Where the examined notebook is kept, for feedback."""
        folder = self.course / "autograded" / student / self.job.chapter
        return folder / f"{self.job.chapter}.ipynb"

    def read(self, name: str) -> Submission:
        return read(self.course / "submitted", name, self.job.chapter)

    def record(self, submission: Submission, report: dict, notebook: str) -> None:
        """Write one outcome: notebook, gradebook, and last of all the report."""
        student = submission.student
        self._require_same_points(report)
        before = self.before.get(student, {})
        for exercise in report["exercises"]:
            name, now = exercise["name"], exercise["score"]
            if before.get(name) not in (None, now):
                line = f"{student}: {name} {before[name]:g} -> {now:g}"
                self.outcome.changes.append(line)
        if submission.note:
            report["notes"].append(submission.note)
        try:
            self._write(submission, report, notebook)
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            reason = f"{error.filename} is in the way: {error.strerror}"
            self.outcome.refused[student] = reason

    def _write(self, submission: Submission, report: dict, notebook: str) -> None:
        student, chapter = submission.student, self.job.chapter
        kept = self._kept_notebook(student)
        _write_atomically(kept, notebook)
        if submission.timestamp:
            _write_atomically(kept.with_name("timestamp.txt"), submission.timestamp)
        if not self.marks.write(student, report, submission.timestamp):
            report["notes"].append("the time stamp could not be read")
        record = {
            **report,
            "student": student,
            "submission": submission.digest,
            "chapter_notebook": self.job.fingerprint,
            "kept": _digest(kept),
        }
        path = report_path(self.course, chapter, student)
        _write_atomically(path, json.dumps(record, indent=1))
        self.outcome.graded[student] = report

    def _require_same_points(self, report: dict) -> None:
        given = {e["name"]: e["max_score"] for e in report["exercises"]}
        if given != self.points:
            wrong = sorted(dict(given.items() ^ self.points.items()))
            raise CourseError(
                f"the release of {self.job.chapter} has other points than the grader "
                f"gives for {', '.join(wrong)}: it was changed, or released from "
                "another version of the book; release it again"
            )


_Work = Iterator[tuple[_Chapter, str]]  # a chapter and the name of a student


@dataclass
class _Run:
    """One grading run: what waits to be examined, and what has to be done again."""

    waiting: _Work
    suspects: list[tuple[_Chapter, str]] = field(default_factory=list)
    unavailable: SandboxUnavailable | None = None  # why no kernel started, at last

    def on_this_machine(self, pool: Pool) -> Iterator[str]:
        """Examine with worker processes.

        When a worker dies, what the workers were at is examined again one by one, so
        that only the submission that kills a worker is lost. Then new workers go on.
        So it is when no kernel starts, because another submission holds what it takes.

        Raises:
            SandboxUnavailable: no kernel starts for a submission alone either.
        """
        while True:
            yield from self.on(pool.executor, self.waiting, AHEAD * pool.jobs)
            if not self.suspects:
                return
            pool.replace()
            suspects, self.suspects = self.suspects, []
            for chapter, name in suspects:
                yield from self._alone(pool, chapter, name)
                if self.suspects:
                    self.suspects.clear()
                    reason = "it ended the process that examined it"
                    report = refuse_submission(chapter.job, reason)
                    chapter.record(chapter.read(name), *report)
                    yield name

    def _alone(self, pool: Pool, chapter: _Chapter, name: str) -> Iterator[str]:
        for pause in PAUSES:  # what an ended submission held is free after a moment
            self.suspects, self.unavailable = [], None
            time.sleep(pause)
            with pool.workers(1) as alone:
                yield from self.on(alone, iter([(chapter, name)]), 1)
            if self.unavailable is None:
                return
        raise self.unavailable

    def on_a_cluster(self, executor: Executor) -> Iterator[str]:
        """Examine with an executor that replaces its workers itself.

        Raises:
            SandboxUnavailable: no kernel starts for a submission, tried twice.
        """
        while True:
            yield from self.on(executor, self.waiting, AHEAD_ON_A_CLUSTER)
            if not self.suspects:
                return
            suspects, self.suspects = self.suspects, []
            yield from self.on(executor, iter(suspects), 1)
            if self.suspects:
                raise self.unavailable or BrokenExecutor("the cluster is gone")

    def on(self, executor: Executor, work: _Work, ahead: int) -> Iterator[str]:
        """Examine with an executor, at most ``ahead`` submissions at a time.

        When the executor breaks, ``suspects`` holds what it took with it, and ``work``
        what was not begun.
        """
        running: dict[Future, tuple[_Chapter, Submission]] = {}
        try:
            while True:
                while len(running) < ahead and not self.suspects:
                    chapter, name = next(work, (None, None))
                    if chapter is None:
                        break
                    submission = chapter.read(name)
                    try:
                        future = executor.submit(
                            examine_submission, chapter.job, submission
                        )
                        running[future] = chapter, submission
                    except BrokenExecutor:
                        self.suspects.append((chapter, name))
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    chapter, submission = running.pop(future)
                    try:
                        report, notebook = _result(future, chapter.job)
                    except (BrokenExecutor, SandboxUnavailable) as error:
                        if isinstance(error, SandboxUnavailable):
                            self.unavailable = error
                        self.suspects.append((chapter, submission.student))
                        continue
                    chapter.record(submission, report, notebook)
                    yield submission.student
        finally:
            for future in running:
                future.cancel()


def _result(future: Future, job: Job) -> tuple[dict, str]:
    """The outcome of a worker; if the worker failed, zero with the reason."""
    try:
        return future.result()
    except (BrokenExecutor, SandboxUnavailable):
        raise
    except Exception as error:
        reason = f"could not be examined: {type(error).__name__}: {error}"
        return refuse_submission(job, " ".join(reason.split())[:300])


def report_path(course: Path, chapter: str, student: str) -> Path:
    """Where the report on a submission is kept."""
    return course / "reports" / chapter / f"{student}.json"


def _report_on(course: Path, job: Job, submission: Submission) -> dict | None:
    """An earlier run's report on this very submission to this very chapter."""
    try:
        path = report_path(course, job.chapter, submission.student)
        report = json.loads(path.read_text(encoding="utf-8"))
        same = (
            report["submission"] == submission.digest
            and report["chapter_notebook"] == job.fingerprint
            and {"exercises", "kept"} <= set(report)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return report if same else None


def _digest(path: Path) -> str | None:
    """Of the content of a file; None if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
