"""Multi-head attention: several attentions side by side.

Symbols, in this file and in the chapter:

    B  sequences in a batch     E  width of the model (d_model)
    N  queries                  h  heads (num_heads)
    T  keys and values          d  width of a head, E / h
"""

import math

import numpy as np
import torch
from torch import Tensor, nn


def split_heads(x: np.ndarray, num_heads: int) -> np.ndarray:
    """Cut the features of every token into ``num_heads`` equal slices.

    Args:
        x: (B, N, E) tokens.
        num_heads: h.

    Returns:
        (B, h, N, E / h): head i holds slice i of the features of every token.

    Raises:
        ValueError: unless ``num_heads`` divides E.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    B, N, E = x.shape
    if E % num_heads != 0:
        raise ValueError(f"{E} features cannot be cut into {num_heads} equal heads")
    return x.reshape(B, N, num_heads, E // num_heads).swapaxes(1, 2)


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Put the slices of all heads side by side again; undoes ``split_heads``.

    Args:
        x: (B, h, N, d) one slice of each token for each head.

    Returns:
        (B, N, h * d): the slices of one token in the order of the heads.

    Source: Vaswani et al. (2017), section 3.2.2, the concatenation.
    """
    B, h, N, d = x.shape
    return x.swapaxes(1, 2).reshape(B, N, h * d)


def multi_head_attention(
    x: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    W_O: np.ndarray,
    num_heads: int,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Self-attention in ``num_heads`` heads, each on its own slice of the projections.

    Args:
        x: (B, N, E) tokens.
        W_Q: (E, E), used as ``x @ W_Q``; head i has slice i of its columns.
        W_K: (E, E), likewise.
        W_V: (E, E), likewise.
        W_O: (E, E), applied to the merged heads.
        num_heads: h, which divides E.
        mask: boolean, broadcastable to (B, h, N, N); True where attention is allowed.
            A query without any key has weights 0.

    Returns:
        output (B, N, E) and weights (B, h, N, N).

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    q, k, v = (split_heads(x @ W, num_heads) for W in (W_Q, W_K, W_V))  # (B, h, N, d)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])  # (B, h, N, N)
    scores = np.where(True if mask is None else mask, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-1e300)  # finite without keys
    weights = np.exp(scores - largest)  # each row has a 1, or no key at all
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1.0)
    return merge_heads(weights @ v) @ W_O, weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention with parameters that can be trained.

    ``q_proj``, ``k_proj``, ``v_proj`` and ``out_proj`` are ``nn.Linear(d_model,
    d_model)``.

    Args:
        d_model: E, width of the model.
        num_heads: h.

    Raises:
        ValueError: unless ``num_heads`` divides ``d_model``.

    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        """Make the four projections."""
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(
                f"{d_model} features cannot be cut into {num_heads} equal heads"
            )
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let every query attend to every key that the mask allows.

        Args:
            query: (B, N, E).
            key: (B, T, E).
            value: (B, T, E).
            mask: boolean, broadcastable to (B, h, N, T); True where attention is
                allowed. A query without any key has weights 0.

        Returns:
            output (B, N, E) and weights (B, h, N, T).
        """
        h = self.num_heads
        q = self.q_proj(query).unflatten(-1, (h, -1)).transpose(1, 2)  # (B, h, N, d)
        k = self.k_proj(key).unflatten(-1, (h, -1)).transpose(1, 2)  # (B, h, T, d)
        v = self.v_proj(value).unflatten(-1, (h, -1)).transpose(1, 2)  # (B, h, T, d)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, h, N, T)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)  # a row without keys would be NaN
        heads = (weights @ v).transpose(1, 2).flatten(2)  # (B, N, E)
        return self.out_proj(heads), weights


def projection_parameter_count(embed_dim: int, num_heads: int) -> int:
    """Count the parameters of the four projections of multi-head attention.

    Args:
        embed_dim: E, width of the model.
        num_heads: h, which divides E. A head projects E features to E / h.

    Returns:
        The count for queries, keys, values and output, with biases.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    return 4 * embed_dim**2 + 4 * embed_dim  # h heads of E / h features are E features


def break_split_heads() -> tuple[np.ndarray, int]:
    """Find tokens on which wrong versions of split_heads fail.

    Returns:
        The arguments of one call of split_heads: tokens (B, N, E), and a number of
        heads that divides E.
    """
    return np.arange(12.0).reshape(1, 2, 6), 2
