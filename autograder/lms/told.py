"""Report what was left out, at a length that no student controls."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.lms.names import of_a_person

MAX_TOLD = 5  # lines about what one person handed in


def told(left_out: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was left out, and why: of one person no more than a few lines.

    Args:
        left_out: paths with a reason each, in the order in which they are told.
    """
    kept: list[tuple[str, str]] = []
    count: dict[str, int] = {}
    for what, why in left_out:
        parts = what.split("/")
        part = next((part for part in parts if of_a_person([part])), None)
        if part is not None:
            count[part] = count.get(part, 0) + 1
        if part is None or count[part] <= MAX_TOLD:
            kept.append((what, why))
    return kept + [
        (part, f"{number - MAX_TOLD} more in it")
        for part, number in count.items()
        if number > MAX_TOLD
    ]
