"""Names that an answer misses here, and had in the student's session.

A cell below the check had run before, a demonstration had, or a module was installed.
Nothing in the answer shows that, and Python's own words sound like a typo.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograder.answers import Answer
from autograder.demonstrations import made_by_demonstrations
from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.submissions.cells import printable_part
from autograder.submissions.reachable import may_bind
from autograder.submissions.rebuild import STUDENT, Rebuilt

_MISSING = re.compile(r"name '([A-Za-z_]\w{0,59})' is not defined\b.*", re.ASCII)
_BELOW = (
    "is set in a cell below the check, and cells are graded from top to bottom. Move "
    "that cell above the check."
)
_NOT_SET = (
    "is set above, in a line that did not run through here: see what the notes say "
    "about your cells."
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
        places, cells = _bound(rebuilt), rebuilt.code()
        made = made_by_demonstrations(cells, len(cells))
        return [
            _telling(
                report,
                missing.get(report.name, set()),
                {
                    **dict.fromkeys(made, _OF_A_DEMONSTRATION),
                    **dict.fromkeys(places[report.name].below, _BELOW),
                    **dict.fromkeys(places[report.name].above, _NOT_SET),
                    **{
                        name: _NOT_INSTALLED.format(printable_part(module, 40))
                        for name, module in rebuilt.not_installed.items()
                    },
                },
            )
            for report in reports
        ]

    return in_reading_time(reports, add_remarks)


def note_answers_below(rebuilt: Rebuilt, reports: Sequence[Report]) -> list[str]:
    """A note on each answer that lacks points and is defined again below its check."""
    lacking = [report.name for report in reports if report.score < report.max_score]
    if not lacking:
        return []

    def look() -> list[str]:
        places = _bound(rebuilt, (STUDENT,))  # a helper beside another answer is none
        return [
            f"{name}: it is defined again below its check, which does not count"
            for name in lacking
            if name in places[name].below
        ]

    return in_reading_time([], look)


def _missing_in(answers: Sequence[Answer]) -> set[str]:
    """The names that Python did not find, as it says then."""
    told = (_MISSING.fullmatch(a.detail) for a in answers if a.raised == "NameError")
    return {found[1] for found in told if found}


@dataclass
class _Names:
    """What cells of the student bind above and below a check."""

    above: set[str] = field(default_factory=set)
    below: set[str] = field(default_factory=set)


def _bound(
    rebuilt: Rebuilt, roles: Collection[str] = (STUDENT, "exercise")
) -> dict[str, _Names]:
    """The names that cells of these roles bind around the check of each exercise."""
    found: dict[str, _Names] = defaultdict(_Names)
    above: set[str] = set()
    for cell in rebuilt.notebook.cells:
        if cell.metadata.role == "check":
            found[cell.metadata.exercise] = _Names(above=set(above))
        elif cell.metadata.role in roles:
            tree = parsed(cell.source)
            names = set().union(*map(may_bind, tree.body if tree else ()))
            above |= names
            for places in found.values():
                places.below |= names
    return found


def _telling(report: Report, missing: set[str], reasons: dict[str, str]) -> Report:
    """The report with the first of these names and where it is."""
    names = sorted(missing & reasons.keys())
    if not names:
        return report
    return replace(report, message=f"NameError: `{names[0]}` {reasons[names[0]]}")
