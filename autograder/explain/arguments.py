"""Edits of arguments: the reference, called with arguments swapped, scaled, dropped ...

The reference is wrapped, so that its source is not needed. An edit that means nothing
for a call leaves that as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import combinations
from typing import Any

import numpy as np

from autograder.exercise import Implementation
from autograder.explain import Edit

Bound = Mapping[str, Any]  # arguments by the names of their parameters
Change = Callable[[Bound], Bound | None]  # None if it means nothing for them


def called_in(reference: Implementation) -> Callable | None:
    """What a call runs: the function, or the ``forward`` of a module, if there is."""
    if isinstance(reference, type):
        return getattr(reference, "forward", None)
    return reference


def wrapped(
    reference: Implementation, call: Callable[[Callable, dict[str, Any]], Any]
) -> Implementation:
    """The reference, each of whose calls goes through ``call(function, arguments)``."""
    function = called_in(reference)
    signature = inspect.signature(function)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        names = dict(signature.bind(*args, **kwargs).arguments)
        if "self" in names:
            return call(partial(function, names.pop("self")), names)
        return call(function, names)

    if isinstance(reference, type):
        return type(reference.__name__, (reference,), {"forward": wrapper})
    return wrapper


def argument_edits(reference: Implementation, calls: Sequence[Bound]) -> Iterator[Edit]:
    """The reference on changed arguments, where that changes one of some calls.

    Args:
        reference: the right implementation.
        calls: the arguments of some of its calls.
    """
    function = called_in(reference)
    if function is None:
        return
    names = [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.name != "self" and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    for says, change in _changes(names):
        if any(_changed(change, given) is not None for given in calls):
            yield Edit(says, partial(_on, reference, change))
    for name in names:
        if any(_is_array(given.get(name)) for given in calls):
            says = f"Your result is `{name}` itself, as it came in."
            yield Edit(says, partial(wrapped, reference, partial(_itself, name)))


def _on(reference: Implementation, change: Change) -> Implementation:
    def call(function: Callable, given: dict[str, Any]) -> Any:
        changed = _changed(change, given)
        return function(**(given if changed is None else changed))

    return wrapped(reference, call)


def _itself(name: str, function: Callable, given: dict[str, Any]) -> Any:
    result = function(**given)  # it refuses what it would have refused
    return given[name] if _is_array(given.get(name)) else result


def _changed(change: Change, given: Bound) -> Bound | None:
    try:
        with np.errstate(all="ignore"):
            return change(given)
    except Exception:  # it means nothing for these arguments
        return None


def _changes(names: Sequence[str]) -> Iterator[tuple[str, Change]]:
    """What may be done to the arguments of a call, and how it is told."""
    right = "Your result is the right one"
    for one, other in combinations(names, 2):
        yield f"{right} for `{one}` and `{other}` swapped.", partial(_swap, one, other)
    for name in names:
        for words, change in ARGUMENTS.items():
            says = f"{right} {words.format(f'`{name}`')}."
            yield says, partial(_one, name, change)
    for name in names:
        says = f"{right} for a call without `{name}`: it has no effect."
        yield says, partial(_without, name)


def _swap(one: str, other: str, given: Bound) -> Bound | None:
    if not (_is_array(given.get(one)) and _is_array(given.get(other))):
        return None
    return {**given, one: given[other], other: given[one]}


def _one(name: str, change: Callable[[Any], Any], given: Bound) -> Bound | None:
    changed = change(given[name])
    return None if changed is None else {**given, name: changed}


def _without(name: str, given: Bound) -> Bound | None:
    if given.get(name) is None:
        return None
    return {key: value for key, value in given.items() if key != name}


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _kind(value: Any) -> str:
    """``bools`` for a mask; else the name of its type."""
    if _is_array(value) and str(value.dtype).removeprefix("torch.") == "bool":
        return "bools"
    return type(value).__name__


def _if(kind: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A change of arrays, or of single numbers, of one kind alone."""
    return lambda value: change(value) if _kind(value) == kind else None


def _transposed(value: Any) -> Any:
    return value.swapaxes(-1, -2) if _is_array(value) else None


ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "for {} transposed (its last two axes swapped)": _transposed,
    "for {} that is True everywhere: it has no effect": _if("bools", lambda x: x | ~x),
    "for the opposite of {}: what should be `True` counts as `False`": _if(
        "bools", lambda x: ~x
    ),
    "for {} larger by one": _if("int", lambda n: n + 1),
    "for {} smaller by one": _if("int", lambda n: n - 1),
}
