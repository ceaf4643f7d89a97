"""Answers whose every value is a function of the right one: a softmax, or a power."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from autograder.compare import KINDS
from autograder.symptoms.detectors import Detectors
from autograder.symptoms.factors import named
from autograder.symptoms.outcomes import Pair, comparable, distinct, telling, varied

detectors = Detectors()
LEAST_ROUNDED = 3  # different values that are no whole numbers

_TINY = 1e-12
_HIDDEN_TAKE_PART = (
    "Some weights that should be zero are not, and the others in their rows are right "
    "but for a factor: something takes part in the softmax that should have no weight, "
    "such as a hidden key."
)
_ROUNDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Your values are the right ones rounded down: // does that, and so does int() to "
    "positive numbers.": np.floor,
    "Your values are the right ones without their digits after the point: int() does "
    "that, and so does an array of integers.": np.trunc,
    "Your values are the right ones rounded to whole numbers.": np.rint,
    "Your values are the right ones rounded up.": np.ceil,
    "One over each of your values is one over the right one, rounded down: // or int() "
    "would do that to a divisor.": lambda x: 1 / np.floor(1 / x),
    "One over each of your values is one over the right one, rounded to a whole "
    "number.": lambda x: 1 / np.rint(1 / x),
}
_POWERS = {
    -1.0: "one over the right one",
    2.0: "the square of the right one",
    0.5: "the square root of the right one",
    -2.0: "one over the square of the right one",
    -0.5: "one over the square root of the right one",
}


@detectors.cause
def sharper_or_flatter(pairs: Sequence[Pair]) -> str | None:
    """Softmax weights of scores that were multiplied by a number.

    The logarithm of a softmax is the scores but for a number in each row. So what is
    left of it without the mean of the row is proportional to the scores without theirs.
    """
    if not comparable(pairs) or not telling(pairs):
        return None
    factors = []
    for pair in pairs:
        if not _are_weights(pair):
            return None
        rows = list(_rows_of_scores(pair))
        if not rows and (pair.right < _TINY).any():
            continue  # the scores were so far apart that hardly a weight is left
        factor = _slope(rows)
        if factor is None:
            return None
        factors.append(factor)
    if not factors:
        return None
    if np.ptp(factors) > 1e-5 * abs(factors[0]):
        return (
            "The weights are those of a softmax whose scores have another scale, and "
            "the scale differs between the cases: something that depends on a size is "
            "missing, or there twice."
        )
    if abs(factors[0] - 1) < 1e-5:
        return _HIDDEN_TAKE_PART if all(map(_hidden_take_part, pairs)) else None
    if abs(factors[0] + 1) < 1e-5:
        return (
            "The weights are those of the negative scores: what should get the most "
            "attention gets the least."
        )
    return (
        "The weights are those of a softmax whose scores were multiplied by "
        f"{named(factors[0])}."
    )


def _are_weights(pair: Pair) -> bool:
    """Whether the rows of both are positive and sum to one, or are empty."""
    if pair.right.ndim == 0:
        return False
    return all(
        (weights >= 0).all() and np.all(np.isclose(sums, 1, atol=1e-6) | (sums == 0))
        for weights in (pair.right, pair.given)
        for sums in [weights.sum(axis=-1)]
    )


def _rows_of_scores(pair: Pair) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The logarithms of the weights without their mean, row by row.

    What is next to zero has few digits left, and a row with fewer than three weights
    can say nothing: both are left out.
    """
    width = pair.right.shape[-1]
    for row in zip(
        pair.right.reshape(-1, width), pair.given.reshape(-1, width), strict=True
    ):
        there = (row[0] > _TINY) & (row[1] > _TINY)
        if there.sum() >= 3:
            scores, others = (np.log(weights[there]) for weights in row)
            yield scores - scores.mean(), others - others.mean()


def _slope(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> float | None:
    """The factor between the scores of all rows, if it is one; zero is none."""
    if not rows:
        return None
    right, given = (np.concatenate(side) for side in zip(*rows, strict=True))
    square = float(right @ right)
    if distinct(right) < 3 or square < 1e-12:
        return None
    slope = float(right @ given) / square
    scale = np.abs(given).max()
    if (
        not 1e-6 < abs(slope) < 1e6
        or np.abs(given - slope * right).max() > 1e-6 * scale
    ):
        return None
    return slope


def _hidden_take_part(pair: Pair) -> bool:
    """Whether rows are right but for weight on what is hidden, and some have that."""
    visible = pair.right > 0
    kept = np.where(visible, pair.given, 0.0)
    sums = kept.sum(axis=-1, keepdims=True)
    if (sums[visible.any(axis=-1, keepdims=True)] == 0).any():
        return False
    again = kept / np.where(sums == 0, 1.0, sums)
    return bool((pair.given[~visible] > _TINY).any()) and pair.same(pair.right, again)


@detectors.cause
def power(pairs: Sequence[Pair]) -> str | None:
    """Every value is the same power of the right one."""
    if any(p.right.shape != p.given.shape for p in pairs) or not telling(pairs):
        return None
    right = np.concatenate([p.right.ravel() for p in pairs])
    given = np.concatenate([p.given.ravel() for p in pairs])
    if not np.isfinite(right).all() or not varied(np.abs(right[right != 0])):
        return None
    for exponent, told in _POWERS.items():
        if exponent != round(exponent) and (right < 0).any():
            continue
        if np.allclose(given, right**exponent, rtol=1e-6, atol=0, equal_nan=True):
            return f"Every value is {told}."
    return None


@detectors.cause
def rounded(pairs: Sequence[Pair]) -> str | None:
    """Every value was rounded, or its inverse was."""
    if not comparable(pairs):
        return None
    right = np.concatenate([p.right.ravel() for p in pairs])
    if distinct(right[right != np.rint(right)]) < LEAST_ROUNDED:
        return None
    for told, made in _ROUNDED.items():
        if all(p.same(made(p.right), p.given) for p in pairs):
            return told
    return None


@detectors.trace
def same_in_every_case(pairs: Sequence[Pair]) -> str | None:
    """Single numbers that never change, though the right ones do."""
    if not comparable(pairs) or any(p.right.size != 1 for p in pairs):
        return None
    given = np.array([p.given.item() for p in pairs])
    if not telling(pairs) or np.ptp(given) > 0:
        return None
    return "Your result is the same number in every case that fails, whatever comes in."


@detectors.trace
def another_kind_besides(pairs: Sequence[Pair]) -> str | None:
    """Wrong values that are not even of the kind that was asked for."""
    kinds = {p.kinds for p in pairs}
    if len(kinds) != 1:
        return None
    ((right, given),) = kinds
    if KINDS[right] == KINDS[given]:
        return None
    why = " A division with / always gives those." if right + given == "if" else ""
    return f"Your values are {KINDS[given]} where {KINDS[right]} are asked for.{why}"
