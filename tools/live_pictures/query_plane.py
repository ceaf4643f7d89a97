"""Chapter 1: a query that is dragged in a plane, and attention that follows it.

The six words are those of the chapter, and so are their vectors. The plane has two of
their four features; in the other two, the query stays at zero.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from autograder.exercise import load_topic
from toolkit.running_example import FEATURES, VECTORS
from tools.attention_scene import LAST, OPENING, percent
from tools.live_pictures.markup import (
    Picture,
    choice,
    element,
    fixed,
    hint,
    listed,
    says,
    word_table,
)

SHOWN = (FEATURES.index("finance"), FEATURES.index("water"))  # along x, along y
START = (3.0, 3.0)  # the query of the chapter, in these two features
LOW, HIGH = -2.0, 4.0  # the ends of both axes
UNIT = 50  # of the drawing
SIDE = round((HIGH - LOW) * UNIT)
THINNEST, THICKEST = 1.0, 13.0  # of the lines, for weights of 0 and 1


def attend(q: Sequence[float], X: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scores (N,), weights (N,) and output (D,), by the references of chapter 1.

    Args:
        q: (2,) the query in the features that are shown.
        X: (N, D) the words.
    """
    topic = load_topic("simplified_attention")
    query = np.zeros(X.shape[1])
    query[list(SHOWN)] = q
    output, weights = topic.reference("attend")(query, X)
    return topic.reference("alignment_scores")(query, X), weights, output


def sentence(words: Sequence[str], weights: np.ndarray, output: np.ndarray) -> str:
    """What the picture shows, in the words of the script."""
    best = [
        word
        for word, weight in zip(words, weights, strict=True)
        if weights.max() - weight < 1e-9
    ]
    share = percent(weights.max())
    if len(best) == len(words):
        about = f"All words get the same weight, {share}."
    elif len(best) == 1:
        about = f"{listed(best)} gets the largest weight, {share}."
    else:
        about = f"{listed(best)} get the largest weight, {share} each."
    finance, water = (fixed(output[feature], 2) for feature in SHOWN)
    return f"{about} Output: finance {finance}, water {water}."


def place(point: Sequence[float]) -> tuple[float, float]:
    """A point of the plane in the drawing, whose second axis runs downward."""
    return (point[0] - LOW) * UNIT, (HIGH - point[1]) * UNIT


def picture() -> Picture:
    """The plane, and beside it the scores and weights of the words."""
    words = [*OPENING, LAST[0]]
    X = np.array([VECTORS[word] for word in words])  # (N, D)
    scores, weights, output = attend(START, X)
    table = word_table(words, scores, weights)
    body = "\n".join(
        [
            choice("query-plane-last", "She visits the bank for", LAST, 0),
            element(
                "div", _plane(words, X, weights, output) + table, class_="live-columns"
            ),
            says(sentence(words, weights, output)),
            hint(
                "Drag q, click anywhere in the plane, or use the arrow keys (Shift for "
                "larger steps, Home to start again)."
            ),
        ]
    )
    data = {
        "opening": OPENING,
        "last": LAST,
        "vectors": {word: VECTORS[word] for word in (*OPENING, *LAST)},
        "shown": SHOWN,
        "start": START,
        "low": LOW,
        "high": HIGH,
        "unit": UNIT,
        "thinnest": THINNEST,
        "thickest": THICKEST,
    }
    return Picture("Attention with a query in the plane", body, data)


def _plane(
    words: Sequence[str], X: np.ndarray, weights: np.ndarray, output: np.ndarray
) -> str:
    points = X[:, SHOWN]  # (N, 2)
    x, y = place(output[list(SHOWN)])
    corners = [place(point) for point in dict.fromkeys(map(tuple, points))]
    parts = [_axes(), element("path", d=_outline(corners), class_="plane-hull")]
    parts += [
        element("line", x1=x, y1=y, x2=end[0], y2=end[1], class_="plane-pull",
                stroke_width=f"{THINNEST + (THICKEST - THINNEST) * weight:.2f}",
                stroke_opacity=f"{0.15 + 0.6 * weight**0.5:.3f}")
        for end, weight in zip(map(place, points), weights, strict=True)
    ]  # fmt: skip
    parts.append(_arrow())
    for here in sorted({tuple(point) for point in points}):
        together = [w for w, p in zip(words, points, strict=True) if tuple(p) == here]
        parts.append(_key(here, together, moves=words[-1] in together))
    mark = element("path", d="M0 -9L9 0L0 9L-9 0Z")
    parts.append(
        element("g", mark + element("text", "y", x=-11, y=-7, text_anchor="end"),
                class_="plane-output", transform=f"translate({x:g} {y:g})")
    )  # fmt: skip
    parts.append(_knob())
    return element(
        "svg", "".join(parts), class_="plane", viewBox=f"-4 -4 {SIDE + 8} {SIDE + 8}",
        role="img",
        aria_label="A plane of two features, finance to the right and water upward. "
        "The query, a blue arrow, points between them. The words are orange squares: "
        "bank lies on the diagonal, money far out under finance, and the other four "
        "at zero. The output, a green diamond, lies near money.",
    )  # fmt: skip


def _outline(corners: Sequence[tuple[float, float]]) -> str:
    """A closed line through some points: with three of them, their convex hull."""
    return f"M{'L'.join(f'{x:g} {y:g}' for x, y in corners)}Z"


def _axes() -> str:
    lines = "".join(
        f"M{n * UNIT} 0V{SIDE}M0 {n * UNIT}H{SIDE}" for n in range(SIDE // UNIT + 1)
    )
    x, y = place((0, 0))
    return (
        element("path", d=lines, class_="plane-grid")
        + element("path", d=f"M0 {y:g}H{SIDE}M{x:g} 0V{SIDE}", class_="plane-axes")
        + element("text", "finance", x=SIDE - 4, y=y - 8, class_="plane-axis-name",
                  text_anchor="end")
        + element("text", "water", x=x - 8, y=14, class_="plane-axis-name",
                  text_anchor="end")
    )  # fmt: skip


def _key(point: tuple[float, ...], words: Sequence[str], *, moves: bool) -> str:
    """The mark of all words at one point, with their names below it."""
    x, y = place(point)
    return element(
        "g",
        element("rect", x=-5, y=-5, width=10, height=10)
        + element("text", html.escape(", ".join(words)), y=21, text_anchor="middle"),
        class_="plane-key is-last" if moves else "plane-key",
        transform=f"translate({x:g} {y:g})",
    )


def _arrow() -> str:
    (x0, y0), (x, y) = place((0, 0)), place(START)
    return element("line", x1=x0, y1=y0, x2=x, y2=y, class_="plane-arrow")


def _knob() -> str:
    x, y = place(START)
    return element(
        "g",
        element("circle", r=24, class_="live-reach") + element("circle", r=9)
        + element("text", "q", x=13, y=-9),
        class_="plane-query live-handle", transform=f"translate({x:g} {y:g})",
    )  # fmt: skip
