"""Who is in the class: a list as a system exports it, or one written by hand.

* Canvas: the gradebook's export; Moodle: the grading worksheet of an assignment, whose
  numbers hold for that assignment alone; Gradescope: the roster;
* by hand: ``student``, nbgrader's id, and any of the other columns in ``FORMS``.

A cell with an id is that id as a whole: nothing is cut off it.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.submissions.submitted import bad_name
from autograder.tables import BadTable, Row, Table, read_table

BY_HAND = "by hand"
PARTICIPANT = "Participant "  # before a number of Moodle's
# Columns that tell a form from others. None may have an empty cell, but for SID.
_HEADS = {
    CANVAS: ("Student", "ID"),
    MOODLE: ("Identifier",),
    GRADESCOPE: ("SID", "Email"),
    BY_HAND: ("student",),
}
# What the columns of a form say of a person.
FORMS = {
    CANVAS: {
        "name": "Student",
        "canvas": "ID",
        "sis_user": "SIS User ID",
        "sis_login": "SIS Login ID",
        "section": "Section",
    },
    MOODLE: {
        "moodle": "Identifier",
        "name": "Full name",
        "email": "Email address",
    },
    GRADESCOPE: {"name": "Name", "sid": "SID", "email": "Email"},
    BY_HAND: {
        "student": "student",
        "name": "name",
        "email": "email",
        "canvas": "canvas_id",
        "moodle": "moodle_id",
        "sis_user": "sis_user_id",
        "sis_login": "sis_login_id",
        "section": "section",
        "sid": "sid",
        "lti_user": "lti_user_id",
    },
}
_NUMBERS = ("canvas", "moodle")
_UNIQUE = ("canvas", "moodle", "email", "sid", "sis_login", "lti_user")
_UNFIT = re.compile(r"[/\\*?\[\]]|^\.+")  # separators, patterns, hidden names


@dataclass(frozen=True)
class Person:
    """Somebody in the class.

    Attributes:
        student: nbgrader's id.
        name: as people read it.
        ids: what else a list says, by the names in ``FORMS``.
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
        number = known.get("canvas") or known.get("moodle") or known.get("sid") or ""
        known["student"] = known.get("email") or _named(known["name"], number)
        if self.system == MOODLE:
            known["moodle"] = PARTICIPANT + number
        first, _, last = known["name"].rpartition(" ")
        cells = {"First Name": first, "Last Name": last}
        cells |= {c: known.get(kind, "") for kind, c in FORMS[self.system].items()}
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
    system = _system(table)
    for kind in _UNIQUE:
        list(table.unique(FORMS[system].get(kind, "")))
    people, first = [], {}
    for row in table.rows:
        if not _is_student(row):
            continue
        person = _person(table, row, system)
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


def _system(table: Table) -> str:
    """Whose form a table has."""
    fitting = [s for s, head in _HEADS.items() if set(head) <= set(table.columns)]
    if not fitting:
        raise BadTable(
            table.path,
            [
                "row 1: no form that is known: Canvas has the columns Student and ID, "
                "Moodle (in English) Identifier, Gradescope SID and Email, and a list "
                "by hand student"
            ],
        )
    known = [*FORMS[BY_HAND].values(), ""]
    for column in table.columns if fitting == [BY_HAND] else ():
        if column not in known:
            what = f"an unknown column; there are {', '.join(known[:-1])}"
            table.problem(1, column, what)
    return fitting[0]


def _is_student(row: Row) -> bool:
    """Whether a row is about a student: not about columns, teachers or nobody."""
    if row["Student"] in ("Points Possible", "Student, Test"):
        return False
    if "Student" in row.cells and not (row["Student"] or row["ID"]):
        return False  # Canvas says there how marks are posted
    return row["Role"].casefold() in ("", "student")


def _person(table: Table, row: Row, system: str) -> Person:
    """Who a row is about."""
    ids = {
        kind: _value(table, row, kind, column, system)
        for kind, column in FORMS[system].items()
    }
    student, name = ids.pop("student", ""), ids.pop("name")
    if system == BY_HAND:
        return Person(student, name or student, ids)
    name = name or f"{row['First Name']} {row['Last Name']}".strip()
    number = ids.get("canvas") or ids.get("moodle") or ""
    login = safe(ids.get("sis_login") or ids.get("email") or "")
    return Person(login or _named(name or PARTICIPANT, number), name, ids)


def _value(table: Table, row: Row, kind: str, column: str, system: str) -> str:
    """What a cell says; a number that a spreadsheet has rewritten is a problem."""
    text = row[column]
    value = text.removeprefix(PARTICIPANT) if kind == "moodle" else text
    if not text:
        if column in _HEADS[system] and column != "SID":
            table.problem(row, column, "it is empty")
    elif kind in _NUMBERS and not re.fullmatch("[0-9]+", value):
        what = f"{text!r} is no number in digits alone; give the file as the system "
        table.problem(row, column, f"{what}exported it")
    return value


def _named(name: str, number: str) -> str:
    """A student of whom a system tells a name and a number alone."""
    letters = re.sub(r"[^\w]", "", name).casefold()
    return safe(f"{letters}_{number}")


def safe(text: str) -> str:
    """A login or an address as the name of a folder."""
    plain = _UNFIT.sub("-", unicodedata.normalize("NFC", text))
    return "".join(c if c.isprintable() else "-" for c in plain)
