"""Grade many submissions of one chapter into the gradebook of a course.

Workers examine, one writer records. A submission's report is the last thing to be
written, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat

from autograder.examine import (
    draw_seeds,
    examine,
    expected_answers,
    refused_examination,
)
from autograder.exercise import load_topic
from autograder.gradebook import MarkWriter, database_url
from autograder.rebuild import MAX_FILE_BYTES, Unusable, parse_submission
from autograder.release import course_settings
from autograder.sandbox import Limits, require_bubblewrap

_BAD_NAME = re.compile(r"[\x00-\x1f\x7f/\\*?\[\]]|^\.")


class CourseError(RuntimeError):
    """A course folder cannot be graded; the message says what to do."""


@dataclass(frozen=True)
class Job:
    """What a worker needs to know to examine any submission of a chapter."""

    chapter: str
    master: str
    seeds: dict[str, list[int]] = field(hash=False)
    limits: Limits

    @property
    def fingerprint(self) -> str:
        """Changes when the chapter's notebook or the limits change."""
        return hashlib.sha256(f"{self.master}{self.limits}".encode()).hexdigest()


@dataclass(frozen=True)
class Submission:
    """A submission as it was found: its bytes, or why there are none."""

    student: str
    content: bytes
    unusable: str | None
    timestamp: str | None
    note: str | None = None

    @property
    def digest(self) -> str:
        """Changes when what was handed in changes."""
        text = f"{self.unusable}\0{self.timestamp}\0".encode()
        return hashlib.sha256(text + self.content).hexdigest()


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
    progress: Callable[[Iterator, int], Iterator] = lambda items, total: items,
) -> Outcome:
    """Examine every submission of a chapter and record the marks.

    Args:
        chapter: name of the chapter.
        course: folder of an nbgrader course, made by ``release.make_course``.
        jobs: how many to examine at once; as many as there are processors if None.
        force: examine again what has a report already.
        limits: what a submission may use.
        executor: where to examine, in place of processes on this machine.
        progress: wraps the stream of outcomes; gets it and its length.

    Raises:
        CourseError: the folder is no course, or has no such chapter.
        GradebookError: the gradebook cannot be used.
        SandboxUnavailable: this machine cannot isolate submissions.
    """
    course = course.resolve()
    job = _job(chapter, course, limits or Limits())
    outcome = Outcome()
    waiting = []
    for submission in _submissions(course, chapter, outcome):
        before = None if force else _finished_report(course, job, submission)
        if before is None:
            waiting.append(submission)
        else:
            outcome.unchanged.append(submission.student)
    settings = _nbgrader_settings(course)
    with MarkWriter(*settings, chapter) as writer:
        if not waiting:
            return outcome
        if executor is None:
            require_bubblewrap()
            jobs = min(jobs or os.cpu_count() or 1, len(waiting))
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(jobs, mp_context=context) as pool:
                _run(pool, job, waiting, course, writer, outcome, progress)
        else:
            _run(executor, job, waiting, course, writer, outcome, progress)
    return outcome


def _run(
    executor: Executor,
    job: Job,
    waiting: list[Submission],
    course: Path,
    writer: MarkWriter,
    outcome: Outcome,
    progress: Callable[[Iterator, int], Iterator],
) -> None:
    futures = {executor.submit(examine_submission, job, s): s for s in waiting}
    for future in progress(as_completed(futures), len(futures)):
        submission = futures[future]
        report, notebook = _result(future, job, submission)
        student = submission.student
        for name, score in writer.scores(student).items():
            new = next((e for e in report["exercises"] if e["name"] == name), None)
            if new and new["score"] != score:
                outcome.changes.append(
                    f"{student}: {name} {score:g} -> {new['score']:g}"
                )
        _write_notebook(course, job.chapter, submission, notebook)
        writer.write(student, report, submission.timestamp)
        record = {
            **report,
            "student": student,
            "submission": submission.digest,
            "chapter_notebook": job.fingerprint,
        }
        _write_atomically(
            _report_path(course, job.chapter, student), json.dumps(record, indent=1)
        )
        outcome.graded[student] = report


def _result(future: Future, job: Job, submission: Submission) -> tuple[dict, str]:
    """The outcome of a worker; if the worker itself failed, zero with the reason."""
    try:
        return future.result()
    except Exception as error:
        reason = f"could not be examined: {type(error).__name__}: {error}"
        return _refuse(job, " ".join(reason.split())[:300])


def examine_submission(job: Job, submission: Submission) -> tuple[dict, str]:
    """Examine one submission in a worker.

    Returns:
        The report, and the JSON text of the executed notebook.
    """
    if submission.unusable:
        return _refuse(job, submission.unusable)
    try:
        data = parse_submission(submission.content)
    except Unusable as error:
        return _refuse(job, str(error))
    examination = examine(
        _master(job.master),
        data,
        load_topic(job.chapter),
        _expected(job),
        job.limits,
    )
    if submission.note:
        examination.report["notes"].append(submission.note)
    return examination.report, nbformat.writes(examination.notebook)


def _refuse(job: Job, reason: str) -> tuple[dict, str]:
    topic = load_topic(job.chapter)
    examination = refused_examination(_master(job.master), topic, reason)
    return examination.report, nbformat.writes(examination.notebook)


@lru_cache(maxsize=4)
def _master(text: str) -> nbformat.NotebookNode:
    return nbformat.reads(text, as_version=4)


@lru_cache(maxsize=4)
def _expected(job: Job) -> dict[str, Any]:
    return expected_answers(load_topic(job.chapter), job.seeds)


def _job(chapter: str, course: Path, limits: Limits) -> Job:
    if not (course / "nbgrader_config.py").exists():
        raise CourseError(
            f"{course} is no course: make one with "
            f"`python -m autograder course {course}`"
        )
    topic = load_topic(chapter)
    path = course / "release" / chapter / f"{chapter}.ipynb"
    if not path.exists():
        raise CourseError(
            f"the course has no release of {chapter} ({path} is missing): run "
            f"`python -m autograder course {course}`"
        )
    return Job(chapter, path.read_text(encoding="utf-8"), draw_seeds(topic), limits)


def _submissions(course: Path, chapter: str, outcome: Outcome) -> Iterator[Submission]:
    """What is in ``submitted/``, one for each folder with a name that can be used."""
    submitted = course / "submitted"
    folders = sorted(submitted.iterdir()) if submitted.is_dir() else []
    for folder in folders:
        if folder.is_symlink() or not folder.is_dir():
            if not folder.name.startswith("."):
                outcome.refused[_shown(folder.name)] = "not a folder"
            continue
        if _BAD_NAME.search(folder.name):
            outcome.refused[_shown(folder.name)] = (
                "the name has a path separator, a control or glob character, or a "
                "leading dot: rename the folder"
            )
            continue
        yield _read(folder / chapter, folder.name, chapter)
    if not folders:
        raise CourseError(
            f"nothing was submitted: {submitted} has no folders; each is to hold "
            f"STUDENT/{chapter}/{chapter}.ipynb"
        )


def _shown(name: str) -> str:
    return name.encode("unicode_escape", "replace").decode()


def _read(folder: Path, student: str, chapter: str) -> Submission:
    """Read a submission; anything but a plain file of moderate size is unusable."""

    def unusable(reason: str) -> Submission:
        return Submission(student, b"", reason, timestamp)

    timestamp = None
    if folder.is_symlink() or not folder.is_dir():
        return unusable(f"nothing was submitted for {chapter}")
    stamp = folder / "timestamp.txt"
    path, note = folder / f"{chapter}.ipynb", None
    try:
        raw = _plain_file(stamp, 1000) if os.path.lexists(stamp) else None
        timestamp = raw.decode("utf-8", "replace").strip() or None if raw else None
    except Unusable:
        note = "the time stamp could not be read"
    if not os.path.lexists(path):
        others = [p for p in folder.glob("*.ipynb") if p.is_file()]
        if len(others) != 1:
            return unusable(f"no notebook {chapter}.ipynb was submitted")
        path, note = others[0], f"the notebook was named {_shown(others[0].name)}"
    try:
        content = _plain_file(path, MAX_FILE_BYTES)
    except Unusable as error:
        return unusable(str(error))
    return Submission(student, content, None, timestamp, note)


def _plain_file(path: Path, limit: int) -> bytes:
    """The bytes of a regular file, which is not followed if it is a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror}") from None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{path.name} is not a plain file")
        if status.st_size > limit:
            raise Unusable(
                f"{path.name} has {status.st_size / 2**20:.0f} MB; at most "
                f"{limit / 2**20:.0f} MB are read"
            )
        return file.read(limit + 1)[:limit]


def _report_path(course: Path, chapter: str, student: str) -> Path:
    return course / "reports" / chapter / f"{student}.json"


def _finished_report(course: Path, job: Job, submission: Submission) -> dict | None:
    """The report of an earlier run on the same submission to the same chapter."""
    try:
        path = _report_path(course, job.chapter, submission.student)
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    same = (
        report.get("submission") == submission.digest
        and report.get("chapter_notebook") == job.fingerprint
    )
    return report if same else None


def _write_notebook(
    course: Path, chapter: str, submission: Submission, notebook: str
) -> None:
    folder = course / "autograded" / submission.student / chapter
    _write_atomically(folder / f"{chapter}.ipynb", notebook)
    if submission.timestamp:
        _write_atomically(folder / "timestamp.txt", submission.timestamp)


def _write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _nbgrader_settings(course: Path) -> tuple[str, str]:
    """Address of the gradebook and the course id, from the course's own settings."""
    settings = course_settings(course).CourseDirectory
    url = settings.db_url if "db_url" in settings else None
    return database_url(course, url), str(settings.get("course_id", ""))
