"""Multi-head attention, equal to torch's own layer in every option.

Symbols, in this file and in the chapter:

    B  sequences in a batch     E  width of the model (embed_dim)
    N  queries                  h  heads (num_heads)
    T  keys and values          d  width of a head, E / h

A boolean mask follows torch's layer here, not the rest of the book: True hides.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the features of every token into ``num_heads`` equal slices.

    Args:
        x: (B, N, E) tokens.
        num_heads: h, how many slices.

    Returns:
        (B, h, N, E / h): head i holds slice i of the features of every token.

    Raises:
        ValueError: unless ``num_heads`` divides E.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    B, N, E = x.shape
    if num_heads < 1 or E % num_heads != 0:
        raise ValueError(
            f"tokens {tuple(x.shape)} have {E} features, which cannot be cut into "
            f"{num_heads} equal heads"
        )
    return x.reshape(B, N, num_heads, E // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Put the slices of all heads side by side again; undoes ``split_heads``.

    Args:
        x: (B, h, N, d) one slice of each token for each head.

    Returns:
        (B, N, h * d): the slices of one token in the order of the heads.

    Source: Vaswani et al. (2017), section 3.2.2, the concatenation.
    """
    B, h, N, d = x.shape
    return x.transpose(1, 2).reshape(B, N, h * d)


def in_projection_packed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values with three matrices stored as one.

    Args:
        query: (..., N, E) what asks.
        key: (..., T, E) what is matched.
        value: (..., T, E) what is read.
        weight: (3E, E) the three (E, E) matrices above one another: first queries,
            then keys, then values. Each is stored as (outputs, inputs).
        bias: (3E,) in the same order, or none.

    Returns:
        q (..., N, E), k (..., T, E) and v (..., T, E).

    Source: Vaswani et al. (2017), section 3.2.2; stored as torch does.
    """
    return in_projection(query, key, value, *weight.chunk(3), bias)


def in_projection(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values, each of its own width, to the width E.

    Args:
        query: (..., N, E) what asks.
        key: (..., T, kdim) what is matched.
        value: (..., T, vdim) what is read.
        w_q: (E, E) stored as (outputs, inputs).
        w_k: (E, kdim) likewise.
        w_v: (E, vdim) likewise.
        bias: (3E,) for queries, then keys, then values, or none.

    Returns:
        q (..., N, E), k (..., T, E) and v (..., T, E).

    Source: Vaswani et al. (2017), section 3.2.2; stored as torch does.
    """
    if bias is None:
        return F.linear(query, w_q), F.linear(key, w_k), F.linear(value, w_v)
    b_q, b_k, b_v = bias.chunk(3)
    return F.linear(query, w_q, b_q), F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own slice of the features.

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O, with d = E / h and
    head_i = softmax(q_i k_i^T / sqrt(d)) v_i

    Parameters have the names, shapes and initial values of torch's layer, so a state
    dict fits both: ``in_proj_weight`` (3E, E), Xavier uniform, or ``q_proj_weight`` (E,
    E), ``k_proj_weight`` (E, kdim) and ``v_proj_weight`` (E, vdim) likewise, when kdim
    or vdim differs from E; ``in_proj_bias`` (3E,), zero; ``bias_k`` and ``bias_v`` (1,
    1, E), Xavier normal; ``out_proj``, an ``nn.Linear`` (E, E) with its bias zero.

    Args:
        embed_dim: E, width of queries and outputs.
        num_heads: h, which must divide E.
        bias: whether the projections have biases.
        add_bias_kv: append a learned key and value to every sequence.
        add_zero_attn: append a key and a value of zeros to every sequence, after these.
        kdim: width of the keys before projection; E unless given.
        vdim: width of the values before projection; E unless given.

    Raises:
        ValueError: unless ``num_heads`` divides ``embed_dim``.

    Source: Vaswani et al. (2017), section 3.2.2.
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
        super().__init__()
        if min(embed_dim, num_heads) < 1 or embed_dim % num_heads != 0:
            raise ValueError(
                f"{embed_dim} features cannot be cut into {num_heads} equal heads"
            )

        def weight(rows: int, columns: int) -> nn.Parameter:
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))

        def token() -> nn.Parameter:
            return nn.Parameter(nn.init.xavier_normal_(torch.empty(1, 1, embed_dim)))

        self.num_heads, self.add_zero_attn = num_heads, add_zero_attn
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        kdim, vdim = kdim or embed_dim, vdim or embed_dim
        if kdim == vdim == embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
        else:
            self.in_proj_weight = None
            self.q_proj_weight = weight(embed_dim, embed_dim)
            self.k_proj_weight = weight(embed_dim, kdim)
            self.v_proj_weight = weight(embed_dim, vdim)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim)) if bias else None
        if bias:
            nn.init.zeros_(self.out_proj.bias)
        self.bias_k = token() if add_bias_kv else None
        self.bias_v = token() if add_bias_kv else None

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        need_weights: bool = True,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Let every query attend to every key that no mask hides.

        Both masks are boolean with True for what is hidden, or numbers that are added
        to the scores. A query from which everything is hidden has weights 0, so its
        output is the bias of ``out_proj``. All inputs may come without B.

        Args:
            query: (B, N, E) what asks.
            key: (B, T, kdim) what is matched.
            value: (B, T, vdim) what is read.
            key_padding_mask: (B, T) one entry for each key.
            attn_mask: (N, T) the same for all heads of all sequences, or (B * h, N, T),
                all heads of the first sequence first.
            need_weights: whether to return the weights.
            average_attn_weights: whether to average them over the heads.

        Returns:
            output (B, N, E) and weights: (B, N, T), or (B, h, N, T) not averaged, or
            None. T counts the keys that were appended too.
        """
        if query.dim() == 2:  # without a batch: make one of size 1, and undo it
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
            output, weights = self.forward(
                *(x[None] for x in (query, key, value)),
                *(key_padding_mask, attn_mask, need_weights, average_attn_weights),
            )
            return output[0], None if weights is None else weights[0]

        (B, N, _), T, h = query.shape, key.shape[1], self.num_heads
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.reshape(B, h, N, T)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask[:, None, None]  # (B, 1, 1, T)
        mask = query.new_zeros(1, 1, N, T)  # what is added to the scores
        for given in (attn_mask, key_padding_mask):
            if given is None:
                continue
            closes = given.dtype == torch.bool
            mask = torch.where(given, -torch.inf, mask) if closes else mask + given

        if self.in_proj_weight is not None:
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

        q, k, v = (split_heads(x, h) for x in (q, k, v))  # (B, h, N or T, d)
        if not need_weights:  # the fused kernel never writes the weights to memory
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return self.out_proj(merge_heads(heads)), None
        hidden = mask == -torch.inf
        scores = q @ k.mT / math.sqrt(q.shape[-1]) + mask  # (B, h, N, T)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        weights = weights.masked_fill(hidden, 0.0)  # a row without keys would be NaN
        output = self.out_proj(merge_heads(weights @ v))  # (B, N, E)
        return output, weights.mean(dim=1) if average_attn_weights else weights


def projection_parameter_count(embed_dim: int, num_heads: int) -> int:
    """Count the numbers in the four projections of multi-head attention.

    Args:
        embed_dim: E, width of the model.
        num_heads: h, which divides E. Each head has three projections to E / h features
            from E, and reads E / h of the rows of the output projection.

    Returns:
        The count for queries, keys, values and output, with biases.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    return 4 * embed_dim**2 + 4 * embed_dim  # h heads of E / h features are E features


def break_split_heads() -> tuple[Tensor, int]:
    """Find tokens on which wrong versions of split_heads go wrong.

    Returns:
        The arguments of one call of split_heads: tokens (B, N, E), and a number of
        heads that divides E.
    """
    return torch.arange(12.0).reshape(1, 2, 6), 2
