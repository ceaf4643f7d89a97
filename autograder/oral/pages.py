"""Sheets for a talk with each student, as two pages to be printed."""

from __future__ import annotations

from pathlib import Path

from autograder.files import write_atomically
from autograder.oral.questions import Sheet
from autograder.reporting.pages import templates

_LEAD = "One sheet for each student. Line numbers are those of the student's own cell."
_LEAD_ANSWERS = (
    "For the examiner alone. An answer here is hoped for, and not the only good one: "
    "what counts is whether the student can explain the code."
)


def write_oral(course: Path, chapter: str, found: list[Sheet]) -> dict[str, Path]:
    """Write the questions and, on a page of their own, the answers into ``reports/``.

    Returns:
        What was written: ``questions`` and ``answers``.
    """
    title = chapter.replace("_", " ").capitalize()
    template = templates(__package__).get_template("oral.html")
    folder = course / "reports"
    paths = {
        "questions": folder / f"{chapter}_oral.html",
        "answers": folder / f"{chapter}_oral_answers.html",
    }
    for kind, path in paths.items():
        answers = kind == "answers"
        page = template.render(
            title=f"{title}: {'answers for the examiner' if answers else 'questions'}",
            lead=_LEAD_ANSWERS if answers else _LEAD,
            sheets=found,
            answers=answers,
        )
        write_atomically(path, page)
    return paths
