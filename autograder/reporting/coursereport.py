"""The marks of a course as one self-contained page and one table."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.book import chapter_title
from autograder.files import write_atomically
from autograder.marks.reports import WAITING
from autograder.reporting.causes import causes_in, explained, unexplained
from autograder.reporting.classreport import SHARED, SHOWN, answers_have, entry, numbers
from autograder.reporting.course_marks import CourseMarks, Student
from autograder.reporting.examples import Examples
from autograder.reporting.items import Item, item_analysis
from autograder.reporting.pages import Cell, counted, filled, percent, templates
from autograder.reporting.suspects import suspects
from autograder.tables import write_csv


def write_course_report(course: Path, marks: CourseMarks) -> dict[str, Path]:
    """Write ``reports/course.html`` and ``reports/course.csv``; where they are."""
    page, table = (course / "reports" / f"course.{kind}" for kind in ("html", "csv"))
    write_atomically(page, as_page(marks, course))
    head = ["student", *marks.chapters, "dropped", "so_far", "final", "at_risk"]
    write_csv(table, head, (_row(student, marks) for student in marks.students))
    return {"page": page, "table": table}


def _row(student: Student, marks: CourseMarks) -> list[Any]:
    """A student in the table: shares in percent, empty where nothing was handed in."""

    def rounded(share: float | None) -> float | str:
        return "" if share is None else round(100 * share, 1)

    cells = [_cell(student, chapter, rounded) for chapter in marks.chapters]
    ends = [rounded(student.so_far), rounded(student.final)]
    reasons = "; ".join(student.at_risk)
    return [student.name, *cells, " ".join(student.dropped), *ends, reasons]


def _cell(
    student: Student,
    chapter: str,
    shown: Callable[[float | None], Any],
    instead: Callable[[str], Any] = str,
) -> Any:
    """What is shown of a student's chapter, or what stands in place of a mark."""
    if chapter in student.excused:
        return instead("EX")
    if chapter in student.waiting:
        return instead(WAITING)
    return shown(student.shares.get(chapter))


def as_page(marks: CourseMarks, course: Path) -> str:
    """The course as one HTML page without outside resources.

    Args:
        marks: of the course.
        course: its folder, where examples are and reports on the chapters may be.
    """
    items = {c: item_analysis(report) for c, report in marks.reports.items()}
    causes = {c: causes_in(report) for c, report in marks.reports.items()}
    shared = sorted(
        ((c, cause) for c in marks.chapters for cause in explained(causes[c])),
        key=lambda pair: (-len(pair[1].students), -pair[1].lost),
    )
    shared = [(c, cause) for c, cause in shared if len(cause.students) > 1][:SHARED]
    open_ = [cause for found in causes.values() for cause in unexplained(found)]
    pages = [c for c in marks.chapters if (course / "reports" / f"{c}.html").is_file()]
    return (
        templates()
        .get_template("coursereport.html")
        .render(
            states=_states(marks),
            pages=[(c, chapter_title(c)) for c in pages],
            shown=SHOWN,
            help=[(s.name, _why(s)) for s in marks.at_risk],
            risks=[
                [s.name, filled(s.final), "; ".join(s.at_risk)] for s in marks.at_risk
            ],
            shared=[
                entry(cause, marks.reports[c], Examples(course, c), name_chapter=True)
                for c, cause in shared
            ],
            unexplained=open_ and answers_have(sum(len(c.students) for c in open_)),
            suspects=[
                replace(suspect, where=f"{c}: {suspect.where}")
                for c in marks.chapters
                for suspect in suspects(items[c], causes[c])
            ],
            trend=_trend(marks, items),
            columns=[
                (chapter.replace("_", " "), "number") for chapter in marks.chapters
            ],
            rows=[_marks(student, marks) for student in marks.students],
            exercises=[
                [item.exercise, c, *numbers(item)]
                for c in marks.chapters
                for item in items[c]
                if not item.case
            ],
        )
    )


def _states(marks: CourseMarks) -> list[tuple[str, str]]:
    """The course in a few numbers."""
    finals = [s.so_far for s in marks.students if s.so_far is not None]
    middle = percent(statistics.median(finals)) if finals else "–"
    return [
        (str(len(marks.students)), "students"),
        (str(len(marks.chapters)), "chapters graded"),
        (middle, "half of the class has this or more so far"),
        (str(len(marks.at_risk)), "may need help"),
    ]


def _why(student: Student) -> str:
    """The final mark, if there is one, and why help may be needed."""
    reasons = "; ".join(student.at_risk)
    return reasons if student.final is None else f"{percent(student.final)}; {reasons}"


def _trend(marks: CourseMarks, items: dict[str, list[Item]]) -> list[list[Any]]:
    """A line for each chapter."""
    rows = []
    for chapter, there, waiting, not_, mean in marks.trend():
        exercises = [item for item in items[chapter] if not item.case]
        hard = min(exercises, key=lambda item: item.difficulty, default=None)
        excused = sum(chapter in student.excused for student in marks.students)
        zeros = sum(share == 0 for share in marks.shares(chapter))
        name = f"{hard.exercise} ({percent(hard.difficulty)})" if hard else ""
        weight = counted(marks.weights[chapter])
        numbers_ = map(counted, (there, waiting, not_, excused, zeros))
        rows.append([chapter, *numbers_, filled(mean), name, weight])
    return rows


def _marks(student: Student, marks: CourseMarks) -> list[Any]:
    """A student in the table of the page."""

    def shown(share: float | None) -> Cell:
        return Cell("–" if share is None else percent(share), share)

    def instead(words: str) -> Cell:
        return Cell(words, None)

    cells = [_cell(student, c, shown, instead) for c in marks.chapters]
    return [student.name, *cells, shown(student.so_far), shown(student.final)]
