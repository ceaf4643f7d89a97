"""Who is in the class: a list as a system exports it, or one written by hand.

* Canvas: the gradebook's export, with ``Student`` and ``ID``;
* Moodle: the grading worksheet of an assignment, with ``Identifier``; its numbers hold
  for that assignment alone;
* Gradescope: the roster, with ``SID`` and ``Email``;
* by hand: ``student``, nbgrader's id, and any of ``OWN``.

A cell with an id is that id as a whole: nothing is cut off it.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.submissions.submitted import bad_name
from autograder.tables import BadTable, Row, Table, read_table

BY_HAND = "by hand"
OWN = (
    *("name", "email", "canvas_id", "moodle_id", "sis_user_id", "sis_login_id"),
    *("section", "sid", "lti_user_id"),
)
_UNIQUE = ("canvas_id", "moodle_id", "email", "sid", "sis_login_id", "lti_user_id")
# What a spreadsheet makes of a number that it takes for one to reckon with.
_REWRITTEN = re.compile(r"[0-9]+[.,]0*|[0-9]+(?:[.,][0-9]+)?[eE][+-][0-9]+")
_UNFIT = re.compile(r"[/\\*?\[\]]|^\.+")  # separators, patterns, hidden names


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
        return {
            (kind, value.casefold()): person
            for person in self.people
            for kind, value in person.ids.items()
        }

    def row_to_add(self, **known: str) -> str:
        """The line that would put somebody into the list.

        Args:
            known: ``name``, ``canvas``, ``moodle``, ``sid`` and ``email``, as far as
                they are known.
        """
        name, email = known["name"], known.get("email", "")
        number = known.get("canvas") or known.get("moodle") or known.get("sid") or ""
        first, _, last = name.rpartition(" ")
        cells = {
            CANVAS: {"Student": name, "ID": number},
            MOODLE: {"Identifier": f"Participant {number}", "Full name": name},
            GRADESCOPE: {"Name": name, "First Name": first, "Last Name": last}
            | {"SID": number, "Email": email},
            BY_HAND: {
                column: known.get(column.removesuffix("_id"), "") for column in OWN
            }
            | {"student": email or _named(name, number)},
        }[self.system]
        text = io.StringIO()
        csv.writer(text).writerow([cells.get(c, "") for c in self.table.columns])
        return text.getvalue().strip()


def read_roster(path: Path) -> Roster:
    """Read a class list in any of the forms.

    Raises:
        Unusable: it is no file that can be read.
        BadTable: something in it is wrong; then nothing of it is used.
    """
    table = read_table(path)
    system, people_in = _form(table)
    people, first = [], {}
    for row, person in people_in(table):
        if why := bad_name(person.student):
            table.problem(row, "", f"{person.student!r} cannot name a folder: {why}")
        same = first.setdefault(person.student.casefold(), row.number)
        if same != row.number:
            what = f"{person.student} is the name of the person in row {same} as well"
            table.problem(row, "", what)
        people.append(person)
    table.require_sound()
    if not people:
        raise BadTable(path, ["it names nobody"])
    return Roster(system, people, table)


def _form(table: Table) -> tuple[str, Callable[[Table], Iterator[tuple[Row, Person]]]]:
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


def _number(table: Table, row: Row, column: str, before: str = "") -> str:
    """The number that a cell is, as a whole, or behind a word such as Participant."""
    text = row[column].removeprefix(before)
    if row[column] and not re.fullmatch("[0-9]+", text):
        what = f"{row[column]!r} is no number in digits alone, such as {before}12345"
        table.problem(row, column, what + _advice(text))
    return text


def _id(table: Table, row: Row, column: str) -> str:
    """An id that may be any text but one that a spreadsheet has rewritten."""
    if advice := _advice(row[column]):
        table.problem(row, column, f"{row[column]!r} is no id{advice}")
    return row[column]


def _advice(text: str) -> str:
    if not _REWRITTEN.fullmatch(text):
        return ""
    return ": a spreadsheet has rewritten it; give the file as the system exported it"


def _in_canvas(table: Table) -> Iterator[tuple[Row, Person]]:
    for row in table.unique("ID"):
        title = row["Student"]
        if title == "Points Possible" or not (title or row["ID"]):
            continue  # rows about the columns
        if title == "Student, Test":  # whom Canvas shows teachers
            continue
        _needed(table, row, "ID")
        number, name = _number(table, row, "ID"), _needed(table, row, "Student")
        ids = {
            "canvas": number,
            "sis_user": row["SIS User ID"],
            "sis_login": row["SIS Login ID"],
            "section": row["Section"],
        }
        yield row, Person(safe(ids["sis_login"]) or _named(name, number), name, ids)


def _in_moodle(table: Table) -> Iterator[tuple[Row, Person]]:
    for row in table.unique("Identifier"):
        _needed(table, row, "Identifier")
        number = _number(table, row, "Identifier", "Participant ")
        name, email = row["Full name"], row["Email address"]
        ids = {"moodle": number, "email": email, "status": row["Status"]}
        yield (
            row,
            Person(safe(email) or _named(name or "Participant", number), name, ids),
        )


def _in_gradescope(table: Table) -> Iterator[tuple[Row, Person]]:
    list(table.unique("SID"))
    for row in table.unique("Email"):
        if row["Role"] and row["Role"].casefold() != "student":
            continue
        name = row["Name"] or f"{row['First Name']} {row['Last Name']}".strip()
        sid, email = _id(table, row, "SID"), _needed(table, row, "Email")
        yield row, Person(safe(email), name, {"sid": sid, "email": email})


def _by_hand(table: Table) -> Iterator[tuple[Row, Person]]:
    for column in table.columns:
        if column and column not in ("student", *OWN):
            known = ", ".join(("student", *OWN))
            table.problem(1, column, f"an unknown column; there are {known}")
    for column in _UNIQUE:
        list(table.unique(column))
    for row in table.rows:
        for column in ("canvas_id", "moodle_id"):
            _number(table, row, column)
        for column in ("student", "sid", "lti_user_id"):
            _id(table, row, column)
        ids = {column.removesuffix("_id"): row[column] for column in OWN[1:]}
        student = _needed(table, row, "student")
        yield row, Person(student, row["name"] or student, ids)


def _named(name: str, number: str) -> str:
    """A student of whom a system tells a name and a number alone."""
    letters = re.sub(r"[^\w]", "", name).casefold()
    return safe(f"{letters}_{number}")


def safe(text: str) -> str:
    """A login or an address as the name of a folder."""
    plain = _UNFIT.sub("-", unicodedata.normalize("NFC", text))
    return "".join(c if c.isprintable() else "-" for c in plain)
