"""The right values in other positions, with other signs, or in their order alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autograder.symptoms.detectors import Detectors
from autograder.symptoms.outcomes import (
    Pair,
    axes,
    axis_name,
    comparable,
    distinct,
    every,
    telling,
    varied,
    wrong_at,
)

detectors = Detectors()
UNLIKELY = math.log(
    1e5
)  # how improbable an order of values has to be to mean something
LEAST_WRONG = 6  # values that err to one side before that is told
LEAST_COUNTS = 3  # the same of whole numbers, which somebody has counted


@detectors.cause
def interleaved(pairs: Sequence[Pair]) -> str | None:
    """Neighbours along an axis pulled apart, or its parts interleaved."""
    if any(p.right.shape != p.given.shape or p.right.ndim == 0 for p in pairs):
        return None
    for axis in axes(pairs):
        sizes = {p.right.shape[axis] for p in pairs}
        for number in range(2, min(sizes) // 2 + 1):
            if any(size % number for size in sizes):
                continue
            told = _interleaved(pairs, axis, number)
            if told:
                return f"Along {axis_name(axis, pairs)}, {told}"
    return None


def _interleaved(pairs: Sequence[Pair], axis: int, number: int) -> str | None:
    """What is told if it was done with this many parts, or values for each."""

    def are_apart(p: Pair) -> bool:
        return p.same(
            _by_columns(p.right, axis, p.right.shape[axis] // number), p.given
        )

    def are_mixed(p: Pair) -> bool:
        return p.same(_by_columns(p.right, axis, number), p.given)

    if every(pairs, are_apart):
        return (
            f"the right values stand in another order: those at the indices 0, "
            f"{number}, {2 * number}, ... first, then those after them, so that "
            "neighbours are apart."
        )
    if every(pairs, are_mixed):
        return (
            f"the right values stand in another order: {number} equal parts of the "
            "axis are interleaved, one value of each in turn."
        )
    return None


def _by_columns(values: np.ndarray, axis: int, rows: int) -> np.ndarray:
    """The values along an axis, written into a table by rows and read by columns."""
    moved = np.moveaxis(values, axis, -1)
    table = moved.reshape(*moved.shape[:-1], rows, -1).swapaxes(-1, -2)
    return np.moveaxis(table.reshape(moved.shape), -1, axis)


@detectors.trace
def in_other_positions(pairs: Sequence[Pair]) -> str | None:
    """Exactly the right values, but not where they belong."""
    if any(p.right.size != p.given.size or p.right.ndim == 0 for p in pairs):
        return None
    if not varied(np.concatenate([p.right.ravel() for p in pairs])):
        return None
    if not every(pairs, lambda p: p.same(_sorted(p.right), _sorted(p.given))):
        return None
    if any(p.right.shape != p.given.shape for p in pairs):
        return (
            "All values are right, but they are in other positions, and in another "
            "shape. Axes have to be swapped or moved where they are only reshaped, or "
            "in another order."
        )
    if every(pairs, lambda p: p.same(_rows(p.right), _rows(p.given))):
        return "The rows along the last axis are right, but in another order."
    if every(pairs, lambda p: p.same(np.sort(p.right), np.sort(p.given))):
        return (
            "Each row along the last axis holds the right values, but in another order."
        )
    return (
        "All values are right, but they are in other positions, as when axes are "
        "reshaped or joined without being swapped first, or in another order."
    )


def _sorted(values: np.ndarray) -> np.ndarray:
    return np.sort(values, axis=None)


def _rows(values: np.ndarray) -> np.ndarray:
    """The rows along the last axis, ordered by what they hold."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[np.lexsort(rows.round(9).T)]


@detectors.trace
def some_signs(pairs: Sequence[Pair]) -> str | None:
    """The right magnitudes, with some wrong signs."""
    if every(pairs, lambda p: p.same(np.abs(p.right), np.abs(p.given))):
        return "Every value has the right magnitude, but some have the wrong sign."
    return None


@detectors.trace
def in_order(pairs: Sequence[Pair]) -> str | None:
    """The order of the values is right, or just the opposite, and no more than that.

    Ids and counts have no scale: their order says nothing of a step that changed them.
    Nor does that of results which are sorted in any case.
    """
    if not comparable(pairs) or not telling(pairs):
        return None
    if all(_is_ranking(pair.right) for pair in pairs):
        return None
    if any(pair.kinds[0] in "iub" for pair in pairs):
        return None
    for axis, where in ((None, ""), (-1, " in each row along the last axis")):
        tables = [_table(pair, axis) for pair in pairs]
        if any(table is None for table in tables):
            continue
        chance = sum(
            math.lgamma(distinct(row) + 1) for right, _ in tables for row in right
        )
        if chance < UNLIKELY:
            continue
        if all(_rises(right, given) for right, given in tables):
            return (
                f"Your values are in the right order{where}: larger where the right "
                "ones are larger, and not equal to them. A scale, a power or another "
                "step that keeps the order would do that."
            )
        if all(_rises(right, -given) for right, given in tables):
            return (
                f"Your values are in the opposite order{where}: larger where the right "
                "ones are smaller. A wrong sign would do that, or an inverse."
            )
    return None


def _is_ranking(values: np.ndarray) -> bool:
    """Whether every row goes from the largest value to the smallest, if it has two."""
    return bool((np.diff(np.atleast_1d(values), axis=-1) <= 0).all())


def _table(pair: Pair, axis: int | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Both results as rows whose order is looked at, if they have any."""
    if axis is None:
        return pair.right.reshape(1, -1), pair.given.reshape(1, -1)
    if pair.right.ndim == 0:
        return None
    width = pair.right.shape[-1]
    return pair.right.reshape(-1, width), pair.given.reshape(-1, width)


def _rises(right: np.ndarray, given: np.ndarray) -> bool:
    """Whether in each row the given values rise wherever the right ones do."""
    order = np.argsort(right, axis=-1, kind="stable")
    steps = np.diff(np.take_along_axis(right, order, -1), axis=-1)
    theirs = np.diff(np.take_along_axis(given, order, -1), axis=-1)
    far = steps > 1e-7 * max(1.0, float(np.abs(right).max(initial=0.0)))
    return bool((theirs[far] > 0).all())


@detectors.trace
def to_one_side(pairs: Sequence[Pair]) -> str | None:
    """All that is wrong is too large, or all of it is too small."""
    if not comparable(pairs) or len(pairs) < 3:
        return None
    wrong = [wrong_at(pair) for pair in pairs]
    right = np.concatenate([p.right[w] for p, w in zip(pairs, wrong, strict=True)])
    given = np.concatenate([p.given[w] for p, w in zip(pairs, wrong, strict=True)])
    counted = all(set(pair.kinds) <= set("iu") for pair in pairs)
    if distinct(given - right) < (LEAST_COUNTS if counted else LEAST_WRONG):
        return None
    if (np.sign(right) == np.sign(given)).all() and (right < 0).any():
        for more, told in ((1, "large"), (-1, "small")):
            if (more * (np.abs(given) - np.abs(right)) > 0).all():
                return (
                    "Every wrong value has the right sign, and its magnitude is too "
                    f"{told}."
                )
    for more, told in ((1, "large"), (-1, "small")):
        if (more * (given - right) > 0).all():
            return f"Every wrong value is too {told}."
    return None
