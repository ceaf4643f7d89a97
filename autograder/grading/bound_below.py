"""Names that an answer misses, and that a cell below its check sets.

In the student's session that cell had run before. Cells are graded from top to bottom,
so there the name does not exist yet, and nothing in the answer shows why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.answers import Answer
from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.submissions.reachable import bound_by
from autograder.submissions.rebuild import STUDENT, Rebuilt

_MISSING = re.compile(r"name '([A-Za-z_]\w{0,59})' is not defined\b.*", re.ASCII)


def name_bound_below(
    rebuilt: Rebuilt,
    reports: Sequence[Report],
    given: Mapping[str, Sequence[Answer]],
) -> list[Report]:
    """The reports, in which an answer that misses a name is told where it is set.

    Args:
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        given: the answers to each exercise.
    """
    missing = {
        report.name: _missing_in(given.get(report.name, ()))
        for report in reports
        if report.message.startswith("NameError: ")
    }
    if not any(missing.values()):
        return list(reports)

    def add_remarks() -> list[Report]:
        below = _bound_below(rebuilt)
        return [
            _telling(
                report, missing.get(report.name, set()) & below.get(report.name, set())
            )
            for report in reports
        ]

    return in_reading_time(reports, add_remarks)


def _missing_in(answers: Sequence[Answer]) -> set[str]:
    """The names that Python did not find, as it says then."""
    told = (_MISSING.fullmatch(a.detail) for a in answers if a.raised == "NameError")
    return {found[1] for found in told if found}


def _bound_below(rebuilt: Rebuilt) -> dict[str, set[str]]:
    """The names that cells of the student set below the check of each exercise."""
    found: dict[str, set[str]] = {}
    for cell in rebuilt.notebook.cells:
        if cell.metadata.role == "check":
            found[cell.metadata.exercise] = set()
        elif cell.metadata.role in (STUDENT, "exercise"):
            tree = parsed(cell.source)
            for node in tree.body if tree else ():
                names = bound_by(node)
                for below in found.values():
                    below |= names
    return found


def _telling(report: Report, names: set[str]) -> Report:
    """The report with the first of these names and where to set it."""
    if not names:
        return report
    why = (
        f"NameError: `{min(names)}` is set in a cell below the check, and cells are "
        "graded from top to bottom. Move that cell above the check."
    )
    return replace(report, message=why)
