"""The book's own picture: the scene of its first page, for messengers and for paper.

Messengers show it below the title, as pixels; the cover of the PDF has it as a drawing.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
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
_LOWEST, _HIGHEST = 15, 350  # of the scene alone
_FONT = {"family": "DejaVu Sans", "va": "center"}


def draw(file: Path, title: str) -> None:
    """Write the picture.

    Args:
        file: a PNG file.
        title: of the book.
    """
    figure, ax = _sheet(0, HEIGHT)
    font = _FONT | {"ha": "left"}
    ax.add_patch(Rectangle((0, HEIGHT - 14), WIDTH, 14, color=WEIGHT, linewidth=0))
    ax.text(70, 530, title, size=39, weight="bold", color="#1b1b1b", **font)
    ax.text(70, 452, SUBTITLE, size=19, color="#444444", **font)
    _draw_scene(ax)
    FigureCanvasAgg(figure).print_png(file)


def scene_as_svg() -> str:
    """The scene alone, whose words are outlines: a PDF finds no text in it."""
    figure, ax = _sheet(_LOWEST, _HIGHEST)
    _draw_scene(ax)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "scene"}):
        FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
    return file.getvalue()


def _sheet(lowest: int, highest: int) -> tuple[Figure, Axes]:
    """An empty figure that is measured in pixels."""
    size = (WIDTH / _DPI, (highest - lowest) / _DPI)
    figure = Figure(figsize=size, dpi=_DPI, facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(lowest, highest))
    ax.axis("off")
    return figure, ax


def _draw_scene(ax: Axes) -> None:
    """Keys above, the query below, and a line for each weight."""
    font = _FONT | {"ha": "center"}
    words = (*OPENING, LAST[0])
    asking = words.index(ASKING)
    places = np.linspace(_LEFT, _RIGHT, len(words))
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
