"""The marks in nbgrader's gradebook: written and read."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.utils import parse_utc
from sqlalchemy import select
from sqlalchemy.exc import SAWarning, SQLAlchemyError
from traitlets.config import Config


class GradebookError(RuntimeError):
    """The gradebook cannot be used; the message says why and what to do."""


@dataclass
class Marks:
    """What a student has in one chapter.

    Attributes:
        automatic: the scores that the grader gave, by exercise.
        final: those that count: a score by hand goes before, extra credit is added.
        penalty: points lost because it was late.
    """

    automatic: dict[str, float | None]
    final: dict[str, float]
    penalty: float

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
        self._url, self._late = url, late
        put_scripts_on_path()
        try:
            self._gradebook = Gradebook(url, course_id)
            self._gradebook.find_notebook(chapter, chapter)
        except MissingEntry:
            self._gradebook.close()
            raise GradebookError(
                f"the gradebook has no chapter {chapter}: release it first with "
                "`python -m autograder course DIR` or `nbgrader generate_assignment`"
            ) from None
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise GradebookError(f"the gradebook cannot be opened: {reason}") from error

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
        try:
            when = {"timestamp": parse_utc(timestamp)} if timestamp else {}
        except (ValueError, OverflowError):
            when = {}
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
            book.db.commit()
            if self._late is not None:
                self._assign_penalty(student)
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
                f"the gradebook has no cell {error} in {chapter}, which was released "
                "from another version of the book: grade with that version, or give "
                f"up its marks with `nbgrader db assignment remove {chapter} --force`, "
                f"delete source/{chapter} and release it again with "
                "`python -m autograder course DIR`"
            ) from error

    def _by_cell(self, kind: type, notebook: SubmittedNotebook) -> dict[str, Any]:
        """All grades or comments of a notebook, in one query, by name of the cell."""
        query = select(BaseCell.name, kind).join(kind, kind.cell_id == BaseCell.id)
        query = query.where(kind.notebook_id == notebook.id)
        return dict(self._gradebook.db.execute(query).all())

    def _assign_penalty(self, student: str) -> None:
        """Let nbgrader take off points, if this student was late."""
        from nbgrader.preprocessors import AssignLatePenalties

        where = {"student": student, "db_url": self._url}
        where |= dict.fromkeys(("notebook", "assignment"), self.chapter)
        log = logging.getLogger(__name__)  # it would tell about each who was late
        log.setLevel(logging.CRITICAL)
        try:
            assign = AssignLatePenalties(config=self._late, log=log)
            assign.preprocess(nbformat.v4.new_notebook(), {"nbgrader": where})
        except SQLAlchemyError:
            raise
        except Exception as error:  # the plugin may be the instructor's own
            raise GradebookError(
                f"nbgrader_config.py: the penalty of {student} for being late cannot "
                f"be worked out: {type(error).__name__}: {_line(error)}"
            ) from error

    def read(self) -> dict[str, Marks]:
        """What the gradebook holds now, by student.

        Raises:
            GradebookError: it cannot be read.
        """
        query = (
            select(
                SubmittedAssignment.student_id,
                SubmittedNotebook.late_submission_penalty,
                BaseCell.name,
                Grade.auto_score,
                Grade.score,
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
        marks: dict[str, Marks] = defaultdict(lambda: Marks({}, {}, 0.0))
        try:
            for student, penalty, cell, automatic, final in self._gradebook.db.execute(
                query
            ):
                name = cell.removeprefix("check-")
                marks[student].automatic[name] = automatic
                marks[student].final[name] = final
                marks[student].penalty = penalty or 0.0
            self._gradebook.db.rollback()  # do not keep it locked
        except SQLAlchemyError as error:
            raise GradebookError(
                f"the gradebook cannot be read: {_line(error)}"
            ) from error
        return dict(marks)


def _line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def put_scripts_on_path() -> None:
    """Let nbgrader find ``alembic``, which it calls by name, without activation."""
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{path}"
