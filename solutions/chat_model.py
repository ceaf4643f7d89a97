"""A published chat model: its weights, its template, and the loop that writes.

Symbols, in this file and in the chapter:

    h heads of a layer    d width of a head    D width of the model    V vocabulary
"""

from collections.abc import Callable

import numpy as np


def dequantise(blocks: np.ndarray) -> np.ndarray:
    """Turn blocks of 4-bit codes back into weights.

    weight = scale * code + offset. Byte j of a block holds the code of weight j in its
    lower four bits, and that of weight j + 16 in its upper four.

    Args:
        blocks: (..., n) structured array with the fields scale and offset, both
            float16, and codes, 16 bytes.

    Returns:
        (..., 32 n) float32 weights, computed in float32.

    Source: the type Q4_1 of the GGUF format, llama.cpp.
    """
    low, high = blocks["codes"] & 15, blocks["codes"] >> 4  # (..., n, 16)
    codes = np.concatenate([low, high], axis=-1)  # (..., n, 32)
    scale, offset = (
        blocks[field].astype(np.float32)[..., None] for field in ("scale", "offset")
    )
    return (scale * codes + offset).reshape(*blocks.shape[:-1], -1)


def halves_from_neighbours(weight: np.ndarray, num_heads: int) -> np.ndarray:
    """Reorder a projection for a rotary embedding that pairs halves.

    Rows 2i and 2i + 1 of each head, which were a pair, become rows i and i + d/2.

    Args:
        weight: (h*d, D) projection to queries or keys, used as ``x @ weight.T``; the
            rows of a head are consecutive.
        num_heads: h.

    Returns:
        (h*d, D) the same rows in the other order.
    """
    pairs = weight.reshape(num_heads, -1, 2, weight.shape[-1])  # (h, d/2, 2, D)
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def chat_prompt(messages: list[tuple[str, str]], special: dict[str, str]) -> str:
    r"""Write a conversation as the text that a chat model continues.

    A message is the start token, its role, "\n", its text, the end token, "\n". The
    prompt ends with the start token, "assistant" and "\n".

    Args:
        messages: pairs of a role, such as "user", and a text.
        special: the special tokens, under "start" and "end".

    Returns:
        The prompt.

    Source: the chat template of SmolLM2-135M-Instruct.
    """
    start, end = special["start"], special["end"]
    turns = [f"{start}{role}\n{text}{end}\n" for role, text in messages]
    return "".join(turns) + f"{start}assistant\n"


def generate(
    forward: Callable[[list[int]], np.ndarray],
    prompt_ids: list[int],
    end_id: int,
    max_new: int,
    choose: Callable[[np.ndarray], int],
) -> list[int]:
    """Continue a prompt with a model that has a cache.

    Args:
        forward: takes n new ids and gives logits (n, V), row i for the id that follows
            the i-th; remembers all ids that it has been given.
        prompt_ids: the prompt, in a single call of ``forward``.
        end_id: generation stops after this id.
        max_new: stop after this many ids, at least one.
        choose: picks an id from logits (V,).

    Returns:
        The new ids, with ``end_id`` if it was reached.
    """
    logits, ids = forward(prompt_ids), []
    while True:
        ids.append(choose(logits[-1]))
        if ids[-1] == end_id or len(ids) == max_new:
            return ids
        logits = forward(ids[-1:])
