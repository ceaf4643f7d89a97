"""Digits as strokes of a pen, drawn by a program: an exam for models of handwriting.

    for drawing in drawn_digits.drawings("held out"):
        drawing.label, drawing.strokes

A style says through which points a pen goes. From each style the program draws several
digits, which differ in slant, rotation, width, size and place, and in where exactly the
pen went. The styles come in two sets: with those for development, settings were chosen;
the held-out ones are for measuring. No model of the book is trained on either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toolkit.digit_styles import STYLES, Style

BOARD = 32  # dots on each side
MARGIN = 3.0  # dots between a digit and the edge of the board
COPIES = {"development": 10, "held out": 8}  # drawings of each style
SEEDS = {"development": 1, "held out": 2}


class Drawing(NamedTuple):
    """A digit that a program drew.

    Attributes:
        label: the digit that is meant, 0 to 9.
        strokes: each an (N, 2) array of points (x, y) in dots of a board of 32 x 32,
            from its upper left corner.
    """

    label: int
    strokes: list[np.ndarray]


def drawings(part: str) -> list[Drawing]:
    """All drawings of one part, always the same ones.

    Args:
        part: "development", 200 drawings in 20 styles, or "held out", 240 in 30 others.

    Raises:
        ValueError: there is no such part.
    """
    if part not in STYLES:
        raise ValueError(f"no part {part!r}; there are {', '.join(STYLES)}")
    rng = np.random.default_rng(SEEDS[part])
    return [
        Drawing(label, drawn(style, rng))
        for label, styles in enumerate(STYLES[part])
        for style in styles
        for _ in range(COPIES[part])
    ]


def drawn(style: Style, rng: np.random.Generator) -> list[np.ndarray]:
    """One digit in a style, by a hand that shakes a little."""
    strokes = [
        path(np.array(points) + rng.normal(0, 0.02, (len(points), 2)), kind)
        for kind, points in style
    ]
    turn, slant = rng.uniform(-0.12, 0.12), rng.uniform(-0.15, 0.35)
    wide, high = rng.uniform(0.8, 1.2), rng.uniform(12, 24)
    cos, sin = np.cos(turn), np.sin(turn)
    sheared = np.array([[wide, -slant], [0, 1]])  # to the right at the top
    matrix = high * np.array([[cos, -sin], [sin, cos]]) @ sheared
    moved = [stroke @ matrix.T for stroke in strokes]
    points = np.concatenate(moved)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    room = BOARD - 2 * MARGIN
    scale = min(1.0, room / size.max())
    corner = MARGIN + rng.uniform(0, 1, 2) * (room - scale * size)
    return [np.round(corner + scale * (stroke - low), 1) for stroke in moved]


def in_tenths(drawings: list[Drawing]) -> list[list[list[int]]]:
    """The strokes of each drawing in few characters, as x, y, x, y, ... in tenths."""
    return [
        [np.rint(10 * stroke).astype(int).flatten().tolist() for stroke in d.strokes]
        for d in drawings
    ]


def path(points: np.ndarray, kind: str, steps: int = 6) -> np.ndarray:
    """The points that a pen passes, (N, 2).

    A curve is a Catmull-Rom spline: it goes through every point, in the direction from
    the point before to the point after.
    """
    if kind == "line":
        return points
    ends = [2 * points[0] - points[1], *points, 2 * points[-1] - points[-2]]
    p = np.array(ends)[:, None, :]
    t = np.arange(steps)[:, None] / steps
    a, b, c, d = p[:-3], p[1:-2], p[2:-1], p[3:]  # (segments, 1, 2)
    curve = b + 0.5 * t * (
        c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))
    )
    return np.concatenate([curve.reshape(-1, 2), points[-1:]])
