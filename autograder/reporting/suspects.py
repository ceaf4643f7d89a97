"""Which questions of a chapter may be broken, and what makes them look so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.reporting.causes import NONE, Cause
from autograder.reporting.items import Item
from autograder.reporting.pages import of

ENOUGH = 5  # submissions from which it is strange that nobody has a point
PUZZLING = 3  # wrong answers without a cause from which an exercise is named


@dataclass(frozen=True)
class Suspect:
    """A question to look at.

    Attributes:
        where: the exercise.
        case: the title of the case; empty for the whole exercise.
        why: what makes it look broken, in words.
    """

    where: str
    case: str
    why: str


def suspects(items: Sequence[Item], causes: Iterable[Cause]) -> list[Suspect]:
    """The questions that may be broken, the strongest evidence first.

    A question is named if nobody has all of its points, if those who fail do better
    elsewhere than those who pass, or if most of the wrong answers have no known cause.
    """
    impossible = [
        Suspect(i.exercise, i.case, f"none of {i.asked} has all of its points")
        for i in items
        if i.solved == 0 and i.asked >= ENOUGH
    ]
    whole = {s.where for s in impossible if not s.case}
    impossible = [s for s in impossible if not (s.case and _repeats(s, items, whole))]
    reverse = [
        Suspect(
            i.exercise,
            i.case,
            f"{of(i.asked - i.solved, i.asked)} lost points, and those did better "
            f"elsewhere than the others (correlation {i.discrimination:.2f})".replace(
                "-", "−"
            ),
        )
        for i in items
        if i.wrong_way_round
    ]
    wrong: dict[str, list[int]] = {}
    for cause in causes:
        counts = wrong.setdefault(cause.exercise, [0, 0])
        counts[0] += len(cause.students)
        counts[1] += len(cause.students) * (cause.kind == NONE)
    puzzling = [
        Suspect(name, "", f"{of(unknown, total)} wrong answers have no known cause")
        for name, (total, unknown) in wrong.items()
        if unknown >= PUZZLING and 2 * unknown > total
    ]
    return impossible + reverse + puzzling


def _repeats(found: Suspect, items: Sequence[Item], whole: set[str]) -> bool:
    """Whether a case only repeats that nobody solved its exercise."""
    if found.where not in whole:
        return False
    cases = [i for i in items if i.case and i.exercise == found.where]
    return all(i.solved == 0 for i in cases)
