"""The language model of the book runs with functions of a reader, in the page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.exercise import Implementation, find_topic
from autograder.parsing import without_docstrings
from toolkit.your_transformer import (
    BLOCKS,
    Transformer,
    in_one_file,
    take_home,
    windows,
)


def references() -> dict[str, Implementation]:
    """The book's blocks by name."""
    return {name: find_topic(name).reference(name) for name in BLOCKS}


def trial(
    file: dict[str, Any],
    own: Mapping[str, Callable[..., Any]],
    prompt: str,
    dice: Sequence[Sequence[float]],
    ids: Sequence[int],
) -> dict[str, Any]:
    """What the model makes of some blocks.

    Args:
        file: the model, as ``toolkit.playground`` gave it away.
        own: the reader's blocks; of all others, the book's are used. What they raise is
            raised.
        prompt: the beginning of each text.
        dice: for each text, a random number for each token.
        ids: tokens of a text that was held out from training.

    Returns:
        ``texts``, and the ``perplexity`` of the held-out text.
    """
    model = Transformer(file, in_one_file(references() | own))
    with np.errstate(all="ignore"):
        texts = [model.write(prompt, np.array(numbers)) for numbers in dice]
        inputs, targets = windows(np.array(ids))
        logits = model.logits(inputs)[:, -targets.shape[1] :]
    perplexity = find_topic("perplexity").reference("perplexity")
    return {"texts": texts, "perplexity": perplexity(logits, targets)}


def program(own: Mapping[str, str]) -> str:
    """The file to take home.

    Args:
        own: sources of the reader's blocks; of all others, the book's are used.
    """
    book = {
        name: without_docstrings(inspect.getsource(reference))
        for name, reference in references().items()
    }
    marks = {name: "yours" if name in own else "the book's" for name in BLOCKS}
    sources = book | own
    return take_home({n: f"# {marks[n]}\n{sources[n].strip()}" for n in BLOCKS})
