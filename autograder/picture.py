"""Your answer beside the expected one, as small tables: for self-study only.

Never shown in grading or in courses for credit, because it gives expected values.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from autograder.answers import Answer
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.judge import Report

ROWS, COLUMNS = 6, 8  # up to which the numbers themselves are shown
MAX_SIDE = 24  # of a map without numbers; what is beyond is cut off
DIGITS = (3, 6, 9)  # as many as tell yours from the expected


class Difference(NamedTuple):
    """Two matrices of the same shape that should be equal, and where they are not."""

    title: str
    given: np.ndarray
    expected: np.ndarray
    off: np.ndarray  # bool


def first_difference(
    exercise: Exercise,
    report: Report,
    given: Sequence[Answer],
    expected: Sequence[Answer],
) -> Difference | None:
    """The first failed case whose answers can be shown side by side.

    One whose numbers can all be read comes before a larger one.

    Returns:
        ``None`` if there is no such case, or the answers are tests.
    """
    if isinstance(exercise, BreakExercise):
        return None
    found = list(_differences(exercise, report, given, expected))
    return next((one for one in found if _is_small(one.given)), next(iter(found), None))


def _differences(
    exercise: Exercise,
    report: Report,
    given: Sequence[Answer],
    expected: Sequence[Answer],
) -> Iterator[Difference]:
    rows = zip(exercise.cases, report.cases, given, expected, strict=True)
    for case, outcome, one, other in rows:
        if outcome.passed:
            continue
        for mine, right in _pairs(one.value, other.value):
            off = ~np.isclose(mine, right, case.rtol, case.atol, equal_nan=True)
            if off.any():
                first = np.argwhere(off)[0][: max(off.ndim - 2, 0)]
                yield Difference(
                    case.title,
                    *(np.atleast_2d(a[tuple(first)]) for a in (mine, right, off)),
                )
                break


def _pairs(one: Any, other: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Arrays at the same place in two answers that have the same shape."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        nested = [_pairs(a, b) for a, b in zip(one, other, strict=True)]
        return [pair for pairs in nested for pair in pairs]
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        drawable = one.shape == other.shape and one.ndim > 0 and one.size > 1
        if drawable and one.dtype.kind in "fiub" and other.dtype.kind in "fiub":
            return [(one.astype(float), other.astype(float))]
    return []


def _is_small(matrix: np.ndarray) -> bool:
    return len(matrix) <= ROWS and matrix.shape[1] <= COLUMNS


def side_by_side(difference: Difference) -> str:
    """HTML of two grids, of numbers where there are few."""
    title, given, expected, off = difference
    finite = np.concatenate([m[np.isfinite(m)] for m in (given, expected)])
    most = np.abs(finite).max(initial=1e-300)
    digits = next((n for n in DIGITS if _tell_apart(given, expected, off, n)), 9)
    grids = ""
    for name, matrix in (("yours", given), ("expected", expected)):
        marks = off if matrix is given else np.zeros_like(off)
        table = grid(matrix, marks, most, digits)
        grids += f"<figure><figcaption>{name}</figcaption>{table}</figure>"
    told = f"In the test “{html.escape(title)}”; what differs is outlined."
    if not _is_small(given):
        shape = " × ".join(map(str, given.shape))
        told += f" The stronger a cell, the larger the number ({shape})."
    return f"<div class='attention-pair'>{grids}</div><p><small>{told}</small></p>"


def _tell_apart(
    given: np.ndarray, expected: np.ndarray, off: np.ndarray, digits: int
) -> bool:
    pairs = zip(given[off], expected[off], strict=True)
    return all(_number(a, digits) != _number(b, digits) for a, b in pairs)


def _number(value: float, digits: int) -> str:
    return f"{value + 0.0:.{digits}g}"  # -0 is 0


def grid(
    matrix: np.ndarray,
    off: np.ndarray | None = None,
    most: float | None = None,
    digits: int = DIGITS[0],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    numbers: bool = True,
) -> str:
    """A table: numbers, or a map where there are too many; the larger, the stronger.

    Args:
        matrix: (N, M) numbers, or texts.
        off: (N, M) bool, which cells to outline.
        most: the number that is strongest; the largest one by default.
        digits: of each number.
        rows: N names, or none.
        columns: M names, or none.
        numbers: whether to show them, where there are few.
    """
    numbers = numbers and _is_small(matrix)
    off = np.zeros(matrix.shape, dtype=bool) if off is None else off
    if matrix.dtype.kind != "U" and most is None:
        most = np.abs(matrix[np.isfinite(matrix)]).max(initial=1e-300)
    strongest = 0.4 if numbers else 1.0  # below, so that numbers can be read
    names = [_name(row, "row") for row in rows]
    page = "".join(_name(column, "col") for column in columns)
    if page:
        page = f"<tr>{'<td></td>' if names else ''}{page}</tr>"
    for i, (values, marks) in enumerate(
        zip(matrix[:MAX_SIDE], off[:MAX_SIDE], strict=True)
    ):
        cells = names[i] if names else ""
        for value, mark in zip(values[:MAX_SIDE], marks[:MAX_SIDE], strict=True):
            kind = " class='off'" if mark else ""
            if matrix.dtype.kind == "U":
                share, text = 0.1, html.escape(value)
            else:
                finite = np.isfinite(value)
                share = strongest * min(abs(value) / most, 1) if finite else 0
                text = _number(value, digits) if numbers else ""
            cells += f"<td{kind} style='--share:{share:.2f}'>{text}</td>"
        page += f"<tr>{cells}</tr>"
    if numbers:
        return f"<table class='attention-grid'>{page}</table>"
    return f"<table class='attention-grid is-map' aria-hidden='true'>{page}</table>"


def _name(text: str, scope: str) -> str:
    return f"<th scope='{scope}'>{html.escape(text)}</th>"
