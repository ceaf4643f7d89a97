"""The language model of this book in NumPy, made of functions that the reader writes.

    model = Transformer(file, blocks)
    print(model.write('The "class" statement', rng.random(60)))

``BLOCKS`` lists the functions, in the order of a text's way through the model. The
chapter ``your_transformer`` takes them from the reader; ``take_home`` puts them and the
class into one file, which needs nothing but NumPy and the weights.
"""

from __future__ import annotations

import base64
import inspect
import math
from collections.abc import Callable, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

BLOCKS = (
    *("merge_pair", "bpe_encode", "layer_norm", "split_heads", "rotary_embedding"),
    *("causal_mask", "masked_softmax", "scaled_dot_product_attention"),
    *("merge_heads", "feed_forward", "filter_logits", "sample_tokens", "bpe_decode"),
)
CONTEXT = 64  # tokens of a training window, and the most that the model reads


class Transformer:
    """A decoder-only transformer with rotary positions, normalised first.

    Args:
        file: the weights, the number of heads and the merges of the trained model.
        blocks: the functions by name; any not in ``BLOCKS`` are ignored.
    """

    def __init__(self, file: dict[str, Any], blocks: Mapping[str, Callable]) -> None:
        self.weights = tensors(file)
        self.heads = file["facts"]["heads"]
        self.merges = [tuple(pair) for pair in file["facts"]["merges"]]
        self.blocks = SimpleNamespace(**blocks)
        self.layers = sum(name.endswith("norm1.weight") for name in self.weights)

    def write(self, prompt: str, uniform: np.ndarray, temperature: float = 0.8) -> str:
        """Continue a text by one token for each random number in ``uniform`` (n,).

        Tokens are drawn from the most probable nine tenths of the distribution. An
        empty prompt is read as an empty line.
        """
        ids = self.blocks.bpe_encode(prompt or "\n", self.merges)
        for number in uniform:
            logits = self.logits(np.array([ids[-CONTEXT:]]))[:, -1]  # (1, V)
            logits = self.blocks.filter_logits(logits, top_p=0.9)
            chosen = self.blocks.sample_tokens(logits, np.array([number]), temperature)
            ids = [*ids, int(chosen[0])]
        return self.blocks.bpe_decode(ids, self.merges)

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """(B, T) ids -> (B, T, V) logits of the token after each of them."""
        mask = self.blocks.causal_mask(ids.shape[1])
        x = self.weights["embedding.weight"][ids]  # (B, T, E)
        for number in range(self.layers):
            layer = f"layers.{number}"
            x = x + self.attend(layer, self.norm(f"{layer}.norm1", x), mask)
            x = x + self.feed(layer, self.norm(f"{layer}.norm2", x))
        return self.norm("norm", x) @ self.weights["embedding.weight"].T

    def attend(self, layer: str, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(B, T, E) what the tokens retrieve from each other, in all heads."""
        projected = self.linear(f"{layer}.in_proj", x)  # (B, T, 3 E)
        query, key, value = (
            self.blocks.split_heads(part, self.heads)  # (B, h, T, d)
            for part in np.split(projected, 3, axis=-1)
        )
        positions = np.arange(x.shape[1])
        query = self.blocks.rotary_embedding(query, positions)
        key = self.blocks.rotary_embedding(key, positions)
        output, _ = self.blocks.scaled_dot_product_attention(query, key, value, mask)
        return self.linear(f"{layer}.out_proj", self.blocks.merge_heads(output))

    def feed(self, layer: str, x: np.ndarray) -> np.ndarray:
        """(B, T, E) the feed-forward layer, token by token."""
        first, second = f"{layer}.linear1", f"{layer}.linear2"
        return self.blocks.feed_forward(
            x,
            self.weights[f"{first}.weight"].T,
            self.weights[f"{first}.bias"],
            self.weights[f"{second}.weight"].T,
            self.weights[f"{second}.bias"],
        )

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        """(B, T, E) normalised tokens."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.blocks.layer_norm(x, weight, bias)

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        """(..., D) -> (..., F) with the weight (F, D) and the bias (F,) of a module."""
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]


def tensors(file: dict[str, Any]) -> dict[str, np.ndarray]:
    """The tensors of a file by torch's names, as float64.

    In format 1 all numbers are float32. In format 2, each row of a matrix is a scale
    times whole numbers from -127 to 127: first all scales (float32), then one byte for
    each number.

    Raises:
        ValueError: the file has another format.
    """
    if file["format"] not in (1, 2):
        raise ValueError(f"weights of format {file['format']}; expected 1 or 2")
    data, start, found = base64.b64decode(file["numbers"]), 0, {}
    for name, shape in file["tensors"]:
        count = math.prod(shape)
        rows = count if file["format"] == 1 or len(shape) < 2 else count // shape[-1]
        numbers = np.frombuffer(data, "<f4", rows, start).astype(float)
        start += 4 * rows
        if rows < count:
            steps = np.frombuffer(data, np.int8, count, start)
            numbers = numbers[:, None] * steps.reshape(rows, -1)
            start += count
        found[name] = numbers.reshape(shape)
    return found


def windows(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut a text into inputs (W, 64), and targets (W, 32) of their second halves.

    Windows overlap by half, so that each target has 32 tokens before it at least.
    """
    found = np.lib.stride_tricks.sliding_window_view(ids, CONTEXT + 1)[:: CONTEXT // 2]
    return found[:, :-1], found[:, CONTEXT // 2 + 1 :]


def in_one_file(blocks: Mapping[str, FunctionType]) -> dict[str, FunctionType]:
    """Functions that find each other under their names, as if one file had them all.

    Without this, the book's attention would call the book's softmax, and no other.
    """
    made = {}
    for name, block in blocks.items():
        made[name] = FunctionType(
            block.__code__, {**block.__globals__}, name, block.__defaults__,
            block.__closure__,
        )  # fmt: skip
        made[name].__kwdefaults__ = block.__kwdefaults__
    for function in made.values():
        function.__globals__.update(made)
    return made


HEAD = '''\
"""A small language model in NumPy. Its weights are in {name}.json, beside it.

    python {name}.py 'The "class" statement'
"""

'''
IMPORTS = """\
from __future__ import annotations

import base64
import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
"""
MAIN = """\
if __name__ == "__main__":
    file = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="ascii"))
    prompt = sys.argv[1] if len(sys.argv) > 1 else 'The "class" statement'
    uniform = np.random.default_rng().random(60)
    print(Transformer(file, globals()).write(prompt, uniform))
"""


def take_home(sources: Mapping[str, str], name: str = "my_transformer") -> str:
    """One file with all of the model but its weights.

    Args:
        sources: the functions of ``BLOCKS`` by name, as Python code.
        name: of the file, which finds its weights in the JSON file of this name.
    """
    own = [f"CONTEXT = {CONTEXT}", *map(inspect.getsource, (Transformer, tensors))]
    parts = [*(sources[block] for block in BLOCKS), *own, MAIN]
    whole = [IMPORTS, *(part.strip("\n") + "\n" for part in parts)]
    return HEAD.format(name=name) + "\n\n".join(whole)
