"""Marks in the tables that systems read, with the ids by which they match students.

* Canvas finds a student by ``ID``, else by the SIS ids; an empty cell changes nothing
  and ``EX`` excuses. Source: its ``GradebookImporter``.
* Moodle's grading worksheet needs ``Identifier``, ``Grade`` and ``Last modified
  (grade)``. Source: its ``assignfeedback_offline_grade_importer``.
* Gradescope takes results only from an autograder that it runs itself; there is a table
  with the columns of its own export.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE
from autograder.lms.roster import Person, Roster
from autograder.lms.upload_ids import (
    HandedIn,
    kept_roster,
    kept_worksheet,
    people_in,
    read_upload_ids,
)
from autograder.marks.reports import ClassReport
from autograder.tables import Kept, number_in, write_csv

CANVAS_COLUMNS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
MOODLE_COLUMNS = [
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"),
    *("Grade can be changed", "Last modified (submission)", "Last modified (grade)"),
    "Feedback comments",
]
_ASSIGNMENT_ID = re.compile(r"\s*\(\d+\)$")


def write_lms_tables(
    course: Path, report: ClassReport
) -> tuple[dict[str, Path], list[str]]:
    """Write the tables of a chapter into ``reports/``.

    Returns:
        What was written: ``canvas``, ``moodle`` and ``gradescope``; and what an
        instructor has to know about them.

    Raises:
        BadTable: a class list was changed, and cannot be used any more.
    """
    folder, chapter = course / "reports", report.chapter
    paths = {
        "canvas": folder / f"{chapter}_canvas.csv",
        "moodle": folder / f"{chapter}_moodle.csv",
        "gradescope": folder / f"{chapter}_gradescope.csv",
    }
    people, uploads = people_in(course, chapter), read_upload_ids(course, chapter)
    notes: list[str] = []
    _canvas(paths["canvas"], report, kept_roster(course), people, uploads, notes)
    _moodle(paths["moodle"], report, kept_worksheet(course, chapter), uploads, notes)
    rows = [_grades_row(s, report, people, uploads) for s in report.everybody]
    columns = ["Name", "SID", "Email", "Total Score", "Max Points", "Status"]
    write_csv(paths["gradescope"], [*columns, "Submission ID"], rows)
    return paths, notes


def _canvas(
    path: Path,
    report: ClassReport,
    roster: Roster | None,
    people: Mapping[str, Person],
    uploads: Mapping[str, HandedIn],
    notes: list[str],
) -> None:
    """The gradebook as Canvas imports it; its second row holds the points."""
    column, points = report.chapter, None
    if roster is not None and roster.system == CANVAS:
        column, points = _assignment(roster, report.chapter)
    most = f"{report.max_score:g}"
    if points and points != report.max_score:
        notes.append(
            f"Canvas has {column} out of {points:g} points, and the marks are "
            f"out of {most}: change it in Canvas before you import them"
        )
    rows: list[list[Any]] = [["    Points Possible", "", "", "", "", report.max_score]]
    for student in report.everybody:
        mark = "EX" if student in report.excused else report.score_of(student, "")
        rows.append([*_canvas_ids(student, people, uploads), mark])
    write_csv(path, [*CANVAS_COLUMNS, column], rows)


def _canvas_ids(
    student: str, people: Mapping[str, Person], uploads: Mapping[str, HandedIn]
) -> list[str]:
    """Name, ID, SIS User ID, SIS Login ID and Section of a student."""
    person, entry = people.get(student), uploads.get(student)
    ids = dict(person.ids) if person else {}
    if entry and entry.system == CANVAS and entry.person.isdigit():
        ids.setdefault("canvas", entry.person)
    known = ids.get("canvas") or ids.get("sis_user") or ids.get("sis_login")
    login = ids.get("sis_login", "") if known else student
    name = person.name if person else entry.name if entry else ""
    first = [name or student, ids.get("canvas", ""), ids.get("sis_user", "")]
    return [*first, login, ids.get("section", "")]


def _assignment(roster: Roster, chapter: str) -> tuple[str, float | None]:
    """What Canvas calls the assignment of a chapter, and its points if it says."""
    for column in roster.table.columns:
        title = _ASSIGNMENT_ID.sub("", column).strip().casefold()
        if re.sub(r"[\s-]+", "_", title) == chapter:
            rows = [r for r in roster.table.rows if r["Student"] == "Points Possible"]
            return column, number_in(rows[0][column]) if rows else None
    return chapter, None


def _moodle(
    path: Path,
    report: ClassReport,
    worksheet: Roster | None,
    uploads: Mapping[str, HandedIn],
    notes: list[str],
) -> None:
    """The grading worksheet, filled in; without ids of Moodle, a table of grades."""
    in_moodle = {s: entry for s, entry in uploads.items() if entry.system == MOODLE}
    if worksheet is not None:
        _filled_in(path, report, worksheet, in_moodle, notes)
        return
    if not in_moodle:
        rows = [[s, report.score_of(s, "")] for s in report.everybody]
        write_csv(path, ["username", report.chapter], rows)
        return
    rows = []
    for student, entry in sorted(in_moodle.items()):
        score = report.score_of(student, "")
        identity = [f"Participant {entry.person}", entry.name, entry.email, ""]
        rows.append([*identity, score, report.max_score, "Yes", "", "-", ""])
    write_csv(path, MOODLE_COLUMNS, rows)


def _filled_in(
    path: Path,
    report: ClassReport,
    worksheet: Roster,
    in_moodle: Mapping[str, HandedIn],
    notes: list[str],
) -> None:
    """The worksheet as Moodle gave it, with grades out of the most that it takes."""
    students = {entry.person: student for student, entry in in_moodle.items()}
    named = {p.ids["moodle"]: p.student for p in worksheet.people} | students
    columns, rows, scales = worksheet.table.columns, [], set()
    strange: set[str] = set()  # maxima that are no numbers
    for row in worksheet.table.rows:
        number = re.search(r"\d+$", row["Identifier"])
        student = named.get(number[0] if number else "", "")
        cells, score = dict(row.cells), report.score_of(student, None)
        if score is not None:
            most = row["Maximum Grade"]
            scale = _scale(most, report.max_score)
            scales.add(scale)
            strange |= {most} if number_in(most or "0") is None else set()
            cells["Grade"] = round(score * scale, 2)
        if "Feedback comments" in columns:
            cells["Feedback comments"] = Kept(row["Feedback comments"])
        rows.append([cells.get(column, "") for column in columns])
    if scales - {1.0}:
        notes.append(
            f"Moodle takes another maximum than {report.max_score:g} points: the "
            "grades in its worksheet are shares of that"
        )
    if strange:
        notes.append(
            f"Moodle's worksheet says {min(strange)!r} where the maximum grade "
            f"belongs, so its grades are out of {report.max_score:g}: set that maximum "
            "in Moodle before you import them"
        )
    write_csv(path, columns, rows)


def _scale(most: str, max_score: float) -> float:
    """What a point is worth where a system takes another maximum."""
    maximum = number_in(most)
    return maximum / max_score if maximum and max_score else 1.0


def _grades_row(
    student: str,
    report: ClassReport,
    people: Mapping[str, Person],
    uploads: Mapping[str, HandedIn],
) -> list[Any]:
    """A student in Gradescope's table of grades, with the state in words."""
    person, entry = people.get(student), uploads.get(student)
    ids = person.ids if person else {}
    theirs = entry if entry and entry.system == GRADESCOPE else None
    sid = ids.get("sid") or (
        theirs.person if theirs and "@" not in theirs.person else ""
    )
    name = person.name if person else entry.name if entry else ""
    email = ids.get("email") or (entry.email if entry else "")
    number = theirs.place.removeprefix("submission_") if theirs else ""
    score, state = report.score_of(student, ""), report.state_of(student)
    return [name or student, sid, email, score, report.max_score, state, number]
