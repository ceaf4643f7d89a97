"""The right values but for a factor or an offset, of everything or of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.symptoms.detectors import Detectors
from autograder.symptoms.outcomes import (
    LEAST_VALUES,
    Pair,
    axes,
    axis_name,
    comparable,
    distinct,
    every,
    telling,
    wrong_at,
)

detectors = Detectors()
LEAST_AGREEMENTS = 8  # of values in wrong rows that have a factor each
MOST = 1e9  # a larger factor, or one over it, is no slip


def _factors(pairs: Sequence[Pair]) -> list[float] | None:
    """The one number for each result by which all its right values were multiplied.

    Zeros say nothing of a factor; they may be wrong in their dtype alone.
    """
    pairs = [p for p in pairs if p.right.any() or p.given.any()]
    if not comparable(pairs) or not (telling(pairs) or _three_numbers(pairs)):
        return None
    factors = [_factor(pair) for pair in pairs]
    return None if None in factors else factors


def _three_numbers(pairs: Sequence[Pair]) -> bool:
    """Whether there are three single numbers that differ: few, but not by accident."""
    if any(p.right.size != 1 for p in pairs):
        return False
    return distinct(np.array([p.right.item() for p in pairs])) >= 3


def _factor(pair: Pair) -> float | None:
    """The one number by which all right values were multiplied."""
    right, given = pair.right.ravel(), pair.given.ravel()
    square = float(right @ right)
    if square == 0:
        return None
    factor = float(right @ given) / square
    scale = float(np.abs(given).max())
    if not 1 / MOST < abs(factor) < MOST or not np.allclose(
        given, factor * right, rtol=1e-6, atol=1e-9 * max(scale, 1e-300)
    ):
        return None
    return factor


def _whole(number: float) -> int | None:
    """The whole number from 2 to 10,000 that ``number`` is, if it is one."""
    nearest = round(number)
    if 2 <= nearest <= 10_000 and abs(number - nearest) < 1e-6 * nearest:
        return nearest
    return None


@detectors.cause
def constant_factor(pairs: Sequence[Pair]) -> str | None:
    """All values are multiples of the right ones."""
    factors = _factors(pairs)
    if factors is None:
        return None
    first = factors[0]
    if all(abs(factor / first - 1) < 1e-6 for factor in factors):
        if abs(first - 1) < 1e-6:  # what is wrong is no factor
            return None
        if abs(first + 1) < 1e-6:
            return "Every value has the wrong sign, and is right otherwise."
        return f"Every value is the right one times {named(first)}."
    if all(pair.right.size == 1 for pair in pairs):
        return None  # a power, for one, says more
    return _of_sizes(factors)


@detectors.trace
def numbers_times_sizes(pairs: Sequence[Pair]) -> str | None:
    """Single numbers, each of which is the right one times a size of its own."""
    factors = _factors(pairs)
    if factors is None or not _three_numbers(pairs) or _whole_numbers(pairs):
        return None  # whole numbers often divide each other
    return _of_sizes(factors)


def _of_sizes(factors: Sequence[float]) -> str | None:
    """What is told of factors that are sizes, or powers of sizes; one is a size."""
    for power, told in (
        (1, "times a size"),
        (-1, "divided by a size"),
        (2, "times the square root of a size"),
        (-2, "divided by the square root of a size"),
        (0.5, "times the square of a size"),
        (-0.5, "divided by the square of a size"),
    ):
        sizes = [
            1 if abs(factor - 1) < 1e-9 else _whole(abs(factor) ** power)
            for factor in factors
        ]
        if all(sizes) and len(set(sizes)) > 1 and all(f > 0 for f in factors):
            listed = ", ".join(str(size) for size in dict.fromkeys(sizes))
            return (
                f"Every value is the right one {told}, which differs from case to case "
                f"(the sizes were {listed})."
            )
    return None


def _whole_numbers(pairs: Sequence[Pair]) -> bool:
    return all((p.right == np.rint(p.right)).all() for p in pairs)


def named(factor: float) -> str:
    """A factor as a person would write it, if it is a whole number, a root, or so."""
    size = abs(factor)
    sign = "-" if factor < 0 else ""
    if number := _whole(size):
        return f"{sign}{number}"
    if number := _whole(1 / size):
        return f"{sign}1/{number}"
    if number := _whole(size**2):
        return f"{sign}the square root of {number}"
    if number := _whole(size**-2):
        return f"{sign}one over the square root of {number}"
    return f"{factor:.4g}"


@detectors.trace
def factor_per_result(pairs: Sequence[Pair]) -> str | None:
    """Each result is a multiple of the right one, by a factor of its own."""
    factors = _factors(pairs)
    if factors is None or not any(pair.right.size > 1 for pair in pairs):
        return None
    return "Each result is right up to one factor, which differs from result to result."


@detectors.cause
def constant_offset(pairs: Sequence[Pair]) -> str | None:
    """One number was added to all values."""
    if not comparable(pairs) or not telling(pairs):
        return None
    offsets = []
    for pair in pairs:
        difference = pair.given - pair.right
        offset = float(difference.mean())
        scale = max(1.0, float(np.abs(pair.given).max()))
        if pair.right.size < 2 or np.abs(difference - offset).max() > 1e-9 * scale:
            return None
        offsets.append(offset)
    if max(offsets) - min(offsets) < 1e-9 * max(1.0, abs(offsets[0])):
        return f"Every value is the right one plus {offsets[0]:.6g}."
    return "Each result is the right one plus a number that differs between the cases."


@detectors.trace
def wrong_by_one_number(pairs: Sequence[Pair]) -> str | None:
    """Some values are right, and all others wrong by one number."""
    if not comparable(pairs):
        return None
    wrong = [wrong_at(pair) for pair in pairs]
    right = np.concatenate([p.right[w] for p, w in zip(pairs, wrong, strict=True)])
    given = np.concatenate([p.given[w] for p, w in zip(pairs, wrong, strict=True)])
    if distinct(right) < LEAST_VALUES:
        return None
    apart = given - right
    if np.ptp(apart) > 1e-4 * abs(float(apart[0])):
        return None
    return f"Every value that is wrong is the right one {_signed(float(apart[0]))}."


def _signed(number: float) -> str:
    return f"{'plus' if number > 0 else 'minus'} {abs(number):.6g}"


@detectors.cause
def not_normalised(pairs: Sequence[Pair]) -> str | None:
    """Right up to the sum along an axis."""
    if not comparable(pairs) or any(p.right.ndim == 0 for p in pairs):
        return None
    for axis in axes(pairs):

        def sums_to_one(x: np.ndarray, axis: int = axis) -> bool:
            total = x.sum(axis=axis)
            return bool(np.all(np.isclose(total, 1, atol=1e-6) | (total == 0)))

        if not all(sums_to_one(p.right) and (p.right >= 0).all() for p in pairs):
            continue
        if not any(p.right.shape[axis] > 1 for p in pairs):
            continue

        def normalised(x: np.ndarray, axis: int = axis) -> np.ndarray:
            total = x.sum(axis=axis, keepdims=True)
            return np.divide(x, total, out=np.zeros_like(x), where=total != 0)

        if every(pairs, lambda p: p.same(p.right, normalised(p.given))):
            sums = np.concatenate([p.given.sum(axis=axis).ravel() for p in pairs])
            where = axis_name(axis, pairs)
            return (
                f"The weights are right up to their sum. Along {where} they must sum "
                f"to one; yours sum to {sums.min():.3g} up to {sums.max():.3g}."
            )
        if all(not sums_to_one(p.given) for p in pairs):
            for other in (*axes(pairs), 0):
                if other != axis and all(sums_to_one(p.given, other) for p in pairs):
                    return (
                        f"The weights sum to one along {axis_name(other, pairs)}, "
                        f"where they should do so along {axis_name(axis, pairs)}."
                    )
    return None


@detectors.cause
def divided_by_sums(pairs: Sequence[Pair]) -> str | None:
    """Values along an axis were divided by their sum, where that was not asked for."""
    if not comparable(pairs) or any(p.right.ndim == 0 for p in pairs):
        return None
    for axis in axes(pairs):

        def is_divided(p: Pair, axis: int = axis) -> bool:
            total = p.right.sum(axis=axis, keepdims=True)
            return bool((total != 0).all()) and p.same(p.right / total, p.given)

        if all(p.right.shape[axis] > 1 for p in pairs) and every(pairs, is_divided):
            return (
                f"Your values are the right ones, divided by their sum along "
                f"{axis_name(axis, pairs)}, which was not asked for."
            )
    return None


@detectors.trace
def factor_per_row(pairs: Sequence[Pair]) -> str | None:
    """Each row is a multiple of the right one; zeros stay as they are."""
    if not comparable(pairs) or any(p.right.ndim < 1 for p in pairs):
        return None
    wide = [p for p in pairs if p.right.shape[-1] > 1]
    if 2 * len(wide) <= len(pairs) or not telling(wide):
        return None
    if sum(map(_agreements, wide)) < LEAST_AGREEMENTS:
        return None
    for pair in pairs:
        right = pair.right.reshape(-1, pair.right.shape[-1])
        given = pair.given.reshape(right.shape)
        some = (right != 0).any(axis=1)
        if not some.any() or given[~some].any():
            return None
        right, given = right[some], given[some]
        factors = (right * given).sum(axis=1) / (right * right).sum(axis=1)
        scale = np.abs(given).max()
        if scale == 0 or np.abs(given - factors[:, None] * right).max() > 1e-7 * scale:
            return None
        if (np.abs(factors) < 1 / MOST).any():  # such a row is lost, and not scaled
            return None
    return (
        "Each row along the last axis is right up to one factor, and the factor "
        "differs from row to row: what a whole row is divided or multiplied by is "
        "wrong."
    )


def _agreements(pair: Pair) -> int:
    """How many values of wrong rows could not be right up to a factor by accident.

    One value of a row always is, and so is a zero that stays one.
    """
    there = (pair.right != 0).sum(axis=-1)[wrong_at(pair).any(axis=-1)]
    return int(np.maximum(there - 1, 0).sum())


@detectors.trace
def factor_per_entry(pairs: Sequence[Pair]) -> str | None:
    """What belongs to one index of an axis is a multiple of the right values."""
    if not comparable(pairs) or not telling(pairs):
        return None
    if any(p.right.ndim < 2 for p in pairs):
        return None
    for axis in axes(pairs):
        if any(p.right.size < 3 * p.right.shape[axis] for p in pairs):
            continue
        if any(p.right.shape[axis] < 2 for p in pairs):
            continue
        if all(_is_multiple_along(p, axis) for p in pairs):
            return (
                f"For each index of {axis_name(axis, pairs)}, all values are right up "
                "to one factor, and the factor differs from index to index."
            )
    return None


def _is_multiple_along(pair: Pair, axis: int) -> bool:
    right, given = (
        np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
        for x in (pair.right, pair.given)
    )
    square = (right * right).sum(axis=1)
    if (square == 0).any():
        return False
    factors = (right * given).sum(axis=1) / square
    scale = np.abs(given).max()
    return bool(
        scale > 0
        and np.isfinite(factors).all()
        and np.abs(given - factors[:, None] * right).max() <= 1e-7 * scale
    )


def _all_rows_wrong(pair: Pair) -> bool:
    return bool(wrong_at(pair).any(axis=-1).all())


@detectors.trace
def offset_per_row(pairs: Sequence[Pair]) -> str | None:
    """One vector or one number for each row was added."""
    if not comparable(pairs) or any(p.right.ndim < 2 for p in pairs):
        return None
    if not telling(pairs):
        return None

    def constant_along(difference: np.ndarray, axis: int) -> bool:
        spread = difference.max(axis=axis) - difference.min(axis=axis)
        return difference.shape[axis] > 2 and bool(
            spread.max() < 1e-9 * max(1.0, np.abs(difference).max())
        )

    if all(constant_along(p.given - p.right, -1) for p in pairs) and all(
        map(_all_rows_wrong, pairs)
    ):
        return (
            "In each row along the last axis, one number was added to all values; it "
            "differs from row to row."
        )
    if all(constant_along(p.given - p.right, -2) for p in pairs):
        return (
            "One vector was added to (or left out of) every row: the difference to the "
            "right result is equal in all of them."
        )
    return None
