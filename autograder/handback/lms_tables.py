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
from autograder.lms.roster import PARTICIPANT, Person, Roster
from autograder.lms.upload_ids import kept_list, people_in
from autograder.marks.reports import ClassReport
from autograder.tables import Kept, number_in, write_csv

CANVAS_COLUMNS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
Rows = tuple[list[str], list[list[Any]]]  # a header, and what is below it
_ASSIGNMENT_ID = re.compile(r"\s*\(\d+\)$")


def write_lms_tables(
    course: Path, report: ClassReport
) -> tuple[dict[str, Path], list[str]]:
    """Write the tables of a chapter into ``reports/``.

    Returns:
        What was written: ``canvas``, ``gradescope`` and, where there is a worksheet of
        Moodle's, ``moodle``; and what an instructor has to know about them.
    """
    chapter, people = report.chapter, people_in(course, report.chapter)
    lists = {s: kept_list(course, chapter, s) for s in (CANVAS, MOODLE)}
    paths, notes = {}, []
    tables = {
        CANVAS: _canvas(report, lists[CANVAS], people, notes),
        GRADESCOPE: _gradescope(report, people),
    }
    if (worksheet := lists[MOODLE]) is not None:
        tables[MOODLE] = _moodle(report, worksheet, notes)
    for system, (header, rows) in tables.items():
        paths[system] = course / "reports" / f"{chapter}_{system}.csv"
        write_csv(paths[system], header, rows)
    return paths, notes


def _canvas(
    report: ClassReport,
    listed: Roster | None,
    people: Mapping[str, Person],
    notes: list[str],
) -> Rows:
    """The gradebook as Canvas imports it; its second row holds the points."""
    column, points = _assignment(listed, report.chapter)
    if points and points != report.max_score:
        notes.append(
            f"Canvas has {column} out of {points:g} points, and the marks are "
            f"out of {report.max_score:g}: change it in Canvas before you import them"
        )
    rows: list[list[Any]] = [["    Points Possible", "", "", "", "", report.max_score]]
    for student in report.everybody:
        name, ids = _known(student, people)
        first = [ids.get(kind, "") for kind in ("canvas", "sis_user", "sis_login")]
        if not any(first):
            first[-1] = student
        mark = "EX" if student in report.excused else report.score_of(student, "")
        rows.append([name, *first, ids.get("section", ""), mark])
    return [*CANVAS_COLUMNS, column], rows


def _known(student: str, people: Mapping[str, Person]) -> tuple[str, dict[str, str]]:
    """Name and ids of a student, as far as a class list has them."""
    person = people.get(student)
    return (person.name or student, person.ids) if person else (student, {})


def _assignment(listed: Roster | None, chapter: str) -> tuple[str, float | None]:
    """What Canvas calls the assignment of a chapter, and its points if it says."""
    for column in listed.table.columns if listed else ():
        title = _ASSIGNMENT_ID.sub("", column).strip().casefold()
        if re.sub(r"[\s-]+", "_", title) == chapter:
            rows = [r for r in listed.table.rows if r["Student"] == "Points Possible"]
            return column, number_in(rows[0][column]) if rows else None
    return chapter, None


def _moodle(report: ClassReport, worksheet: Roster, notes: list[str]) -> Rows:
    """The grading worksheet, filled in, with grades out of the most that it takes."""
    columns, rows, maxima = worksheet.table.columns, [], set()
    students = {person.ids["moodle"]: person.student for person in worksheet.people}
    for row in worksheet.table.rows:
        student = students[row["Identifier"].removeprefix(PARTICIPANT)]
        cells, score = dict(row.cells), report.score_of(student, None)
        if score is not None:
            maximum = row["Maximum Grade"]
            most = number_in(maximum) or report.max_score
            if maximum and number_in(maximum) != report.max_score:
                maxima.add(maximum)
            cells["Grade"] = round(score * most / report.max_score, 2)
        if "Feedback comments" in columns:
            cells["Feedback comments"] = Kept(row["Feedback comments"])
        rows.append([cells.get(column, "") for column in columns])
    notes += [
        f"Moodle's worksheet has the maximum grade {maximum!r}, and marks are out of "
        f"{report.max_score:g}: its grades are shares of that number; if it is no "
        f"number, set the maximum in Moodle to {report.max_score:g} before you import"
        for maximum in sorted(maxima)
    ]
    return columns, rows


def _gradescope(report: ClassReport, people: Mapping[str, Person]) -> Rows:
    """The columns of Gradescope's own table of grades, with the state in words."""
    rows = []
    for student in report.everybody:
        name, ids = _known(student, people)
        score, state = report.score_of(student, ""), report.state_of(student)
        marks = [score, report.max_score, state]
        rows.append([name, ids.get("sid", ""), ids.get("email", ""), *marks])
    return ["Name", "SID", "Email", "Total Score", "Max Points", "Status"], rows
