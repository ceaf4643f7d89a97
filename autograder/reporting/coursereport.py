"""The marks of a course as one self-contained page and one table."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from autograder.book import chapter_title
from autograder.files import write_atomically
from autograder.marks.reports import WAITING
from autograder.reporting.classreport import SHOWN
from autograder.reporting.course_marks import CourseMarks, Student
from autograder.reporting.pages import Cell, counted, filled, percent, templates
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
    cells = [_mark(student, c) for c in marks.chapters]
    shares = [*cells, student.so_far, student.final]
    *chapters, so_far, final = [
        "" if s is None else s if isinstance(s, str) else round(100 * s, 1)
        for s in shares
    ]
    reasons = "; ".join(student.at_risk)
    return [student.name, *chapters, " ".join(student.dropped), so_far, final, reasons]


def _mark(student: Student, chapter: str) -> float | str | None:
    """The share of a chapter, or what stands in place of a mark."""
    if chapter in student.excused:
        return "EX"
    return WAITING if chapter in student.waiting else student.shares.get(chapter)


def as_page(marks: CourseMarks, course: Path) -> str:
    """The course as one HTML page without outside resources.

    Args:
        marks: of the course.
        course: its folder, where reports on the chapters may be.
    """
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
            trend=[
                [chapter, *map(counted, counts), filled(mean), weight]
                for chapter, *counts, mean, weight in marks.trend()
            ],
            columns=[
                (chapter.replace("_", " "), "number") for chapter in marks.chapters
            ],
            rows=[
                [
                    student.name,
                    *(_cell(_mark(student, chapter)) for chapter in marks.chapters),
                    _cell(student.so_far),
                    _cell(student.final),
                ]
                for student in marks.students
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


def _cell(share: float | str | None) -> Cell:
    if isinstance(share, str):
        return Cell(share, None)
    return Cell("–" if share is None else percent(share), share)
