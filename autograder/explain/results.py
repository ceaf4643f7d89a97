"""Edits of results: the right result, transposed, scaled, shifted, not normalised ...

Each row of ``RESULTS`` makes a wrong array from the right one. A row may take one
value, such as a factor or an axis, which is fitted on one wrong result and has to hold
for all. Rows of ``PLACES`` make it from both and say where the wrong one is right; they
are told only if nothing else explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.compare import KINDS, agrees, at, differences
from autograder.exercise import Case
from autograder.parts import without_call
from autograder.rows import Names

MOST_VALUES = 200_000  # of one result; larger ones are not searched
LEAST_VALUES = 4  # right ones that differ, for agreement to be no accident
LEAST_OF_MASK = 16  # values in all, where there are but two
LEAST_RIGHT = 0.5  # of a result, to say where the rest is
RETURNED = "Your result"
KIND = "{} has the right values, but they are {}, and {} are asked for."
FOLLOWS = "Other differences may follow from that."

IN_A_TUPLE = (
    "Your result is right, but comes in a tuple or a list of one. A comma at the end "
    "of a return statement makes a tuple."
)

Array = np.ndarray


@dataclass(frozen=True)
class Wrong:
    """A part of an answer that is wrong, and how exactly it is compared."""

    right: Array
    given: Array
    rtol: float
    atol: float
    name: str = ""
    kinds: tuple[str, str] = ("f", "f")

    @property
    def is_lost(self) -> bool:
        """Whether something is infinite or NaN where nothing should be."""
        return bool(np.isfinite(self.right).all() and not np.isfinite(self.given).all())

    def same(self, one: Any, other: Any) -> bool:
        """Whether a right and a given array agree as they have to; ``None`` is none."""
        if one is None or other is None:
            return False
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return False
        with np.errstate(all="ignore"):
            return np.allclose(other, one, self.rtol, self.atol, equal_nan=True)


@dataclass(frozen=True)
class Relation:
    """A way to be wrong.

    Attributes:
        says: the sentence, with a place for the subject and for what is fitted.
        edit: ``edit(right, value)`` is the wrong array; may raise any error.
        fit: the values to try, most likely ones first, for a right and a wrong array.
        undo: whether the edit makes the right array from the wrong one instead.
        shown: how a value is written in the sentence.
        place: whether the value is the wrong array itself.
    """

    says: str
    edit: Callable[[Array, Any], Any]
    fit: Callable[[Array, Array], Iterable[Any]] = lambda right, given: [None]
    undo: bool = False
    shown: Callable[[Any], str] = str
    place: bool = False

    def holds(self, wrong: Wrong, value: Any) -> bool:
        """Whether the edit with this value makes one of the arrays from the other."""
        if self.place:
            value = wrong.given
        if self.undo:
            return wrong.same(wrong.right, _tried(self.edit, wrong.given, value))
        return wrong.same(_tried(self.edit, wrong.right, value), wrong.given)

    def explains(self, all_wrong: Sequence[Wrong]) -> str | None:
        """The sentence without its subject, if it holds for all; else ``None``."""
        first = all_wrong[0]
        for value in _tried(self.fit, first.right, first.given) or ():
            if all(self.holds(wrong, value) for wrong in all_wrong):
                return self.says.format("{}", self.shown(value))
        return None


# A way to be right in some places alone: ``edit(right, given)`` is the given.
Place = partial(Relation, place=True)


def _tried(make: Callable, *arguments: Any) -> Any:
    """What is made of arrays; ``None`` if that means nothing for them."""
    try:
        with np.errstate(all="ignore"):
            return make(*arguments)
    except Exception:
        return None


def axes(right: Array, given: Array) -> range:
    """The axes of both, counted from the last."""
    return range(-1, -1 - max(right.ndim, given.ndim), -1)


def _of_axes(*others: Any) -> Callable[[Array, Array], list[tuple[int, Any]]]:
    return lambda y, z: [(axis, o) for axis in axes(y, z) for o in others]


def _axis_name(axis: int) -> str:
    names = {-1: "the last axis", -2: "the last axis but one"}
    return names.get(axis, f"axis {axis}")


def _ratio(y: Array, z: Array) -> list[float]:
    at = _largest(y)
    factor = float(z[at] / y[at])
    return [factor] if np.isfinite(factor) and factor not in (0, 1) else []


def _largest(y: Array) -> tuple[np.intp, ...]:
    """The place of the number that is farthest from zero, and finite."""
    return np.unravel_index(np.argmax(np.abs(np.where(np.isfinite(y), y, 0))), y.shape)


def _difference(y: Array, z: Array) -> list[float]:
    gap = (z - y)[np.isfinite(z) & np.isfinite(y)]
    return [float(np.median(gap))] if gap.size and gap[0] else []


def _short(value: float) -> str:
    return f"{value:.4g}"


def _softmax(y: Array, axis: int) -> Array:
    e = np.exp(y - y.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _sharpened(y: Array, axis: int, power: float) -> Array:
    if not np.allclose(y.sum(axis), 1, rtol=1e-4):
        raise ValueError
    return y**power / (y**power).sum(axis, keepdims=True)


def _sharpness(y: Array, z: Array) -> list[tuple[int, float]]:
    """Of which power of the right weights others are, if of any."""
    found = []
    for axis in axes(y, z):
        rows = (np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]) for x in (y, z))
        one, other = (np.diff(np.log(x), axis=1) for x in rows)
        at = _largest(one)
        power = float(other[at] / one[at])
        if np.isfinite(power) and power > 0 and abs(power - 1) > 1e-4:
            found.append((axis, power))
    return found


def _orders(y: Array, z: Array) -> list[tuple[int, ...]]:
    if y.ndim not in (3, 4, 5):
        return []
    same, *others = permutations(range(y.ndim))
    return [o for o in others if tuple(y.shape[axis] for axis in o) == z.shape]


def _cut(y: Array, value: tuple[int, str]) -> Array:
    axis, end = value
    if y.shape[axis] < 2:
        raise ValueError
    kept = range(1, y.shape[axis]) if end == "first" else range(y.shape[axis] - 1)
    return y.take(kept, axis)


def _at_end(value: tuple[int, str]) -> str:
    return f"the {value[1]} entry along {_axis_name(value[0])}"


def _along(
    says: str, edit: Callable[[Array, int], Any], undo: bool = False
) -> Relation:
    """A relation along one axis, whichever it is."""
    return Relation(says, edit, axes, undo, shown=_axis_name)


# What may be done once too often or be missing.
STEPS: dict[str, Callable[[Array, int], Any]] = {
    "a softmax over {}": _softmax,
    "a division by the sums over {}": lambda y, axis: y / y.sum(axis, keepdims=True),
    "a sum over {}": lambda y, axis: y.sum(axis),
    "a mean over {}": lambda y, axis: y.mean(axis),
}


def _steps() -> Iterator[Relation]:
    """Each step as one too many, and as one that is missing."""
    for undo, says in (
        (False, "{} is what %s makes of the right result."),
        (True, "{} is not right yet: %s makes the right result of it."),
    ):
        for name, step in STEPS.items():
            yield _along(says % name, step, undo)


ARRANGED = [
    Relation("{} is the right result transposed.", lambda y, _: y.swapaxes(-1, -2)),
    Relation(
        "{} is the right result with its axes in the order {}.",
        np.transpose,
        _orders,
        shown=lambda order: ", ".join(map(str, order)),
    ),
    Relation(
        "{} is the opposite of the right result: True and False are exchanged.",
        lambda y, _: 1 - y if set(np.unique(y)) <= {0.0, 1.0} else None,
    ),
    Relation(
        "{} lacks {} of the right result; the rest is right.",
        _cut,
        _of_axes("first", "last"),
        shown=_at_end,
    ),
    Relation(
        "{} is right without {}, which is one too many.",
        _cut,
        _of_axes("first", "last"),
        undo=True,
        shown=_at_end,
    ),
]
RESULTS = [
    *ARRANGED,
    Relation(
        "{} is NaN everywhere. NaN comes from 0 / 0, from inf - inf, from 0 * inf, and "
        "from roots and logarithms of what is negative; sums pass it on.",
        lambda y, _: np.full(y.shape, np.nan),
    ),
    Relation(
        "{} is the right result times {}.", lambda y, c: y * c, _ratio, shown=_short
    ),
    Relation(
        "{} is the right result plus {}.",
        lambda y, c: y + c,
        _difference,
        shown=_short,
    ),
    *_steps(),
    Relation(
        "{} is what the softmax gives of the right scores times {}.",
        lambda y, value: _sharpened(y, *value),
        _sharpness,
        shown=lambda value: f"{_short(value[1])}, along {_axis_name(value[0])}",
    ),
]


def _where(condition: Array, y: Array, z: Array) -> Array:
    """The right array, but for some places."""
    if y.shape != z.shape or y.ndim < 1:
        raise ValueError
    return np.where(condition, z, y)


def _border(axis: int, end: str, y: Array, z: Array) -> Array:
    if y.shape[axis] < 3:
        raise ValueError
    condition = np.zeros(y.shape, bool)
    np.moveaxis(condition, axis, 0)[0 if end == "first" else -1] = True
    return _where(condition, y, z)


def _where_zero(y: Array, z: Array) -> Array:
    if np.mean(y == 0) > 1 - LEAST_RIGHT:
        raise ValueError
    return _where(y == 0, y, z)


def _reordered(y: Array, z: Array) -> Array:
    order = np.empty(y.size)
    order[np.argsort(z, axis=None, kind="stable")] = np.sort(y, axis=None)
    return order.reshape(z.shape)


def _any_factor(y: Array, z: Array) -> Array:
    finite = np.isfinite(y)
    return y * ((y * z)[finite].sum() / (y * y)[finite].sum())


PLACES = [
    Place("{} is zero everywhere.", lambda y, z: np.zeros(z.shape)),
    Place(
        "{} is NaN in some places, and right elsewhere. NaN comes from 0 / 0, from "
        "inf - inf, from 0 * inf, and from roots and logarithms of what is negative.",
        lambda y, z: _where(np.isnan(z), y, z),
    ),
    Place(
        "{} is infinite in some places, and right elsewhere.",
        lambda y, z: _where(np.isinf(z), y, z),
    ),
    Place(
        "{} has the right values in their order, in another shape.",
        lambda y, z: y.reshape(z.shape),
    ),
    Place(
        "{} has the right values in another order: look at what is reshaped, "
        "transposed and joined, and along which axes.",
        _reordered,
    ),
    Place(
        "{} is the right result times a factor, another one in each case: it may "
        "depend on a size.",
        _any_factor,
    ),
    Place("{} is right but where the right result is zero.", _where_zero),
    *(
        Place(f"{{}} is right but for {_at_end(end)}.", partial(_border, *end))
        for end in product((-1, -2, -3), ("first", "last"))
    ),
]


def wrong_parts(
    case: Case, right: Answer, given: Answer, names: Names
) -> list[Wrong] | None:
    """The arrays of an answer that are wrong; ``None`` if other things are, too."""
    found: list[Wrong] = []
    for path, _ in differences(right.value, given.value, case.rtol, case.atol):
        one, other = at(path, right.value), at(path, given.value)
        if not isinstance(one, Array) or not isinstance(other, Array):
            return None
        if max(one.size, other.size) > MOST_VALUES:
            return None
        exact = one.dtype.kind != "f"
        rtol, atol = (0.0, 0.0) if exact else (case.rtol, case.atol)
        found.append(
            Wrong(
                *(one.astype(float), other.astype(float), rtol, atol),
                without_call(names.get(path, "")),
                (KINDS[one.dtype.kind], KINDS[other.dtype.kind]),
            )
        )
    return found


def find(wrong: Sequence[Sequence[Wrong]], places: bool = False) -> str:
    """What the wrong results are, by the first row that fits; empty if none does.

    It is asked of all wrong parts, then of those that have one name.

    Args:
        wrong: the wrong parts of the answer to each wrong case.
        places: whether to say where they are right.
    """
    every = [part for parts in wrong for part in parts]
    if not wrong or not all(wrong):
        return ""
    some = [(every, "")]
    names = dict.fromkeys(part.name for part in every)
    for name in names if len(names) > 1 else ():
        if 2 * sum(any(part.name == name for part in p) for p in wrong) >= len(wrong):
            some.append(([part for part in every if part.name == name], f" {FOLLOWS}"))
    for parts, more in some:
        if _telling(parts) and (found := _first_row(parts, places)):
            return found + more
    return ""


def _first_row(wrong: Sequence[Wrong], places: bool) -> str:
    if all(one.same(one.right, one.given) for one in wrong):
        right, given = wrong[0].kinds
        return KIND.format(_subject(wrong), given, right) if right != given else ""
    wrong = sorted(wrong, key=lambda one: not _varied(one.right))
    table = RESULTS if _varied(wrong[0].right) else ARRANGED
    if places:
        table = PLACES
    elif not any(one.given.any() for one in wrong):
        return ""  # zeros everywhere, and any sum or product may be that
    found = (row.explains(wrong) for row in table)
    says = next((one for one in found if one is not None), "")
    return says.format(_subject(wrong))


def find_order(case_values: Sequence[tuple[Case, Any, Any]]) -> str:
    """Whether several results are right but in another order, or only one came.

    Args:
        case_values: the wrong cases with the right and the given values.
    """
    told = {_order(case, *values) for case, *values in case_values}
    return told.pop() if len(told) == 1 and None not in told else ""


def _order(case: Case, right: Any, given: Any) -> str | None:
    def same(one: Any, other: Any) -> bool:
        return agrees(one, other, case.rtol, case.atol)

    if isinstance(right, list) and isinstance(given, list):
        if not 1 < len(right) == len(given) <= 5:
            return None
        pairs = [p for p in zip(right, given, strict=True) if not same(*p)]
        inner = {_order(case, *pair) for pair in pairs}  # of several calls, say
        if len(inner) == 1 and None not in inner:
            return inner.pop()
        for order in permutations(range(len(right))):
            if all(same(right[n], given[at]) for at, n in enumerate(order)):
                said = ", ".join(str(n + 1) for n in order)
                return f"Your results are right, but come in the order {said}."
    elif isinstance(right, list):
        for number, one in enumerate(right, start=1):
            if same(one, given):
                return f"You return result {number} of {len(right)} alone."
    elif isinstance(given, list) and len(given) == 1 and same(right, given[0]):
        return IN_A_TUPLE
    return None


def _subject(wrong: Sequence[Wrong]) -> str:
    names = {one.name for one in wrong}
    if names == {""}:
        return RETURNED
    if len(names) == 1:
        return f"What comes out as {names.pop()}"
    return "Each result that is wrong"


def _varied(values: Array) -> bool:
    finite = values[np.isfinite(values)].ravel()
    return len(np.unique(finite[:1000].round(9))) >= LEAST_VALUES


def _telling(wrong: Sequence[Wrong]) -> bool:
    """Whether so many different values take part that agreement is no accident."""
    if not wrong:
        return False
    if any(_varied(one.right) for one in wrong):
        return True
    kinds = np.concatenate([np.nan_to_num(one.right).ravel() for one in wrong])
    return len(np.unique(kinds)) > 1 and kinds.size >= LEAST_OF_MASK
