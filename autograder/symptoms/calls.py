"""Which calls go wrong: exactly those that leave out an argument, or that give it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Call = Mapping[str, Any]  # the arguments of a call by the names of their parameters
LEAST = 2  # cases that are right


def find_condition(
    calls: Sequence[Sequence[Call]], wrong: Sequence[bool], optional: Iterable[str]
) -> str:
    """What the calls in the wrong cases have in common, and no call of a right one.

    Args:
        calls: those of each case.
        wrong: which cases are wrong.
        optional: the names of the parameters that a call may leave out.

    Returns:
        A sentence; empty if no condition separates the cases, or too few are right.
    """
    known = [(of, w) for of, w in zip(calls, wrong, strict=True) if of]
    if sum(not w for _, w in known) < LEAST:
        return ""
    for name in optional:
        for told, holds in _CONDITIONS.items():
            if all(any(holds(call, name) for call in of) == w for of, w in known):
                return told.format(name=name)
    return ""


def _is_given(call: Call, name: str) -> bool:
    return call.get(name) is not None


_CONDITIONS: dict[str, Callable[[Call, str], bool]] = {
    "Wrong are exactly the cases in which `{name}` is left out: compare its default "
    "with the stub, and what is done without it.": lambda call, name: (
        not _is_given(call, name)
    ),
    "Wrong are exactly the cases in which `{name}` is given.": _is_given,
    "Wrong are exactly the cases in which `{name}` is True.": lambda call, name: (
        call.get(name) is True
    ),
    "Wrong are exactly the cases in which `{name}` is False.": lambda call, name: (
        call.get(name) is False
    ),
}
