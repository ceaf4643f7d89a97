"""Multi-head attention: one sentence, attended to by one head after another.

The words, their features and the projections are those that the chapter sets by hand.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autograder.exercise import load_topic
from toolkit.running_example import FEATURES, VECTORS, WORDS
from tools.attention_scene import percent
from tools.live_pictures.markup import (
    Picture,
    choice,
    element,
    fixed,
    hint,
    radios,
    says,
)

# Each column of a projection sums some features; the first half are those of head 1.
SHARPNESS = 2.0  # of the queries
QUERIES = (("finance",), ("water",), ("finance", "action"), ("finance", "person"))
KEYS = (("finance",), ("water",), ("person",), ("action",))
OUTPUT = ("person", "finance")  # what a head passes on
VALUES = tuple((name,) for name in OUTPUT) * 2

VIEWS = ("head 1: topic", "head 2: who does what", "one head for both")
START = (0, WORDS.index("bank"))  # the view and the query
LEAST = 0.1  # weights below this are not put into words
ROOM = 100  # of the drawing of lines, from query to key; each word has a height of 1
THICKEST = 8.0  # pixels, of a line with all the weight


class Reading(NamedTuple):
    """Weights (h, N, N) of all heads, and their concatenated outputs (N, E)."""

    weights: np.ndarray
    output: np.ndarray


def tokens() -> np.ndarray:
    """(N, E) the words, a row each."""
    return np.array([VECTORS[word] for word in WORDS])


def selecting(columns: Sequence[Sequence[str]]) -> np.ndarray:
    """(E, len(columns)) a projection whose columns sum the features they list."""
    return np.array([[float(f in column) for column in columns] for f in FEATURES])


def read(num_heads: int) -> Reading:
    """The sentence, read by the reference of the chapter.

    The output projection is the identity, so the outputs of the heads stay visible.
    """
    reference = load_topic("multi_head").reference("multi_head_attention")
    projections = SHARPNESS * selecting(QUERIES), selecting(KEYS), selecting(VALUES)
    output, weights = reference(
        tokens()[None], *projections, np.eye(len(FEATURES)), num_heads
    )
    return Reading(weights[0], output[0])


def heads_of(view: int) -> tuple[int, int]:
    """How many heads a view has, and which of them it shows."""
    return (1, 0) if view == 2 else (2, view)


def sentence(view: int, query: int, weights: Sequence[float]) -> str:
    """What the picture shows, in the words of the script.

    Args:
        view: the place in ``VIEWS``.
        query: the place of the word in the sentence.
        weights: (N,) those of this query.
    """
    where = ("In head 1", "In head 2", "In a single head")[view]
    filled = (
        "The output of this head is the first half of the concatenation.",
        "The output of this head is the second half of the concatenation.",
        "Both halves of its output hold this one average.",
    )[view]
    word = f"“{WORDS[query]}”"
    if max(weights) - min(weights) < 1e-9:
        share = percent(weights[query])
        return f"{where}, {word} attends to all words equally, {share} each. {filled}"
    named = [
        ("itself" if key == query else f"“{WORDS[key]}”") + f" ({percent(weight)})"
        for key, weight in enumerate(weights)
        if weight >= LEAST
    ]
    most = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f"{where}, {word} attends to {most}. {filled}"


def picture() -> Picture:
    """The first head, and both outputs for one word."""
    view, query = START
    num_heads, head = heads_of(view)
    weights, output = read(num_heads)
    x = tokens()
    body = "\n".join(
        [
            choice("head-loop-view", "Follow", VIEWS, view),
            element(
                "div",
                _sentence(query, weights[head]) + _outputs(view, output[query]),
                class_="live-columns",
            ),
            says(sentence(view, query, weights[head, query].tolist())),
            hint(
                "Press a word on the left to make it the query, or use the arrow keys. "
                "Then look at it through the other head."
            ),
        ]
    )
    data = {
        "words": WORDS,
        "queries": (SHARPNESS * x @ selecting(QUERIES)).astype(int).tolist(),
        "keys": (x @ selecting(KEYS)).astype(int).tolist(),
        "values": (x @ selecting(VALUES)).astype(int).tolist(),
        "least": LEAST,
        "thickest": THICKEST,
    }
    return Picture("One sentence, two heads", body, data)


def _sentence(query: int, weights: np.ndarray) -> str:
    """The words as queries and as keys, and lines between them."""
    N = len(WORDS)
    words = radios("head-loop-query", WORDS, query)
    queries = element(
        "fieldset", element("legend", "query") + words, class_="heads-queries"
    )
    lines = "".join(
        element("path", d=f"M0 {q + 0.5}L{ROOM} {k + 0.5}",
                class_="is-asking" if q == query else "",
                stroke_width=f"{THICKEST * weights[q, k]:.2f}")
        for q in range(N) for k in range(N)
    )  # fmt: skip
    drawing = element(
        "svg", lines, class_="heads-lines", viewBox=f"0 0 {ROOM} {N}",
        preserveAspectRatio="none", role="img",
        aria_label="Lines from each word of the sentence, as a query, to the words "
        "that it attends to in this head, as keys. The thicker a line, the larger is "
        "the weight.",
    )  # fmt: skip
    rows = "".join(
        element(
            "tr",
            element("th", html.escape(word), scope="row")
            + element("td", percent(float(weights[query, key])), class_="live-weight"),
        )
        for key, word in enumerate(WORDS)
    )
    head = '<tr><th scope="col">key</th><th scope="col">weight</th></tr>'
    keys = element(
        "table",
        element("thead", head) + element("tbody", rows),
        class_="live-table heads-keys",
    )
    return element("div", queries + drawing + keys, class_="heads-sentence")


def _outputs(view: int, output: np.ndarray) -> str:
    """The outputs side by side, by feature, and below them one after the other."""
    width = len(OUTPUT)
    num_heads, shown = heads_of(view)

    def chosen(half: int) -> str:
        return " is-chosen" if num_heads == 1 or half == shown else ""

    def cell(tag: str, feature: int) -> str:
        value = float(output[feature])
        return element(
            tag, fixed(value, 2), class_=f"heads-value{chosen(feature // width)}",
            style=f"--value:{value:.4f}",
        )  # fmt: skip

    names = "".join(
        element("th", element("span", "one head" if num_heads == 1 else f"head {n}"),
                scope="col", class_=f"heads-name{chosen(n - 1)}")
        for n in (1, 2)
    )  # fmt: skip
    rows = "".join(
        element(
            "tr",
            element("th", name, scope="row") + cell("td", n) + cell("td", n + width),
        )
        for n, name in enumerate(OUTPUT)
    )
    table = element(
        "table",
        element("caption", "Output for " + element("b", html.escape(WORDS[START[1]])))
        + element("thead", f'<tr><th scope="col">feature</th>{names}</tr>')
        + element("tbody", rows),
        class_="live-table heads-output",
    )
    joined = "".join(cell("li", n) for n in range(2 * width))
    return element(
        "div",
        table
        + element("p", "Concatenated", class_="heads-title", id="heads-joined")
        + element("ol", joined, class_="heads-joined", aria_labelledby="heads-joined"),
        class_="heads-outputs",
    )
