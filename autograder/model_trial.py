"""A trained model of the book runs with a reader's softmax: what changes, as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit.numpy_translator import NotANumber, Translator

EXAMPLES = 6
SHOWN = "decoder.layers.1.multihead_attn"  # the last attention to the source

Softmax = Callable[[np.ndarray], Any]


def trial(file: dict[str, Any], mine: Softmax, ours: Softmax | None) -> str:
    """HTML that compares what the translator makes of held-out dates.

    Args:
        file: the translator, as ``toolkit.playground`` gave it away.
        mine: the reader's softmax. What it raises is raised.
        ours: the book's; None where solutions are not given. The right translations
            take the place of what the model makes with it.
    """
    pairs = file["facts"]["held_out"][:EXAMPLES]
    with np.errstate(all="ignore"):
        model = Translator(file, mine)
        given = [_translation(model, source) for source, _ in pairs]
        _translation(model, pairs[0][0])  # once more, for its weights
        weights = model.attention.get(SHOWN)
        expected, title = [target for _, target in pairs], "correct"
        maps = [("with yours", weights)]
        if ours is not None:
            book = Translator(file, ours)
            expected = [_translation(book, source) for source, _ in pairs]
            title = "with the book’s"
            _translation(book, pairs[0][0])
            maps.insert(0, (title, book.attention[SHOWN]))
    rows = "".join(
        f"<tr><th scope='row'>{html.escape(source)}</th><td>{html.escape(right)}</td>"
        f"<td>{html.escape(mine)} {'✓' if mine == right else '✗'}</td></tr>"
        for (source, _), right, mine in zip(pairs, expected, given, strict=True)
    )
    same = sum(mine == right for mine, right in zip(given, expected, strict=True))
    return (
        f"<table><caption>{same} of {len(pairs)} dates come out alike.</caption>"
        f"<thead><tr><th scope='col'>date</th><th scope='col'>{title}</th>"
        f"<th scope='col'>with yours</th></tr></thead><tbody>{rows}</tbody></table>"
        + _sums(weights)
        + "".join(_map(name, part) for name, part in maps if part is not None)
    )


def _translation(model: Translator, source: str) -> str:
    try:
        return model.translate(source)
    except NotANumber:
        return "not a number"


def _sums(weights: np.ndarray | None) -> str:
    """A sentence on the rows of weights (heads, N, T)."""
    if weights is None:
        return ""
    sums = weights.sum(axis=-1)
    if np.isnan(sums).any():
        return "<p>Some weights are not a number.</p>"
    if np.allclose(sums, 1):
        return "<p>Each row of your attention weights sums to 1.</p>"
    return (
        f"<p>The rows of your attention weights sum to between {sums.min():.3g} and "
        f"{sums.max():.3g}, and not to 1.</p>"
    )


def _map(title: str, weights: np.ndarray) -> str:
    """A picture of weights (heads, N, T), the mean over the heads: darker is more."""
    mean = np.nan_to_num(weights.mean(axis=0), posinf=1.0)  # (N, T)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="background:rgb(106 61 143/{share:.2f})"></td>'
            for share in np.clip(row, 0, 1)
        )
        + "</tr>"
        for row in mean
    )
    words = (
        f"Attention {title}: from each character that is generated, top to bottom, to "
        "each character of the first date, left to right."
    )
    return (
        f"<figure class='in-page-map'><figcaption>{words}</figcaption>"
        f"<table aria-hidden='true'>{rows}</table></figure>"
    )
