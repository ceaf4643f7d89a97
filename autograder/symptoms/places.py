"""Where an answer is wrong: in some rows, above or below the diagonal, at the edges."""

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
    telling,
    wrong_at,
)

detectors = Detectors()
NEAR = 1e-2  # of the largest value: half precision is as far off where an eps decides


@detectors.cause
def nothing_but_one_value(pairs: Sequence[Pair]) -> str | None:
    """The result holds one value throughout."""
    if any(p.given.size < 2 for p in pairs) or not telling(pairs):
        return None
    if all((p.given == 0).all() for p in pairs):
        if any(p.role for p in pairs):
            return "Every value in your result is zero."
        return (
            "Every wrong value is zero, in your result or in what is computed from it. "
            "A gradient is zero if a result was cut off from the inputs, as by "
            "detach(), item(), or a new tensor made of its values."
        )
    if all((p.given == p.given.flat[0]).all() for p in pairs):
        return "Your result has one and the same value everywhere, whatever the input."
    return None


@detectors.trace
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


@detectors.trace
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


@detectors.trace
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


@detectors.trace
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
    return _of_a_square(wrong)


def _of_a_square(wrong: Sequence[np.ndarray]) -> str | None:
    """Which triangle of square results is wrong, or the diagonal, if one is."""
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


_PATTERNS = {
    "only every second entry is wrong, beginning with the first": lambda n: (
        np.arange(n) % 2 == 0
    ),
    "only every second entry is wrong, beginning with the second": lambda n: (
        np.arange(n) % 2 == 1
    ),
    "only the first half is wrong": lambda n: np.arange(n) < n / 2,
    "only the second half is wrong": lambda n: np.arange(n) >= n / 2,
}


@detectors.trace
def wrong_along(pairs: Sequence[Pair]) -> str | None:
    """Wrong in a regular part along an axis: one half, every second, all after some."""
    if any(p.right.shape != p.given.shape or p.right.ndim < 1 for p in pairs):
        return None
    wrong = [wrong_at(pair) for pair in pairs]
    for axis in axes(pairs):
        name = axis_name(axis, pairs)
        lines = [
            w.any(axis=tuple(a for a in range(w.ndim) if a != w.ndim + axis))
            for w in wrong
        ]
        if min(map(len, lines)) < 2 or sum(map(len, lines)) < 2 * LEAST_VALUES:
            continue
        if max(map(len, lines)) < LEAST_VALUES:
            continue
        for told, pattern in _PATTERNS.items():
            if all((line == pattern(len(line))).all() for line in lines):
                return f"Along {name}, {told}."
        if all(
            not line[0] and (np.diff(line.astype(int)) >= 0).all() for line in lines
        ):
            return (
                f"Along {name}, the beginning is right, and all that follows is wrong."
            )
        if all(
            not line[-1] and (np.diff(line.astype(int)) <= 0).all() for line in lines
        ):
            return (
                f"Along {name}, the beginning is wrong, and all that follows is right."
            )
    return None


@detectors.cause
def low_precision(pairs: Sequence[Pair]) -> str | None:
    """All values are nearly right, and fit into fewer bits, as the right ones do not.

    Small differences alone have other reasons, too: see ``nearly_right``.
    """
    for name, (fits, near) in _PRECISIONS.items():
        if not _are_near(pairs, near):
            continue
        if all(fits(p.given) for p in pairs) and not any(fits(p.right) for p in pairs):
            return (
                f"The values are nearly right, and rounded to {name} precision; "
                "compute in the precision of the inputs."
            )
    return None


@detectors.trace
def nearly_right(pairs: Sequence[Pair]) -> str | None:
    """All values are nearly right."""
    if not _are_near(pairs, NEAR):
        return None
    return (
        "The values are nearly right. Differences as small as these come from another "
        "eps, an approximation of a function, a term that hardly counts, or a lower "
        "precision on the way."
    )


def _are_near(pairs: Sequence[Pair], near: float) -> bool:
    """Whether real numbers differ from the right ones by little, but in all results."""
    if not comparable(pairs) or not telling(pairs):
        return False
    if any(pair.kinds != ("f", "f") for pair in pairs):
        return False  # a count that is off by a few is wrong
    scales = [float(np.abs(pair.right).max()) for pair in pairs]
    if not all(scales):
        return False
    largest = max(
        float(np.abs(pair.given - pair.right).max() / scale)
        for pair, scale in zip(pairs, scales, strict=True)
    )
    return 1e-8 < largest < near


def _fits_half(values: np.ndarray) -> bool:
    """Whether all values are numbers of 16 bits, of either kind."""
    bits = values.astype(np.float32).view(np.uint32)
    brain = bool((bits & 0xFFFF == 0).all()) and _fits_single(values)
    return brain or bool((values.astype(np.float16) == values).all())


def _fits_single(values: np.ndarray) -> bool:
    return bool((values.astype(np.float32) == values).all())


_PRECISIONS = {"half": (_fits_half, NEAR), "single": (_fits_single, 3e-3)}


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


@detectors.cause
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
