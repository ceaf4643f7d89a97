"""Chapter 2: a token that is dragged, projections that are turned, and a score.

The sentence, its vectors and its projections are those with which the chapter lets
*bank* find its meaning. Two of the four features are shown: in the others, no
projection has an entry. A projection is turned in the plane of what it makes.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

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
    says,
    word_table,
)

SHOWN = (FEATURES.index("finance"), FEATURES.index("water"))  # along x, along y
ASKING = OPENING.index("bank")
START = (1.0, 1.0)  # the token of bank, in these two features
REACH = 2.0  # the largest norm to which it can be dragged
FACTOR = 3.0  # of the projection to queries: what makes them firm
MIDDLE = 110  # of each drawing, which is twice as wide and as high
UNITS = {"token": 28, "match": 17, "value": 28}  # of the drawings
THINNEST, THICKEST = 1.0, 13.0  # of the lines, for weights of 0 and 1


class Roles(NamedTuple):
    """What the projections make of the words, and what attention makes of that.

    Attributes:
        query: (2,) of the word that asks.
        keys: (N, 2).
        values: (N, 2).
        scores: (N,) of the query with each key.
        weights: (N,) their softmax.
        output: (2,) the mean of the values with these weights.
    """

    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    output: np.ndarray


def turned(degrees: float) -> np.ndarray:
    """(4, 2) the projection that selects both topics, and turns them to the left."""
    (c, s) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.eye(len(FEATURES))[:, SHOWN] @ np.array([[c, s], [-s, c]])


def roles(X: np.ndarray, turns: Sequence[float] = (0, 0, 0)) -> Roles:
    """Project the words and attend, by the references of chapters 1 and 2.

    Args:
        X: (N, 4) the words.
        turns: of the projections to queries, keys and values, in degrees.
    """
    W_Q, W_K, W_V = (turned(degrees) for degrees in turns)
    query, keys, values = FACTOR * X[ASKING] @ W_Q, X @ W_K, X @ W_V
    scores = load_topic("simplified_attention").reference("alignment_scores")
    attention = load_topic("qkv_projections").reference("attention")
    (output,), (weights,) = attention(query[None], keys, values)
    return Roles(query, keys, values, scores(query, keys), weights, output)


def pair(vector: Sequence[float]) -> str:
    """A vector such as ``(1.00, −0.50)``."""
    return f"({', '.join(fixed(x, 2) for x in vector)})"


def sentence(last: str, found: Roles) -> str:
    """What the picture shows, in the words of the script."""
    key, product = found.keys[-1], found.query @ found.keys[-1]
    return (
        f"q · k = {pair(found.query)} · {pair(key)} = {fixed(product, 2)}. Divided by "
        f"√2, this is the score of “{last}”: {fixed(found.scores[-1], 2)}. Its weight "
        f"is {percent(found.weights[-1])}."
    )


def place(name: str, point: Sequence[float]) -> tuple[float, float]:
    """A point of a plane in its drawing, whose second axis runs downward."""
    return MIDDLE + point[0] * UNITS[name], MIDDLE - point[1] * UNITS[name]


def picture() -> Picture:
    """Three planes: tokens, queries with keys, and values."""
    words = [*OPENING, LAST[0]]
    X = np.array([VECTORS[word] for word in words])  # (N, 4)
    found = roles(X)
    token = X[ASKING, list(SHOWN)]
    planes = [
        _plane("token", "token x", _tokens(X[:, SHOWN], words), f"x = {pair(token)}"),
        _plane("match", "query q, keys k", _match(found, words), _numbers(found)[0]),
        _plane(
            "value", "values v, output y", _values(found, words), _numbers(found)[1]
        ),
    ]
    body = "\n".join(
        [
            choice("projections-last", "She visits the bank for", LAST, 0),
            element(
                "div",
                "".join(planes) + word_table(words, found.scores, found.weights),
                class_="roles",
            ),
            says(sentence(words[-1], found)),
            hint(
                "Drag the token of “bank”; or turn a projection: drag q, or the key or "
                "value of the last word. Arrow keys do all of it (Shift for larger "
                "steps, Home to start again)."
            ),
        ]
    )
    data = {
        "words": OPENING,
        "last": LAST,
        "points": {
            word: [VECTORS[word][n] for n in SHOWN] for word in (*OPENING, *LAST)
        },
        "asking": ASKING,
        "start": START,
        "reach": REACH,
        "factor": FACTOR,
        "middle": MIDDLE,
        "units": UNITS,
        "thinnest": THINNEST,
        "thickest": THICKEST,
    }
    return Picture("A token and its three projections", body, data)


def _numbers(found: Roles) -> tuple[str, str]:
    """What is told below the plane of queries and keys, and below that of values."""
    return (
        f"q = {pair(found.query)}",
        f"y = {pair(found.output)}",
    )


ABOUT = {
    "token": "A plane of two features, finance to the right and water upward. The "
    "token of bank lies on the diagonal, the last word far out along finance, and all "
    "other words at zero.",
    "match": "A plane of queries and keys. The query of bank, a long blue arrow, "
    "points along the diagonal. The keys are orange squares: that of bank on the "
    "arrow, that of the last word far out to the right, and the others at zero.",
    "value": "A plane of values. The values are green squares: that of bank, that of "
    "the last word, and the others at zero. The output, a green diamond, lies close to "
    "the value of the last word.",
}


def _plane(name: str, title: str, content: str, numbers: str) -> str:
    side, unit = 2 * MIDDLE, UNITS[name]
    steps = range(MIDDLE % unit, side, unit)
    grid = "".join(f"M{n} 0V{side}M0 {n}H{side}" for n in steps)
    drawing = element(
        "svg",
        element("path", d=grid, class_="plane-grid")
        + element("path", d=f"M0 {MIDDLE}H{side}M{MIDDLE} 0V{side}",
                  class_="plane-axes")
        + content,
        class_=f"roles-plane-{name}", viewBox=f"-2 -2 {side + 4} {side + 4}",
        role="img", aria_label=ABOUT[name],
    )  # fmt: skip
    return element(
        "div",
        element("p", title, class_="roles-title")
        + drawing
        + element("p", numbers, class_="roles-numbers"),
        class_="roles-part",
    )


def _mark(name: str, point: Sequence[float], shape: str, text: str, kind: str) -> str:
    """A mark with its name; those that can be dragged have a wide reach."""
    below = kind.startswith(("plane-output", "plane-key is-last"))  # others are close
    reach = element("circle", r=24, class_="live-reach") if "handle" in kind else ""
    (x, y) = place(name, point)
    return element(
        "g", reach + shape + element("text", html.escape(text), y=26 if below else -12,
                                text_anchor="middle"),
        class_=kind, transform=f"translate({x:g} {y:g})",
    )  # fmt: skip


SQUARE = element("rect", x=-5, y=-5, width=10, height=10)
DISC = element("circle", r=8)
DIAMOND = element("path", d="M0 -9L9 0L0 9L-9 0Z")


def _tokens(points: np.ndarray, words: Sequence[str]) -> str:
    features = [FEATURES[n] for n in SHOWN]
    return (
        element("text", features[0], x=2 * MIDDLE - 3, y=MIDDLE + 15,
                text_anchor="end", class_="plane-axis-name")
        + element("text", features[1], x=MIDDLE - 5, y=11, text_anchor="end",
                  class_="plane-axis-name")
        + _mark("token", (0, 0), SQUARE, "", "roles-word")
        + _mark("token", points[-1], SQUARE, words[-1], "roles-word is-last")
        + _mark("token", points[ASKING], DISC, "bank", "roles-token live-handle")
    )  # fmt: skip


def _foot(found: Roles) -> np.ndarray:
    """The point on the line of the query that is closest to the last word's key."""
    return found.query * (found.query @ found.keys[-1]) / (found.query @ found.query)


def _match(found: Roles, words: Sequence[str]) -> str:
    (x, y), key = place("match", found.query), place("match", found.keys[-1])
    foot = place("match", _foot(found))
    corners = [f"{c[0]:.2f} {c[1]:.2f}" for c in (place("match", (0, 0)), foot, key)]
    return (
        element("path", d=f"M{'L'.join(corners)}", class_="roles-foot")
        + element("line", x1=MIDDLE, y1=MIDDLE, x2=x, y2=y, class_="plane-arrow")
        + _mark("match", (0, 0), SQUARE, "", "plane-key")
        + _mark("match", found.keys[ASKING], SQUARE, "bank", "plane-key is-asking")
        + _mark("match", found.keys[-1], SQUARE, words[-1],
                "plane-key is-last live-handle")
        + _mark("match", found.query, DISC, "q", "plane-query live-handle")
    )  # fmt: skip


def _values(found: Roles, words: Sequence[str]) -> str:
    (x, y) = place("value", found.output)
    pulls = "".join(
        element("line", x1=f"{x:.2f}", y1=f"{y:.2f}", x2=end[0], y2=end[1],
                class_="plane-pull",
                stroke_width=f"{THINNEST + (THICKEST - THINNEST) * weight:.2f}",
                stroke_opacity=f"{0.15 + 0.6 * weight**0.5:.3f}")
        for end, weight in zip(
            [place("value", value) for value in found.values], found.weights,
            strict=True,
        )
    )  # fmt: skip
    return (
        pulls
        + _mark("value", (0, 0), SQUARE, "", "roles-value")
        + _mark("value", found.values[ASKING], SQUARE, "bank", "roles-value is-asking")
        + _mark("value", found.values[-1], SQUARE, words[-1],
                "roles-value is-last live-handle")
        + _mark("value", found.output, DIAMOND, "y", "plane-output")
    )  # fmt: skip
