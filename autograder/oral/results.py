"""What a right function returns, for an examiner: worked out with the reference."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from autograder.answers import answer
from autograder.break_exercise import BreakExercise
from autograder.encoding import Unreadable, decode, encode
from autograder.exercise import Case, load_topic
from autograder.expected import public_seeds

FEW = 9  # values that are shown, and asked for
SIDE = 4  # the largest size of an array in a call
MOST_GIVEN = 20  # values of all arguments together
LARGE = 1000  # numbers are below, in a result
LARGEST_GIVEN = 100  # and in arguments
SHOWN = 160  # characters of any other value


@cache
def result_question(chapter: str, exercise: str) -> tuple[str, str] | None:
    """A call small enough to follow by hand, and what the reference returns.

    The calls are those of the cases, with their arrays cut to the shortest sizes that
    keep different sizes different, and with rounded values. None if there is no such
    call, or if it is no function.
    """
    topic = load_topic(chapter)
    asked, reference = topic.exercises[exercise], topic.reference(exercise)
    if isinstance(asked, BreakExercise) or not inspect.isfunction(reference):
        return None
    calls = []
    for case, seed in zip(asked.cases, public_seeds(asked), strict=True):
        given = _first_arguments(case, reference, seed)
        small = None if given is None else _small_call(given)
        if small is None:
            continue
        result = _result(reference, small)
        if _is_small(result) and _size(result) <= FEW and not _is_nothing(result):
            calls.append((-_variety(result), _size(small), case.title, small, result))
    if not calls:
        return None
    *_, arguments, result = min(calls, key=lambda call: call[:3])
    given = "; ".join(f"{name} = {in_words(v)}" for name, v in arguments.items())
    ask = (
        f"{exercise} is called with {given}. What does your function return: which "
        "shape and type, and which values? Two digits of a fraction are enough. Follow "
        "the call through your lines."
    )
    return ask, f"It returns {in_words(result)}."


def _small_call(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Arguments like some others, but short and rounded; None if there are none."""
    arrays = [v for v in given.values() if hasattr(v, "shape")]
    sizes = sorted({size for v in arrays for size in v.shape if size > 1})
    if len(sizes) > SIDE - 1 or any(0 in v.shape for v in arrays):
        return None
    to = {1: 1, **{size: n for n, size in enumerate(sizes, start=2)}}
    small = {name: _small_value(value, to) for name, value in given.items()}
    sound = all(_is_small(v, LARGEST_GIVEN) for v in small.values())
    sound = sound and _size(small) <= MOST_GIVEN
    sound = sound and not any(_sums_to_one(v) for v in arrays)
    return small if sound else None


def _small_value(value: Any, to: Mapping[int, int]) -> Any:
    """The corner of an array with values from -2 to 2; anything else as it is."""
    if not hasattr(value, "shape"):
        return value
    value = value[tuple(slice(to[size]) for size in value.shape)]
    if str(value.dtype).removeprefix("torch.") not in ("float32", "float64"):
        return copy.deepcopy(value)
    value = value.detach() if hasattr(value, "detach") else value
    largest = float(abs(value).max())
    scaled = value * (2 / largest) if 0 < largest < np.inf else value
    return scaled.round() + 0.0  # a zero without a sign


def _sums_to_one(value: Any) -> bool:
    """Whether rounding would make something else of a value: of weights, say."""
    array = _plain(value)
    whole = str(value.dtype).removeprefix("torch.") not in ("float32", "float64")
    if whole or not array.ndim:
        return False
    return bool((array >= 0).all() and np.allclose(array.sum(axis=-1), 1))


def _result(reference: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What the reference returns; an error stands for itself, and is not small."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            bound = inspect.signature(reference).bind_partial()
            bound.arguments.update(copy.deepcopy(given))
            return reference(*bound.args, **bound.kwargs)
        except Exception as error:  # the corner of an input need not be an input
            return error


def _is_small(value: Any, largest: float = LARGE) -> bool:
    """Whether somebody can say a value, or work with it, without a computer."""
    if isinstance(value, tuple | list):
        return 0 < len(value) <= SIDE and all(
            _is_small(part, largest) for part in value
        )
    if value is None or isinstance(value, str) or type(value).__name__ == "dtype":
        return True
    shape = getattr(value, "shape", None)
    if shape is None and not isinstance(value, int | float):
        return False
    try:
        array = np.asarray(decode(encode(value)))
    except Unreadable:
        return False
    if array.size > FEW or not array.size or max(array.shape, default=1) > SIDE:
        return False
    if array.dtype.kind not in "biuf" or np.isnan(array).any():
        return False
    finite = array[np.isfinite(array)]
    return not finite.size or bool(np.abs(finite.astype(float)).max() < largest)


def _variety(result: Any) -> int:
    """How many different values there are, at most three: some tell more than one."""
    parts = result if isinstance(result, tuple | list) else [result]
    return min(3, max(np.unique(_plain(p).round(2)).size for p in parts))


def _is_nothing(result: Any) -> bool:
    """Whether there are only zeros, which tell little of how they came about."""
    parts = result if isinstance(result, tuple | list) else [result]
    return not any(_plain(part).any() for part in parts)


def _plain(value: Any) -> np.ndarray:
    if value is None or isinstance(value, str) or type(value).__name__ == "dtype":
        return np.zeros(1)
    return np.asarray(decode(encode(value)), dtype=float)


def _first_arguments(
    case: Case, reference: Callable[..., Any], seed: int
) -> dict[str, Any] | None:
    """The arguments of the first call in a case."""
    calls: list[dict[str, Any]] = []

    def watched(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(reference).bind(*args, **kwargs).arguments
        with contextlib.suppress(RuntimeError):  # a tensor inside of a graph
            calls.append(copy.deepcopy(dict(bound)))
        return reference(*args, **kwargs)

    answer(case, watched, seed)  # the case draws the inputs and may raise
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
        if isinstance(value, float):
            value = float(f"{value:.3g}")
        return repr(value)[:SHOWN] if plain else f"a {type(value).__name__}"
    kind = str(value.dtype).removeprefix("torch.")
    try:
        array = np.asarray(decode(encode(value)))
    except Unreadable:
        return f"an array of shape {tuple(value.shape)}, {kind}"
    if array.size <= FEW:
        array = array.round(2) + 0.0 if array.dtype.kind == "f" else array  # no -0
        text = np.array2string(
            array, precision=2, suppress_small=True, separator=", ", threshold=FEW
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
