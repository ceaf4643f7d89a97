"""A decoder-only language model whose positions can be chosen.

    model = SmallLanguageModel(vocab_size, max_length, "rotary")

Everything else is alike, so that runs compare positions alone:

    learned      a table of parameters, added to the embeddings
    sinusoidal   a fixed table of sines and cosines, added to the embeddings
    rotary       nothing is added; each layer turns its queries and keys

Vaswani et al. (2017), section 3.5, for the first two; Su et al. (2021), section 3.2.2,
for the third.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

POSITIONS = ("learned", "sinusoidal", "rotary")
SMALL = 0.02  # standard deviation of embeddings and learned positions at first


class SmallLanguageModel(nn.Module):
    """Logits of the next token at every position; output and embedding share a weight.

    Args:
        vocab_size: how many tokens there are.
        max_length: rows of the table of positions; rotary positions need none.
        positions: one of ``POSITIONS``.
        d_model: width of the tokens, divisible by twice the number of heads.
        num_heads: heads of each layer.
        num_layers: how many layers, each of which normalises first.
        d_ff: width inside a feed-forward layer.

    Raises:
        ValueError: if these positions or this width are not possible.
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        positions: str,
        d_model: int = 64,
        num_heads: int = 4,
        num_layers: int = 2,
        d_ff: int = 256,
    ) -> None:
        super().__init__()
        if positions not in POSITIONS:
            raise ValueError(f"positions is {positions!r}, expected one of {POSITIONS}")
        if d_model % (2 * num_heads) != 0:
            raise ValueError(
                f"d_model is {d_model}, expected a multiple of 2 * {num_heads} heads"
            )
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=SMALL)
        if positions == "learned":
            self.table = nn.Parameter(SMALL * torch.randn(max_length, d_model))
        else:
            table = fixed_table(max_length, d_model)
            self.register_buffer("table", None if positions == "rotary" else table)
        self.layers = nn.ModuleList(
            _Layer(d_model, num_heads, d_ff, positions == "rotary")
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, ids: Tensor, window: int | None = None) -> Tensor:
        """Predict what follows each token.

        Args:
            ids: (B, T) tokens.
            window: how many tokens each position attends to, itself included; all up
                to it if None.

        Returns:
            (B, T, vocab_size) logits.

        Raises:
            ValueError: if T is larger than the table of positions.
        """
        length = ids.shape[1]
        x = self.embedding(ids)  # (B, T, d_model)
        if self.table is not None:
            if length > len(self.table):
                raise ValueError(f"{length} tokens, but {len(self.table)} positions")
            x = x + self.table[:length]
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        if window is not None:
            mask = mask.triu(1 - window)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.weight.T


class _Layer(nn.Module):
    """Attention and a feed-forward layer, each after a norm and added to its input."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, rotary: bool) -> None:
        super().__init__()
        self.num_heads, self.rotary = num_heads, rotary
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model)."""
        projected = self.in_proj(self.norm1(x))  # (B, T, 3 * d_model)
        parts = projected.unflatten(-1, (3, self.num_heads, -1))
        parts = parts.permute(2, 0, 3, 1, 4)  # (3, B, h, T, d)
        query, key, value = parts
        if self.rotary:
            query, key = turned(parts[:2])  # both at once: half as many operations
        read = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.out_proj(read.transpose(1, 2).flatten(2))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


def turned(x: Tensor) -> Tensor:
    """Rotary embedding of (..., T, d), queries or keys.

    At position t, the pair (i, i + d/2) is turned by the angle t * 10000^(-2i/d).
    """
    angles = _angles(x.shape[-2], x.shape[-1])  # (T, d/2)
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def fixed_table(length: int, width: int) -> Tensor:
    """(length, width) sines and cosines in turn, of falling frequency.

    They are as large beside the embeddings as learned positions are at first.
    """
    angles = _angles(length, width)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return SMALL * math.sqrt(2) * waves


def _angles(length: int, width: int) -> Tensor:
    """(length, width / 2): position times frequency."""
    frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.arange(length)[:, None] * frequencies
