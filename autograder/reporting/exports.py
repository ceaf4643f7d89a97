"""The class report as files: a page, and tables that other programs read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from autograder.files import printable, write_atomically
from autograder.marks.reports import ClassReport, scores_of
from autograder.reporting.classreport import as_page
from autograder.reporting.efforts import Efforts, efforts_in
from autograder.reporting.examples import Examples
from autograder.reporting.items import Item, item_analysis

# Where a formula may begin: also after what some countries' spreadsheets take for the
# end of a cell.
_FORMULA = re.compile(r"""((?:^|[;\t\r\n])[\s"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")

_ITEM_COLUMNS = [
    *("exercise", "case", "points", "asked", "solved", "difficulty"),
    *("discrimination", "verdict", "separates_nobody"),
    *("checks_known_of", "median_checks", "asked_for_hints", "median_seconds"),
]


def write_class_report(course: Path, report: ClassReport) -> dict[str, Path]:
    """Write the page and the tables of a chapter into ``reports/``.

    Returns:
        What was written: ``page``, ``scores`` and ``items``.
    """
    folder, chapter = course / "reports", report.chapter
    paths = {
        "page": folder / f"{chapter}.html",
        "scores": folder / f"{chapter}_scores.csv",
        "items": folder / f"{chapter}_items.csv",
    }
    efforts = efforts_in(course, report)
    page = as_page(report, Examples(course, chapter), efforts, course)
    write_atomically(paths["page"], page)
    names = report.names
    columns = ["student", "score", "max_score", "late_penalty", *names, "refused"]
    write_csv(
        paths["scores"],
        [*columns, "status", "extended_until"],
        (
            [*_scores(report, s, names), report.state_of(s), report.extended.get(s, "")]
            for s in report.everybody
        ),
    )
    rows = (_item_row(item, efforts) for item in item_analysis(report))
    write_csv(paths["items"], _ITEM_COLUMNS, rows)
    return paths


def _item_row(item: Item, efforts: Mapping[str, Efforts]) -> list[Any]:
    """A line of the item analysis; what is undefined or not known is empty.

    How often something was checked is known of exercises only, not of their cases.
    """
    r = item.discrimination
    known = None if item.case else efforts.get(item.exercise)
    effort = astuple(known) if known else 4 * ("",)
    return [
        item.exercise,
        item.case,
        item.points,
        item.asked,
        item.solved,
        round(item.difficulty, 4),
        "" if r is None else round(r, 4),
        item.verdict,
        "yes" if item.separates_nobody else "no",
        *("" if value is None else value for value in effort),
    ]


def _scores(report: ClassReport, student: str, names: list[str]) -> list[Any]:
    """A student's line in the table of scores; empty where there are none."""
    r = report.report_on(student)
    if r is None:
        return [student, "", report.max_score, "", *("" for _ in names), ""]
    scores = [scores_of(r).get(name, "") for name in names]
    first = [student, r["score"], r["max_score"], r["late_penalty"]]
    return [*first, *scores, r["refused"] or ""]


def gradescope_results(report: dict[str, Any]) -> dict[str, Any]:
    """A report in the form of Gradescope's ``results.json``."""
    lines = [report["refused"]] if report["refused"] else list(report["notes"])
    cases = [case for e in report["exercises"] for case in e["cases"]]
    if report["score"] != sum(case["points"] for case in cases if case["passed"]):
        lines.append(
            "The score counts marks by hand, points given back by a regrade, and "
            "points lost for lateness."
        )
    return {
        "score": report["score"],
        "output_format": "text",
        "output": "\n".join(lines),
        "tests": [
            {
                "name": f"{exercise['name']}: {case['title']}",
                "score": case["points"] if case["passed"] else 0,
                "max_score": case["points"],
                "output": _why(exercise, case),
                "output_format": "text",
                "visibility": "visible",
            }
            for exercise in report["exercises"]
            for case in exercise["cases"]
        ],
    }


def _why(exercise: dict[str, Any], case: dict[str, Any]) -> str:
    """What is said about a case; with the first fault comes the exercise's hint."""
    failed = [other for other in exercise["cases"] if not other["passed"]]
    said = [case["message"]]
    if failed and case is failed[0]:
        said.append(exercise["message"])
    return "\n\n".join(text for text in dict.fromkeys(said) if text)


def in_words(report: dict[str, Any]) -> str:
    """What came out for a student, as a text of one line."""
    if report["refused"]:
        return report["refused"]
    return " ".join(
        f"{exercise['name']}: {exercise['message']}"
        for exercise in report["exercises"]
        if exercise["message"]
    )


def write_csv(path: Path, header: list[str], rows: Iterable[list[Any]]) -> None:
    """A CSV file that no spreadsheet takes for formulas; half of one is never there."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_cell(value) for value in row] for row in rows)
    write_atomically(path, text.getvalue())


def _cell(value: Any) -> Any:
    """Whole numbers without a point, text in plain characters without formulas."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or value == "-":  # which systems write for nothing
        return value
    return _FORMULA.sub(r"\1'", printable(value))
