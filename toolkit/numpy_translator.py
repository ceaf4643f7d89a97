"""The translator of the chapter on training, in NumPy, with any softmax or attention.

Pages run it with the function that a reader wrote. The weights are those that the
chapter gives away with ``toolkit.playground``, whose docstring describes the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit.your_transformer import tensors

START, END, FIRST_CHARACTER = 1, 2, 3  # ids; 0 is padding
LENGTH = 11  # ten characters and the end
EPS = 1e-5  # of layer norms, as in torch


Attention = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


class NotANumber(ArithmeticError):
    """A prediction of the model is NaN."""


class Translator:
    """Reads a date and generates YYYY-MM-DD, the most probable character each time.

    Args:
        file: what ``toolkit.playground.packed`` made of the trained model.
        softmax: turns scores (heads, N, T) into weights along the last axis; NumPy's
            if it is None.
        attention: takes queries (N, d), keys (T, d) and values (T, d) and gives outputs
            (N, d) and weights; in the place of our own wherever nothing is masked.

    Attributes:
        attention: (heads, N, T) the weights of each attention when it last ran, by the
            name of its module.
    """

    def __init__(
        self,
        file: dict[str, Any],
        softmax: Callable[[np.ndarray], Any] | None = None,
        attention: Attention | None = None,
    ) -> None:
        self.facts, self.softmax = file["facts"], softmax or _softmax
        self.attention_of_a_head = attention
        self.weights = tensors(file)
        self.attention: dict[str, np.ndarray] = {}

    def translate(self, text: str) -> str:
        """The date that the model generates from a text.

        Raises:
            ValueError: softmax gives no array, or one of another shape.
            NotANumber: so many weights are NaN that a prediction is.
        """
        source = [self.facts["source"].index(c) + FIRST_CHARACTER for c in text]
        memory = self.read(source)  # (T, E)
        prefix = [START]
        for _ in range(LENGTH):
            logits = self.write(prefix, memory)[-1]  # (V,)
            if np.isnan(logits).any():
                raise NotANumber("a prediction of the model is not a number")
            token = int(logits.argmax())
            if token == END:
                break
            prefix.append(token)
        target = ["", "", "", *self.facts["target"]]
        return "".join(target[token] for token in prefix)

    def read(self, source: list[int]) -> np.ndarray:
        """(T, E) memory of T ids."""
        x = self._embed("source_table", source)  # (T, E)
        for layer in self._layers("encoder"):
            x = x + self._attend(f"{layer}.self_attn", self._norm(f"{layer}.norm1", x))
            x = x + self._feed_forward(layer, self._norm(f"{layer}.norm2", x))
        return self._norm("encoder.norm", x)

    def write(self, prefix: list[int], memory: np.ndarray) -> np.ndarray:
        """(t, V) logits of the token after each of t positions; memory is (T, E)."""
        x = self._embed("target_table", prefix)  # (t, E)
        past = np.tri(len(prefix), dtype=bool)  # (t, t)
        for layer in self._layers("decoder"):
            own, cross = f"{layer}.self_attn", f"{layer}.multihead_attn"
            x = x + self._attend(own, self._norm(f"{layer}.norm1", x), allowed=past)
            x = x + self._attend(cross, self._norm(f"{layer}.norm2", x), memory)
            x = x + self._feed_forward(layer, self._norm(f"{layer}.norm3", x))
        return self._linear("output", self._norm("decoder.norm", x))

    def _attend(
        self,
        name: str,
        x: np.ndarray,
        memory: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
    ) -> np.ndarray:
        """(N, E) what N positions read from a memory (T, E), or from each other."""
        heads, (N, E) = self.facts["heads"], x.shape
        inputs = (x, *2 * (x if memory is None else memory,))
        packed = zip(
            inputs,
            np.split(self.weights[f"{name}.in_proj_weight"], 3),
            np.split(self.weights[f"{name}.in_proj_bias"], 3),
            strict=True,
        )
        q, k, v = (
            (y @ W.T + b).reshape(len(y), heads, -1).swapaxes(0, 1)  # (heads, N, d)
            for y, W, b in packed
        )
        if self.attention_of_a_head and allowed is None:
            heads = zip(q, k, v, strict=True)
            read = np.stack([self.attention_of_a_head(*head)[0] for head in heads])
            return self._linear(f"{name}.out_proj", read.swapaxes(0, 1).reshape(N, E))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(E // heads)  # (heads, N, T)
        if allowed is not None:
            scores = np.where(allowed, scores, -np.inf)
        weights = np.asarray(self.softmax(scores.copy()), dtype=float)
        if weights.shape != scores.shape:
            raise ValueError(
                f"softmax made weights of shape {weights.shape} of scores of shape "
                f"{scores.shape}; the shapes must be equal"
            )
        self.attention[name] = weights
        read = (weights @ v).swapaxes(0, 1).reshape(N, E)  # (N, E)
        return self._linear(f"{name}.out_proj", read)

    def _layers(self, stack: str) -> list[str]:
        names = {name.rpartition(".self_attn.")[0] for name in self.weights}
        return sorted(name for name in names if name.startswith(f"{stack}.layers."))

    def _embed(self, table: str, ids: list[int]) -> np.ndarray:
        """(N, E) embeddings plus sinusoids."""
        found = self.weights[f"{table}.weight"][ids]  # (N, E)
        N, E = found.shape
        angles = np.arange(N)[:, None] * 10_000.0 ** (-np.arange(0, E, 2) / E)
        return found + np.stack([np.sin(angles), np.cos(angles)], -1).reshape(N, E)

    def _feed_forward(self, layer: str, x: np.ndarray) -> np.ndarray:
        inner = np.maximum(self._linear(f"{layer}.linear1", x), 0)
        return self._linear(f"{layer}.linear2", inner)

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS)
        scale, offset = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return centred / spread * scale + offset


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
