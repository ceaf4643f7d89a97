"""The whole machine from token to output, in one drawing, with a part highlighted.

Each chapter builds one part; a small copy at its head says which.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from toolkit import figures
from toolkit.diagrams import arrow

# The parts, and the boxes that belong to each.
PARTS = {
    "query": ("score", "softmax", "average"),
    "projections": ("project",),
    "scaling": ("scale",),
    "masking": ("mask",),
    "heads": ("attention",),
    "positions": ("positions",),
    "transformer": ("layer",),
    "training": ("loss",),
    "decoding": ("choose",),
    "language_model": ("scores of words",),
    "patches": ("patches",),
}
# The middle of a box, its width and height, all in inches, and its text.
BOXES = {
    "tokens": (0.4, 1.22, 0.72, 0.46, "words"),
    "patches": (0.4, 0.58, 0.72, 0.46, "patches"),
    "positions": (1.24, 0.9, 0.76, 0.46, "+ position"),
    "project": (2.13, 1.04, 0.6, 0.62, "query\nkey\nvalue"),
    "score": (2.77, 1.04, 0.52, 0.62, "score\n$q \\cdot k$"),
    "scale": (3.31, 1.04, 0.4, 0.62, "÷ $\\sqrt{d}$"),
    "mask": (3.83, 1.04, 0.48, 0.62, "mask"),
    "softmax": (4.45, 1.04, 0.6, 0.62, "soft-\nmax"),
    "average": (5.1, 1.04, 0.56, 0.62, "aver-\nage"),
    "feed-forward": (3.58, 0.34, 1.3, 0.34, "feed-forward"),
    "scores of words": (6.15, 1.26, 0.78, 0.46, "scores of\nnext word"),
    "choose": (6.15, 2.04, 0.78, 0.36, "choose"),
    "loss": (6.15, 0.4, 0.78, 0.46, "compare,\nimprove"),
}
# The same for the frames around boxes; their text is at the top left.
FRAMES = {
    "layer": (3.62, 0.98, 3.82, 1.78, "transformer layer, repeated"),
    "attention": (3.62, 1.13, 3.66, 0.96, "attention, in several heads"),
}
WIDE, HIGH = 6.62, 2.3


def machine(here: str | None = None) -> Figure:
    """Draw the machine, from words or patches to the next word.

    Args:
        here: the part to highlight, one of ``PARTS``; without it, no part is.

    Returns:
        A figure of page width.

    Raises:
        ValueError: if there is no such part.
    """
    if here is not None and here not in PARTS:
        raise ValueError(f"no part is called {here!r}; there are {', '.join(PARTS)}")
    figures.use_house_style()
    height = figures.WIDTH * HIGH / WIDE
    figure, ax = plt.subplots(figsize=(figures.WIDTH, height))
    ax.set(xlim=(0, WIDE), ylim=(0, HIGH), aspect="equal")
    ax.axis("off")
    highlighted = PARTS.get(here or "", ())
    for name, (x, y, width, tall, text) in FRAMES.items():
        _box(ax, x, y, width, tall, name in highlighted)
        place = (x - width / 2 + 0.06, y + tall / 2 - 0.05)
        _text(ax, place, text, name in highlighted, ha="left", va="top")
    for name, (x, y, width, tall, text) in BOXES.items():
        _box(ax, x, y, width, tall, name in highlighted)
        _text(ax, (x, y), text, name in highlighted, ha="center", va="center")
    _arrows(ax)
    if here:
        _text(ax, (0.04, 0.1), "purple: you are here", True, ha="left", va="bottom")
    return figure


def _box(ax: Axes, x: float, y: float, width: float, height: float, here: bool) -> None:
    style = {"facecolor": "white", "edgecolor": figures.NEUTRAL, "linewidth": 1.2}
    if here:
        style = {"facecolor": "#EDE6F3", "edgecolor": figures.WEIGHT, "linewidth": 2.4}
    corner = (x - width / 2, y - height / 2)
    rounded = "round,pad=0,rounding_size=0.06"
    ax.add_patch(FancyBboxPatch(corner, width, height, boxstyle=rounded, **style))


def _text(
    ax: Axes, place: tuple[float, float], text: str, here: bool, **alignment: str
) -> None:
    colour = figures.ink(figures.WEIGHT if here else figures.NEUTRAL)
    weight = "bold" if here else "normal"
    ax.text(*place, text, color=colour, weight=weight, fontsize=9, **alignment)


def _arrows(ax: Axes) -> None:
    """From left to right; what was chosen becomes the next word that is read."""
    arrow(ax, (0.76, 1.22), (0.86, 1.1))
    arrow(ax, (0.76, 0.58), (0.86, 0.72))
    arrow(ax, (1.62, 0.9), (1.83, 0.98))
    arrow(ax, (5.1, 0.73), (5.1, 0.34), (4.23, 0.34))
    arrow(ax, (5.53, 1.26), (5.76, 1.26))
    arrow(ax, (6.15, 1.49), (6.15, 1.86))
    arrow(ax, (6.15, 1.03), (6.15, 0.63))
    arrow(ax, (5.76, 2.04), (0.4, 2.04), (0.4, 1.45))
    arrow(ax, (5.76, 0.34), (5.53, 0.34), linestyle=":")
