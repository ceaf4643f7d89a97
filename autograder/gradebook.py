"""The marks in nbgrader's gradebook: written and read."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from dateutil.tz import gettz
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.plugins import BasePlugin
from nbgrader.utils import parse_utc
from sqlalchemy import make_url, select
from sqlalchemy.exc import ArgumentError, SAWarning, SQLAlchemyError
from traitlets.config import Config

# A date and perhaps a time and a zone. For a zone that it does not know, dateutil opens
# a file of that name: it is to know all that it gets.
_STAMP = re.compile(
    r"(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d{1,9})?)?)?)"
    r" ?(?:([+-]\d\d):?(\d\d)|([A-Za-z]{1,20}(?:/[A-Za-z_]{1,20}){0,2}))?"
)


class GradebookError(RuntimeError):
    """The gradebook cannot be used; the message says why and what to do."""


@dataclass
class Marks:
    """What a student has in one chapter.

    Attributes:
        automatic: the scores that the grader gave, by exercise.
        final: those that count: a score by hand goes before, extra credit is added. An
            instructor's own cells that are marked by hand are here as well.
        most: the points to be had, by exercise.
        penalties: points lost because it was late, by notebook.
    """

    automatic: dict[str, float | None] = field(default_factory=dict)
    final: dict[str, float] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    penalties: dict[str, float] = field(default_factory=dict)

    @property
    def penalty(self) -> float:
        """Points lost because it was late."""
        return sum(self.penalties.values())

    @property
    def total(self) -> float:
        """What ``nbgrader export`` writes as the score."""
        return max(0.0, sum(self.final.values()) - self.penalty)


class ChapterMarks:
    """One open gradebook with the marks of one chapter.

    Use as a context manager.

    Args:
        url: SQLAlchemy address of the gradebook.
        course_id: nbgrader's name of the course.
        chapter: the assignment, which is also the name of its notebook.
        late: nbgrader's settings for late submissions, if the course has some.

    Raises:
        GradebookError: it cannot be opened, or the chapter was never released in it.
    """

    def __init__(
        self, url: str, course_id: str, chapter: str, late: Config | None = None
    ) -> None:
        self.chapter = chapter
        self._late = late
        put_scripts_on_path()
        never_released = GradebookError(
            f"the gradebook has no chapter {chapter}: release it first with "
            "`python -m autograder course DIR` or `nbgrader generate_assignment`"
        )
        if _is_missing(url):  # nbgrader would make an empty one
            raise never_released
        try:
            self._gradebook = Gradebook(url, course_id)
            self._gradebook.find_notebook(chapter, chapter)
        except MissingEntry:
            self._gradebook.close()
            raise never_released from None
        except Exception as error:
            raise GradebookError(
                f"the gradebook cannot be opened: {_line(error)}"
            ) from error

    def __enter__(self) -> ChapterMarks:
        return self

    def __exit__(self, *exc: object) -> None:
        self._gradebook.close()

    def write(
        self, student: str, report: Mapping[str, Any], timestamp: str | None
    ) -> bool:
        """Write the scores of one submission.

        Scores and comments that an instructor gave by hand stay as they are; a
        score by hand is marked for another look when the automatic one changed.

        Args:
            student: nbgrader's id of the student.
            report: the report of the examination.
            timestamp: when it was handed in, in any format nbgrader reads.

        Returns:
            Whether the time stamp could be read.

        Raises:
            GradebookError: nothing was written.
        """
        book, chapter = self._gradebook, self.chapter
        stamp = _time(timestamp) if timestamp else None
        when = {"timestamp": stamp} if stamp else {}
        readable = bool(when) or not timestamp
        try:
            with warnings.catch_warnings():  # about nbgrader's own use of SQLAlchemy
                warnings.simplefilter("ignore", SAWarning)
                book.update_or_create_student(student)
                book.update_or_create_submission(chapter, student, **when)
            notebook = book.find_submission_notebook(chapter, chapter, student)
            grades = self._by_cell(Grade, notebook)
            comments = self._by_cell(Comment, notebook)
            for exercise in report["exercises"]:
                grade = grades[f"check-{exercise['name']}"]
                changed = grade.auto_score != exercise["score"]
                by_hand = grade.manual_score is not None
                grade.auto_score = exercise["score"]
                grade.needs_manual_grade = by_hand and (
                    changed or grade.needs_manual_grade
                )
                hint = exercise["message"] if exercise["mistake"] else None
                comments[exercise["name"]].auto_comment = hint
            self._set_penalty(student, notebook)
            book.db.commit()
            return readable
        except (SQLAlchemyError, InvalidEntry) as error:  # nbgrader's, for the same
            book.db.rollback()
            raise GradebookError(
                f"the gradebook cannot be written: {_line(error)}; "
                "run the same command again when it can"
            ) from error
        except KeyError as error:
            book.db.rollback()
            raise GradebookError(
                f"the gradebook has no cell {error} in {chapter}: it was taken out of "
                f"source/{chapter}, or released from another version of the book. "
                "Grade with that version; or put it back, give up the marks of the "
                f"chapter with `nbgrader db assignment remove {chapter} --force` and "
                "release it again with `python -m autograder course DIR`"
            ) from error

    def _by_cell(self, kind: type, notebook: SubmittedNotebook) -> dict[str, Any]:
        """All grades or comments of a notebook, in one query, by name of the cell."""
        query = select(BaseCell.name, kind).join(kind, kind.cell_id == BaseCell.id)
        query = query.where(kind.notebook_id == notebook.id)
        return dict(self._gradebook.db.execute(query).all())

    def assign_penalties(self, students: Iterable[str]) -> None:
        """Take off anew what those lose who were late, as nbgrader's settings say.

        A due date or an extension may have changed since they were examined.

        Raises:
            GradebookError: the penalties stay as they were.
        """
        book, chapter = self._gradebook, self.chapter
        try:
            for student in students:
                notebook = book.find_submission_notebook(chapter, chapter, student)
                self._set_penalty(student, notebook)
            book.db.commit()
        except (SQLAlchemyError, MissingEntry) as error:
            book.db.rollback()
            raise GradebookError(
                f"the gradebook cannot be written: {_line(error)}"
            ) from error

    def _set_penalty(self, student: str, notebook: SubmittedNotebook) -> None:
        """As nbgrader's ``AssignLatePenalties``, with the plugin of the course."""
        notebook.late_submission_penalty = None
        if self._late is None:
            return
        seconds = notebook.assignment.total_seconds_late
        if seconds <= 0:
            return
        self._gradebook.db.flush()
        self._gradebook.db.refresh(notebook, ["score"])
        try:
            plugin = self._late_plugin
            penalty = plugin.late_submission_penalty(student, notebook.score, seconds)
            if penalty is not None:
                penalty = min(max(float(penalty), 0.0), notebook.score)
        except Exception as error:  # the plugin may be the instructor's own
            self._gradebook.db.rollback()
            raise GradebookError(
                f"nbgrader_config.py: the penalty of {student} for being late cannot "
                f"be worked out: {type(error).__name__}: {_line(error)}"
            ) from error
        notebook.late_submission_penalty = penalty

    @cached_property
    def _late_plugin(self) -> BasePlugin:
        from nbgrader.preprocessors import AssignLatePenalties

        log = logging.getLogger(__name__)  # it would tell about each who was late
        log.setLevel(logging.CRITICAL)
        assign = AssignLatePenalties(config=self._late, log=log)
        assign.init_plugin()
        return assign.plugin_inst

    def read(self) -> dict[str, Marks]:
        """What the gradebook holds now, by student.

        Raises:
            GradebookError: it cannot be read.
        """
        query = (
            select(
                SubmittedAssignment.student_id,
                SubmittedNotebook.id,
                SubmittedNotebook.late_submission_penalty,
                BaseCell.name,
                Grade.auto_score,
                Grade.score,
                Grade.max_score,
            )
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(
                SubmittedAssignment,
                SubmittedAssignment.id == SubmittedNotebook.assignment_id,
            )
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .where(Assignment.name == self.chapter)
        )
        marks: dict[str, Marks] = defaultdict(Marks)
        try:
            rows = self._gradebook.db.execute(query).all()
            self._gradebook.db.rollback()  # do not keep it locked
        except SQLAlchemyError as error:
            raise GradebookError(
                f"the gradebook cannot be read: {_line(error)} (one of an older "
                "nbgrader is brought up to date by `nbgrader db upgrade`)"
            ) from error
        for student, notebook, penalty, cell, automatic, final, most in rows:
            name, found = cell.removeprefix("check-"), marks[student]
            found.automatic[name] = automatic
            found.final[name] = final
            found.most[name] = most
            found.penalties[notebook] = penalty or 0.0
        return dict(marks)


def _time(stamp: str) -> datetime | None:
    """A time stamp as nbgrader reads it; None if it is none."""
    parts = _STAMP.fullmatch(stamp)
    if parts is None:
        return None
    time, hours, minutes, zone = parts.groups()
    if hours:  # nbgrader takes " +0200" for 200 seconds; it reads "+02:00"
        stamp = f"{time}{hours}:{minutes}"
    elif zone and gettz(zone) is None:
        return None
    try:
        return parse_utc(stamp)
    except (ValueError, OverflowError):
        return None


def longest_name(url: str) -> int:
    """Characters that a gradebook takes for the name of a student."""
    declared = Student.__table__.c.id.type.length
    return 2**31 if make_url(url).drivername.startswith("sqlite") else declared


def _is_missing(url: str) -> bool:
    """Whether a gradebook is a file of SQLite that is not there."""
    try:
        address = make_url(url)
    except ArgumentError:
        return False
    path = address.database
    return address.drivername.startswith("sqlite") and not Path(path or "").exists()


def _line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def put_scripts_on_path() -> None:
    """Let nbgrader find ``alembic``, which it calls by name, without activation."""
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{path}"
