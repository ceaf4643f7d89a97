"""Item analysis: how hard each exercise and case was, and how well it discriminates.

It uses the grader's own points for the submissions that could be examined, without
marks by hand, late penalties and cells that the instructor added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.marks.reports import ClassReport

FEW = 10  # submissions below which a correlation is mostly luck
FEWEST = 3  # below which it says nothing: two points always lie on a line
WELL, SOMEWHAT = 0.3, 0.2  # of Ebel and Frisbie (1991), "Essentials of educational
# measurement", chapter 13; what is below separates poorly


@dataclass(frozen=True)
class Item:
    """An exercise, or one of its cases.

    Attributes:
        exercise: its name.
        case: the title of the case; empty for the exercise as a whole.
        points: that can be had.
        asked: number of submissions that were examined on it.
        solved: how many of them have all its points.
        difficulty: mean share of its points, as item analysis defines it: 1 is easy.
        discrimination: correlation with the points for everything else; None if it is
            undefined.
        undefined: why it is; empty if it is not.
    """

    exercise: str
    case: str
    points: float
    asked: int
    solved: int
    difficulty: float
    discrimination: float | None
    undefined: str

    @property
    def separates_nobody(self) -> bool:
        """Whether everybody has all of its points, or everybody none."""
        return self.difficulty in (0.0, 1.0)

    @property
    def wrong_way_round(self) -> bool:
        """Whether those who fail do better elsewhere, more than luck would explain.

        Without any relation, a correlation of n pairs has the standard deviation
        1 / sqrt(n - 1); it has to be below twice that.
        """
        if self.discrimination is None or self.asked < FEW:
            return False
        return self.discrimination < -2 / math.sqrt(self.asked - 1)

    @property
    def verdict(self) -> str:
        """How well it tells strong from weak, in words."""
        if self.discrimination is None:
            return self.undefined
        if self.asked < FEW:
            return f"too few to say ({self.asked})"
        if self.wrong_way_round:
            return "the wrong way round"
        if self.discrimination < SOMEWHAT:
            return "poorly"
        return "well" if self.discrimination >= WELL else "somewhat"


def item_analysis(report: ClassReport) -> list[Item]:
    """Each exercise of a chapter, followed by its cases, in the order of the chapter.

    The discrimination of an item is Pearson's correlation of its points with the points
    for everything else in the chapter (the corrected item-total correlation): with
    itself in the total, each item would seem to separate. For a case, which is passed
    or failed, that is the point-biserial correlation.
    """
    tables = [_points_in(r) for r in report.examined]
    totals = [sum(table.values()) for table in tables]
    worth: dict[tuple[str, str], float] = {}
    for r in report.examined:
        for exercise in r["exercises"]:
            cases = exercise["cases"]
            worth.setdefault((exercise["name"], ""), sum(c["points"] for c in cases))
            for case in cases:
                worth.setdefault((exercise["name"], case["title"]), case["points"])
    by_exercise = {name: n for n, (name, _) in enumerate(worth)}
    ordered = sorted(worth, key=lambda key: by_exercise[key[0]])
    return [
        _item(exercise, case, worth[exercise, case], tables, totals)
        for exercise, case in ordered
    ]


def _points_in(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    """What a submission got for each case."""
    return {
        (exercise["name"], case["title"]): case["points"] if case["passed"] else 0
        for exercise in report["exercises"]
        for case in exercise["cases"]
    }


def _item(
    exercise: str,
    case: str,
    points: float,
    tables: Sequence[dict[tuple[str, str], float]],
    totals: Sequence[float],
) -> Item:
    own, rest = [], []
    for table, total in zip(tables, totals, strict=True):
        found = [
            got
            for (name, title), got in table.items()
            if name == exercise and case in ("", title)
        ]
        if found:
            own.append(sum(found))
            rest.append(total - sum(found))
    correlation, undefined = _correlation(own, rest)
    return Item(
        exercise,
        case,
        points,
        len(own),
        sum(got >= points for got in own),
        sum(own) / (points * len(own)) if points else 1.0,
        correlation,
        undefined,
    )


def _correlation(
    own: Sequence[float], rest: Sequence[float]
) -> tuple[float | None, str]:
    """Pearson's correlation, or why there is none."""
    if len(own) < FEWEST:
        return None, f"undefined: {len(own)} submissions are too few"
    if len(set(own)) == 1:
        return None, "undefined: all have equally many points for it"
    if len(set(rest)) == 1:
        return None, "undefined: all have equally many points for everything else"
    return float(np.corrcoef(own, rest)[0, 1]), ""


def separating_nobody(items: Iterable[Item]) -> tuple[list[Item], list[Item]]:
    """The cases that all have passed, and those that nobody has."""
    cases = [item for item in items if item.case and item.separates_nobody]
    passed = [item for item in cases if item.difficulty]
    return passed, [item for item in cases if not item.difficulty]
