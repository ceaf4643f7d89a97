"""The picture that messengers show for a link to the book: its title and its scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Curve

from toolkit.figures import KEY, NEUTRAL, QUERY, WEIGHT, ink
from tools.attention_scene import ASKING, LAST, OPENING, attend, opacity, percent

WIDTH, HEIGHT = 1200, 630  # pixels, as messengers expect them
ALT = (
    "The word bank of “She visits the bank for money” and lines to all six words, the "
    "thickest to money."
)
SUBTITLE = "Build it step by step. Every wrong answer gets an explanation."
_DPI = 100
_LEFT, _RIGHT, _KEYS, _QUERY = 120, 1080, 250, 70  # pixels, from the lower left


def draw(file: Path, title: str) -> None:
    """Write the picture.

    Args:
        file: a PNG file.
        title: of the book.
    """
    figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
    ax.axis("off")
    font = {"family": "DejaVu Sans", "ha": "left", "va": "center"}
    ax.add_patch(Rectangle((0, HEIGHT - 14), WIDTH, 14, color=WEIGHT, linewidth=0))
    ax.text(70, 530, title, size=39, weight="bold", color="#1b1b1b", **font)
    ax.text(70, 452, SUBTITLE, size=19, color="#444444", **font)

    words = (*OPENING, LAST[0])
    asking = words.index(ASKING)
    places = np.linspace(_LEFT, _RIGHT, len(words))
    font["ha"] = "center"
    for word, x, weight in zip(
        words, places, attend(words, asking).weights, strict=True
    ):
        ax.add_patch(_line(places[asking], x, weight))
        ax.text(x, _KEYS + 24, word, size=22, weight="bold", color=ink(KEY), **font)
        ax.text(x, _KEYS + 72, percent(weight), size=18, color=ink(NEUTRAL), **font)
    ax.text(
        *(places[asking], _QUERY - 26, ASKING),
        **(font | {"size": 22, "weight": "bold", "color": ink(QUERY)}),
    )
    FigureCanvasAgg(figure).print_png(file)


def _line(start: float, end: float, weight: float) -> PathPatch:
    """From the query to a key, as thick as its weight."""
    middle = (_QUERY + _KEYS) / 2
    points = [(start, _QUERY), (start, middle), (end, middle), (end, _KEYS)]
    codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    return PathPatch(
        Curve(points, codes),
        facecolor="none",
        edgecolor=WEIGHT,
        linewidth=1.5 + 22 * weight,
        alpha=opacity(weight),
    )
