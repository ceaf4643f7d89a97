"""The picture of attention at the top of the start page: a sentence to explore.

A reader chooses a word, and sees how strongly it matches every other one and what its
vector becomes. The vectors are those that the first chapter makes by hand. Queries,
keys and values are the vectors themselves, as there; projections come in chapter 2.

What is drawn without JavaScript is computed when the book is built, with the reference
of chapter 1. ``chapters/_static/attention_scene.js`` computes all that follows from
the same vectors, which stand in the page.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from autograder.exercise import load_topic
from toolkit.running_example import FEATURES, VECTORS, WORDS

OPENING = WORDS[:-1]
LAST = ("money", "river")  # either may be the last word
ASKING = "bank"

COLUMN, DEPTH = 100, 100  # of the drawing of lines, which is stretched to its place
THINNEST, THICKEST = 1.0, 20.0  # pixels, for weights of 0 and 1
LARGEST = 3.0  # of a feature, where its bar is full


class Step(NamedTuple):
    """Attention with one word as the query: ``weights`` (N,) and ``output`` (D,)."""

    weights: np.ndarray
    output: np.ndarray


def attend(words: Sequence[str], asking: int) -> Step:
    """One step of attention, by the reference of chapter 1.

    Args:
        words: N words, each with a vector.
        asking: the place of the query among them.
    """
    inputs = np.array([VECTORS[word] for word in words])  # (N, D)
    reference = load_topic("simplified_attention").reference("attend")
    output, weights = reference(inputs[asking], inputs)
    return Step(weights, output)


def percent(weight: float) -> str:
    """A weight as readers see it, such as ``40 %`` with a space that never breaks."""
    return f"{weight * 100:.0f}\N{NO-BREAK SPACE}%"


def sentence(words: Sequence[str], asking: int, step: Step) -> str:
    """What the picture shows, in words; the script says it in the same ones."""
    word, best = words[asking], int(step.weights.argmax())
    if np.ptp(step.weights) < 1e-9:
        return (
            f"The vector of “{word}” is all zeros, so every word matches it equally "
            f"well and gets {percent(step.weights[best])} of the weight."
        )
    target = "itself" if best == asking else f"“{words[best]}”"
    largest = int(step.output.argmax())
    return (
        f"“{word}” gives its largest weight, {percent(step.weights[best])}, to "
        f"{target}. In the new vector, {FEATURES[largest]} is the largest feature: "
        f"{step.output[largest]:.2f}."
    )


def curve(asking: int, key: int) -> str:
    """The line from a query, below, to a key, above."""
    start, end = (COLUMN * (place + 0.5) for place in (asking, key))
    middle = DEPTH / 2
    return f"M{start:g} {DEPTH}C{start:g} {middle:g} {end:g} {middle:g} {end:g} 0"


def thickness(weight: float) -> float:
    """Pixels of a line."""
    return THINNEST + (THICKEST - THINNEST) * weight


def opacity(weight: float) -> float:
    """Of a line: even a small weight is seen."""
    return 0.2 + 0.8 * weight**0.5


def scene_html() -> str:
    """The scene as it is before anything was chosen."""
    words = (*OPENING, LAST[0])
    asking = words.index(ASKING)
    step = attend(words, asking)
    data = {
        "features": FEATURES,
        "vectors": VECTORS,
        "opening": OPENING,
        "last": LAST,
        "column": COLUMN,
        "depth": DEPTH,
        "thinnest": THINNEST,
        "thickest": THICKEST,
        "largest": LARGEST,
    }
    return "\n".join(
        [
            '<div class="attention-scene" role="group" '
            'aria-label="Attention in one sentence">',
            _last_words(),
            '<div class="scene-picture">',
            _keys(words, step),
            _lines(words, asking, step),
            _queries(words, asking),
            "</div>",
            _outputs(words[asking], step),
            f'<p class="scene-says" aria-live="polite">'
            f"{html.escape(sentence(words, asking, step))}</p>",
            f'<script type="application/json">{_json(data)}</script>',
            "</div>",
        ]
    )


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _radio(group: str, value: str, text: str, chosen: bool) -> str:
    """A choice, which does nothing until the script takes over."""
    checked = " checked" if chosen else ""
    return (
        f'<label><input type="radio" name="{group}" value="{value}"{checked} disabled>'
        f"<span>{html.escape(text)}</span></label>"
    )


def _last_words() -> str:
    choices = "".join(_radio("scene-last", w, w, w == LAST[0]) for w in LAST)
    begin = html.escape(" ".join(OPENING).capitalize())
    return (
        '<fieldset class="scene-last"><legend class="visually-hidden">Last word of the '
        f'sentence</legend><span>{begin}</span> <span class="scene-choices">{choices}'
        "</span></fieldset>"
    )


def _keys(words: Sequence[str], step: Step) -> str:
    cells = "".join(
        f'<li style="--weight:{weight:.4f}"><span class="scene-percent">'
        f'{percent(weight)}</span><span class="scene-bar"></span>'
        f'<span class="scene-key">{html.escape(word)}</span></li>'
        for word, weight in zip(words, step.weights, strict=True)
    )
    return f'<ul class="scene-keys" aria-label="Weight of each word">{cells}</ul>'


def _lines(words: Sequence[str], asking: int, step: Step) -> str:
    paths = "".join(
        f'<path d="{curve(asking, key)}" stroke-width="{thickness(weight):.2f}" '
        f'stroke-opacity="{opacity(weight):.3f}"/>'
        for key, weight in enumerate(step.weights)
    )
    return (
        f'<svg class="scene-lines" viewBox="0 0 {COLUMN * len(words)} {DEPTH}" '
        f'preserveAspectRatio="none" aria-hidden="true" focusable="false">{paths}</svg>'
    )


def _queries(words: Sequence[str], asking: int) -> str:
    choices = "".join(
        _radio("scene-query", str(place), word, place == asking)
        for place, word in enumerate(words)
    )
    return (
        '<fieldset class="scene-queries"><legend class="visually-hidden">Query: the '
        f"word that looks at the others</legend>{choices}</fieldset>"
    )


def _outputs(word: str, step: Step) -> str:
    rows = "".join(
        f'<tr style="--before:{before / LARGEST:.4f};--after:{after / LARGEST:.4f}">'
        f'<th scope="row">{feature}</th><td class="scene-before">{before:.2f}</td>'
        f'<td class="scene-after">{after:.2f}</td>'
        '<td class="scene-track" aria-hidden="true"><span></span></td></tr>'
        for feature, before, after in zip(
            FEATURES, VECTORS[word], step.output, strict=True
        )
    )
    return (
        '<table class="scene-output"><caption>The vector of <b class="scene-word">'
        f"{html.escape(word)}</b></caption>"
        '<thead><tr><th scope="col">feature</th><th scope="col">alone</th>'
        '<th scope="col">after attention</th><td aria-hidden="true"></td></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
