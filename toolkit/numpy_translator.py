"""The translator of the chapter on training, in NumPy, with parts that can be replaced.

Pages run it with a function that a reader wrote. The weights are those that the
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


class NotANumber(ArithmeticError):
    """A prediction of the model is NaN."""


class Translator:
    """Reads a date and generates YYYY-MM-DD, the most probable character each time.

    Args:
        file: what ``toolkit.playground.packed`` made of the trained model.
        parts: functions to use in the place of our own, by the names of the exercises
            that ask for them: softmax, masked_softmax, attention,
            scaled_dot_product_attention, merge_heads, layer_norm, feed_forward or
            greedy_decode. ``attention`` knows no mask, so it is used where all is seen.

    Attributes:
        attention: (heads, N, T) the weights of each attention when it last ran, by the
            name of its module.
    """

    def __init__(self, file: dict[str, Any], **parts: Callable[..., Any]) -> None:
        self.facts, self.parts = file["facts"], parts
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

        def next_logits(prefixes: np.ndarray) -> np.ndarray:  # (1, t) to (1, V)
            logits = self.write(prefixes[0].tolist(), memory)[-1:]
            if np.isnan(logits).any():
                raise NotANumber("a prediction of the model is not a number")
            return logits

        if decode := self.parts.get("greedy_decode"):
            written = decode(next_logits, np.array([START]), END, LENGTH)[0].tolist()
        else:
            prefix = [START]
            while len(prefix) <= LENGTH and prefix[-1] != END:
                prefix.append(int(next_logits(np.array([prefix])).argmax()))
            written = prefix[1:]
        target = ["", "", "", *self.facts["target"]]
        return "".join(target[token] for token in written)

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
        heads = self.facts["heads"]
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
        if allowed is None and "attention" in self.parts:
            one = self.parts["attention"]
            read = np.stack([one(*head)[0] for head in zip(q, k, v, strict=True)])
        elif whole := self.parts.get("scaled_dot_product_attention"):
            read = whole(q, k, v, allowed)[0]
        else:
            read = self._weights(name, q, k, allowed) @ v  # (heads, N, d)
        if merge := self.parts.get("merge_heads"):
            merged = merge(read[None])[0]  # (N, E)
        else:
            merged = read.swapaxes(0, 1).reshape(len(x), -1)  # (N, E)
        return self._linear(f"{name}.out_proj", merged)

    def _weights(
        self, name: str, q: np.ndarray, k: np.ndarray, allowed: np.ndarray | None
    ) -> np.ndarray:
        """(heads, N, T) weights of queries (heads, N, d) for keys (heads, T, d)."""
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])  # (heads, N, T)
        if allowed is not None and "masked_softmax" in self.parts:
            weights = self.parts["masked_softmax"](scores, allowed)
        else:
            if allowed is not None:
                scores = np.where(allowed, scores, -np.inf)
            if softmax := self.parts.get("softmax"):
                weights = softmax(scores.copy())
            else:
                raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
                weights = raised / raised.sum(axis=-1, keepdims=True)
        weights = np.asarray(weights, dtype=float)
        if weights.shape != scores.shape:
            raise ValueError(
                f"softmax made weights of shape {weights.shape} of scores of shape "
                f"{scores.shape}; the shapes must be equal"
            )
        self.attention[name] = weights
        return weights

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
        W_1, b_1, W_2, b_2 = (
            self.weights[f"{layer}.{name}"]
            for name in (
                *("linear1.weight", "linear1.bias"),
                *("linear2.weight", "linear2.bias"),
            )
        )
        if whole := self.parts.get("feed_forward"):
            return whole(x, W_1.T, b_1, W_2.T, b_2)
        return np.maximum(x @ W_1.T + b_1, 0) @ W_2.T + b_2

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        scale, offset = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        if norm := self.parts.get("layer_norm"):
            return norm(x, scale, offset, EPS)
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS)
        return centred / spread * scale + offset
