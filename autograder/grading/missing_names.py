"""Names that an answer misses here, and had in the student's session.

A cell below the check had run before, a demonstration had, or a module was installed.
Nothing in the answer shows that, and Python's own words sound like a typo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.answers import Answer
from autograder.demonstrations import made_by_demonstrations
from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.submissions.cells import printable_part
from autograder.submissions.reachable import bound_by
from autograder.submissions.rebuild import STUDENT, Rebuilt

_MISSING = re.compile(r"name '([A-Za-z_]\w{0,59})' is not defined\b.*", re.ASCII)
_BELOW = (
    "is set in a cell below the check, and cells are graded from top to bottom. Move "
    "that cell above the check."
)
_OF_A_DEMONSTRATION = (
    "is made by a demonstration of the book. These are not run in grading: make what "
    "your answer needs in a cell of your own."
)
_NOT_INSTALLED = (
    "comes from {}, which is not installed where your work is graded. Do without it."
)


def name_missing_names(
    rebuilt: Rebuilt,
    reports: Sequence[Report],
    given: Mapping[str, Sequence[Answer]],
) -> list[Report]:
    """The reports, in which an answer that misses a name is told where it is.

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
        below, cells = _bound_below(rebuilt), rebuilt.code()
        made = made_by_demonstrations(cells, len(cells))
        return [
            _telling(
                report,
                missing.get(report.name, set()),
                {
                    **dict.fromkeys(made, _OF_A_DEMONSTRATION),
                    **dict.fromkeys(below.get(report.name, ()), _BELOW),
                    **{
                        name: _NOT_INSTALLED.format(printable_part(module, 40))
                        for name, module in rebuilt.not_installed.items()
                    },
                },
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


def _telling(report: Report, missing: set[str], reasons: dict[str, str]) -> Report:
    """The report with the first of these names and where it is."""
    names = sorted(missing & reasons.keys())
    if not names:
        return report
    return replace(report, message=f"NameError: `{names[0]}` {reasons[names[0]]}")
