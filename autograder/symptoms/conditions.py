"""What a call can have in common with others: an argument, a size, a large value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = Mapping[str, Any]  # the arguments of a call by the names of their parameters
Verdict = bool | None  # whether a call is wrong; None if that cannot be told
Test = Callable[[Call], bool]
LEAST_LATER = 3  # calls that are given an object again
MOST_NUMBERS = 3  # whole numbers of a call, any two of which are compared
LEAST_COMPARED = 4  # right and wrong calls in which they differ
LARGER = 5.0  # times as large as in all right calls: values that are no accident
MOST_NAMES = 8  # that an argument takes in the calls of an exercise
LEAST_WRONG = 2  # cases, before the sizes of an array are compared


@dataclass(frozen=True)
class Judged:
    """A case: whether it is wrong, its calls, and which of these are wrong.

    No call of a case that is right is wrong.
    """

    wrong: bool
    calls: Sequence[Call]
    verdicts: Sequence[Verdict]


def conditions(
    known: Sequence[Judged], optional: Mapping[str, Any]
) -> Iterator[tuple[str, Test]]:
    """All conditions that are tried, in this order, with what is said of each."""
    for name, default in optional.items():
        for value in (True, False):
            yield _exactly(f"`{name}` is {value}"), _takes(name, default, value)
        yield _exactly(f"`{name}` is given"), _has(name)
        yield _exactly(f"`{name}` is left out", _LEFT_OUT), _has(name, False)
        if default is None:
            yield (
                _exactly(f"`{name}` is 0", _ZERO),
                lambda call, n=name: _is_zero(call.get(n)),
            )
    yield from _of_texts(known)
    yield from _of_two(optional)
    yield from _of_sizes(known)
    yield from _of_numbers(known, optional)
    yield from _of_remainders(known)
    yield from _of_objects(known)


def _exactly(which: str, more: str = ".") -> str:
    """What is told of a condition; whoever says it fills in what is counted."""
    return f"Exactly the {{what}} in which {which} are wrong{more}"


def _takes(name: str, default: Any, value: Any) -> Test:
    return lambda call: call.get(name, default) is value


def _has(name: str, there: bool = True) -> Test:
    return lambda call: (call.get(name) is not None) is there


def _is_zero(value: Any) -> bool:
    return type(value) in (int, float) and value == 0


def _of_texts(known: Sequence[Judged]) -> Iterator[tuple[str, Test]]:
    """That an argument is one of a few names, such as that of a score."""
    taken: dict[str, list[str]] = {}
    for case in known:
        for call in case.calls:
            for name, value in call.items():
                if isinstance(value, str):
                    taken.setdefault(name, []).append(value)
    for name, texts in taken.items():
        few = len(set(texts)) <= min(MOST_NAMES, len(texts) - 1)
        if not few or not all(text.isidentifier() for text in texts):
            continue  # what somebody wrote, and no name
        for text in dict.fromkeys(texts):
            yield (
                _exactly(f"`{name}` is {text!r}"),
                lambda call, n=name, t=text: call.get(n) == t,
            )


def _of_numbers(
    known: Sequence[Judged], optional: Mapping[str, Any]
) -> Iterator[tuple[str, Test]]:
    """That a whole number is zero, or larger than another one, or not."""
    calls = [call for case in known for call in case.calls]
    names = [
        name
        for name in dict.fromkeys(name for call in calls for name in call)
        if all(type(call.get(name, optional.get(name))) is int for call in calls)
    ]
    for name in names:
        for told, zero in (("0", True), ("not 0", False)):
            yield (
                _exactly(f"`{name}` is {told}"),
                lambda call, n=name, z=zero: (call.get(n, optional.get(n)) == 0) is z,
            )
    if len(names) > MOST_NUMBERS:
        return
    for one, other in itertools.permutations(names, 2):

        def both(call: Call, one: str = one, other: str = other) -> tuple[int, int]:
            return call.get(one, optional.get(one)), call.get(
                other, optional.get(other)
            )

        if _differ(known, both):
            yield (
                _exactly(f"`{one}` is larger than `{other}`"),
                lambda call, both=both: both(call)[0] > both(call)[1],
            )


def _of_remainders(known: Sequence[Judged]) -> Iterator[tuple[str, Test]]:
    """That a whole number, such as the size of a block, does not divide an axis."""
    calls = [call for case in known for call in case.calls]
    names = dict.fromkeys(name for call in calls for name in call)
    numbers = [n for n in names if all(type(call.get(n)) is int for call in calls)]
    arrays = [n for n in names if all(hasattr(call.get(n), "shape") for call in calls)]
    for number, array, axis in itertools.product(numbers, arrays, (-2, -1)):
        if any(call[number] < 1 or len(call[array].shape) < -axis for call in calls):
            continue

        def both(
            call: Call, number: str = number, array: str = array, axis: int = axis
        ) -> tuple[int, int]:
            return call[number], call[array].shape[axis]

        if _differ(known, both):
            where = "last axis" if axis == -1 else "last axis but one"
            which = f"`{number}` is smaller than the {where} of `{array}` and does not"
            yield (
                _exactly(
                    f"{which} divide it", ": look at what is left over at the end."
                ),
                lambda call, both=both: _leaves_some(*both(call)),
            )


def _leaves_some(part: int, size: int) -> bool:
    return part < size and size % part > 0


def _differ(known: Sequence[Judged], both: Callable[[Call], tuple[int, int]]) -> bool:
    """Whether two numbers of a call are others in enough calls of either kind."""
    seen = {
        verdict: {
            both(call)
            for case in known
            for call, found in zip(case.calls, case.verdicts, strict=True)
            if found is verdict
        }
        for verdict in (True, False)
    }
    return min(map(len, seen.values())) >= LEAST_COMPARED


def _of_objects(known: Sequence[Judged]) -> Iterator[tuple[str, Test]]:
    """That an earlier call of the case was given the same object, such as a cache."""
    for name in dict.fromkeys(n for case in known for call in case.calls for n in call):
        later: list[Call] = []
        for case in known:
            seen: list[Any] = []
            for call in case.calls:
                value = call.get(name)
                if any(value is one for one in seen):
                    later.append(call)
                elif _may_change(value):
                    seen.append(value)
        if len(later) >= LEAST_LATER:
            yield (
                _exactly(f"an earlier call was given the same `{name}`"),
                lambda call, later=later: any(call is one for one in later),
            )


def _may_change(value: Any) -> bool:
    """Whether a call may leave its traces in an object: in no number, say."""
    constant = value is None or isinstance(value, bool | int | float | str | tuple)
    return not (constant or callable(value) or hasattr(value, "shape"))


def _of_two(optional: Mapping[str, Any]) -> Iterator[tuple[str, Test]]:
    """That calls have two arguments, or leave them out."""
    single = {
        f"`{name}` is {told}": _has(name, there)
        for name, default in optional.items()
        if default is None
        for told, there in (("given", True), ("left out", False))
    }
    single |= {
        f"`{name}` is {value}": _takes(name, default, value)
        for name, default in optional.items()
        if isinstance(default, bool)
        for value in (True, False)
    }
    for (one, first), (other, second) in itertools.combinations(single.items(), 2):
        yield (
            _exactly(f"{one} and {other}"),
            lambda call, f=first, s=second: f(call) and s(call),
        )


def _of_sizes(known: Sequence[Judged]) -> Iterator[tuple[str, Test]]:
    """What the sizes of an array have in common."""
    if sum(case.wrong for case in known) < LEAST_WRONG:
        return
    arrays = {
        name
        for case in known
        for call in case.calls
        for name, value in call.items()
        if hasattr(value, "shape")
    }
    for name in sorted(arrays):
        for which, (more, holds) in _SIZES.items():
            yield (
                _exactly(which.format(name), more),
                lambda call, n=name, h=holds: h(
                    tuple(getattr(call.get(n), "shape", ()))
                ),
            )


def only_large(known: Sequence[Judged]) -> str:
    """That an array has values far beyond those of the cases that are right.

    Some calls with such values may be right: what is cut off can be next to nothing.
    """
    wrong = [case for case in known if case.wrong]
    right = [call for case in known if not case.wrong for call in case.calls]
    if not right:
        return ""
    for name in sorted({name for call in right for name in call}):
        usual = max(_largest(call.get(name)) for call in right)
        least = min((_least_of_wrong(case, name) for case in wrong), default=0.0)
        if not 0 < LARGER * usual <= least:
            continue
        bound = float(f"{(least * usual) ** 0.5:.1g}")
        return (
            f"Only cases in which `{name}` has values beyond {bound:,.6g}, of either "
            "sign, are wrong: look at what becomes of large values."
        )
    return ""


def _least_of_wrong(case: Judged, name: str) -> float:
    """The largest value of an argument in a call that is wrong, the least of several.

    If it is not known which calls are wrong, it may be any of them.
    """
    calls = [c for c, v in zip(case.calls, case.verdicts, strict=True) if v]
    sizes = [_largest(call.get(name)) for call in calls or case.calls]
    return min(sizes) if calls else max(sizes)


def as_array(value: Any) -> np.ndarray | None:
    """An argument as an array of NumPy, if it is one of it or of torch."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    try:
        return np.asarray(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, RuntimeError):  # NumPy has no bfloat16, say
        return None


def _largest(value: Any) -> float:
    """The largest finite magnitude in an array of real numbers; else zero."""
    array = as_array(value)
    if array is None or array.dtype.kind != "f":
        return 0.0
    sizes = np.abs(array[np.isfinite(array)])
    return float(sizes.max(initial=0.0))


_LEFT_OUT = ": compare its default with the stub, and what is done without it."
_ZERO = (
    ". Where a truth value is asked for, as after if, 0 counts as False: `is None` "
    "tells whether it was left out."
)
# What may be said of the sizes of an array, and what follows from it.
_SIZES: dict[str, tuple[str, Callable[[tuple[int, ...]], bool]]] = {
    "the last two sizes of `{}` are equal": (
        ": no shape shows there which axis is which.",
        lambda shape: len(shape) > 1 and shape[-1] == shape[-2],
    ),
    "`{}` has an axis of size one": (".", lambda shape: 1 in shape),
    "no axis of `{}` has size one": (
        ".",
        lambda shape: len(shape) > 0 and 1 not in shape,
    ),
}
