"""The class report as files: a page, and tables that other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

from autograder.files import write_atomically
from autograder.marks.reports import ClassReport, scores_of
from autograder.reporting.classreport import as_page
from autograder.reporting.efforts import Efforts, efforts_in
from autograder.reporting.examples import Examples
from autograder.reporting.items import Item, item_analysis
from autograder.tables import write_csv

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
    page = as_page(report, Examples(course, chapter), efforts)
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
