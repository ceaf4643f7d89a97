"""Right values of another kind or shape: axes, lengths, what is no number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from autograder.compare import KINDS
from autograder.symptoms.detectors import Detectors
from autograder.symptoms.outcomes import (
    Pair,
    axes,
    axis_name,
    every,
    varied,
)
from autograder.symptoms.zeros import NAN_FROM, infinity_from

detectors = Detectors()
LARGE = -1000.0  # a number below stands for minus infinity
LEAST_AXES = 3  # of a result that has lost another axis than it should
LEAST_SHAPES = 2  # of different sizes, in which that is no accident
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
NUMBERS = {4: "four", 5: "five", 6: "six"}


# Kind of values -----------------------------------------------------------------------


@detectors.cause
def another_kind(pairs: Sequence[Pair]) -> str | None:
    """Right values of another kind: numbers in the place of truth values, say."""
    if not all(p.kinds[0] != p.kinds[1] and p.same(p.right, p.given) for p in pairs):
        return None
    kinds = {(KINDS[p.kinds[0]], KINDS[p.kinds[1]]) for p in pairs}
    if len(kinds) != 1:
        return None
    ((right, given),) = kinds
    return f"The values are right, but they are {given} where {right} are asked for."


@detectors.cause
def inverted(pairs: Sequence[Pair]) -> str | None:
    """A mask with True and False swapped."""
    if any(p.kinds != ("b", "b") for p in pairs):
        return None
    if every(pairs, lambda p: p.same(1 - p.right, p.given)):
        return "True and False are swapped throughout."
    return None


# Not numbers --------------------------------------------------------------------------


@detectors.cause
def number_for_infinity(pairs: Sequence[Pair]) -> str | None:
    """A number that is only very small where minus infinity is asked for."""
    numbers: list[float] = []
    for pair in pairs:
        if pair.right.shape != pair.given.shape:
            return None
        hidden = np.isneginf(pair.right)
        in_its_place = set(pair.given[hidden].tolist())
        if len(in_its_place) != 1 or not -np.inf < max(in_its_place) <= LARGE:
            return None
        if not pair.same(pair.right[~hidden], pair.given[~hidden]):
            return None
        numbers.extend(in_its_place)
    such_as = "" if len(set(numbers)) == 1 else "numbers such as "
    return (
        f"Where minus infinity is asked for, your values are {such_as}"
        f"{numbers[0]:.4g}, and all others are right. Such a number hides a score only "
        "as long as no score is near it."
    )


@detectors.cause
def other_infinities(pairs: Sequence[Pair]) -> str | None:
    """Minus infinity, which hides or cuts, in too many places or in too few."""
    if any(p.right.shape != p.given.shape for p in pairs):
        return None
    if not any(np.isneginf(p.right).any() for p in pairs):
        return None
    for more, told in (
        (
            True,
            "More values are minus infinity than should be: too much is hidden or cut.",
        ),
        (
            False,
            "Fewer values are minus infinity than should be: too little is hidden.",
        ),
    ):

        def holds(p: Pair, more: bool = more) -> bool:
            right, given = np.isneginf(p.right), np.isneginf(p.given)
            few, many = (right, given) if more else (given, right)
            kept = ~many
            return bool(
                (few <= many).all()
                and (few < many).any()
                and p.same(p.right[kept], p.given[kept])
            )

        if all(map(holds, pairs)):
            return f"{told} All others are right."
    return None


@detectors.cause
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
    bad = [~np.isfinite(p.given) & np.isfinite(p.right) for p in pairs]
    lost_values = np.concatenate([p.given[b] for p, b in zip(pairs, bad, strict=True)])
    nan = bool(np.isnan(lost_values).any())
    what = "NaN" if nan else "infinite"
    if nan and not np.isnan(lost_values).all():
        what = "NaN or infinite"
    origin = NAN_FROM if nan else infinity_from([lost_values])
    if all(b.all() for b in bad):
        told = f"every value came out {what}"
    else:
        told = f"some values came out {what}, and the others are right"
    return f"In the cases that fail, {told}. Look for {origin}."


@detectors.cause
def empty(pairs: Sequence[Pair]) -> str | None:
    """Results without a single value."""
    if not all(p.given.size == 0 < p.right.size for p in pairs):
        return None
    return (
        "Your result is empty: one of its axes has length 0. A slice or a mask that "
        "picks nothing would do that, or a list that is never filled."
    )


# Shape and order of axes --------------------------------------------------------------


@detectors.cause
def extra_axis(pairs: Sequence[Pair]) -> str | None:
    """The values are right, with axes of size one too many or too few."""
    if not pairs or not all(p.right.shape != p.given.shape for p in pairs):
        return None
    # Even of equal values, such as the weights of a single key, the shape says enough.
    if not all(p.same(p.right.squeeze(), p.given.squeeze()) for p in pairs):
        return None
    more = {p.given.ndim > p.right.ndim for p in pairs}
    if more == {True}:
        return (
            "The values are right, but an axis of size one is left over in the shape."
        )
    if more == {False} and all(p.given.ndim < p.right.ndim for p in pairs):
        return "The values are right, but an axis of size one is missing in the shape."
    return "The values are right, but an axis of size one is in another place."


@detectors.cause
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


@detectors.cause
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


@detectors.cause
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
    if "b" in pair.kinds:  # nobody adds up truth values
        return False
    reduced = reduce(long, axis=axis)
    return short.size == reduced.size and pair.same(reduced.squeeze(), short.squeeze())


@detectors.cause
def one_number(pairs: Sequence[Pair]) -> str | None:
    """A single number for a result that has several: their sum, or their mean."""
    if not any(p.right.size > 1 for p in pairs) or any(
        p.given.size != 1 for p in pairs
    ):
        return None
    for reduce, told in ((np.mean, "mean"), (np.sum, "sum")):
        if every(pairs, lambda p, r=reduce: p.same(r(p.right), p.given.squeeze())):
            return (
                f"Your result is a single number, the {told} of all values of the "
                "right one."
            )
    return None


@detectors.cause
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


@detectors.cause
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


@detectors.trace
def another_axis_gone(pairs: Sequence[Pair]) -> str | None:
    """One axis is missing, and another is there that is none of the result's.

    The shapes are those of an array of one more axis that has lost another axis than
    it should. Two axes are too few to tell that from a product of other factors, and
    if the two were neighbours, one size alone would differ.
    """
    ranks = {p.right.ndim for p in pairs}
    if len(ranks) > 1 or min(ranks) < LEAST_AXES:
        return None
    shapes = [(p.right.shape, p.given.shape) for p in pairs]
    (rank,) = ranks
    found = [
        (lost, left)
        for lost, left in itertools.permutations(range(rank + 1), 2)
        if abs(lost - left) > 1
        and all(_loses(right, given, lost, left) for right, given in shapes)
    ]
    distinct = {
        right
        for right, given in shapes
        if len(set(right)) == rank and sorted(right) != sorted(given)
    }
    if len(found) != 1 or len(distinct) < LEAST_SHAPES:
        return None
    ((lost, left),) = found
    return (
        f"By its shape, your result has lost the {ORDINALS[lost]} of "
        f"{NUMBERS[rank + 1]} axes, where the {ORDINALS[left]} should be gone: an "
        "argmax, a maximum, a mean or a sum may run along the wrong axis."
    )


def _loses(
    right: tuple[int, ...], given: tuple[int, ...], lost: int, left: int
) -> bool:
    """Whether a shape is the right one before ``left`` was lost, without ``lost``."""
    if len(right) != len(given):
        return False
    # The right shape has every axis but ``left``; the given one, every axis but
    # ``lost``. Those that are in both have to agree.
    of_right = [axis for axis in range(len(right) + 1) if axis != left]
    of_given = [axis for axis in range(len(given) + 1) if axis != lost]
    sizes = dict(zip(of_right, right, strict=True))
    return all(
        axis == left or sizes[axis] == size
        for axis, size in zip(of_given, given, strict=True)
    )
