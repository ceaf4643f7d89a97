"""The class in nbgrader's gradebook."""

from __future__ import annotations

from collections.abc import Iterable

from nbgrader.api import Gradebook, Student
from sqlalchemy import select

from autograder.lms.roster import Person
from autograder.marks.gradebook_errors import reading, writing
from autograder.release.settings import Settings


def students_in(settings: Settings) -> set[str]:
    """Everybody in a gradebook, with marks or not."""
    with reading(), _gradebook(settings) as book:
        return set(book.db.scalars(select(Student.id)))


def add_students(settings: Settings, people: Iterable[Person]) -> None:
    """Have everybody of a class list in a gradebook, with names and addresses.

    So nbgrader's own tables and the formgrader know who has handed in nothing.
    """
    with writing(), _gradebook(settings) as book:
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


def _gradebook(settings: Settings) -> Gradebook:
    """An open gradebook; nbgrader makes it if there is none."""
    return Gradebook(settings.gradebook, settings.course_id)


def _names(name: str) -> tuple[str, str]:
    """First and last name: as the list parts them, else the last word is the last."""
    if ", " in name:
        last, _, first = name.partition(", ")
        return first, last
    first, _, last = name.rpartition(" ")
    return first, last
