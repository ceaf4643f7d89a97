"""Which calls go wrong: those that leave out an argument, or whose sizes are equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.symptoms.outcomes import Outcome, agree, aligned
from autograder.variants import Path

Call = Mapping[str, Any]  # the arguments of a call by the names of their parameters
Verdict = bool | None  # whether a call is wrong; None if that cannot be told
Test = Callable[[Call], bool]
LEAST = 2  # cases with calls that are right
MOST_NUMBERS = 3  # whole numbers of a call, any two of which are compared
LEAST_COMPARED = 4  # right and wrong calls in which they differ
LARGER = 5.0  # times as large as in all right calls: values that are no accident
MOST_NAMES = 8  # that an argument takes in the calls of an exercise


@dataclass(frozen=True)
class Judged:
    """A case: whether it is wrong, its calls, and which of these are wrong.

    No call of a case that is right is wrong.
    """

    wrong: bool
    calls: Sequence[Call]
    verdicts: Sequence[Verdict]


def judged_calls(outcome: Outcome, number: int) -> list[Verdict]:
    """Which calls of a case that failed are wrong, as far as its answer shows.

    A call is known by the results of its own that are part of the answer. If something
    else is wrong, such as a gradient, then what looks right may be wrong behind that.

    Args:
        outcome: both answers to the case.
        number: how many calls it makes.
    """
    unknown: list[Verdict] = [None] * number
    results = [(p, r) for p, r in outcome.roles.items() if r.name is None]
    if not outcome.given.is_value or not outcome.right.is_value:
        return unknown
    if len({(role.call, role.index) for _, role in results}) < len(results):
        return unknown  # equal numbers can be one object: whose result is it?
    wrong = [path for path, *both in aligned(outcome) if not agree(outcome, *both)]
    found = list(unknown)
    explained: set[Path] = set()
    for path, role in results:
        here = {one for one in wrong if _within(one, path) or _within(path, one)}
        explained |= here
        if role.call is not None and role.call < number:
            found[role.call] = bool(found[role.call]) or bool(here)
    others = set(wrong) - explained
    return [verdict or (None if others else verdict) for verdict in found]


def _within(one: Path, other: Path) -> bool:
    """Whether a place in an answer is another one, or a part of it."""
    return one[: len(other)] == other


def find_condition(
    cases: Sequence[Judged],
    optional: Mapping[str, Any],
) -> str:
    """What the calls in the wrong cases have in common, and no call that is right.

    Single calls decide wherever they can be told apart: of three calls with a mask,
    two may be right, and then the mask is not what they fail for.

    Args:
        cases: those that ask for a value.
        optional: the parameters that a call may leave out, with their defaults.

    Returns:
        A sentence; empty if no condition separates the calls, or too few are right.
    """
    known = [case for case in cases if case.calls]
    if sum(False in case.verdicts for case in known) < LEAST:
        return ""
    if any(case.wrong and not case.calls for case in cases):
        return ""  # no argument of a call is what is wrong there
    for told, holds in _conditions(known, optional):
        if _separates(known, holds):
            return told.format(what=_what(known, holds))
    return _only_large(known)


def _separates(known: Sequence[Judged], holds: Test) -> bool:
    """Whether a condition holds for calls that are wrong, and for no others."""
    for case in known:
        here = [holds(call) for call in case.calls]
        if any(here) is not case.wrong:
            return False
        if case.wrong and any(
            verdict is not None and verdict is not found
            for verdict, found in zip(case.verdicts, here, strict=True)
        ):
            return False
    return True


def _what(known: Sequence[Judged], holds: Test) -> str:
    """What a condition is told of: cases, or calls if one case has both kinds."""
    mixed = any(
        case.wrong and not all(holds(call) for call in case.calls) for case in known
    )
    return "calls" if mixed else "cases"


def _conditions(
    known: Sequence[Judged], optional: Mapping[str, Any]
) -> Iterator[tuple[str, Test]]:
    """All conditions that are tried, in this order, with what is said of each."""
    for name, default in optional.items():
        for told, value in _VALUES.items():
            yield (
                told.replace("{name}", name),
                lambda call, n=name, d=default, v=value: call.get(n, d) is v,
            )
        for told, there in _GIVEN.items():
            yield (
                told.replace("{name}", name),
                lambda call, n=name, t=there: (call.get(n) is not None) is t,
            )
        if default is None:
            yield (
                _ZERO.replace("{name}", name),
                lambda call, n=name: _is_zero(call.get(n)),
            )
    yield from _of_texts(known)
    yield from _of_two(optional)
    yield from _of_sizes(known)
    yield from _of_numbers(known, optional)


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
                f"Exactly the {{what}} in which `{name}` is {text!r} are wrong.",
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
                f"Exactly the {{what}} in which `{name}` is {told} are wrong.",
                lambda call, n=name, z=zero: (call.get(n, optional.get(n)) == 0) is z,
            )
    if len(names) > MOST_NUMBERS:
        return
    for one, other in itertools.permutations(names, 2):

        def both(call: Call, one: str = one, other: str = other) -> tuple[int, int]:
            return call.get(one, optional.get(one)), call.get(
                other, optional.get(other)
            )

        seen = {
            verdict: {
                both(call)
                for case in known
                for call, found in zip(case.calls, case.verdicts, strict=True)
                if found is verdict
            }
            for verdict in (True, False)
        }
        if min(map(len, seen.values())) >= LEAST_COMPARED:
            yield (
                f"Exactly the {{what}} in which `{one}` is larger than `{other}` are "
                "wrong.",
                lambda call, both=both: both(call)[0] > both(call)[1],
            )


def _of_two(optional: Mapping[str, Any]) -> Iterator[tuple[str, Test]]:
    """That calls have two arguments, or leave them out."""
    single: dict[str, Test] = {
        told.format(name=name): lambda call, n=name, g=given: (
            (call.get(n) is not None) is g
        )
        for name, default in optional.items()
        if default is None
        for told, given in (
            ("`{name}` is given", True),
            ("`{name}` is left out", False),
        )
    }
    single |= {
        f"`{name}` is {value}": lambda call, n=name, d=default, v=value: (
            call.get(n, d) is v
        )
        for name, default in optional.items()
        if isinstance(default, bool)
        for value in (True, False)
    }
    for (one, first), (other, second) in itertools.combinations(single.items(), 2):
        yield (
            f"Exactly the {{what}} in which {one} and {other} are wrong.",
            lambda call, f=first, s=second: f(call) and s(call),
        )


def _of_sizes(known: Sequence[Judged]) -> Iterator[tuple[str, Test]]:
    """What the sizes of an array have in common."""
    if sum(case.wrong for case in known) < LEAST:
        return
    arrays = {
        name
        for case in known
        for call in case.calls
        for name, value in call.items()
        if hasattr(value, "shape")
    }
    for name in sorted(arrays):
        for told, holds in _SIZES.items():
            yield (
                told.replace("{name}", name),
                lambda call, n=name, h=holds: h(
                    tuple(getattr(call.get(n), "shape", ()))
                ),
            )


def _only_large(known: Sequence[Judged]) -> str:
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


_VALUES = {
    "Exactly the {what} in which `{name}` is True are wrong.": True,
    "Exactly the {what} in which `{name}` is False are wrong.": False,
}
_GIVEN = {
    "Exactly the {what} in which `{name}` is given are wrong.": True,
    "Exactly the {what} in which `{name}` is left out are wrong: compare its default "
    "with the stub, and what is done without it.": False,
}
_ZERO = (
    "Exactly the {what} in which `{name}` is 0 are wrong. Where a truth value is asked "
    "for, as after if, 0 counts as False: `is None` tells whether it was left out."
)
_SIZES: dict[str, Callable[[tuple[int, ...]], bool]] = {
    "Exactly the {what} in which the last two sizes of `{name}` are equal are wrong: "
    "no shape shows there which axis is which.": lambda shape: (
        len(shape) > 1 and shape[-1] == shape[-2]
    ),
    "Exactly the {what} in which `{name}` has an axis of size one are wrong.": (
        lambda shape: 1 in shape
    ),
    "Exactly the {what} in which no axis of `{name}` has size one are wrong.": (
        lambda shape: len(shape) > 0 and 1 not in shape
    ),
}
