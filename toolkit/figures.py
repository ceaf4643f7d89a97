"""Figures in one style: the same colours, sizes and attention maps in every chapter.

Queries are blue, keys orange, values green, and attention weights purple, in prose,
pictures and code alike. The colours are those of Okabe and Ito, which stay apart for
readers who are colour-blind; no picture relies on colour alone.

Every figure is ``WIDTH`` inches wide, so that text has the same size on every page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex, to_rgb
from matplotlib.patches import Rectangle

QUERY = "#0072B2"
KEY = "#D55E00"
VALUE = "#009E73"
WEIGHT = "#6A3D8F"
NEUTRAL = "#767676"

WIDTH = 7.0  # inches; the width of a page

# For series that are neither queries, keys nor values. Each has its own dash as well.
SERIES = (WEIGHT, NEUTRAL, "#CC79A7", "#000000", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))

WEIGHT_MAP = LinearSegmentedColormap.from_list(
    "attention_weight", ["#FFFFFF", "#C9B2DC", WEIGHT, "#2E1244"]
)
SCORE_MAP = LinearSegmentedColormap.from_list(
    "attention_score", ["#3A3A3A", "#A9A9A9", "#FFFFFF", "#B695CF", "#4A2368"]
)
# For what is neither a weight nor a score. It is not quite grey, as photographs are, so
# that the build can tell a map from a picture and draw it for dark pages.
QUANTITY_MAP = LinearSegmentedColormap.from_list(
    "quantity", ["#FFFFFF", "#B4BECB", "#5D6D83", "#18222F"]
)

_LARGEST_NUMBERED = 12  # rows or columns; more cells than this are too small to read
_LETTER = 0.1  # inches; a wide letter with its space


def use_house_style() -> None:
    """Set matplotlib's defaults to the style of the book."""
    plt.rcParams.update(
        {
            "figure.figsize": (WIDTH, 3.4),
            "figure.dpi": 150,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "savefig.dpi": "figure",
            "savefig.facecolor": "white",
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
            "font.size": 10.5,
            "mathtext.fontset": "dejavusans",
            "axes.facecolor": "none",  # that of the figure, which may be transparent
            "axes.titlesize": 11.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelsize": 10.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": NEUTRAL,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.8,
            "lines.linewidth": 2.0,
            "lines.markersize": 6.0,
            "legend.frameon": False,
            "legend.fontsize": 10,
            "xtick.labelsize": 10,
            "ytick.labelsize": 10,
            "svg.hashsalt": "attention",  # the same ids at every run
            "axes.prop_cycle": cycler(color=SERIES) + cycler(linestyle=DASHES),
        }
    )
    _keep_full_width()


def ink(colour: str) -> str:
    """The same hue, darkened until text in it is easy to read on white.

    Returns:
        A hex colour whose contrast with white is at least 4.5 to 1 (WCAG 2, level AA).
    """
    rgb = np.array(to_rgb(colour))
    while _contrast(_luminance(rgb), 1.0) < 4.5:
        rgb = rgb * 0.97
    return to_hex(rgb)


def attention_map(
    weights: Any,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    values: bool = True,
    colour_bar: bool = False,
    label: str = "attention weight",
    vmin: float | None = None,
    vmax: float | None = None,
) -> Axes:
    """Draw weights or scores as a heat map: one row per query, one column per key.

    Weights run from white to purple. When something is negative (scores), the scale is
    centred on zero and runs from grey to purple. Cells that are not finite are hatched.

    Args:
        weights: (N, T), or (T,) for a single query; an array or a tensor.
        queries: N names for the rows.
        keys: T names for the columns.
        ax: where to draw; a new figure of page width when not given.
        title: heading of the map.
        values: write the number into each cell when the cells are large enough.
        colour_bar: add the scale at the side, named ``label``.
        label: what the numbers are.
        vmin: smallest value of the colour scale.
        vmax: largest value of the colour scale.

    Returns:
        The axes that were drawn on.

    Raises:
        ValueError: unless there is one name per row and one per column.
    """
    weights = np.atleast_2d(_to_numpy(weights))
    num_queries, num_keys = weights.shape  # (N, T)
    for what, names, count in (
        ("queries", queries, num_queries),
        ("keys", keys, num_keys),
    ):
        if names is not None and len(names) != count:
            raise ValueError(f"{len(names)} names of {what} for {count} {what}")

    if ax is None:
        _, ax = plt.subplots(figsize=(WIDTH, _map_height(num_queries, num_keys)))
    norm, colours = _scale(weights, vmin, vmax)
    finite = np.where(np.isfinite(weights), weights, np.nan)
    image = ax.imshow(
        finite, cmap=colours, norm=norm, aspect="equal", interpolation="none"
    )
    _hatch_missing(ax, weights)
    _name_cells(ax, queries, keys, num_queries, num_keys)
    if values and max(num_queries, num_keys) <= _LARGEST_NUMBERED:
        _write_values(ax, weights, norm, colours)
    if colour_bar:
        ax.figure.colorbar(image, ax=ax, label=label, shrink=0.9, aspect=15)
    if title:
        ax.set_title(title)
    return ax


def head_maps(
    weights: Any,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    *,
    values: bool = True,
    label: str = "attention weight",
) -> np.ndarray:
    """Draw one attention map per head, side by side, on one shared colour scale.

    Args:
        weights: (h, N, T), one map per head; an array or a tensor.
        queries: N names for the rows, written at the first map only.
        keys: T names for the columns.
        titles: h headings; "head 1", "head 2", ... when not given.
        values: write the number into each cell when the cells are large enough.
        label: what the numbers are; the name of the colour scale.

    Returns:
        (h,) axes, one per head.

    Raises:
        ValueError: unless there is one title per head.
    """
    weights = _to_numpy(weights)
    num_heads, num_queries, num_keys = weights.shape  # (h, N, T)
    if titles is None:
        titles = [f"head {head + 1}" for head in range(num_heads)]
    if len(titles) != num_heads:
        raise ValueError(f"{len(titles)} titles for {num_heads} heads")

    cell = (WIDTH - 1.8) / (num_heads * num_keys)
    longest = max((len(str(key)) for key in keys), default=1) if keys else 1
    height = min(8.0, max(2.0, cell * num_queries + 1.2 + 0.8 * _LETTER * longest))
    figure, axes = plt.subplots(
        1, num_heads, figsize=(WIDTH, height), sharey=True, squeeze=False
    )
    axes = axes[0]
    finite = weights[np.isfinite(weights)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    for head, ax in enumerate(axes):
        attention_map(
            weights[head],
            queries,
            keys,
            ax=ax,
            title=titles[head],
            values=values and num_heads * num_keys <= _LARGEST_NUMBERED,
            vmin=min(low, 0.0),
            vmax=high,
        )
        if head > 0:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
    figure.colorbar(axes[-1].images[0], ax=list(axes), label=label, shrink=0.9)
    return axes


def matrix(
    ax: Axes,
    numbers: Any,
    corner: tuple[float, float],
    *,
    colour: str = NEUTRAL,
    name: str = "",
    shape: str = "",
    decimals: int = 1,
    cell: tuple[float, float] = (1.0, 1.0),
) -> tuple[float, float]:
    """Draw a small matrix as a block of numbered cells, for pictures of a computation.

    Args:
        ax: where to draw; its axes should be switched off and equal in scale.
        numbers: (rows, columns), or (columns,) for a row vector.
        corner: left and top of the block.
        colour: the block's hue; the larger a number's magnitude, the stronger.
        name: written above the block.
        shape: written below it, such as "(N, D)".
        decimals: digits after the point.
        cell: width and height of a cell.

    Returns:
        Right and bottom of the block.
    """
    numbers = np.atleast_2d(_to_numpy(numbers))
    rows, columns = numbers.shape
    (left, top), (width, height) = corner, cell
    right, bottom = left + columns * width, top - rows * height
    largest = np.abs(numbers).max() or 1.0
    for row in range(rows):
        for column in range(columns):
            share = 0.08 + 0.47 * abs(numbers[row, column]) / largest
            tint = 1 - share * (1 - np.array(to_rgb(colour)))
            x, y = left + column * width, top - (row + 1) * height
            ax.add_patch(
                Rectangle((x, y), width, height, facecolor=tint, edgecolor="white")
            )
            ax.text(
                x + width / 2,
                y + height / 2,
                _number(numbers[row, column], decimals),
                ha="center",
                va="center",
                fontsize=9,
            )
    middle = (left + right) / 2
    ax.text(
        middle,
        top + 0.15 * height,
        name,
        ha="center",
        va="bottom",
        color=ink(colour),
        weight="bold",
    )
    ax.text(
        middle,
        bottom - 0.15 * height,
        shape,
        ha="center",
        va="top",
        color=ink(NEUTRAL),
        fontsize=9.5,
    )
    return right, bottom


def _to_numpy(array: Any) -> np.ndarray:
    """An array of floats from an array, a nested list, or a tensor on any device."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        if array.is_floating_point():
            array = array.double()  # numpy has no bfloat16
    return np.asarray(array, dtype=float)


def _keep_full_width() -> None:
    """Stop notebooks from cropping figures, which would change the size of the text.

    Nor do they note the date in it: a figure is the same at every run.
    """
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    if get_ipython() is not None:
        from matplotlib_inline.config import InlineBackend

        backend = InlineBackend.instance(parent=get_ipython())
        backend.print_figure_kwargs = {
            "bbox_inches": None,
            "metadata": {"Date": None},
        }


def _map_height(num_queries: int, num_keys: int) -> float:
    cell = min(0.62, (WIDTH - 1.6) / num_keys)
    return min(8.0, cell * num_queries + 1.1)


def _cell_width(ax: Axes, num_keys: int) -> float:
    """Inches, before the layout gives space to labels: a slight overestimate."""
    return ax.get_position().width * ax.figure.get_figwidth() / num_keys


def _scale(
    weights: np.ndarray, vmin: float | None, vmax: float | None
) -> tuple[Normalize, LinearSegmentedColormap]:
    """White is zero; with two signs, both sides of the scale are equally long."""
    finite = weights[np.isfinite(weights)]
    low = vmin if vmin is not None else min(finite.min(initial=0.0), 0.0)
    high = vmax if vmax is not None else finite.max(initial=0.0)
    if low < 0:
        reach = max(-low, high)
        return Normalize(-reach, reach), SCORE_MAP
    return Normalize(low, high if high > low else low + 1.0), WEIGHT_MAP


def _name_cells(
    ax: Axes,
    queries: Sequence[str] | None,
    keys: Sequence[str] | None,
    num_queries: int,
    num_keys: int,
) -> None:
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    if keys is not None or num_keys <= _LARGEST_NUMBERED:
        names = [str(key) for key in keys] if keys is not None else range(num_keys)
        ax.set_xticks(range(num_keys), names, color=ink(KEY))
        if max(len(str(name)) for name in names) * _LETTER > _cell_width(ax, num_keys):
            plt.setp(ax.get_xticklabels(), rotation=55, ha="left", va="bottom")
            plt.setp(ax.get_xticklabels(), rotation_mode="anchor")
    if queries is not None or num_queries <= _LARGEST_NUMBERED:
        names = [str(q) for q in queries] if queries is not None else range(num_queries)
        ax.set_yticks(range(num_queries), names, color=ink(QUERY))
    ax.set_xlabel("key", color=ink(KEY), weight="bold")
    ax.set_ylabel("query", color=ink(QUERY), weight="bold")
    if max(num_queries, num_keys) <= 2 * _LARGEST_NUMBERED:  # lines between the cells
        ax.set_xticks(np.arange(num_keys + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(num_queries + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#D9D9D9", linewidth=0.8)
        ax.tick_params(which="minor", length=0)


def _write_values(
    ax: Axes, weights: np.ndarray, norm: Normalize, colours: LinearSegmentedColormap
) -> None:
    size = 10 if weights.shape[1] <= 8 else 8.5
    for (row, column), value in np.ndenumerate(weights):
        background = colours(norm(value))[:3] if np.isfinite(value) else (1, 1, 1)
        light = _luminance(np.array(background))
        dark_text = _contrast(light, 0.0) >= _contrast(light, 1.0)
        ax.text(
            column,
            row,
            _number(value, 2),
            ha="center",
            va="center",
            fontsize=size,
            color="black" if dark_text else "white",
        )


def _hatch_missing(ax: Axes, weights: np.ndarray) -> None:
    for row, column in np.argwhere(~np.isfinite(weights)):
        ax.add_patch(
            Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor="white",
                edgecolor="#CFCFCF",
                hatch="////",
                linewidth=0,
            )
        )


def _number(value: float, decimals: int) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")  # no "-0.00"
    return text.replace("-", "−")


def _luminance(rgb: np.ndarray) -> float:
    """Relative luminance of WCAG 2."""
    rgb = np.asarray(rgb, dtype=float)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(first: float, second: float) -> float:
    light, dark = max(first, second), min(first, second)
    return (light + 0.05) / (dark + 0.05)
