"""Boxes and arrows: the parts of which the book's diagrams are drawn."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from toolkit import figures


def box(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    colour: str,
    width: float = 1.9,
    height: float = 0.62,
    **style: Any,
) -> None:
    """Draw a box with a text in it.

    Args:
        ax: where to draw.
        x: the middle of the box, in data coordinates, as are the other lengths.
        y: its middle.
        text: what it is; several lines are centred.
        colour: of the frame, and of the text, which is darkened until it is legible.
        width: of the box.
        height: of the box.
        style: of the frame, such as ``facecolor`` or ``linestyle``.
    """
    frame = {"facecolor": "white", "edgecolor": colour, "linewidth": 1.8} | style
    corner = (x - width / 2, y - height / 2)
    ax.add_patch(Rectangle(corner, width, height, **frame))
    place = {"ha": "center", "va": "center"}
    ax.text(x, y, text, color=figures.ink(colour), **place)


def arrow(
    ax: Axes,
    *points: tuple[float, float],
    colour: str = figures.NEUTRAL,
    linestyle: str = "-",
) -> None:
    """Draw an arrow along a line through some points; its head is at the last.

    Args:
        ax: where to draw.
        points: two or more (x, y), in data coordinates.
        colour: of line and head.
        linestyle: of the line.

    Raises:
        ValueError: if there are fewer than two points.
    """
    if len(points) < 2:
        raise ValueError(f"an arrow needs two points or more, not {len(points)}")
    line = {"color": colour, "lw": 1.4, "linestyle": linestyle}
    for start, end in zip(points[:-2], points[1:-1], strict=True):
        ax.plot(*zip(start, end, strict=True), **line)
    head = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", points[-1], points[-2], arrowprops=head | line)
