"""Which calls go wrong: those that leave out an argument, or whose sizes are equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Call = Mapping[str, Any]  # the arguments of a call by the names of their parameters
LEAST = 2  # cases that are right


def find_condition(
    calls: Sequence[Sequence[Call]],
    wrong: Sequence[bool],
    optional: Mapping[str, Any],
) -> str:
    """What the calls in the wrong cases have in common, and no call of a right one.

    Args:
        calls: those of each case.
        wrong: which cases are wrong.
        optional: the parameters that a call may leave out, with their defaults.

    Returns:
        A sentence; empty if no condition separates the cases, or too few are right.
    """
    known = [(of, w) for of, w in zip(calls, wrong, strict=True) if of]
    if sum(not w for _, w in known) < LEAST:
        return ""
    if any(w and not of for of, w in zip(calls, wrong, strict=True)):
        return ""  # no argument of a call is what is wrong there
    for name, default in optional.items():
        values = [([call.get(name, default) for call in of], w) for of, w in known]
        for told, holds in _CONDITIONS.items():
            if all(any(map(holds, of)) == w for of, w in values):
                return told.format(name=name)
        given = [([call.get(name) is not None for call in of], w) for of, w in known]
        for told, there in _GIVEN.items():
            if all(any(g is there for g in of) == w for of, w in given):
                return told.format(name=name)
    return _about_two(known, optional) or _about_sizes(known)


def _about_two(
    known: Sequence[tuple[Sequence[Call], bool]], optional: Mapping[str, Any]
) -> str:
    """Two arguments that only the calls in the wrong cases have both."""
    single = {
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
        f"`{name}` is {value}": lambda call, n=name, v=value: call.get(n, not v) is v
        for name, default in optional.items()
        if isinstance(default, bool)
        for value in (True, False)
    }
    defaults = {n: d for n, d in optional.items() if isinstance(d, bool)}
    full = [([{**defaults, **call} for call in of], w) for of, w in known]
    for (one, first), (other, second) in itertools.combinations(single.items(), 2):
        if all(any(first(c) and second(c) for c in of) == w for of, w in full):
            return f"Exactly the cases in which {one} and {other} are wrong."
    return ""


def _about_sizes(known: Sequence[tuple[Sequence[Call], bool]]) -> str:
    """What the sizes of an array have in common in the wrong cases, and only there."""
    if sum(w for _, w in known) < LEAST:
        return ""
    arrays = {
        name
        for of, _ in known
        for call in of
        for name, value in call.items()
        if hasattr(value, "shape")
    }
    for name in sorted(arrays):
        shapes = [
            ([tuple(getattr(call.get(name), "shape", ())) for call in of], w)
            for of, w in known
        ]
        for told, holds in _SIZES.items():
            if all(any(map(holds, of)) == w for of, w in shapes):
                return told.format(name=name)
    return ""


_CONDITIONS: dict[str, Callable[[Any], bool]] = {
    "Exactly the cases in which `{name}` is True are wrong.": lambda value: (
        value is True
    ),
    "Exactly the cases in which `{name}` is False are wrong.": lambda value: (
        value is False
    ),
}
_GIVEN = {
    "Exactly the cases in which `{name}` is given are wrong.": True,
    "Exactly the cases in which `{name}` is left out are wrong: compare its default "
    "with the stub, and what is done without it.": False,
}
_SIZES: dict[str, Callable[[tuple[int, ...]], bool]] = {
    "Exactly the cases in which the last two sizes of `{name}` are equal are wrong: no "
    "shape shows there which axis is which.": lambda shape: (
        len(shape) > 1 and shape[-1] == shape[-2]
    ),
    "Exactly the cases in which `{name}` has an axis of size one are wrong.": (
        lambda shape: 1 in shape
    ),
    "Exactly the cases in which no axis of `{name}` has size one are wrong.": (
        lambda shape: len(shape) > 0 and 1 not in shape
    ),
}
