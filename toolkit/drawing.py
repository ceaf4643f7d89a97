"""From strokes of a pen to 8 x 8 pixels, as the digits playground does it.

    image = drawing.pixels(drawing.normalised(strokes))  # as in the data set
    image = drawing.pixels(drawing.rasterised(strokes))  # as it was drawn

The programs of NIST that made the images of the data set scaled each digit to 32 dots
in height and 20 in width, took out its slant, and made its lines thicker where there
was little ink, and thinner where there was much. Then the dots were counted in
squares of 4 x 4. Strokes have no thickness of their own, so a pen is chosen here that
leaves as much ink as a training image has, and a digit that is narrower than 20 dots
stays so: a bare line would become a square.

``chapters/_static/playground/strokes.js`` computes this in the browser, operation by
operation; a test compares the two.

Source: Garris et al. (1994), NIST Form-Based Handprint Recognition System, NISTIR 5469.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

DOTS, PIXELS = 32, 8
PEN = 4.5  # diameter, in dots
WIDE, HIGH = 20, 32  # room for a digit, in dots
INK = 310  # dots that a training image covers, on average
THINNEST, THICKEST = 4.0, 10.0  # diameters of a pen that makes so much ink
STEEPEST = 1.0  # dots to the side for each dot up: more is no slant
BAND = 0.1  # of the height: where the ends of a digit are looked for
NEARLY = 1e-9  # distances that differ by less are equal

Strokes = Sequence[np.ndarray]  # each (N, 2), points (x, y) in dots


def rasterised(strokes: Strokes, pen: float = PEN) -> np.ndarray:
    """(32, 32) booleans: the dots that a pen of some diameter has covered."""
    return distances(strokes) <= (pen / 2) ** 2 + NEARLY


def normalised(strokes: Strokes) -> np.ndarray:
    """(32, 32) booleans: the dots of a drawing made as the data set's images were.

    Args:
        strokes: at least one, with at least one point each.
    """
    squares = distances(fitted(upright(strokes)))
    enough = np.sort(squares, axis=None)[INK - 1]
    return squares <= np.clip(enough, (THINNEST / 2) ** 2, (THICKEST / 2) ** 2) + NEARLY


def pixels(dots: np.ndarray) -> np.ndarray:
    """(8, 8) numbers from 0 to 1: the share of dots covered in each square of 4 x 4."""
    side = DOTS // PIXELS
    return dots.reshape(PIXELS, side, PIXELS, side).mean(axis=(1, 3), dtype=np.float32)


def distances(strokes: Strokes) -> np.ndarray:
    """(32, 32): the square of the distance from each dot's centre to the strokes."""
    y, x = np.mgrid[:DOTS, :DOTS] + 0.5
    squares = np.full((DOTS, DOTS), np.inf)
    for (ax, ay), (bx, by) in lines(strokes):
        dx, dy = bx - ax, by - ay
        long = dx * dx + dy * dy or 1
        t = np.clip(((x - ax) * dx + (y - ay) * dy) / long, 0, 1)
        right, down = x - ax - t * dx, y - ay - t * dy
        squares = np.minimum(squares, right * right + down * down)
    return squares


def lines(strokes: Strokes) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The lines of which strokes consist; a single point is a line to itself."""
    for stroke in strokes:
        yield from zip([stroke[0], *stroke[:-1]], stroke, strict=True)


def upright(strokes: Strokes) -> list[np.ndarray]:
    """Strokes sheared until the left ends of their top and bottom are in line."""
    heights = np.concatenate(strokes)[:, 1]
    top, bottom = heights.min(), heights.max()
    band = BAND * (bottom - top)
    high = leftmost(strokes, top, top + band)
    low = leftmost(strokes, bottom - band, bottom)
    slant = (high[0] - low[0]) / ((low[1] - high[1]) or 1)
    lean = np.clip(slant, -STEEPEST, STEEPEST)
    return [np.stack([s[:, 0] + lean * s[:, 1], s[:, 1]], axis=1) for s in strokes]


def leftmost(strokes: Strokes, top: float, bottom: float) -> tuple[float, float]:
    """The leftmost point of strokes between two heights."""
    found = (np.inf, 0.0)
    for (ax, ay), (bx, by) in lines(strokes):
        start, end = max(min(ay, by), top), min(max(ay, by), bottom)
        if start > end:
            continue
        if ay == by:
            ends = [(ax, ay), (bx, by)]
        else:
            ends = [(ax + (bx - ax) * (y - ay) / (by - ay), y) for y in (start, end)]
        found = min(found, *ends, key=lambda point: point[0])
    return found


def fitted(strokes: Strokes) -> list[np.ndarray]:
    """Strokes as high as the board and no wider than a digit may be, in its middle."""
    points = np.concatenate(strokes)
    low, high = points.min(axis=0), points.max(axis=0)
    wide, tall = high - low
    down = (HIGH - PEN) / (tall or 1)
    scale = np.array([min(down, (WIDE - PEN) / (wide or 1)), down])
    return [DOTS / 2 + scale * (stroke - (low + high) / 2) for stroke in strokes]
