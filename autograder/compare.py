"""The one comparison: whether two values agree, and in words where they do not.

Only the student's own numbers are quoted. Neither an expected value nor anything that
one could be worked out from is part of the words, such as how large an error is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

KINDS = {"b": "truth values", "i": "integers", "u": "integers", "f": "real numbers"}


Path = tuple[int | str, ...]


def difference(right: Any, given: Any, rtol: float, atol: float) -> str | None:
    """The first difference between two values, in words; ``None`` if they agree.

    Real numbers agree within the tolerances, and NaN with NaN. Truth values and
    integers have to be equal; a whole number may stand for a single real one.

    Args:
        right: arrays, texts and ``None``, in lists and dictionaries, however deep.
        given: the same, of the student.
        rtol: how far apart real numbers may be, as a share of the right one.
        atol: the same, as a number.
    """
    found = next(differences(right, given, rtol, atol), None)
    return None if found is None else found[1]


def agrees(right: Any, given: Any, rtol: float, atol: float) -> bool:
    """Whether ``difference`` finds none."""
    return difference(right, given, rtol, atol) is None


def differences(
    right: Any, given: Any, rtol: float, atol: float, path: Path = ()
) -> Iterator[tuple[Path, str]]:
    """Every part that differs: its place in the value, and how it differs, in words."""
    if isinstance(right, np.ndarray) and isinstance(given, np.ndarray):
        found = _array_difference(right, given, rtol, atol)
        if found:
            yield path, found
    elif isinstance(right, list) and _kind(given) == _kind(right):
        for index, pair in enumerate(zip(right, given, strict=True)):
            yield from differences(*pair, rtol, atol, (*path, index))
    elif isinstance(right, dict) and isinstance(given, dict):
        if set(right) != set(given):
            yield path, _names_differ(set(right), set(given))
            return
        for name in right:
            yield from differences(right[name], given[name], rtol, atol, (*path, name))
    elif given is None and isinstance(right, dict):
        yield path, _kind(given)  # the names are the case's, and nobody's result
    elif _kind(right) != _kind(given):
        yield path, f"{_kind(given)}, expected {_kind(right)}"
    elif right != given:  # two strings, or None twice
        yield path, "the text differs"


def at(path: Path, value: Any) -> Any:
    """What is at a place within a value."""
    for key in path:
        value = value[key]
    return value


def _names_differ(right: set[str], given: set[str]) -> str:
    """What a dictionary lacks by name, and by number what it has too many.

    A name that is not expected was made up by the student, and may hold anything.
    """
    lacks = ", ".join(sorted(right - given)[:3])
    extra = f"{len(given - right)} too many" if given - right else ""
    return "the names differ: " + ", ".join(
        part for part in (f"{lacks} missing" if lacks else "", extra) if part
    )


def _kind(value: Any) -> str:
    if value is None:
        return "nothing (None)"
    if isinstance(value, np.ndarray):
        shape = value.shape
        return f"an array of shape {shape}" if shape else "a number"
    if isinstance(value, list):
        return f"a list or tuple of {len(value)}"
    return "a dictionary" if isinstance(value, dict) else "a text"


def _array_difference(
    right: np.ndarray, given: np.ndarray, rtol: float, atol: float
) -> str | None:
    if right.shape != given.shape:
        return f"shape {given.shape}, expected {right.shape}"
    kinds = {KINDS[given.dtype.kind], KINDS[right.dtype.kind]}
    whole_number = right.dtype.kind == "f" and given.dtype.kind in "iu"
    if len(kinds) > 1 and not (whole_number and right.shape == ()):
        return f"{KINDS[given.dtype.kind]}, expected {KINDS[right.dtype.kind]}"
    if right.dtype.kind != "f":
        wrong = right != given
        return _where_wrong(wrong, given) if wrong.any() else None
    one, other = right.astype(np.float64), given.astype(np.float64)
    wrong = ~np.isclose(other, one, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    lost = wrong & ~np.isfinite(other)
    told = _where_wrong(wrong, other, first=lost if lost.any() else wrong)
    if given.dtype.kind == "f" and given.dtype.itemsize < right.dtype.itemsize:
        told += f". Yours are {_precision(given)}, not {right.dtype}"
    return told


def _precision(given: np.ndarray) -> str:
    """The type of some numbers; bfloat16 arrives as float32, and looks like this."""
    if given.dtype != np.float32 or (given.view(np.uint32) & 0xFFFF).any():
        return str(given.dtype)
    return "float32 or bfloat16"


def _where_wrong(
    wrong: np.ndarray, given: np.ndarray, first: np.ndarray | None = None
) -> str:
    """How many values differ, and the first of them as the student has it.

    Args:
        wrong: where the answer differs.
        given: the answer.
        first: where to look for the one to show; where it differs if None.
    """
    if wrong.shape == () and given.dtype.kind == "b":
        return f"{bool(given)}, expected {not given}"
    if wrong.shape == ():
        return f"the value differs; yours is {_number(given[()])}"
    where = tuple(int(i) for i in np.argwhere(wrong if first is None else first)[0])
    place = ", ".join(map(str, where))
    return (
        f"{wrong.sum()} of {wrong.size} values differ; at [{place}] yours is "
        f"{_number(given[where])}"
    )


def _number(value: np.generic) -> str:
    """A value of a student in a few digits; a count in all of them."""
    if np.isnan(value):
        return "NaN"
    if value.dtype.kind == "b":
        return str(bool(value))
    number = float(value)  # the smallest integer of a type has no absolute value in it
    count = abs(number) < 1e12 and number == round(number)
    return f"{value:.0f}" if count else f"{value:.3g}"
