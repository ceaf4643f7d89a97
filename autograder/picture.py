"""Your answer beside the expected one, as a picture: for self-study only.

Never drawn in grading or in courses for credit, because it shows expected values.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.judge import Report

MAX_SIDE = 64
MAX_OUTLINES = 200


def first_difference(
    exercise: Exercise,
    report: Report,
    given: Sequence[Answer],
    expected: Sequence[Answer],
) -> tuple[str, np.ndarray, np.ndarray] | None:
    """The first failed case whose answers can be drawn side by side.

    Returns:
        The title of the case, what was given and what was expected, as matrices of the
        same shape; ``None`` if there is no such case, or the answers are tests.
    """
    if isinstance(exercise, BreakExercise):
        return None
    for case, outcome, one, other in zip(
        exercise.cases, report.cases, given, expected, strict=True
    ):
        if not outcome.passed:
            for mine, right in _pairs(one.value, other.value):
                if not np.allclose(mine, right, case.rtol, case.atol, equal_nan=True):
                    return case.title, _matrix(mine), _matrix(right)
    return None


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


def _matrix(array: np.ndarray) -> np.ndarray:
    """The first matrix in a stack of matrices, cut to a size that can be seen."""
    while array.ndim > 2:
        array = array[0]
    return np.atleast_2d(array)[:MAX_SIDE, :MAX_SIDE]


def side_by_side(title: str, given: np.ndarray, expected: np.ndarray) -> str:
    """HTML of a picture with both results and their difference."""
    from matplotlib.figure import Figure

    with np.errstate(invalid="ignore", over="ignore"):
        difference = given - expected
    figure = Figure(figsize=(7, 2.4), layout="constrained")
    if len(given) == 1:
        _draw_row(figure, given[0], expected[0])
    else:
        _draw_matrices(figure, given, expected, difference)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    worst = np.nanmax(np.abs(difference[np.isfinite(difference)]), initial=0.0)
    seen = [f"they differ by up to {worst:.3g}."]
    leaks = int(leaking(given, expected).sum()) if len(given) > 1 else 0
    if leaks:
        verb = "is" if leaks == 1 else "are"
        nothing = "zero" if (expected == 0).any() else "minus infinity"
        seen.append(
            f"{leaks} of your values {verb} outlined: {nothing} is expected there."
        )
    if sums_to_one(given) != sums_to_one(expected):
        seen += [
            f"In {whose}, each {line} sums to one."
            for whose, matrix in (("yours", given), ("the expected one", expected))
            if (line := sums_to_one(matrix))
        ]
    told = " ".join(seen)
    caption = f"<p>{' '.join(seen[1:])}</p>" if seen[1:] else ""
    return (
        f"<p>The first case that failed, <em>{html.escape(title)}</em>:</p>"
        f'<img alt="Your result beside the expected one; {told}" '
        f'src="data:image/png;base64,{data}">{caption}'
    )


def leaking(given: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where nothing should get through and something does: expected zeros, if not all.

    Hidden scores are minus infinity in the place of zero.
    """
    for nothing in (0.0, -np.inf):
        hidden = expected == nothing
        if hidden.any() and not hidden.all():
            return hidden & (given != nothing)
    return np.zeros(expected.shape, dtype=bool)


def sums_to_one(matrix: np.ndarray) -> str:
    """Which lines of a matrix sum to one, rows or columns; empty if not just one is."""
    found = [
        name
        for axis, name in ((1, "row"), (0, "column"))
        if matrix.shape[axis] > 1
        and np.allclose(matrix.sum(axis=axis), 1.0, atol=1e-6)
        and (matrix >= 0).all()
    ]
    return found[0] if len(found) == 1 else ""


def _draw_row(figure: Any, given: np.ndarray, expected: np.ndarray) -> None:
    """One row of values: a stem for each, yours beside what is expected."""
    ax = figure.subplots()
    at = np.arange(len(given))
    drawn = np.isfinite(given) & (np.abs(given) < 1e100)
    known = np.isfinite(expected)
    ax.axhline(0, color="0.7", linewidth=0.8)
    ax.plot(at[known], expected[known], "o", color="#0072B2", label="expected")
    ax.plot(at[drawn], given[drawn], "x", color="#D55E00", label="yours", markersize=8)
    for place in at[~drawn]:
        ax.axvline(place, color="#D55E00", linestyle=":", linewidth=1)
    if not drawn.all():
        ax.plot([], [], ":", color="#D55E00", label="yours, not finite")
    ax.set_xlabel("index")
    ax.legend(fontsize=8, loc="best")


def _draw_matrices(
    figure: Any, given: np.ndarray, expected: np.ndarray, difference: np.ndarray
) -> None:
    """Three pictures, the first two in one scale of colours; leaks are outlined."""
    from matplotlib.patches import Rectangle

    finite = np.concatenate([m[np.isfinite(m)] for m in (given, expected)])
    span = {"vmin": finite.min(), "vmax": finite.max()} if finite.size else {}
    axes = figure.subplots(1, 3)
    drawings = {"yours": given, "expected": expected, "yours - expected": difference}
    for ax, (name, matrix) in zip(axes, drawings.items(), strict=True):
        limit = np.nanmax(np.abs(matrix[np.isfinite(matrix)]), initial=1e-12)
        look = {"vmin": -limit, "vmax": limit} if matrix is difference else span
        colours = "RdBu" if matrix is difference else "viridis"
        drawn = ax.imshow(matrix, aspect="auto", cmap=colours, **look)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.yaxis.get_major_locator().set_params(integer=True)
        figure.colorbar(drawn, ax=ax)
        line = "" if matrix is difference else sums_to_one(matrix)
        title = f"{name}\n(each {line} sums to 1)" if line else name
        ax.set_title(title, fontsize=9 if line else 10)
        if matrix is given:
            for row, column in np.argwhere(leaking(given, expected))[:MAX_OUTLINES]:
                corner = (column - 0.5, row - 0.5)
                ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="#D55E00", lw=1.5))
