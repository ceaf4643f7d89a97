"""The marks of a chapter in nbgrader's gradebook: written, and taken out again."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    SubmittedNotebook,
)
from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import make_url, select
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from autograder.marks.audit import PENALTY, AuditLog
from autograder.marks.deadlines import Deadlines
from autograder.marks.gradebook_errors import (
    GradebookError,
    first_line,
    reading,
    writing,
)
from autograder.marks.scores import Marks, held_marks
from autograder.release.settings import settings_of
from autograder.submissions.timestamps import time_of


class ChapterMarks:
    """One open gradebook with the marks of one chapter.

    Use as a context manager.

    Args:
        url: SQLAlchemy address of the gradebook.
        course_id: nbgrader's name of the course.
        chapter: the assignment, which is also the name of its notebook.
        late: nbgrader's settings for late submissions, if the course has some.
        log: where changes of marks are logged; not needed for reading.

    Raises:
        GradebookError: it cannot be opened, or the chapter was never released in it.
    """

    def __init__(
        self,
        url: str,
        course_id: str,
        chapter: str,
        late: Config | None = None,
        log: AuditLog | None = None,
    ) -> None:
        self.chapter = chapter
        self._late = late
        self._log = log
        self._extensions: dict[str, timedelta] | None = None
        never_released = GradebookError(
            f"the gradebook has no chapter {chapter}: release it first with "
            f"`python -m autograder course DIR {chapter}` or `nbgrader "
            f"generate_assignment {chapter}`"
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
                f"the gradebook cannot be opened: {first_line(error)}"
            ) from error

    def __enter__(self) -> ChapterMarks:
        return self

    def __exit__(self, *exc: object) -> None:
        self._gradebook.close()

    def write(
        self,
        examined: Iterable[tuple[str, Mapping[str, Any], str | None]],
        another_look: Mapping[str, Collection[str]] | None = None,
    ) -> list[str]:
        """Write the scores of some submissions, all of them at once.

        Scores and comments that an instructor gave by hand stay as they are; a
        score by hand is marked for another look when the automatic one changed, or
        when the work was handed in again.

        Args:
            examined: nbgrader's id of each student, the report of the examination, and
                when it was handed in, in any format nbgrader reads.
            another_look: by student, the cells marked for an earlier submission.

        Returns:
            The students whose time stamp could not be read.

        Raises:
            GradebookError: nothing was written.
        """
        unreadable = []
        with self._transaction() as book:
            everybodys = book.find_assignment(self.chapter)  # read once
            for student, report, timestamp in examined:
                stamp = time_of(timestamp) if timestamp else None
                if timestamp and not stamp:
                    unreadable.append(student)
                when = {"timestamp": stamp} if stamp else {}
                with warnings.catch_warnings():  # about nbgrader's use of SQLAlchemy
                    warnings.simplefilter("ignore", SAWarning)
                    book.update_or_create_student(student)
                    book.update_or_create_submission(self.chapter, student, **when)
                look = (another_look or {}).get(student, ())
                self._enter(student, report, "examined", look)
            del everybodys
        return unreadable

    def regrade(
        self, credited: Iterable[tuple[str, Mapping[str, Any]]], why: str
    ) -> None:
        """Give some students the scores of their reports, all of them at once.

        Args:
            credited: the students, and their reports with what rules give back.
            why: the reason, for the log.

        Raises:
            GradebookError: nothing was written.
        """
        with self._transaction():
            for student, report in credited:
                self._enter(student, report, why)

    def as_if_regraded(
        self, credited: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> dict[str, Marks]:
        """What ``read`` would return after ``regrade``; nothing is written."""
        marks: dict[str, Marks] = {}
        with contextlib.suppress(_TakenBack), self._transaction():
            for student, report in credited:
                self._enter(student, report, "")
            self._gradebook.db.flush()
            marks = held_marks(self._gradebook, self.chapter)
            raise _TakenBack
        return marks

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Gradebook]:
        """Make all that is done in the block one change of gradebook and log, or none.

        nbgrader commits each of its steps, and each time the disk has to be waited for.
        A session that is bound to a connection with a transaction leaves that open.

        Raises:
            GradebookError: what a database or nbgrader raised, in one line.
        """
        book, log, chapter = self._gradebook, self._log, self.chapter
        book.db.remove()
        try:
            with (
                writing(),
                book.engine.connect() as connection,
                connection.begin(),
            ):
                book.db.configure(bind=connection, expire_on_commit=False)
                yield book
                book.db.commit()  # of the session, to the transaction
                if log is not None:
                    log.write()  # before the transaction is committed
        except KeyError as error:
            raise GradebookError(
                f"the gradebook has no cell {error} in {chapter}: it was taken out of "
                f"source/{chapter}, or released from another version of the book. "
                "Grade with that version; or put it back, give up the marks of the "
                f"chapter with `nbgrader db assignment remove {chapter} --force` and "
                f"release it again with `python -m autograder course DIR {chapter}`"
            ) from error
        finally:
            if log is not None:
                log.forget()
            book.db.remove()
            book.db.configure(bind=book.engine, expire_on_commit=True)

    def _enter(
        self,
        student: str,
        report: Mapping[str, Any],
        why: str,
        another_look: Collection[str] = (),
    ) -> None:
        """Enter the scores of a report, and note what that changes.

        nbgrader's autograder gives a zero to a question of the instructor's own that
        was not answered, and keeps it when the answer follows. So all of these wait
        for a mark by hand.
        """
        notebook = self._notebook_of(student)
        grades = self._by_cell(Grade, notebook)
        comments = self._by_cell(Comment, notebook)
        checks = {f"check-{exercise['name']}" for exercise in report["exercises"]}
        for grade in (grades[name] for name in grades.keys() - checks):
            grade.auto_score = None
            if grade.manual_score is None:
                grade.needs_manual_grade = True
        for exercise in report["exercises"]:
            grade = grades[f"check-{exercise['name']}"]
            changed = grade.auto_score != exercise["score"]
            by_hand = grade.manual_score is not None
            before, grade.auto_score = _counting(grade), exercise["score"]
            because = "; ".join(filter(None, [why, exercise.get("rules")]))
            self._note(student, exercise["name"], before, _counting(grade), because)
            grade.needs_manual_grade = by_hand and (changed or grade.needs_manual_grade)
            hint = exercise["message"] if exercise["mistake"] else None
            said = [hint, exercise.get("regraded")]
            comment = "\n\n".join(filter(None, said)) or None
            comments[exercise["name"]].auto_comment = comment
        for name in grades.keys() & set(another_look):
            grades[name].needs_manual_grade = True
        self._set_penalty(student, notebook)

    def _note(self, student: str, what: str, *change: Any) -> None:
        if self._log is not None:
            self._log.note(student, what, *change)

    def _by_cell(self, kind: type, notebook: SubmittedNotebook) -> dict[str, Any]:
        """All grades or comments of a notebook, in one query, by name of the cell."""
        query = select(BaseCell.name, kind).join(kind, kind.cell_id == BaseCell.id)
        query = query.where(kind.notebook_id == notebook.id)
        return dict(self._gradebook.db.execute(query).all())

    def set_deadlines(self, deadlines: Deadlines) -> None:
        """Have the due date and the extensions that a course's table says, if it does.

        Extensions are given when marks are written or penalties assigned.

        Raises:
            GradebookError: the due date stays as it was.
        """
        if deadlines.due is None:
            return
        with self._transaction() as book:
            book.find_assignment(self.chapter).duedate = deadlines.due
        self._extensions = deadlines.extensions

    def assign_penalties(self, students: Iterable[str]) -> None:
        """Recompute the late penalties of some students from nbgrader's settings.

        A due date or an extension may have changed since they were examined, and so may
        the settings.

        Raises:
            GradebookError: the penalties stay as they were.
        """
        with self._transaction():
            for student in students:
                self._set_penalty(student, self._notebook_of(student))

    def _notebook_of(self, student: str) -> SubmittedNotebook:
        """A student's notebook, with the time that the course's table gives, if any."""
        notebook = self._gradebook.find_submission_notebook(
            self.chapter, self.chapter, student
        )
        if self._extensions is not None:
            notebook.assignment.extension = self._extensions.get(student)
        return notebook

    def _set_penalty(self, student: str, notebook: SubmittedNotebook) -> None:
        """As nbgrader's ``AssignLatePenalties``: at most the points of the notebook.

        Raises:
            GradebookError: the plugin, which may be the instructor's own, failed.
        """
        before = notebook.late_submission_penalty or 0.0
        notebook.late_submission_penalty = None
        seconds = notebook.assignment.total_seconds_late
        if self._late is not None and seconds > 0:
            self._gradebook.db.flush()
            self._gradebook.db.refresh(notebook, ["score"])
            score = notebook.score
            try:
                late = self._late_plugin.late_submission_penalty
                penalty = late(student, score, seconds)
                lost = None if penalty is None else min(max(float(penalty), 0.0), score)
            except Exception as error:
                raise GradebookError(
                    f"nbgrader_config.py: the penalty of {student} for being late "
                    f"cannot be worked out: {type(error).__name__}: {first_line(error)}"
                ) from error
            notebook.late_submission_penalty = lost
        after = notebook.late_submission_penalty or 0.0
        self._note(student, PENALTY, before, after, "time, due date and settings")

    @cached_property
    def _late_plugin(self) -> BasePlugin:
        log = logging.getLogger(__name__)  # it would log a line for every late student
        log.setLevel(logging.CRITICAL)
        assign = AssignLatePenalties(config=self._late, log=log)
        assign.init_plugin()
        return assign.plugin_inst

    def read(self) -> dict[str, Marks]:
        """What the gradebook holds now, by student."""
        with reading():
            marks = held_marks(self._gradebook, self.chapter)
            self._gradebook.db.rollback()  # do not keep it locked
        return marks


def marks_in(course: Path, chapter: str) -> dict[str, Marks]:
    """What the gradebook of a course holds of a chapter, by student."""
    settings = settings_of(course.resolve())
    with ChapterMarks(settings.gradebook, settings.course_id, chapter) as book:
        return book.read()


class _TakenBack(Exception):
    """Rolls back a transaction that was only a preview."""


def _counting(grade: Grade) -> float | None:
    """The score of a grade as nbgrader counts it; None while there is none."""
    score = grade.auto_score if grade.manual_score is None else grade.manual_score
    return None if score is None else score + (grade.extra_credit or 0.0)


def _is_missing(url: str) -> bool:
    """Whether a gradebook is a file of SQLite that is not there."""
    address = make_url(url)
    if address.get_backend_name() != "sqlite":
        return False
    return not Path(address.database or "").exists()
