"""The block of the book's language model, which its chapter gives and shows."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """Rotary attention, then a feed-forward layer; each normalises its input first."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        """``num_heads`` divides ``d_model``, and the width of a head is even."""
        super().__init__()
        self.num_heads = num_heads
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.in_proj = nn.Linear(d_model, 3 * d_model)  # queries, keys, values
        self.out_proj = nn.Linear(d_model, d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        d = d_model // num_heads
        frequencies = 10000.0 ** (-torch.arange(0, d, 2) / d)  # one for each pair
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, T, d_model), and (T, T) bool, True = may attend -> (B, T, d_model)."""
        parts = self.in_proj(self.norm1(x)).unflatten(-1, (3, self.num_heads, -1))
        parts = parts.permute(2, 0, 3, 1, 4)  # (3, B, h, T, d)
        query, key = self.rotate(parts[:2])
        read = F.scaled_dot_product_attention(query, key, parts[2], attn_mask=mask)
        x = x + self.out_proj(read.transpose(1, 2).flatten(2))
        return x + self.linear2(F.relu(self.linear1(self.norm2(x))))

    def rotate(self, x: Tensor) -> Tensor:
        """Rotate pair (2i, 2i + 1) of (..., T, d) by position * frequencies[i]."""
        angles = torch.arange(x.shape[-2])[:, None] * self.frequencies  # (T, d/2)
        cos, sin = angles.cos(), angles.sin()
        one, other = x[..., ::2], x[..., 1::2]
        rotated = [one * cos - other * sin, one * sin + other * cos]
        return torch.stack(rotated, dim=-1).flatten(-2)
