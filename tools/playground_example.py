"""What a playground would show, where it cannot run.

Besides its model, a chapter can export what PyTorch's model did with one text, as the
fact ``example``. The place of its picture, which is for paper and for browsers without
JavaScript, is ``<div data-playground-example="NAME"></div>``. The numbers are those of
the chapter's last execution:

    tokens   the text, token by token
    weights  what the last token puts on each of them, in one head
    layer    number of that head's layer, from 1
    head     its number, from 1
    next     pairs of a token and its probability, the most probable one first
"""

from __future__ import annotations

import html
from typing import Any


def picture_of(example: dict[str, Any]) -> str:
    """HTML: the text, shaded by what its last token attends to, and bars below.

    Args:
        example: as the module's docstring describes it.
    """
    last = len(example["tokens"]) - 1
    words = "".join(
        f'<span style="--weight: {weight:.3f}"{_classes(weight, n == last)}>'
        f"{html.escape(token)}</span>"
        for n, (token, weight) in enumerate(
            zip(example["tokens"], example["weights"], strict=True)
        )
    )
    bars = "".join(
        f"<tr><th>{html.escape(token)}</th>"
        f'<td><span class="playground-bar" style="--share: {share:.4f}"></span></td>'
        f"<td>{100 * share:.1f} %</td></tr>"
        for token, share in example["next"]
    )
    likely = ", ".join(
        f"“{html.escape(token)}” with {100 * share:.1f} %"
        for token, share in example["next"][:3]
    )
    return (
        '<div class="playground-example">'
        f'<div role="img" aria-label="Tokens of a text and bars. The likeliest next '
        f'tokens are {likely}.">'
        f'<p class="playground-example-tokens">{words}</p>'
        f'<table class="playground-shares"><tbody>{bars}</tbody></table></div>'
        f"<p>What the board shows for one text: its tokens, shaded by the weight that "
        f"the last one puts on each of them in layer {example['layer']}, head "
        f"{example['head']}, and the most probable next tokens at temperature 1.</p>"
        "</div>"
    )


def _classes(weight: float, is_query: bool) -> str:
    names = ["is-query"] * is_query + ["is-strong"] * (weight > 0.75)
    return f' class="{" ".join(names)}"' if names else ""
