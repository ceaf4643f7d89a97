"""What all live pictures are made of: elements, and numbers as readers see them.

``chapters/_static/live_pictures/live.js`` writes numbers in the same way.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

from tools.attention_scene import percent


class Picture(NamedTuple):
    """A picture in its first state.

    Attributes:
        label: its name, for a screen reader.
        body: its HTML.
        data: all that its script needs, as JSON can hold it.
    """

    label: str
    body: str
    data: dict[str, Any]


def element(tag: str, content: str = "", **attributes: object) -> str:
    """An element of HTML or SVG.

    Args:
        tag: its name.
        content: HTML, which has to be escaped already.
        attributes: their values are escaped; those that are None or False are left
            out, and True stands for an attribute without a value. ``class_`` is
            ``class``, and other underscores are hyphens.
    """
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{tag}{written}>{content}</{tag}>"


def fixed(number: float, decimals: int) -> str:
    """A number such as ``−0.25``, with a real minus sign and never ``−0.00``."""
    text = f"{number:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def listed(words: Sequence[str]) -> str:
    """Quoted words, such as ``“she”, “visits” and “the”``."""
    quoted = [f"“{word}”" for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def says(sentence: str) -> str:
    """The line that says in words what the picture shows."""
    return element("p", html.escape(sentence), class_="live-says", aria_live="polite")


def hint(sentence: str) -> str:
    """How to move the picture; it is seen when it can be moved."""
    return element("p", html.escape(sentence), class_="live-hint noprint")


def choice(group: str, legend: str, options: Sequence[str], chosen: int) -> str:
    """One of several options, in a box; see ``radios``."""
    return element(
        "fieldset",
        element("legend", html.escape(legend)) + radios(group, options, chosen),
        class_="live-choice",
    )


def radios(group: str, options: Sequence[str], chosen: int) -> str:
    """Buttons of which one is pressed; they work once the script takes over."""
    return "".join(
        element(
            "label",
            f'<input type="radio" name="{group}" value="{place}"'
            f"{' checked' * (place == chosen)} disabled>"
            + element("span", html.escape(option)),
        )
        for place, option in enumerate(options)
    )


def word_table(
    words: Sequence[str], scores: Sequence[float], weights: Sequence[float]
) -> str:
    """Words, each with its score and its weight, which a bar shows as well."""
    rows = "".join(
        element(
            "tr",
            element("th", html.escape(word), scope="row")
            + element("td", fixed(score, 2), class_="live-score")
            + element("td", percent(weight), class_="live-weight")
            + '<td class="live-track" aria-hidden="true"><span></span></td>',
            style=f"--weight:{weight:.4f}",
        )
        for word, score, weight in zip(words, scores, weights, strict=True)
    )
    head = (
        '<tr><th scope="col">word</th><th scope="col">score</th>'
        '<th scope="col">weight</th><td aria-hidden="true"></td></tr>'
    )
    return element(
        "table",
        element("thead", head) + element("tbody", rows),
        class_="live-table",
    )
