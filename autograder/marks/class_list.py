"""The class in nbgrader's gradebook: its students, and when they have to hand in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nbgrader.api import Assignment, Gradebook, Student
from sqlalchemy import select

from autograder.lms.roster import Person
from autograder.marks.gradebook_errors import reading, writing
from autograder.release.course import put_scripts_on_path


def due_dates(url: str, course_id: str) -> dict[str, datetime | None]:
    """The due dates in a gradebook, in UTC without a zone, by chapter.

    Raises:
        GradebookError: it cannot be read.
    """
    with reading(), _gradebook(url, course_id) as book:
        return dict(book.db.execute(select(Assignment.name, Assignment.duedate)).all())


def students_in(url: str, course_id: str) -> set[str]:
    """Everybody in a gradebook, with marks or not.

    Raises:
        GradebookError: it cannot be read.
    """
    with reading(), _gradebook(url, course_id) as book:
        return set(book.db.scalars(select(Student.id)))


def add_students(url: str, course_id: str, people: Iterable[Person]) -> None:
    """Have everybody of a class list in a gradebook, with names and addresses.

    So nbgrader's own tables and the formgrader know who has handed in nothing.

    Raises:
        GradebookError: it cannot be written.
    """
    with writing(), _gradebook(url, course_id) as book:
        for person in people:
            first, last = _names(person.name)
            number = person.ids.get("canvas") or person.ids.get("sid")
            told = {
                "first_name": first,
                "last_name": last,
                "email": person.ids.get("email"),
                "lms_user_id": number,
            }
            known = {key: value[:128] for key, value in told.items() if value}
            book.update_or_create_student(person.student, **known)


def _gradebook(url: str, course_id: str) -> Gradebook:
    """An open gradebook; nbgrader makes it, with ``alembic``, if there is none."""
    put_scripts_on_path()
    return Gradebook(url, course_id)


def _names(name: str) -> tuple[str, str]:
    """First and last name: as the list parts them, else the last word is the last."""
    if ", " in name:
        last, _, first = name.partition(", ")
        return first, last
    first, _, last = name.rpartition(" ")
    return first, last
