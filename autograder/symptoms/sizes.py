"""Shapes that are wrong, where nothing can be said of the values."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.symptoms.detectors import Detectors
from autograder.symptoms.outcomes import Pair, axis_name

detectors = Detectors()


@detectors.trace
def axis_of_size_one(pairs: Sequence[Pair]) -> str | None:
    """The right shape but for an axis of size one, too many or too few."""
    more = {p.given.ndim - p.right.ndim for p in pairs}
    if more not in ({1}, {-1}):
        return None
    if any(
        [n for n in p.right.shape if n != 1] != [n for n in p.given.shape if n != 1]
        for p in pairs
    ):
        return None
    if more == {1}:
        return "Your result has the right shape but for an axis of size one too many."
    return (
        "Your result has the right shape but for an axis of size one that is missing, "
        "as after an index, a sum without keepdims, or squeeze(), which removes every "
        "axis of size one unless it is told which."
    )


@detectors.trace
def number_of_axes(pairs: Sequence[Pair]) -> str | None:
    """An axis too many, or too few, in every wrong result."""
    more = {p.given.ndim - p.right.ndim for p in pairs}
    if len(more) != 1:
        return None
    (count,) = more
    if count == 0:
        return None
    axes_named = "one axis" if abs(count) == 1 else f"{abs(count)} axes"
    if count < 0:
        return (
            f"Your result has {axes_named} too few, as after an index, a sum without "
            "keepdims, or a reshape that joins two."
        )
    return (
        f"Your result has {axes_named} too many, as when a sum is missing, or two "
        "shapes are stretched to a common one."
    )


@detectors.trace
def entries_along_one_axis(pairs: Sequence[Pair]) -> str | None:
    """Another number of entries along one axis, and other values."""
    if any(p.right.ndim != p.given.ndim or p.right.ndim == 0 for p in pairs):
        return None
    differ = [
        {
            axis - p.right.ndim
            for axis in range(p.right.ndim)
            if p.right.shape[axis] != p.given.shape[axis]
        }
        for p in pairs
    ]
    if any(len(d) != 1 for d in differ) or len(set().union(*differ)) != 1:
        return None
    (axis,) = differ[0]
    name = axis_name(axis, pairs)
    more = {p.given.shape[axis] - p.right.shape[axis] for p in pairs}
    if all(p.given.shape[axis] == 1 for p in pairs):
        return f"Along {name}, your result has a single entry where there are several."
    if len(more) == 1:
        (count,) = more
        entries = "one entry" if abs(count) == 1 else f"{abs(count)} entries"
        which = "many" if count > 0 else "few"
        return f"Along {name}, your result has {entries} too {which}, and other values."
    return f"Along {name}, your result has another number of entries than it should."
