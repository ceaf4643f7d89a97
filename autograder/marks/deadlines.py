"""Due dates, extensions and excuses of a course, from one table: ``deadlines.csv``.

A line names a ``student`` (empty for all of them), a ``chapter``, and what is ``due``:
a date, with or without a time, ``+3 days`` or ``excused``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.exercise import UnknownExercise, require_topic
from autograder.files import write_atomically
from autograder.tables import BadTable, Row, Table, read_table

COLUMNS = ("student", "chapter", "due")
LONGEST = 366  # days of an extension
# A zone by its name, which ISO 8601 does not have.
_ZONE = re.compile(r"(?P<time>.+) (?P<zone>UTC|[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+)")
_DAYS = re.compile(r"\+? ?(?P<days>\d{1,3})(?: days?)?")


@dataclass
class Deadlines:
    """What a table says about one chapter.

    Attributes:
        due: when everybody has to hand in, in UTC; None if the table does not say.
        zone: in which days are counted; that of this machine if None.
        until: those who have until another time, in UTC.
        longer: those who have some days more.
        excused: those whose mark does not count.
    """

    due: datetime | None = None
    zone: tzinfo | None = None
    until: dict[str, datetime] = field(default_factory=dict)
    longer: dict[str, timedelta] = field(default_factory=dict)
    excused: set[str] = field(default_factory=set)

    def extensions(self, due: datetime | None) -> dict[str, timedelta]:
        """How much more time students have than everybody.

        If everybody was given more time later, an extension may have ended before that:
        then it gives nothing, and takes nothing away.

        Args:
            due: when everybody has to hand in, in UTC without a zone.
        """
        if due is None:
            return dict(self.longer)
        until = {s: _plain(when) for s, when in self.until.items()}
        until |= {s: _days_later(due, n, self.zone) for s, n in self.longer.items()}
        return {student: when - due for student, when in until.items() if when > due}


def keep_deadlines(
    path: Path,
    course: Path,
    class_: Collection[str],
    dues: Mapping[str, datetime | None],
) -> dict[str, Deadlines]:
    """Check a table and make it the one of the course.

    Args:
        path: of the table.
        course: folder of the course.
        class_: everybody in it.
        dues: the due dates that the gradebook has, by chapter.

    Raises:
        Unusable: there is no such file.
        BadTable: something in it is wrong; the course keeps the table that it had.
    """
    found = _read(path, class_, dues)
    write_atomically(course / "deadlines.csv", path.read_bytes())
    return found


def deadlines_of(course: Path, chapter: str) -> Deadlines | None:
    """What the table of a course says about a chapter; None if it says nothing.

    Raises:
        BadTable: somebody changed the table, and something in it is wrong.
    """
    path = course / "deadlines.csv"
    return _read(path).get(chapter) if path.exists() else None


def _read(
    path: Path,
    class_: Collection[str] = (),
    dues: Mapping[str, datetime | None] | None = None,
) -> dict[str, Deadlines]:
    """Read a table; people and due dates are compared if they are given."""
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
    if dues is not None:
        _require_order(table, found, rows, dues)
    table.require_sound()
    return found


def _take(table: Table, row: Row, student: str, chapter: Deadlines) -> None:
    """Note what a line says."""
    text = row["due"]
    days = _DAYS.fullmatch(text)
    if text.casefold() == "excused" and student:
        chapter.excused.add(student)
    elif days and student and 0 < int(days["days"]) <= LONGEST:
        chapter.longer[student] = timedelta(days=int(days["days"]))
    elif (when := _time(text)) is not None:
        if student:
            chapter.until[student] = when.astimezone(UTC)
        else:
            chapter.due, chapter.zone = when.astimezone(UTC), when.tzinfo
    elif not student and (days or text.casefold() == "excused"):
        table.problem(row, "due", f"{text!r} is for one student, and none is named")
    else:
        table.problem(
            row,
            "due",
            f"{text!r} is no date such as 2026-11-12, 2026-11-12 18:00, "
            "2026-11-12T18:00+01:00 or 2026-11-12 18:00 Europe/Berlin, no number of "
            f"days up to {LONGEST} such as +3 days, and not the word excused",
        )


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
        when.astimezone(UTC)  # which the year 1 and the year 9999 may not have
    except (ValueError, KeyError, OSError, OverflowError):
        return None
    return when


def _require_order(
    table: Table,
    found: Mapping[str, Deadlines],
    rows: Mapping[tuple[str, str], Row],
    dues: Mapping[str, datetime | None],
) -> None:
    """Note extensions of no due date, and those that would end before it."""
    for chapter, said in found.items():
        due = _plain(said.due) if said.due else dues.get(chapter)
        extended: Iterable[str] = [*said.until, *said.longer]
        for student in extended:
            row = rows[student, chapter]
            if due is None:
                what = f"{chapter} has no due date: add a line for everybody"
                table.problem(row, "due", what)
            elif student in said.until and _plain(said.until[student]) < due:
                what = f"it is before the due date, {due:%Y-%m-%d %H:%M} UTC"
                table.problem(row, "due", what)


def _days_later(due: datetime, days: timedelta, zone: tzinfo | None) -> datetime:
    """The same time of day some days later, also where clocks are changed meanwhile.

    Args:
        due: in UTC, without saying so; so is what is returned.
        days: how many.
        zone: whose clocks; those of this machine if None.
    """
    local = due.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) + days
    return _plain(local.replace(tzinfo=zone))


def _plain(when: datetime) -> datetime:
    """A time as the gradebook has it: in UTC, without saying so."""
    return when.astimezone(UTC).replace(tzinfo=None)
