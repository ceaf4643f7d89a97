"""A trained model of the book runs with a function of a reader; what it writes."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit.numpy_translator import NotANumber, Translator

EXAMPLES = 3

# Exercises whose answer runs in the translator, and where it does.
PLACES = {
    "softmax": "in all its attention layers",
    "masked_softmax": "wherever it must not look ahead",
    "attention": "in each of its heads that sees everything",
    "scaled_dot_product_attention": "in all its attention layers",
    "merge_heads": "in all its attention layers",
    "layer_norm": "in front of each of its layers",
    "feed_forward": "in each of its layers",
    "greedy_decode": "and chooses what it writes",
}


def trial(file: dict[str, Any], name: str, mine: Callable[..., Any]) -> str:
    """HTML of what the translator makes of some held-out dates.

    Args:
        file: the translator, as ``toolkit.playground`` gave it away.
        name: of the exercise: which part of the model it takes the place of.
        mine: the reader's function. What it raises is raised.
    """
    held_out = [source for source, _ in file["facts"]["held_out"]]
    texts = sorted(held_out, key=lambda text: not text.isascii())[:EXAMPLES]
    with np.errstate(all="ignore"):
        model = Translator(file, **{name: mine})
        shown = [(text, _translation(model, text)) for text in texts]
    rows = "".join(
        f"<li><span>{html.escape(text)}</span> → <strong>{html.escape(said)}</strong>"
        for text, said in shown
    )
    return (
        f"<p><strong>Your {name} now runs inside a trained translator of dates</strong>"
        f", {PLACES[name]}:</p><ul class='in-page-model'>{rows}</ul>"
    )


def _translation(model: Translator, source: str) -> str:
    try:
        return model.translate(source)
    except NotANumber:
        return "not a number"
