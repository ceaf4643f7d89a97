"""Write marks into nbgrader's gradebook."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SAWarning, SQLAlchemyError


class GradebookError(RuntimeError):
    """The gradebook cannot be used; the message says why and what to do."""


class MarkWriter:
    """One open gradebook into which the marks of one chapter are written.

    Use as a context manager.

    Args:
        url: SQLAlchemy address of the gradebook.
        course_id: nbgrader's name of the course.
        chapter: the assignment, which is also the name of its notebook.

    Raises:
        GradebookError: it cannot be opened, or the chapter was never released in it.
    """

    def __init__(self, url: str, course_id: str, chapter: str) -> None:
        self.chapter = chapter
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

    def __enter__(self) -> MarkWriter:
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
            for exercise in report["exercises"]:
                where = (chapter, chapter, student)
                grade = book.find_grade(f"check-{exercise['name']}", *where)
                changed = grade.auto_score != exercise["score"]
                by_hand = grade.manual_score is not None
                grade.auto_score = exercise["score"]
                grade.needs_manual_grade = by_hand and (
                    changed or grade.needs_manual_grade
                )
                comment = book.find_comment(exercise["name"], *where)
                hint = exercise["message"] if exercise["mistake"] else None
                comment.auto_comment = hint
            book.db.commit()
            return readable
        except SQLAlchemyError as error:
            book.db.rollback()
            raise GradebookError(
                f"the gradebook cannot be written: {_line(error)}; "
                "run the same command again when it can"
            ) from error

    def scores(self, student: str) -> dict[str, float]:
        """The automatic scores a student has now, by exercise."""
        try:
            notebook = self._gradebook.find_submission_notebook(
                self.chapter, self.chapter, student
            )
        except MissingEntry:
            return {}
        return {
            grade.name.removeprefix("check-"): grade.auto_score
            for grade in notebook.grades
            if grade.auto_score is not None
        }


def _line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def put_scripts_on_path() -> None:
    """Let nbgrader find ``alembic``, which it calls by name, without activation."""
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    if scripts not in path.split(os.pathsep):
        os.environ["PATH"] = f"{scripts}{os.pathsep}{path}"
