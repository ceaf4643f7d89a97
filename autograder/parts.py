"""Name the parts of an answer: the weights, `q` after the call, call 2.

A case returns what came out of one call or of several, with inputs, gradients and
whatever else is to be compared. The names are found by running the case once on the
reference and looking which part is which object.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.answers import answer
from autograder.exercise import Case, Implementation

Path = tuple[int | str, ...]
AFTER = " after the call"  # ends the name of an input that was looked at again


@dataclass
class _Calls:
    """What one case passed to an implementation and got from it; kept alive."""

    results: list[Any] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    owners: list[Any] = field(default_factory=list)


def part_names(
    reference: Implementation, case: Case, seed: int, results: Sequence[str] = ()
) -> dict[Path, str]:
    """The names of the parts of an answer to a case, as far as they can be told.

    Args:
        reference: the right implementation.
        case: one of its cases.
        seed: of the case; the names do not depend on it.
        results: the names of what a call returns, if that is more than one thing.

    Returns:
        A name for each known part, by its place in the answer. The only result of the
        only call has an empty name.
    """
    found: dict[Path, str] = {}

    def run(implementation: Implementation, rng: Any) -> Any:
        calls = _Calls()
        value = case.run(_watched(implementation, calls), rng)
        found.update(_names(value, calls, results))
        return value

    answer(replace(case, run=run), reference, seed)
    return found


def name_of(path: Path, names: Mapping[Path, str]) -> str:
    """The name of a part; where it has none, what is known about its place."""
    for length in range(len(path), -1, -1):
        if path[:length] in names:
            rest = _place(path[length:])
            return ", ".join(filter(None, [names[path[:length]], rest]))
    return _place(path)


def is_input(name: str) -> bool:
    """Whether the name of a part is that of an argument, looked at after the call."""
    return name.endswith(AFTER)


def without_call(name: str) -> str:
    """The name of a part without the number of its call."""
    return re.sub(r"^call \d+(, )?", "", name)


def _place(path: Path) -> str:
    """A place in lists and dictionaries in words, from its last name on."""
    named = [n for n, part in enumerate(path) if isinstance(part, str)]
    path = path[named[-1] :] if named else path
    words = [f"part {p + 1}" if isinstance(p, int) else str(p) for p in path]
    return " of ".join(reversed(words))


def _watched(reference: Implementation, calls: _Calls) -> Implementation:
    """An implementation whose calls are noted."""

    def noted(function: Callable) -> Callable:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = dict(signature.bind(*args, **kwargs).arguments)
            result = function(*args, **kwargs)
            calls.owners.append(given.pop("self", None))
            calls.inputs.append(given)
            calls.results.append(result)
            return result

        return call

    if not isinstance(reference, type):
        return noted(reference)
    methods = {
        name: noted(method)
        for name, method in vars(reference).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    return type(reference.__name__, (reference,), methods)


def _names(value: Any, calls: _Calls, results: Sequence[str]) -> dict[Path, str]:
    known = _known_objects(calls, results)
    found: dict[Path, str] = {}
    pieces: list[tuple[Path, int, str]] = []  # parts of results, and of which call
    unknown: list[Path] = []

    def walk(path: Path, part: Any) -> None:
        if id(part) in known:
            call, name = known[id(part)]
            if call is None:
                found[path] = name
                return
            pieces.append((path, call, name))
            for index in range(len(part) if isinstance(part, list | tuple) else 0):
                name = _result_name(index, len(part), results)
                pieces.append(((*path, index), call, name))
        elif isinstance(part, list | tuple):
            for index, item in enumerate(part):
                walk((*path, index), item)
        elif isinstance(part, dict):
            for key, item in part.items():
                walk((*path, key), item)
        else:
            unknown.append(path)

    walk((), value)
    order = list(dict.fromkeys(call for _, call, _ in pieces))
    for path, call, name in pieces:
        number = f"call {order.index(call) + 1}" if len(order) > 1 else ""
        found[path] = ", ".join(filter(None, [number, name]))
    left = [path for path in unknown if not any(isinstance(p, str) for p in path)]
    by_case = {path: path[-1] for path in unknown if path and isinstance(path[-1], str)}
    whole = dict.fromkeys(left, "") if len(left) == 1 and not found else {}
    return {**whole, **by_case, **found}


def _known_objects(
    calls: _Calls, results: Sequence[str]
) -> dict[int, tuple[int | None, str]]:
    """Objects by id: the call that a result is of, and a name; all else by name."""
    known: dict[int, tuple[int | None, str]] = {}
    for owner in calls.owners:
        if hasattr(owner, "named_parameters"):
            for name, parameter in owner.named_parameters():
                known[id(parameter)] = None, f"the parameter `{name}`"
                if parameter.grad is not None:
                    known[id(parameter.grad)] = None, f"the gradient of `{name}`"
    for name, value in _inputs(calls):
        known[id(value)] = None, f"{name}{AFTER}"
        if getattr(value, "is_leaf", False) and value.grad is not None:
            known[id(value.grad)] = None, f"the gradient of {name}"
    for number, result in enumerate(calls.results):
        parts = result if isinstance(result, list | tuple) else []
        for index, part in enumerate(parts):
            if _is_one_object(part):
                known[id(part)] = number, _result_name(index, len(parts), results)
    for number, result in enumerate(calls.results):
        if _is_one_object(result):
            known[id(result)] = number, ""
    return known


def _inputs(calls: _Calls) -> Iterator[tuple[str, Any]]:
    """The arrays that were passed to some call, alone or in a list."""
    for given in calls.inputs:
        for name, value in given.items():
            items = value if isinstance(value, list | tuple) else []
            named = [(f"`{name}`", value)]
            named += [(f"`{name}[{n}]`", item) for n, item in enumerate(items)]
            yield from (pair for pair in named if hasattr(pair[1], "shape"))


def _is_one_object(value: Any) -> bool:
    """Whether a value is told from all others by its identity, as arrays are."""
    return not isinstance(value, bool | int | float | str | None)


def _result_name(index: int, count: int, results: Sequence[str]) -> str:
    if len(results) == count:
        return f"the {results[index]}"
    return f"result {index + 1} of {count}"
