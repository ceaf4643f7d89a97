"""How students arrived at their answers, as far as their notebooks show.

``check`` leaves in a notebook how often an exercise was checked since the kernel was
started, how many hints were asked for, and the time between the first check and the
last. Earlier sessions are not in it, nor is what was done without ``check``; and a
student can write anything into a notebook. No mark depends on it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault
from autograder.files import Unusable
from autograder.marks.reports import ClassReport
from autograder.notebooks import parse_notebook
from autograder.record import RECORD
from autograder.submissions.submitted import read

LARGEST = 10**6  # checks, hints or seconds; no session has more


@dataclass(frozen=True)
class Effort:
    """What led to an answer, in the session in which it was checked last.

    Attributes:
        checks: how often it was checked, this last time included.
        hints: how many were asked for before that.
        seconds: between the first check and the last.
    """

    checks: int
    hints: int
    seconds: int


@dataclass(frozen=True)
class Efforts:
    """What is known of an exercise.

    Attributes:
        known: how many notebooks tell about it.
        checks: the median of how often it was checked; None if none tells.
        hinted: how many students asked for a hint.
        seconds: the median of those between the first check and the last, of those who
            checked more than once; None if nobody did.
    """

    known: int
    checks: float | None
    hinted: int
    seconds: float | None


def efforts_in(course: Path, report: ClassReport) -> dict[str, Efforts]:
    """What the notebooks of a class tell, by exercise.

    A notebook that was replaced since it was graded tells nothing.

    Args:
        course: folder of the course.
        report: on the chapter.
    """
    names = report.names
    found: dict[str, list[Effort]] = {name: [] for name in names}
    for r in report.examined:
        try:
            handed_in = read(course / "submitted", r["student"], report.chapter)
            if not handed_in.is_told_by(r):
                continue
            cells = parse_notebook(handed_in.content)["cells"]
        except (GraderFault, Unusable):
            continue
        for name, effort in told_in(cells).items():
            if name in found:
                found[name].append(effort)
    return {name: _together(efforts) for name, efforts in found.items()}


def told_in(cells: Iterable[Any]) -> dict[str, Effort]:
    """What the last check of each exercise in a notebook tells.

    Args:
        cells: of a notebook that anybody may have written.
    """
    found = {}
    for entry in _records(cells):
        name = entry.get("exercise")
        numbers = [entry.get(key) for key in ("checks", "hints", "seconds")]
        usable = all(type(n) is int and 0 <= n <= LARGEST for n in numbers)
        if isinstance(name, str) and usable and numbers[0]:
            found[name] = Effort(*numbers)
    return found


def _records(cells: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else []:
            metadata = output.get("metadata") if isinstance(output, dict) else None
            entry = metadata.get(RECORD) if isinstance(metadata, dict) else None
            if isinstance(entry, dict):
                yield entry


def _together(efforts: Sequence[Effort]) -> Efforts:
    several = [effort.seconds for effort in efforts if effort.checks > 1]
    return Efforts(
        len(efforts),
        statistics.median(e.checks for e in efforts) if efforts else None,
        sum(effort.hints > 0 for effort in efforts),
        statistics.median(several) if several else None,
    )
