"""Due dates, extensions and excuses of a course, from one table: ``deadlines.csv``.

A line names a ``student`` (empty for all of them), a ``chapter``, and what is ``due``:
a date, with or without a time, or ``excused``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.exercise import UnknownExercise, require_topic
from autograder.files import write_atomically
from autograder.tables import BadTable, Row, Table, read_table

COLUMNS = ("student", "chapter", "due")
# A zone by its name, which ISO 8601 does not have.
_ZONE = re.compile(r"(?P<time>.+) (?P<zone>UTC|[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)")


@dataclass
class Deadlines:
    """What a table says about one chapter.

    Attributes:
        due: when everybody has to hand in, in UTC without a zone, as the gradebook has
            it; None if the table does not say.
        until: those who have until another time, written in the same way.
        excused: those whose mark does not count.
    """

    due: datetime | None = None
    until: dict[str, datetime] = field(default_factory=dict)
    excused: set[str] = field(default_factory=set)

    @property
    def extensions(self) -> dict[str, timedelta]:
        """How much more time students have than everybody."""
        due = self.due
        return {s: when - due for s, when in self.until.items()} if due else {}


def keep_deadlines(
    path: Path, course: Path, class_: Collection[str]
) -> dict[str, Deadlines]:
    """Check a table and make it the one of the course.

    Args:
        path: of the table.
        course: folder of the course.
        class_: everybody in it.

    Raises:
        Unusable: there is no such file.
        BadTable: something in it is wrong; the course keeps the table that it had.
    """
    found = _read(path, class_)
    write_atomically(course / "deadlines.csv", path.read_bytes())
    return found


def deadlines_of(course: Path, chapter: str) -> Deadlines | None:
    """What the table of a course says about a chapter; None if it says nothing.

    Raises:
        BadTable: somebody changed the table, and something in it is wrong.
    """
    path = course / "deadlines.csv"
    return _read(path).get(chapter) if path.exists() else None


def _read(path: Path, class_: Collection[str] = ()) -> dict[str, Deadlines]:
    """Read a table; people are compared with the class if that is given."""
    table = read_table(path)
    if missing := [column for column in COLUMNS if column not in table.columns]:
        wanted = ", ".join(COLUMNS)
        raise BadTable(
            path, [f"row 1: no column {missing[0]}; there have to be {wanted}"]
        )
    found: dict[str, Deadlines] = {}
    rows: dict[tuple[str, str], Row] = {}
    for row in table.rows:
        student, chapter = row["student"], row["chapter"]
        if same := rows.get((student, chapter)):
            table.problem(row, "student", f"row {same.number} is about the same")
        try:
            require_topic(chapter)
        except UnknownExercise as error:
            table.problem(row, "chapter", str(error))
        if student and class_ and student not in class_:
            near = difflib.get_close_matches(student, class_, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            table.problem(row, "student", f"nobody is called {student!r}{meant}")
        rows[student, chapter] = row
        _take(table, row, student, found.setdefault(chapter, Deadlines()))
    for (student, chapter), row in rows.items():
        said = found[chapter]
        if student in said.until and said.due is None:
            what = f"{chapter} has no due date: add a line for everybody"
            table.problem(row, "due", what)
        elif student in said.until and said.until[student] < said.due:
            what = f"it is before the due date, {said.due:%Y-%m-%d %H:%M} UTC"
            table.problem(row, "due", what)
    table.require_sound()
    return found


def _take(table: Table, row: Row, student: str, chapter: Deadlines) -> None:
    """Note what a line says."""
    text = row["due"]
    if student and text.casefold() == "excused":
        chapter.excused.add(student)
    elif (when := _time(text)) is None:
        table.problem(
            row,
            "due",
            f"{text!r} is no date such as 2026-11-12, 2026-11-12 18:00, "
            "2026-11-12T18:00+01:00 or 2026-11-12 18:00 Europe/Berlin, nor, of one "
            "student, the word excused",
        )
    elif student:
        chapter.until[student] = when
    else:
        chapter.due = when


def _time(text: str) -> datetime | None:
    """A time in ISO 8601, in the zone that is named; in that of this machine if none.

    Without a time of day it is the last moment of that day.
    """
    named = _ZONE.fullmatch(text)
    given, zone = named.groups() if named else (text, None)
    try:
        try:
            when = datetime.combine(date.fromisoformat(given), time.max)
        except ValueError:
            when = datetime.fromisoformat(given)
        if zone and when.tzinfo:
            return None
        when = when.replace(tzinfo=ZoneInfo(zone)) if zone else when
        return when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, KeyError, OSError, OverflowError):
        return None
