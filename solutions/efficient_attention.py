"""Attention for long sequences: what it costs, and two ways to pay less.

Symbols, in this file and in the chapter:

    N  queries    T  keys and values    b  keys in a block
    d  features of a query or key       d_v  features of a value
"""

from collections.abc import Iterable

import numpy as np


def attention_flops(n: int, d: int) -> int:
    """Floating-point operations of the two matrix products of attention.

    A multiplication and the addition that follows it count as two operations; the
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


def linear_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray
) -> np.ndarray:
    """Attention whose weights are products of features, at a cost linear in N and T.

    y_i = sum_j w_ij v_j / sum_j w_ij,  with w_ij = phi(q_i) . phi(k_j)
    and phi(x) = elu(x) + 1. There is no scale.

    Args:
        query: (..., N, d) queries.
        key: (..., T, d) keys.
        value: (..., T, d_v) values.

    Returns:
        (..., N, d_v) outputs. No intermediate array has N * T entries.

    Source: Katharopoulos et al. (2020), equations 5 to 7.
    """
    query, key = (np.maximum(x, 0) + np.exp(np.minimum(x, 0)) for x in (query, key))
    state = key.swapaxes(-2, -1) @ value  # (..., d, d_v)
    total = key.sum(axis=-2)[..., None]  # (..., d, 1)
    return (query @ state) / (query @ total)  # (..., N, d_v)


def causal_linear_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray
) -> np.ndarray:
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
    query, key = (np.maximum(x, 0) + np.exp(np.minimum(x, 0)) for x in (query, key))
    outputs = np.empty((*query.shape[:-1], value.shape[-1]))
    state = total = 0.0
    for i in range(query.shape[-2]):
        q, k, v = query[..., i, :], key[..., i, :], value[..., i, :]
        state = state + k[..., :, None] * v[..., None, :]  # (..., d, d_v)
        total = total + k  # (..., d)
        read = (q[..., None, :] @ state)[..., 0, :]  # (..., d_v)
        outputs[..., i, :] = read / (q * total).sum(axis=-1, keepdims=True)
    return outputs


def online_softmax_sum(
    score_blocks: Iterable[np.ndarray], value_blocks: Iterable[np.ndarray]
) -> np.ndarray:
    """Values averaged with softmax weights, from scores that arrive in blocks.

    The result is that of one softmax over the scores of all blocks. Each block is seen
    only once.

    Args:
        score_blocks: arrays (..., N, b), the scores of N queries with b keys; b may
            differ from block to block. A score of -inf hides its key.
        value_blocks: arrays (..., b, d_v), the values of these keys.

    Returns:
        (..., N, d_v) outputs; zeros for a query whose scores are all -inf.

    Source: Milakov and Gimelshein (2018), algorithm 3; Rabe and Staats (2021).
    """
    largest, total, output = -np.inf, 0.0, 0.0
    for scores, values in zip(score_blocks, value_blocks, strict=True):
        new_largest = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        shift = np.where(new_largest == -np.inf, 0.0, new_largest)  # (..., N, 1)
        weights = np.exp(scores - shift)  # (..., N, b)
        correction = np.exp(largest - shift)  # (..., N, 1), 0 for the first block
        total = correction * total + weights.sum(axis=-1, keepdims=True)  # (..., N, 1)
        output = correction * output + weights @ values  # (..., N, d_v)
        largest = new_largest
    return output / np.where(total == 0, 1.0, total)


def blockwise_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    block_size: int,
    causal: bool = False,
) -> np.ndarray:
    """Scaled dot-product attention, exact, in memory that is linear in N and T.

    y = softmax(q k^T / sqrt(d)) v, block by block

    Args:
        query: (..., N, d) queries.
        key: (..., T, d) keys.
        value: (..., T, d_v) values.
        block_size: queries and keys per block; the last block may be smaller.
        causal: let query i attend to the keys j <= i only.

    Returns:
        (..., N, d_v) outputs. No array of N * T numbers is made on the way, unless
        one block holds them all.

    Source: Rabe and Staats (2021); Dao (2023), algorithm 1, for the order of the loops.
    """
    N, T, scale = query.shape[-2], key.shape[-2], query.shape[-1] ** -0.5

    def tiles(i, starts):  # the scores of one block of queries, one tile at a time
        q = scale * query[..., i : i + block_size, :]
        for j in starts:
            scores = q @ key[..., j : j + block_size, :].swapaxes(-2, -1)
            row, column = np.indices(scores.shape[-2:])
            yield np.where(causal & (j + column > i + row), -np.inf, scores)

    outputs = []
    for i in range(0, N, block_size):
        starts = range(0, min(i + block_size, T) if causal else T, block_size)
        values = (value[..., j : j + block_size, :] for j in starts)
        outputs.append(online_softmax_sum(tiles(i, starts), values))
    return np.concatenate(outputs, axis=-2)
