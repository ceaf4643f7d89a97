"""Who is in the class: a list as a system exports it, or one written by hand.

* Canvas: the gradebook's export, with ``Student`` and ``ID``;
* Moodle: the grading worksheet of an assignment, with ``Identifier``; its numbers hold
  for that assignment alone;
* Gradescope: the roster, with ``SID`` and ``Email``;
* by hand: ``student``, nbgrader's id, and any of ``name``, ``email``, ``canvas_id``,
  ``sis_user_id``, ``sis_login_id``, ``section``, ``sid``, ``lti_user_id``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.lms.members import safe
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE, Shape
from autograder.submissions.submitted import bad_name
from autograder.tables import BadTable, Row, Table, read_table

BY_HAND = "by hand"
NOBODY = "Participant"  # whom Moodle gives no name, since marking is blind
_OWN = (
    *("name", "email", "canvas_id", "sis_user_id", "sis_login_id", "section", "sid"),
    "lti_user_id",
)
_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True)
class Person:
    """Somebody in the class.

    Attributes:
        student: nbgrader's id.
        name: as people read it.
        ids: what systems call them: ``canvas``, ``moodle``, ``sid``, ``email``,
            ``sis_user``, ``sis_login``, ``section``, ``lti_user``.
    """

    student: str
    name: str
    ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Roster:
    """A class list.

    Attributes:
        system: whose form it has.
        people: everybody in it.
        table: what was read.
    """

    system: str
    people: list[Person]
    table: Table

    def find(self, kind: str, value: str) -> Person | None:
        """The person whom a system calls so."""
        return self._by_id.get((kind, value.casefold())) if value else None

    @cached_property
    def _by_id(self) -> dict[tuple[str, str], Person]:
        """The people by what a system calls them; the first of those called alike."""
        found: dict[tuple[str, str], Person] = {}
        for person in self.people:
            for kind, value in person.ids.items():
                found.setdefault((kind, value.casefold()), person)
        return found


def read_roster(path: Path) -> Roster:
    """Read a class list in any of the forms.

    Raises:
        Unusable: it is no file that can be read.
        BadTable: something in it is wrong; then nothing of it is used.
    """
    table = read_table(path)
    system, people_in = _form(table)
    people = list(people_in(table))
    first: dict[str, int] = {}
    for number, person in people:
        if why := bad_name(person.student):
            table.problem(number, "", f"{person.student!r} cannot name a folder: {why}")
        same = first.setdefault(person.student.casefold(), number)
        if same != number:
            table.problem(number, "", f"{person.student} is in row {same} as well")
    table.require_sound()
    if not people:
        raise BadTable(path, ["it names nobody"])
    return Roster(system, [person for _, person in people], table)


def _form(table: Table) -> tuple[str, Callable[[Table], Iterator[tuple[int, Person]]]]:
    """Whose form a table has, and how its people are read."""
    columns = set(table.columns)
    if {"Student", "ID"} <= columns:
        return CANVAS, _in_canvas
    if "Identifier" in columns:
        return MOODLE, _in_moodle
    if {"SID", "Email"} <= columns:
        return GRADESCOPE, _in_gradescope
    if "student" in columns:
        return BY_HAND, _by_hand
    raise BadTable(
        table.path,
        [
            "row 1: no form that is known: Canvas has the columns Student and ID, "
            "Moodle (in English) Identifier, Gradescope SID and Email, and a list by "
            "hand student"
        ],
    )


def _needed(table: Table, row: Row, column: str) -> str:
    if not row[column]:
        table.problem(row, column, "it is empty")
    return row[column]


def _digits(table: Table, row: Row, column: str) -> str:
    """The number at the end of a cell, such as ``Participant 4321``."""
    found = _NUMBER.search(_needed(table, row, column))
    if row[column] and not found:
        table.problem(row, column, f"{row[column]!r} does not end with a number")
    return found[1] if found else ""


def _in_canvas(table: Table) -> Iterator[tuple[int, Person]]:
    for row in table.unique("ID"):
        title = row["Student"]
        if title == "Points Possible" or not (title or row["ID"]):
            continue  # rows about the columns
        if title == "Student, Test":  # whom Canvas shows teachers
            continue
        number, name = _digits(table, row, "ID"), _needed(table, row, "Student")
        ids = {
            "canvas": number,
            "sis_user": row["SIS User ID"],
            "sis_login": row["SIS Login ID"],
            "section": row["Section"],
        }
        short = re.sub(r"[^\w]", "", name).casefold()
        yield row.number, Person(ids["sis_login"] or f"{short}_{number}", name, ids)


def _in_moodle(table: Table) -> Iterator[tuple[int, Person]]:
    for row in table.unique("Identifier"):
        number = _digits(table, row, "Identifier")
        name, email = row["Full name"], row["Email address"]
        ids = {"moodle": number, "email": email, "status": row["Status"]}
        name = name or NOBODY
        student = email or Shape(MOODLE, number, name).student
        yield row.number, Person(safe(student), name, ids)


def _in_gradescope(table: Table) -> Iterator[tuple[int, Person]]:
    for row in table.unique("Email"):
        if row["Role"] and row["Role"].casefold() != "student":
            continue
        name = row["Name"] or f"{row['First Name']} {row['Last Name']}".strip()
        email = _needed(table, row, "Email")
        yield row.number, Person(email, name, {"sid": row["SID"], "email": email})


def _by_hand(table: Table) -> Iterator[tuple[int, Person]]:
    for column in table.columns:
        if column and column not in ("student", *_OWN):
            known = ", ".join(("student", *_OWN))
            table.problem(1, column, f"an unknown column; there are {known}")
    for column in ("canvas_id", "email", "sid", "sis_login_id", "lti_user_id"):
        list(table.unique(column))
    for row in table.rows:
        ids = {column.removesuffix("_id"): row[column] for column in _OWN[1:]}
        if ids["canvas"]:
            _digits(table, row, "canvas_id")
        student = _needed(table, row, "student")
        yield row.number, Person(student, row["name"] or student, ids)
