"""A trained model of the book runs with a reader's softmax: what it writes, as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit.numpy_translator import NotANumber, Translator

EXAMPLES = 3

Softmax = Callable[[np.ndarray], Any]


def trial(file: dict[str, Any], mine: Softmax) -> str:
    """HTML of what the translator makes of some held-out dates.

    Args:
        file: the translator, as ``toolkit.playground`` gave it away.
        mine: the reader's softmax. What it raises is raised.
    """
    held_out = [source for source, _ in file["facts"]["held_out"]]
    texts = sorted(held_out, key=lambda text: not text.isascii())[:EXAMPLES]
    with np.errstate(all="ignore"):
        model = Translator(file, mine)
        shown = [(text, _translation(model, text)) for text in texts]
    rows = "".join(
        f"<li><span>{html.escape(text)}</span> → <strong>{html.escape(said)}</strong>"
        for text, said in shown
    )
    return (
        "<p><strong>Your softmax now runs inside a trained translator of dates</strong>"
        f", in all its attention layers:</p><ul class='in-page-model'>{rows}</ul>"
    )


def _translation(model: Translator, source: str) -> str:
    try:
        return model.translate(source)
    except NotANumber:
        return "not a number"
