"""Zeros, sums and values that are not finite, where the rest may be wrong as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from autograder.symptoms.detectors import Detectors
from autograder.symptoms.outcomes import LEAST_VALUES, Pair, comparable, wrong_at

detectors = Detectors()
LEAST_KEPT = 8  # values that dropout has left
LEAST_FACTOR, MOST_FACTOR = 1.005, 5.0  # of what dropout leaves
LEAST_BITS = 16  # hidden or not: places that are then no accident
MOST = 0.75  # of these places
NAN_FROM = (
    "0/0, infinity divided by infinity, as after an overflow, infinity minus infinity, "
    "0 times infinity, or a root or logarithm of a negative number"
)


def infinity_from(infinite: Iterable[np.ndarray]) -> str:
    """What infinite values may come from: minus infinity hides, too."""
    if all(np.isneginf(values).all() for values in infinite):
        return (
            "a mask or a cut that reaches too far, an overflow, or a logarithm of zero"
        )
    return "an overflow, or a division by zero"


def _may_be_hidden(pair: Pair) -> bool:
    """Whether a zero can mean that something is hidden; among ids it is one of them."""
    return pair.right.ndim > 0 and pair.kinds[0] not in "iu"


def _zeros_hide(pairs: Sequence[Pair]) -> bool:
    """Whether zeros look like what is hidden or left out, and not like the sine of 0.

    They do among weights, and where whole rows are zero.
    """
    return all((p.right >= 0).all() for p in pairs) or any(
        p.right.ndim > 1 and p.right.shape[-1] > 1 and (p.right == 0).all(-1).any()
        for p in pairs
    )


@detectors.cause
def dropped(pairs: Sequence[Pair]) -> str | None:
    """Zero here and there, and the rest larger by one factor, as dropout makes it."""
    if not comparable(pairs) or not all(map(_may_be_hidden, pairs)):
        return None
    right = np.concatenate([p.right.ravel() for p in pairs])
    given = np.concatenate([p.given.ravel() for p in pairs])
    right, given = right[right != 0], given[right != 0]
    kept = given != 0
    if kept.sum() < LEAST_KEPT or kept.all():
        return None
    factor = float(np.median(given[kept] / right[kept]))
    if not LEAST_FACTOR < factor < MOST_FACTOR:
        return None
    if not all(
        p.same(np.where(p.given == 0, 0, factor * p.right), p.given) for p in pairs
    ):
        return None
    return (
        "Some values are zero, and all others are the right ones times "
        f"{factor:.4g}. That is what dropout with p = {1 - 1 / factor:.3g} does."
    )


@detectors.trace
def weights_exchanged(pairs: Sequence[Pair]) -> str | None:
    """Zero wherever a weight belongs, in each row that should have zeros as well.

    A row in which everything is hidden, or nothing, has a rule of its own. Where zeros
    belong, some may be zero: weights that are too small for any other number.
    """
    if not comparable(pairs) or any(p.right.ndim == 0 for p in pairs):
        return None
    seen = [p.right != 0 for p in pairs]
    mixed = [s.any(axis=-1) & ~s.all(axis=-1) for s in seen]
    rows = [p.right[m] for p, m in zip(pairs, mixed, strict=True)]
    if any((r < 0).any() or not np.allclose(r.sum(axis=-1), 1) for r in rows):
        return None
    right = np.concatenate([r.ravel() != 0 for r in rows])
    given = np.concatenate(
        [p.given[m].ravel() != 0 for p, m in zip(pairs, mixed, strict=True)]
    )
    if right.size < LEAST_BITS or (right & given).any():
        return None
    if (right != given).mean() < MOST:
        return None
    said = (
        "In rows that should have zeros and other weights, yours are zero wherever "
        "others belong, and those that are not zero stand where zeros belong."
    )
    if len(pairs) == 1:  # a hidden score that is not low enough looks like this, too
        return said
    return (
        f"{said} What is hidden and what is not are exchanged: a mask, or a condition, "
        "is the wrong way round."
    )


@detectors.trace
def infinity_missing(pairs: Sequence[Pair]) -> str | None:
    """Numbers wherever minus infinity should be, and others wrong as well."""
    if any(p.right.shape != p.given.shape for p in pairs):
        return None
    hidden = [np.isneginf(p.right) for p in pairs]
    if not all(h.any() for h in hidden) or any(
        not np.isfinite(p.given[h]).all() for p, h in zip(pairs, hidden, strict=True)
    ):
        return None
    return (
        "None of the values that should be minus infinity is infinite, and others are "
        "wrong as well."
    )


@detectors.trace
def zeros_only(pairs: Sequence[Pair]) -> str | None:
    """Wrong only where zeros should be, or only where there should be none."""
    if not comparable(pairs) or not all(map(_may_be_hidden, pairs)):
        return None
    wrong = [wrong_at(pair) for pair in pairs]
    if sum(int(w.sum()) for w in wrong) < LEAST_VALUES or all(w.all() for w in wrong):
        return None
    if all((p.right[w] == 0).all() for p, w in zip(pairs, wrong, strict=True)):
        more = (
            " Something may not be hidden, skipped or left out that should be."
            if _zeros_hide(pairs)
            else ""
        )
        return f"Only values that should be zero are wrong.{more}"
    if all((p.given[w] == 0).all() for p, w in zip(pairs, wrong, strict=True)):
        return (
            "The values that are wrong are zero, and all others are right. Something "
            "may be hidden, skipped or left out that should not be."
        )
    return None


@detectors.trace
def zeros_filled(pairs: Sequence[Pair]) -> str | None:
    """No zero where all the zeros should be, as if nothing were hidden."""
    if not comparable(pairs) or not all(map(_may_be_hidden, pairs)):
        return None
    if any((p.right[p.given == 0] != 0).any() for p in pairs):
        return None
    hidden = [p.right == 0 for p in pairs]
    if sum(int(h.sum()) for h in hidden) < LEAST_VALUES:
        return None
    with_zeros = [(p, h) for p, h in zip(pairs, hidden, strict=True) if h.any()]
    if len(with_zeros) < len(pairs) or any(
        (p.given[h] == 0).any() for p, h in with_zeros
    ):
        return None
    more = (
        " If something should be hidden or left out there, it takes part."
        if _zeros_hide(pairs)
        else ""
    )
    return (
        "None of the values that should be zero is zero, and others are wrong as "
        f"well.{more}"
    )


@detectors.trace
def zeros_besides(pairs: Sequence[Pair]) -> str | None:
    """Zero along the diagonal, or before or after it, where other values belong."""
    if not comparable(pairs) or not all(map(_may_be_hidden, pairs)):
        return None
    if any(p.right.ndim < 2 for p in pairs):
        return None
    sides = [np.subtract.outer(*map(np.arange, p.right.shape[-2:])) for p in pairs]
    for told, of in _PLACES.items():
        places = [of(side) for side in sides]
        missing = [
            (p.right != 0) & (p.given == 0) & w
            for p, w in zip(pairs, places, strict=True)
        ]
        if sum(int(m.sum()) for m in missing) < LEAST_VALUES:
            continue
        if all(
            m.any() and not p.given[..., w].any() and p.given[..., ~w].any()
            for p, m, w in zip(pairs, missing, places, strict=True)
        ) and all(
            p.given[(p.right != 0) & ~w].all()
            for p, w in zip(pairs, places, strict=True)
        ):
            return (
                f"All values {told} of the last two axes are zero, where others "
                "belong, and nowhere else is a zero too many. Something is hidden or "
                "left out there, and what is wrong elsewhere may follow from it."
            )
    return None


_PLACES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "on the diagonal": lambda side: side == 0,
    "above the diagonal": lambda side: side < 0,
    "below the diagonal": lambda side: side > 0,
    "on and above the diagonal": lambda side: side <= 0,
    "on and below the diagonal": lambda side: side >= 0,
}


@detectors.trace
def sums(pairs: Sequence[Pair]) -> str | None:
    """Weights along the last axis that do not sum to one, or are negative."""
    # Without a last axis, or with nothing along it, there is no sum.
    if not comparable(pairs) or any(p.right.shape[-1:] in ((), (0,)) for p in pairs):
        return None
    if sum(p.right[..., 0].size for p in pairs) < LEAST_VALUES:
        return None
    totals = []
    for pair in pairs:
        right, given = pair.right.sum(axis=-1), pair.given.sum(axis=-1)
        empty = (pair.right == 0).all(axis=-1)
        if (pair.right < 0).any() or not np.allclose(right[~empty], 1, atol=1e-6):
            return None
        if empty.all() or np.allclose(given[~empty], 1, atol=1e-6):
            return None
        totals.append(given[~empty].ravel())
    low, high = np.concatenate(totals).min(), np.concatenate(totals).max()
    some = (
        " Some of them are negative." if any((p.given < 0).any() for p in pairs) else ""
    )
    return (
        "The weights along the last axis must sum to one; yours sum to "
        f"{low:.3g} up to {high:.3g}.{some}"
    )


@detectors.trace
def not_finite_besides(pairs: Sequence[Pair]) -> str | None:
    """Values that are NaN or infinite in every wrong result, besides other errors."""
    if any(p.right.shape != p.given.shape for p in pairs):
        return None
    bad = [~np.isfinite(p.given) & np.isfinite(p.right) for p in pairs]
    if not all(b.any() for b in bad):
        return None
    nan = any(np.isnan(p.given[b]).any() for p, b in zip(pairs, bad, strict=True))
    what = "NaN" if nan else "infinite"
    origin = (
        NAN_FROM
        if nan
        else infinity_from(p.given[b] for p, b in zip(pairs, bad, strict=True))
    )
    return (
        f"Each wrong result holds values that are {what}, and others that are wrong. "
        f"Look for {origin} first."
    )
