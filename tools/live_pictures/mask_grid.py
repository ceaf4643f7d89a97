"""Masking: a mask that is painted cell by cell, and weights that renormalise.

Words and scores are those with which the chapter compares its ways of masking: the last
four words of its sentence, which fit a phone.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from autograder.exercise import load_topic
from tools.live_pictures.markup import (
    Picture,
    element,
    fixed,
    hint,
    listed,
    says,
)

WORDS = ("the", "bank", "for", "money")
SCORES = (
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 1.5),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 1.5, 0.0, 4.5),
)  # (N, N): a row for each query
PRESETS = ("causal", "allow all", "hide all")


def masked_weights(allowed: Sequence[Sequence[bool]]) -> np.ndarray:
    """Attention weights (N, N), by the reference of the chapter.

    Args:
        allowed: (N, N), True where a query may attend to a key.
    """
    masked_softmax = load_topic("masking").reference("masked_softmax")
    return masked_softmax(np.array(SCORES), np.array(allowed))


def sentence(allowed: Sequence[Sequence[bool]]) -> str:
    """What the picture shows, in the words of the script."""
    queries = range(len(WORDS))
    leaking = [WORDS[q] for q in queries if any(allowed[q][q + 1 :])]
    empty = [WORDS[q] for q in queries if not any(allowed[q])]
    if not leaking:
        about = "No leak: no word attends to a later one."
    elif len(leaking) == 1:
        about = f"A leak: {listed(leaking)} attends to a later word."
    else:
        about = f"Leaks: {listed(leaking)} attend to later words."
    if not empty:
        return f"{about} Each row sums to one."
    if len(empty) == 1:
        return f"{about} {listed(empty)} is fully masked, and its weights are zero."
    return f"{about} {listed(empty)} are fully masked, and their weights are zero."


def picture() -> Picture:
    """The causal mask and its weights."""
    allowed = np.tril(np.ones((len(WORDS), len(WORDS)), dtype=bool)).tolist()
    presets = "".join(
        element("button", name, type="button", class_="live-button", disabled=True)
        for name in PRESETS
    )
    body = "\n".join(
        [
            element("div", presets, class_="live-buttons noprint"),
            _grid(allowed, masked_weights(allowed)),
            says(sentence(allowed)),
            hint(
                "Press a cell to hide or allow it, or paint over several. On the "
                "keyboard, arrows move from cell to cell and Space changes one."
            ),
        ]
    )
    data = {"words": WORDS, "scores": SCORES}
    return Picture("A mask to paint", body, data)


def _grid(allowed: Sequence[Sequence[bool]], weights: np.ndarray) -> str:
    head = "".join(
        element("th", html.escape(word), scope="col", class_="mask-key")
        for word in WORDS
    )
    rows = "".join(
        element(
            "tr",
            element("th", html.escape(word), scope="row", class_="mask-query")
            + "".join(
                element("td", _cell(q, k, allowed[q][k], weights[q][k]))
                for k in range(len(WORDS))
            )
            + element("td", fixed(weights[q].sum(), 2), class_="mask-sum"),
        )
        for q, word in enumerate(WORDS)
    )
    return element(
        "table",
        element("caption", "Weights: queries in rows, keys in columns")
        + element("thead", f'<tr><th scope="col">query</th>{head}'
                           '<th scope="col">sum</th></tr>')
        + element("tbody", rows),
        class_="mask-grid",
    )  # fmt: skip


def _cell(query: int, key: int, allowed: bool, weight: float) -> str:
    """One cell: pressed where attention is allowed."""
    leak = allowed and key > query
    return element(
        "button",
        element("span", fixed(weight, 2) if allowed else "hidden"),
        type="button",
        class_="mask-cell is-leak" if leak else "mask-cell",
        aria_pressed=str(allowed).lower(),
        aria_label=cell_label(query, key, allowed, weight),
        style=f"--weight:{weight:.4f}",
        disabled=True,
    )


def cell_label(query: int, key: int, allowed: bool, weight: float) -> str:
    """What a screen reader says of a cell, in the words of the script."""
    value = fixed(weight, 2) if allowed else "hidden"
    leak = ", a leak" if allowed and key > query else ""
    return f"{value}: {WORDS[query]} to {WORDS[key]}{leak}"
