"""Attention for long sequences: what it costs, and two ways to pay less.

Symbols, in this file and in the chapter:

    N  queries    T  keys and values    b  keys in a block
    d  features of a query or key       d_v  features of a value
"""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor


def attention_flops(n: int, d: int) -> int:
    """Floating-point operations of the two matrix products of attention.

    A multiplication and the addition that follows it count as two operations. The
    softmax and the scale are left out.

    Args:
        n: number of tokens, each a query and a key.
        d: features of a query, a key and a value.

    Returns:
        The number of operations, for one head and one sequence.
    """
    scores = 2 * n * n * d  # (n, d) @ (d, n)
    outputs = 2 * n * n * d  # (n, n) @ (n, d)
    return scores + outputs


def attention_bytes(n: int, heads: int, bytes_per_value: int) -> int:
    """Memory that the attention weights of one sequence take.

    Args:
        n: number of tokens, each a query and a key.
        heads: number of heads; each has weights of its own.
        bytes_per_value: 4 for float32, 2 for half precision.

    Returns:
        The number of bytes.
    """
    return heads * n * n * bytes_per_value


def linear_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention whose weights are products of features, at a cost linear in N and T.

    y_i = sum_j w_ij v_j / sum_j w_ij,  with w_ij = phi(q_i) . phi(k_j)
    and phi(x) = elu(x) + 1. There is no scale.

    Args:
        query: (..., N, d) queries.
        key: (..., T, d) keys.
        value: (..., T, d_v) values.

    Returns:
        (..., N, d_v) outputs. No intermediate tensor has N * T entries.

    Source: Katharopoulos et al. (2020), equations 5 to 7.
    """
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state = key.transpose(-2, -1) @ value  # (..., d, d_v)
    total = key.sum(dim=-2).unsqueeze(-1)  # (..., d, 1)
    return (query @ state) / (query @ total)  # (..., N, d_v)


def causal_linear_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Linear attention of token i to the tokens up to and including i.

    y_i = sum_{j <= i} w_ij v_j / sum_{j <= i} w_ij,  with w_ij = phi(q_i) . phi(k_j)
    and phi(x) = elu(x) + 1. There is no scale.

    Args:
        query: (..., N, d) queries.
        key: (..., N, d) keys.
        value: (..., N, d_v) values.

    Returns:
        (..., N, d_v) outputs.

    Source: Katharopoulos et al. (2020), equations 16 to 20.
    """
    query, key = F.elu(query) + 1, F.elu(key) + 1
    state = total = 0.0
    outputs = []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        state = state + k.unsqueeze(-1) * v.unsqueeze(-2)  # (..., d, d_v)
        total = total + k  # (..., d)
        reads = (q.unsqueeze(-2) @ state).squeeze(-2)  # (..., d_v)
        outputs.append(reads / (q * total).sum(dim=-1, keepdim=True))
    return torch.stack(outputs, dim=-2)  # (..., N, d_v)


def online_softmax_sum(
    score_blocks: Iterable[Tensor], value_blocks: Iterable[Tensor]
) -> Tensor:
    """Values averaged with softmax weights, from scores that arrive in blocks.

    The result is that of one softmax over the scores of all blocks. Each block is seen
    once and then gone, so only sums over its keys can be kept.

    Args:
        score_blocks: tensors (..., N, b), the scores of N queries with b keys; b may
            differ from block to block. A score of -inf hides its key.
        value_blocks: tensors (..., b, d_v), the values of these keys.

    Returns:
        (..., N, d_v) outputs; zeros for a query whose scores are all -inf.

    Source: Milakov and Gimelshein (2018), algorithm 3; Rabe and Staats (2021).
    """
    largest, total, output = -torch.inf, 0.0, 0.0
    for scores, values in zip(score_blocks, value_blocks, strict=True):
        block_largest = scores.amax(dim=-1, keepdim=True)  # (..., N, 1)
        new_largest = block_largest.clamp(min=largest)
        shift = new_largest.masked_fill(new_largest == -torch.inf, 0.0)
        weights = (scores - shift).exp()  # (..., N, b)
        correction = (largest - shift).exp()  # (..., N, 1), 0 for the first block
        total = correction * total + weights.sum(dim=-1, keepdim=True)  # (..., N, 1)
        output = correction * output + weights @ values  # (..., N, d_v)
        largest = new_largest
    return output / total.masked_fill(total == 0, 1.0)


def blockwise_attention(
    query: Tensor, key: Tensor, value: Tensor, block_size: int, causal: bool = False
) -> Tensor:
    """Scaled dot-product attention, exact, in memory that is linear in N and T.

    y = softmax(q k^T / sqrt(d)) v, block by block

    Args:
        query: (..., N, d) queries.
        key: (..., T, d) keys.
        value: (..., T, d_v) values.
        block_size: queries and keys that are processed together; the last block may
            be smaller.
        causal: let query i attend to the keys j <= i only.

    Returns:
        (..., N, d_v) outputs. No tensor of N * T numbers is made on the way, unless
        one block holds them all.

    Source: Rabe and Staats (2021); Dao et al. (2022), algorithm 1.
    """
    size, rows = block_size, torch.arange(query.shape[-2], device=key.device)
    columns = torch.arange(key.shape[-2], device=key.device).split(size)
    query = query / math.sqrt(query.shape[-1])
    keys, values = key.split(size, dim=-2), value.split(size, dim=-2)
    outputs = []
    for number, (queries, row) in enumerate(
        zip(query.split(size, dim=-2), rows.split(size), strict=True)
    ):
        seen = number + 1 if causal else len(keys)  # what comes later is not computed
        scores = (queries @ k.transpose(-2, -1) for k in keys[:seen])  # (..., n, b)
        if causal:
            scores = (
                block.masked_fill(column > row[:, None], -torch.inf)
                for block, column in zip(scores, columns, strict=False)
            )
        outputs.append(online_softmax_sum(scores, values[:seen]))
    return torch.cat(outputs, dim=-2)  # (..., N, d_v)


def break_linear_attention() -> tuple[Tensor, Tensor, Tensor]:
    """Find queries, keys and values on which linear_attention can go wrong.

    Returns:
        The arguments of one call of linear_attention: query (N, d), key (T, d) and
        value (T, d_v), with values from -1000 to 1000.
    """
    query, key = torch.tensor([[1.0, -2.0]]), torch.tensor([[2.0, -1.0], [-3.0, 1.0]])
    return query, key, torch.tensor([[0.0], [10.0]])
