"""What a right function returns, for an examiner: worked out with the reference."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from autograder.answers import answer
from autograder.break_exercise import BreakExercise
from autograder.encoding import Unreadable, decode, encode
from autograder.exercise import Case, load_topic
from autograder.judge import public_seeds

FEW = 16  # values that are shown
SHOWN = 160  # characters of any other value


@cache
def result_question(chapter: str, exercise: str) -> tuple[str, str] | None:
    """A call, and what the reference returns; none if it is no function.

    Of all cases, the first call with the fewest numbers is taken.
    """
    topic = load_topic(chapter)
    asked, reference = topic.exercises[exercise], topic.reference(exercise)
    if isinstance(asked, BreakExercise) or not inspect.isfunction(reference):
        return None
    calls = []
    for case, seed in zip(asked.cases, public_seeds(asked), strict=True):
        call = _first_call(case, reference, seed)
        if call is not None:
            calls.append((_size(call[0]), case.title, *call))
    if not calls:
        return None
    _, title, arguments, told = min(calls, key=lambda call: call[:2])
    given = "; ".join(f"{name} = {in_words(v)}" for name, v in arguments.items())
    ask = (
        f"{exercise} is called as in “{title}”, with {given}. What does your "
        "function return: which shape and type, which values? Follow the call through "
        "your lines."
    )
    return ask, told


def _first_call(
    case: Case, reference: Callable[..., Any], seed: int
) -> tuple[dict[str, Any], str] | None:
    """The arguments of the first call in a case, and what comes of it."""
    calls: list[tuple[dict[str, Any], str]] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(reference).bind(*args, **kwargs).arguments
        try:
            given = copy.deepcopy(dict(bound))
        except RuntimeError:  # a tensor inside of a graph
            return reference(*args, **kwargs)
        try:
            result = reference(*args, **kwargs)
        except Exception as error:
            calls.append((given, f"It raises {type(error).__name__}: {error}"))
            raise
        calls.append((given, f"It returns {in_words(result)}."))
        return result

    answer(case, watched, seed)  # which draws the inputs, and bears any error
    return calls[0] if calls else None


def _size(value: Any) -> int:
    """How many numbers there are in a value."""
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return int(np.prod(getattr(value, "shape", ())))


def in_words(value: Any) -> str:
    """A value as somebody would say it: shape, type, and what is in it."""
    if isinstance(value, tuple | list):
        inner = ", ".join(in_words(part) for part in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if getattr(value, "shape", None) is None:
        plain = isinstance(value, bool | int | float | str | None)
        plain = plain or type(value).__name__ == "dtype"  # others may show an address
        return repr(value)[:SHOWN] if plain else f"a {type(value).__name__}"
    kind = str(value.dtype).removeprefix("torch.")
    try:
        array = np.asarray(decode(encode(value)))
    except Unreadable:
        return f"an array of shape {tuple(value.shape)}, {kind}"
    if array.size <= FEW:
        text = np.array2string(
            array, precision=3, suppress_small=True, separator=", ", threshold=FEW
        )
        return f"{' '.join(text.split())} (shape {array.shape}, {kind})"
    return f"an array of shape {array.shape}, {kind}{_facts(array)}"


def _facts(array: np.ndarray) -> str:
    """What can be said of many values."""
    if array.dtype == bool:
        return f", {int(array.sum())} of {array.size} True"
    if array.dtype.kind not in "iuf":
        return ""
    finite = array[np.isfinite(array)]
    found = []
    if finite.size:
        found.append(f"from {finite.min():.3g} to {finite.max():.3g}")
    if bad := array.size - finite.size:
        found.append(f"{bad} not finite")
    if array.ndim and finite.size == array.size and np.allclose(array.sum(axis=-1), 1):
        found.append("each row sums to one")
    return "".join(f", {fact}" for fact in found)
