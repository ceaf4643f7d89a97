"""Two answers to each case side by side, and the results that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.compare import agrees, close
from autograder.variants import Path, Role

MAX_VALUES = 200_000  # of one result; larger ones are not searched
MAX_DIMENSIONS = 5  # 120 orders of axes
LEAST_VALUES = 4  # right values that must differ before a relation is told
MOST_LOOKED_AT = 100  # values at first, of perhaps a million


@dataclass(frozen=True)
class Pair:
    """One wrong result: the right array, the given one, and the tolerances."""

    right: np.ndarray
    given: np.ndarray
    rtol: float
    atol: float
    role: Role | None = None
    kinds: tuple[str, str] = ("f", "f")

    def same(self, right: np.ndarray, given: np.ndarray) -> bool:
        """Whether two arrays agree in shape and, within the tolerances, in value."""
        return right.shape == given.shape and close(right, given, self.rtol, self.atol)


@dataclass(frozen=True)
class Outcome:
    """The two answers to a case, and how exactly they are compared.

    ``roles`` says of the parts of the answer what they are, as far as it is known.
    ``constant`` says that the right answer depends on nothing that was drawn, so that
    it may be given by accident.
    """

    right: Answer
    given: Answer
    rtol: float
    atol: float
    roles: dict[Path, Role] = field(default_factory=dict)
    constant: bool = False


def valued(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The cases in which a value was asked for and one was given."""
    return [o for o in outcomes if o.right.is_value and o.given.is_value]


def aligned(outcome: Outcome) -> Iterator[tuple[tuple[int | str, ...], Any, Any]]:
    """Both values, part by part, as deep as their structures agree."""

    def walk(path: tuple[int | str, ...], right: Any, given: Any) -> Iterator[Any]:
        if (
            isinstance(right, list)
            and isinstance(given, list)
            and len(right) == len(given)
        ):
            for index, parts in enumerate(zip(right, given, strict=True)):
                yield from walk((*path, index), *parts)
        elif (
            isinstance(right, dict)
            and isinstance(given, dict)
            and set(right) == set(given)
        ):
            for name in right:
                yield from walk((*path, name), right[name], given[name])
        else:
            yield path, right, given

    return walk((), outcome.right.value, outcome.given.value)


def all_came(outcomes: Sequence[Outcome]) -> bool:
    """Whether there is a value that can be read wherever one is expected."""
    return not any(
        o.given.raised or o.given.unreadable for o in outcomes if not o.right.raised
    )


def agree(outcome: Outcome, right: Any, given: Any) -> bool:
    """Whether two values of any structure agree, as the judge compares them."""
    return agrees(right, given, outcome.rtol, outcome.atol)


def wrong_pairs(outcomes: Sequence[Outcome]) -> list[Pair]:
    """All results that are wrong in value or shape; none if one is no array."""
    pairs = []
    for outcome in valued(outcomes):
        for path, right, given in aligned(outcome):
            if not isinstance(right, np.ndarray) or not isinstance(given, np.ndarray):
                if not agree(outcome, right, given):
                    return []
                continue
            if max(right.size, given.size) > MAX_VALUES:
                return []
            if max(right.ndim, given.ndim) > MAX_DIMENSIONS:
                return []
            if agree(outcome, right, given):
                continue
            kinds = (right.dtype.kind, given.dtype.kind)
            whole = "f" not in kinds  # truth values and integers are compared exactly
            pairs.append(
                Pair(
                    right.astype(float),
                    given.astype(float),
                    0.0 if whole else outcome.rtol,
                    0.0 if whole else outcome.atol,
                    outcome.roles.get(path),
                    kinds,
                )
            )
    return pairs


def telling(pairs: Sequence[Pair]) -> bool:
    """Whether enough different right values take part for a relation to mean something.

    Masks have two values only, True and False or minus infinity and another one; there
    it takes more of them.
    """
    if not pairs:
        return False
    values = np.concatenate([p.right[np.isfinite(p.right)].ravel() for p in pairs])
    hidden = [np.isneginf(p.right) for p in pairs]
    if all(h.any() for h in hidden) and distinct(values) == 1:
        values, masks = np.concatenate([h.ravel() for h in hidden]).astype(float), True
    else:
        masks = all(p.kinds[0] == "b" for p in pairs)
    return varied(values) or (masks and distinct(values) == 2 and values.size >= 16)


def varied(values: np.ndarray) -> bool:
    """Whether values differ enough for agreement between them to be no accident.

    This is asked very often, and as a rule, the first ones tell.
    """
    first = values.ravel()[:MOST_LOOKED_AT]
    return distinct(first) >= LEAST_VALUES or (
        first.size < values.size and distinct(values) >= LEAST_VALUES
    )


def distinct(values: np.ndarray) -> int:
    """How many different values there are, those that only rounding sets apart once."""
    with np.errstate(over="ignore"):  # the largest numbers cannot be rounded
        return len(np.unique(values.round(9)))


def every(pairs: Sequence[Pair], holds: Callable[[Pair], bool]) -> bool:
    """Whether something holds for every result, and enough values take part."""
    return all(holds(pair) for pair in pairs) and telling(pairs)


def axes(pairs: Sequence[Pair]) -> Iterator[int]:
    """Axes that all results have, counted from the last."""
    return iter(range(-1, -1 - min(p.right.ndim for p in pairs), -1))


def axis_name(axis: int, pairs: Sequence[Pair]) -> str:
    """What an axis is called that all results have; the first if it is that."""
    if axis == 0 or all(p.right.ndim == -axis > 2 for p in pairs):
        return "the first axis"
    names = {1: "the second axis", -1: "the last axis", -2: "the last axis but one"}
    return names.get(axis, f"axis {axis}")


def comparable(pairs: Sequence[Pair]) -> bool:
    """Whether all results have the right shapes and finite values."""
    return all(
        p.right.shape == p.given.shape
        and np.isfinite(p.right).all()
        and np.isfinite(p.given).all()
        for p in pairs
    )


def wrong_at(pair: Pair) -> np.ndarray:
    """Where two arrays of one shape differ by more than the tolerances."""
    return ~np.isclose(
        pair.given, pair.right, rtol=pair.rtol, atol=pair.atol, equal_nan=True
    )
