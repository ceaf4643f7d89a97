"""The marks of a course as one self-contained page and one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from autograder.grading.classreport import drawn, templates
from autograder.grading.course_marks import CourseMarks, Student
from autograder.grading.exports import write_csv


def write_course_report(course: Path, marks: CourseMarks) -> dict[str, Path]:
    """Write ``reports/course.html`` and ``reports/course.csv``; where they are."""
    page, table = (course / "reports" / f"course.{kind}" for kind in ("html", "csv"))
    page.write_text(as_page(marks), encoding="utf-8")
    head = ["student", *marks.chapters, "dropped", "so_far", "final", "at_risk"]
    write_csv(table, head, (_row(student, marks) for student in marks.students))
    return {"page": page, "table": table}


def _row(student: Student, marks: CourseMarks) -> list[Any]:
    """A student in the table: shares in percent, empty where nothing was handed in."""
    cells = [_cell(student, c, lambda s: round(100 * s, 1)) for c in marks.chapters]
    ends = [_percent(student.so_far), _percent(student.final)]
    reasons = "; ".join(student.at_risk)
    return [student.name, *cells, " ".join(student.dropped), *ends, reasons]


def _percent(share: float | None) -> float | str:
    return "" if share is None else round(100 * share, 1)


def _cell(student: Student, chapter: str, shown: Any) -> Any:
    if chapter in student.excused:
        return "EX"
    share = student.shares.get(chapter)
    return "" if share is None else shown(share)


def as_page(marks: CourseMarks) -> str:
    """The course as one HTML page without scripts or outside resources."""

    def whole(share: float | None) -> str:
        return "–" if share is None else f"{share:.0%}"

    rows = [
        [s.name, *(_cell(s, c, whole) or "–" for c in marks.chapters)]
        + [whole(s.so_far), whole(s.final)]
        for s in marks.students
    ]
    trend = [[c, there, not_, whole(mean)] for c, there, not_, mean in marks.trend()]
    risks = [[s.name, whole(s.final), "; ".join(s.at_risk)] for s in marks.at_risk]
    weights = [[chapter, f"{weight:g}"] for chapter, weight in marks.weights.items()]
    return (
        templates()
        .get_template("coursereport.html")
        .render(
            chapters=marks.chapters,
            rows=rows,
            trend=trend,
            risks=risks,
            weights=weights,
            figure=drawn(_figure(marks)),
        )
    )


def _figure(marks: CourseMarks) -> Figure:
    means = [100 * (mean or 0.0) for *_, mean in marks.trend()]
    figure = Figure(figsize=(7, 0.8 + 0.35 * len(means)))
    pairs = zip(marks.chapters, means, strict=True)
    figure.set_label("; ".join(f"{chapter}: {mean:.0f} %" for chapter, mean in pairs))
    ax = figure.add_subplot()
    bars = ax.barh(marks.chapters, means, color="#0072B2")
    ax.bar_label(bars, fmt="%.0f %%", padding=3)
    ax.invert_yaxis()
    ax.set(xlabel="mean percent of the points, of what was handed in", xlim=(0, 112))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
