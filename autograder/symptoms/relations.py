"""Relations between the right arrays and the given ones, each told in a sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from autograder.compare import KINDS
from autograder.symptoms.outcomes import (
    LEAST_VALUES,
    Pair,
    axes,
    axis_name,
    comparable,
    every,
    telling,
    varied,
    wrong_at,
)

Detector = Callable[[Sequence[Pair]], str | None]
CAUSES: list[Detector] = []  # relations that nearly say what was done
TRACES: list[Detector] = []  # where and how it shows


def cause(function: Detector) -> Detector:
    """Add a detector of causes; the order of definition is the order of asking."""
    CAUSES.append(function)
    return function


def trace(function: Detector) -> Detector:
    """Add a detector of traces, which are asked when no cause was found."""
    TRACES.append(function)
    return function


# Kind of values -----------------------------------------------------------------------


@cause
def another_kind(pairs: Sequence[Pair]) -> str | None:
    """Right values of another kind: numbers in the place of truth values, say."""
    if not all(p.kinds[0] != p.kinds[1] and p.same(p.right, p.given) for p in pairs):
        return None
    kinds = {(KINDS[p.kinds[0]], KINDS[p.kinds[1]]) for p in pairs}
    if len(kinds) != 1:
        return None
    ((right, given),) = kinds
    return f"The values are right, but they are {given} where {right} are asked for."


@cause
def inverted(pairs: Sequence[Pair]) -> str | None:
    """A mask with True and False swapped."""
    if any(p.kinds != ("b", "b") for p in pairs):
        return None
    if every(pairs, lambda p: p.same(1 - p.right, p.given)):
        return "True and False are swapped throughout."
    return None


# Not numbers --------------------------------------------------------------------------


@cause
def not_finite(pairs: Sequence[Pair]) -> str | None:
    """All that is wrong is NaN or infinite."""

    def lost(pair: Pair) -> bool:
        if pair.right.shape != pair.given.shape:
            return False
        bad = ~np.isfinite(pair.given) & np.isfinite(pair.right)
        kept = ~bad
        return bool(bad.any()) and pair.same(pair.right[kept], pair.given[kept])

    if not all(lost(pair) for pair in pairs):
        return None
    nan = any(np.isnan(pair.given).any() for pair in pairs)
    what = "NaN" if nan else "infinite"
    whole = all(np.isnan(p.given).all() or np.isinf(p.given).all() for p in pairs)
    where = "every value" if whole else "some values"
    origin = (
        "0/0, infinity minus infinity, or 0 times infinity"
        if nan
        else "an overflow or a division by zero"
    )
    return (
        f"In the cases that fail, {where} came out {what}, and the others are right. "
        f"Look for {origin}."
    )


# Shape and order of axes --------------------------------------------------------------


@cause
def extra_axis(pairs: Sequence[Pair]) -> str | None:
    """The values are right, with axes of size one too many or too few."""
    if not all(p.right.shape != p.given.shape for p in pairs):
        return None
    if not every(pairs, lambda p: p.same(p.right.squeeze(), p.given.squeeze())):
        return None
    more = {p.given.ndim > p.right.ndim for p in pairs}
    if more == {True}:
        return (
            "The values are right, but an axis of size one is left over in the shape."
        )
    if more == {False} and all(p.given.ndim < p.right.ndim for p in pairs):
        return "The values are right, but an axis of size one is missing in the shape."
    return "The values are right, but an axis of size one is in another place."


@cause
def permuted_axes(pairs: Sequence[Pair]) -> str | None:
    """The axes come in another order."""
    ranks = {p.right.ndim for p in pairs}
    if any(p.right.ndim != p.given.ndim for p in pairs):
        return None
    if min(ranks) < 2:
        return None
    last_two = every(pairs, lambda p: p.same(np.swapaxes(p.right, -1, -2), p.given))
    if last_two:
        if ranks == {2}:
            return (
                "Your result is the right one transposed: rows and columns are swapped."
            )
        return "Your result is the right one with its last two axes swapped."
    if len(ranks) > 1:
        return None
    (rank,) = ranks
    for order in itertools.permutations(range(rank)):
        if order == tuple(range(rank)):
            continue
        if every(pairs, lambda p, o=order: p.same(p.right.transpose(o), p.given)):
            return (
                "Your result is the right one with its axes in the order "
                f"{order}: they have to be moved, and each value along with them."
            )
    return None


@cause
def reshaped(pairs: Sequence[Pair]) -> str | None:
    """The same values in the same running order, cut into another shape."""
    if all(p.right.shape != p.given.shape for p in pairs) and every(
        pairs,
        lambda p: (
            p.right.size == p.given.size and p.same(p.right.ravel(), p.given.ravel())
        ),
    ):
        return (
            "The values are right and in the right order, but the shape is another one."
        )
    return None


@cause
def summed(pairs: Sequence[Pair]) -> str | None:
    """A sum, mean or maximum along one axis is missing, or one too many was taken."""
    for reduce, told in ((np.sum, "sum"), (np.mean, "mean"), (np.max, "maximum")):
        for axis in (-1, -2, -3, 0, 1):
            name = axis_name(axis, pairs)
            if every(
                pairs, lambda p, r=reduce, a=axis: _reduces(p, p.given, p.right, r, a)
            ):
                return (
                    f"A step is missing: the {told} of your result along {name} is the "
                    "right result."
                )
            if every(
                pairs, lambda p, r=reduce, a=axis: _reduces(p, p.right, p.given, r, a)
            ):
                return (
                    f"You went a step too far: your result is the {told} of the right "
                    f"one along {name}."
                )
    return None


def _reduces(
    pair: Pair, long: np.ndarray, short: np.ndarray, reduce: Callable, axis: int
) -> bool:
    """Whether one array is the other, reduced along an axis."""
    if not -long.ndim <= axis < long.ndim or long.size <= short.size:
        return False
    reduced = reduce(long, axis=axis)
    return short.size == reduced.size and pair.same(reduced.squeeze(), short.squeeze())


@cause
def moved_along_an_axis(pairs: Sequence[Pair]) -> str | None:
    """Reversed, or rolled, along one axis."""
    if any(p.right.shape != p.given.shape or p.right.ndim == 0 for p in pairs):
        return None
    for axis in axes(pairs):
        name = axis_name(axis, pairs)
        if every(pairs, lambda p, a=axis: p.same(np.flip(p.right, a), p.given)):
            return f"Your result is the right one in reverse order along {name}."
        for step in (1, -1, 2, -2):
            way = "later" if step > 0 else "earlier"
            far = f"{abs(step)} position{'s' if abs(step) > 1 else ''}"
            if every(
                pairs, lambda p, a=axis, s=step: p.same(np.roll(p.right, s, a), p.given)
            ):
                return (
                    f"Your result is the right one, moved by {far} to {way} indices "
                    f"along {name} (what leaves at one end comes back at the other)."
                )
            if every(pairs, lambda p, a=axis, s=step: _shifted(p, a, s)):
                return (
                    f"Along {name}, each value stands {far} too far towards {way} "
                    "indices."
                )
    return None


def _shifted(pair: Pair, axis: int, step: int) -> bool:
    """Whether the overlap agrees after a shift, whatever was filled in."""
    size, far = pair.right.shape[axis], abs(step)
    if size - far < 2:
        return False
    ends = (range(size - far), range(far, size))
    here, there = ends if step > 0 else ends[::-1]
    right, given = np.take(pair.right, here, axis), np.take(pair.given, there, axis)
    return varied(right) and pair.same(right, given)


@cause
def another_length(pairs: Sequence[Pair]) -> str | None:
    """The result is right as far as it goes, but too long or too short on one axis."""
    if any(p.right.ndim != p.given.ndim or p.right.ndim == 0 for p in pairs):
        return None
    for axis in axes(pairs):

        def overlaps(p: Pair, from_end: bool, axis: int = axis) -> bool:
            size = min(p.right.shape[axis], p.given.shape[axis])
            if size == 0 or p.right.shape[axis] == p.given.shape[axis]:
                return False

            def part(x: np.ndarray) -> np.ndarray:
                start = x.shape[axis] - size if from_end else 0
                return np.take(x, range(start, start + size), axis)

            return p.same(part(p.right), part(p.given))

        for from_end, where in ((False, "end"), (True, "beginning")):
            if every(pairs, lambda p, e=from_end: overlaps(p, e)):
                less = {p.given.shape[axis] - p.right.shape[axis] for p in pairs}
                if all(d < 0 for d in less):
                    how = f"something is missing at the {where} of"
                elif all(d > 0 for d in less):
                    how = f"there is something too much at the {where} of"
                else:
                    continue
                by = f" (by {abs(next(iter(less)))})" if len(less) == 1 else ""
                return (
                    f"What is there is right, but {how} {axis_name(axis, pairs)}{by}."
                )
    return None


# Factors and offsets ------------------------------------------------------------------


def _factors(pairs: Sequence[Pair]) -> list[float] | None:
    """The one number for each result by which all its right values were multiplied."""
    if not comparable(pairs) or not telling(pairs):
        return None
    factors = [_factor(pair) for pair in pairs]
    return None if None in factors else factors


def _factor(pair: Pair) -> float | None:
    """The one number by which all right values were multiplied."""
    right, given = pair.right.ravel(), pair.given.ravel()
    square = float(right @ right)
    if square == 0:
        return None
    factor = float(right @ given) / square
    scale = float(np.abs(given).max())
    if factor == 0 or not np.allclose(
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


@cause
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
    if not any(pair.right.size > 1 for pair in pairs):
        return None
    for power, told in (
        (1, "a size"),
        (-1, "one over a size"),
        (2, "the square root of a size"),
        (-2, "one over the square root of a size"),
    ):
        sizes = [_whole(abs(factor) ** power) for factor in factors]
        if all(sizes) and len(set(sizes)) > 1 and all(f > 0 for f in factors):
            listed = ", ".join(str(size) for size in dict.fromkeys(sizes))
            return (
                f"Every value is the right one times {told}, which depends on the case "
                f"(the sizes were {listed})."
            )
    return None


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


@trace
def factor_per_result(pairs: Sequence[Pair]) -> str | None:
    """Each result is a multiple of the right one, by a factor of its own."""
    factors = _factors(pairs)
    if factors is None or not any(pair.right.size > 1 for pair in pairs):
        return None
    return "Each result is right up to one factor, which differs from result to result."


@cause
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


@cause
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


@trace
def factor_per_row(pairs: Sequence[Pair]) -> str | None:
    """Each row is a multiple of the right one."""
    if not comparable(pairs) or any(p.right.ndim < 2 for p in pairs):
        return None
    if any(p.right.shape[-1] < 3 for p in pairs) or not telling(pairs):
        return None
    for pair in pairs:
        right = pair.right.reshape(-1, pair.right.shape[-1])
        given = pair.given.reshape(right.shape)
        square = (right * right).sum(axis=1)
        if (square == 0).any() or not _all_rows_wrong(pair):
            return None
        factors = (right * given).sum(axis=1) / square
        scale = np.abs(given).max()
        if scale == 0 or np.abs(given - factors[:, None] * right).max() > 1e-7 * scale:
            return None
    return (
        "Each row along the last axis is right up to one factor, and the factor "
        "differs from row to row."
    )


def _all_rows_wrong(pair: Pair) -> bool:
    return bool(wrong_at(pair).any(axis=-1).all())


@trace
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


# Where it is wrong --------------------------------------------------------------------


@cause
def nothing_but_one_value(pairs: Sequence[Pair]) -> str | None:
    """The result holds one value throughout."""
    if any(p.given.size < 2 for p in pairs) or not telling(pairs):
        return None
    if all((p.given == 0).all() for p in pairs):
        return "Every value in your result is zero."
    if all((p.given == p.given.flat[0]).all() for p in pairs):
        return "Your result has one and the same value everywhere, whatever the input."
    return None


@trace
def repeated(pairs: Sequence[Pair]) -> str | None:
    """All entries along one axis are equal, where they should differ."""
    if any(p.right.shape != p.given.shape or p.right.ndim < 2 for p in pairs):
        return None
    for axis in axes(pairs):
        if any(p.given.shape[axis] < 2 for p in pairs):
            continue

        def equal(x: np.ndarray, axis: int = axis) -> bool:
            first = np.take(x, [0], axis)
            return bool(np.allclose(x, first, rtol=1e-12, atol=1e-12))

        if all(equal(p.given) and not equal(p.right) for p in pairs) and telling(pairs):
            return (
                f"All entries along {axis_name(axis, pairs)} of your result are "
                "equal; they should differ."
            )
    return None


@trace
def rows_of_zeros(pairs: Sequence[Pair]) -> str | None:
    """Wrong in those rows only that should be zero throughout."""
    if any(p.right.shape != p.given.shape or p.right.ndim < 2 for p in pairs):
        return None
    for pair in pairs:
        zero = (pair.right == 0).all(axis=-1)
        rows = wrong_at(pair).any(axis=-1)
        if zero.all() or not (rows <= zero).all():
            return None
    return (
        "Only rows that should be zero throughout are wrong, such as those of a query "
        "that may attend to nothing."
    )


@trace
def mask_too_wide_or_narrow(pairs: Sequence[Pair]) -> str | None:
    """A mask that errs on one side only."""
    if any(
        p.kinds != ("b", "b") or p.right.shape != p.given.shape for p in pairs
    ) or not telling(pairs):
        return None
    where = wrong_part(pairs) or ""
    where = f" {where}" if "diagonal" in where else ""
    if all((p.given >= p.right).all() for p in pairs):
        return (
            "All that should be True is True, but more is: where `True` allows "
            f"attention, too little is hidden.{where}"
        )
    if all((p.given <= p.right).all() for p in pairs):
        return (
            "All that should be False is False, but more is: where `True` allows "
            f"attention, too much is hidden.{where}"
        )
    return None


@trace
def wrong_part(pairs: Sequence[Pair]) -> str | None:
    """Wrong in one part only: an index of an axis, the diagonal, a triangle."""
    if any(p.right.shape != p.given.shape or p.right.ndim < 1 for p in pairs):
        return None
    wrong = [wrong_at(pair) for pair in pairs]
    if sum(w.sum() for w in wrong) < LEAST_VALUES:
        return None
    for axis in axes(pairs):
        if any(w.shape[axis] < 2 for w in wrong):
            continue
        name = axis_name(axis, pairs)
        for index, told in ((0, "first"), (-1, "last")):
            here = [np.take(w, index, axis) for w in wrong]
            rest = [np.delete(w, index % w.shape[axis], axis) for w in wrong]
            if all(h.any() for h in here) and not any(r.any() for r in rest):
                return f"Only the {told} entry along {name} is wrong."
            if not any(h.any() for h in here) and all(
                np.take(r, i, axis).any() for r in rest for i in range(r.shape[axis])
            ):
                return f"Along {name}, only the {told} entry is right."
    if any(w.ndim < 2 for w in wrong) or not all(
        w.shape[-1] == w.shape[-2] > 2 for w in wrong
    ):
        return None
    below = [np.tri(w.shape[-1], dtype=bool) for w in wrong]
    eyes = [np.eye(w.shape[-1], dtype=bool) for w in wrong]
    pairs_of = list(zip(wrong, below, eyes, strict=True))
    if all(not (w & ~e).any() for w, _, e in pairs_of):
        return "Only the diagonal of your result is wrong."
    if all(not (w & ~b).any() and (w & b & ~e).any() for w, b, e in pairs_of):
        return "Only what lies on and below the diagonal is wrong."
    if all(not (w & b).any() for w, b, _ in pairs_of):
        return "Only what lies above the diagonal is wrong."
    return None


@cause
def low_precision(pairs: Sequence[Pair]) -> str | None:
    """All values are nearly right, as after a computation in fewer bits."""
    if not comparable(pairs) or not telling(pairs):
        return None
    largest = 0.0
    for pair in pairs:
        scale = np.abs(pair.right).max()
        if scale == 0:
            return None
        largest = max(largest, float(np.abs(pair.given - pair.right).max() / scale))
    if 1e-8 < largest < 3e-3:
        bits = "half" if largest > 2e-5 else "single"
        return (
            "The values are nearly right. Differences of this size come from "
            f"{bits} precision; compute in the precision of the inputs."
        )
    return None


def _softmax_of_right(pair: Pair) -> bool:
    """Whether weights were given whose logarithms differ as the right values do.

    A softmax is not computed: students have this file, and writing one is an exercise.
    """
    given = pair.given
    if given.ndim == 0 or not (given > 0).all():
        return False
    apart = np.log(given) - pair.right
    even = np.broadcast_to(apart[..., :1], apart.shape)
    return pair.same(even, apart) and pair.same(
        np.ones(given.shape[:-1]), given.sum(axis=-1)
    )


@cause
def clipped(pairs: Sequence[Pair]) -> str | None:
    """Negative values became zero, or signs were lost."""
    if not comparable(pairs) or not telling(pairs):
        return None
    for made, told in (
        (
            lambda x: np.maximum(x, 0),
            "Negative values became zero; the others are right.",
        ),
        (np.abs, "The signs are lost: your result is the absolute value."),
        (np.square, "Your result is the square of the right one."),
        (np.exp, "Your result is the exponential of the right one."),
        (np.tanh, "Your result is the tanh of the right one."),
        (np.sqrt, "Your result is the square root of the right one."),
    ):
        if all(p.same(made(p.right), p.given) for p in pairs):
            return told
    if all(map(_softmax_of_right, pairs)):
        return "Your result is the softmax, along the last axis, of what was asked for."
    return None
