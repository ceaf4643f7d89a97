"""PyTorch's multi-head attention layer, rebuilt with all its options.

Symbols, in this file and in the chapter:

    B  sequences in a batch     E  width of the layer (embed_dim)
    N  queries                  h  heads (num_heads)
    T  keys and values          d  width of a head, E / h

Boolean masks follow PyTorch here, not the rest of the book: True hides.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def in_projection(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values, each of its own width, to width E.

    Args:
        query: (..., N, E).
        key: (..., T, kdim).
        value: (..., T, vdim).
        w_q: (E, E), stored as (outputs, inputs).
        w_k: (E, kdim), likewise.
        w_v: (E, vdim), likewise.
        bias: (3E,) for queries, then keys, then values.

    Returns:
        q (..., N, E), k (..., T, E) and v (..., T, E).

    Source: Vaswani et al. (2017), section 3.2.2; stored as torch does.
    """
    b_q, b_k, b_v = (None, None, None) if bias is None else bias.chunk(3)
    return F.linear(query, w_q, b_q), F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)


def in_projection_packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values with three matrices stored as one.

    Args:
        query: (..., N, E).
        key: (..., T, E).
        value: (..., T, E).
        weight: (3E, E): the (E, E) matrices for queries, keys and values on top of
            each other, each stored as (outputs, inputs).
        bias: (3E,) in the same order.

    Returns:
        q (..., N, E), k (..., T, E) and v (..., T, E).

    Source: Vaswani et al. (2017), section 3.2.2; stored as torch does.
    """
    matrices = weight.chunk(3)  # (E, E) each
    biases = (None, None, None) if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    q, k, v = (F.linear(*one) for one in zip(inputs, matrices, biases, strict=True))
    return q, k, v


class TorchMultiheadAttention(nn.Module):
    """A layer that can replace ``nn.MultiheadAttention(..., batch_first=True)``.

    Its state dict has the names and shapes of torch's.

    Args:
        embed_dim: E, width of queries and outputs.
        num_heads: h, which divides E.
        bias: whether the projections have biases.
        add_bias_kv: append a learned key and value to every sequence.
        add_zero_attn: append a key and a value of zeros after that.
        kdim: width of the keys; E unless given.
        vdim: width of the values; E unless given.

    Source: Vaswani et al. (2017), section 3.2.2; options and names are torch's.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
    ) -> None:
        """Make the parameters."""

        def random(*shape: int) -> nn.Parameter:
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape)))

        super().__init__()
        E, kdim, vdim = embed_dim, kdim or embed_dim, vdim or embed_dim
        self.num_heads, self.add_zero_attn = num_heads, add_zero_attn
        self.packed = kdim == vdim == E
        if self.packed:
            self.in_proj_weight = random(3 * E, E)
        else:
            self.q_proj_weight = random(E, E)
            self.k_proj_weight = random(E, kdim)
            self.v_proj_weight = random(E, vdim)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * E)) if bias else None
        self.bias_k = random(1, 1, E) if add_bias_kv else None
        self.bias_v = random(1, 1, E) if add_bias_kv else None
        self.out_proj = nn.Linear(E, E, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Let every query attend to the keys that no mask hides.

        Masks hide where they are True, or are floats that are added to the scores. All
        inputs may come without B.

        Args:
            query: (B, N, E).
            key: (B, T, kdim).
            value: (B, T, vdim).
            key_padding_mask: (B, T).
            need_weights: whether to return weights.
            attn_mask: (N, T), or (B * h, N, T), heads of one sequence adjacent.
            average_attn_weights: whether to average them over heads.

        Returns:
            output (B, N, E); weights (B, N, T), or (B, h, N, T), or None. Appended
            keys count in T.
        """
        if query.dim() == 2:  # a batch of one
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
            inputs = (x[None] for x in (query, key, value))
            options = (key_padding_mask, need_weights, attn_mask, average_attn_weights)
            output, weights = self(*inputs, *options)
            return output[0], None if weights is None else weights[0]

        (B, N, _), T, h = query.shape, key.shape[1], self.num_heads
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.reshape(B, h, N, T)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask[:, None, None]  # (B, 1, 1, T)
        mask = query.new_zeros(B, h, N, T)  # what is added to the scores
        for given in (attn_mask, key_padding_mask):
            if given is not None:
                if given.dtype == torch.bool:
                    given = torch.where(given, -torch.inf, 0.0)
                mask = mask + given

        if self.packed:
            project, matrices = in_projection_packed, [self.in_proj_weight]
        else:
            project = in_projection
            matrices = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        q, k, v = project(query, key, value, *matrices, self.in_proj_bias)
        if self.bias_k is not None:
            k = torch.cat([k, self.bias_k.expand(B, -1, -1)], dim=1)  # (B, T + 1, E)
            v = torch.cat([v, self.bias_v.expand(B, -1, -1)], dim=1)
        if self.add_zero_attn:
            k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
        mask = F.pad(mask, (0, k.shape[1] - T))  # no mask hides what was appended

        q, k, v = (x.unflatten(-1, (h, -1)).transpose(1, 2) for x in (q, k, v))
        scores = q @ k.mT / math.sqrt(q.shape[-1]) + mask  # (B, h, N, T)
        weights = scores.softmax(dim=-1)
        output = self.out_proj((weights @ v).transpose(1, 2).flatten(2))  # (B, N, E)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        return output, weights if need_weights else None
