"""Masks: which query may look at which key.

Symbols, in this file and in the chapter:

    B  sequences in a batch    N  queries    T  keys and values
    d_k  features of a query or key           d_v  features of a value

A mask is boolean and ``True`` means: may attend.
"""

import math

import torch
from torch import Tensor


def causal_mask(n: int) -> Tensor:
    """Let each of n tokens look at itself and at the tokens before it.

    mask[i, j] = (j <= i)

    Args:
        n: number of tokens.

    Returns:
        (n, n) boolean mask, True where query i may attend to key j.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    return torch.ones(n, n, dtype=torch.bool).tril()  # row i: i + 1 times True


def padding_mask(lengths: Tensor, max_length: int) -> Tensor:
    """Hide the padding after the end of each sequence in a batch.

    mask[b, j] = (j < lengths[b])

    Args:
        lengths: (B,) integers, the tokens that each sequence really has; 0 is legal.
        max_length: T, the length that all of them were filled up to.

    Returns:
        (B, T) boolean mask on the device of ``lengths``, True at real tokens.
    """
    positions = torch.arange(max_length, device=lengths.device)  # (T,)
    return positions < lengths[:, None]  # (B, T)


def combine_masks(padding: Tensor, causal: Tensor) -> Tensor:
    """Allow what both masks allow, in the shape that heads and batches broadcast with.

    Args:
        padding: (B, T) boolean, True where a key is a real token.
        causal: (N, T) boolean, True where a query may look at a key.

    Returns:
        (B, 1, N, T) boolean mask; the 1 stands for any number of heads.
    """
    return padding[:, None, None, :] & causal  # (B, 1, N, T)


def additive_mask(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Turn a boolean mask into numbers that are added to the scores.

    0 where attention is allowed, minus infinity where it is not

    Args:
        mask: (...) boolean, True where attention is allowed.
        dtype: type of the result, that of the scores.

    Returns:
        (...) mask of this dtype: scores + result hides what the mask hides.
    """
    nothing_added = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return nothing_added.masked_fill(~mask, -torch.inf)  # never -inf * 0: that is NaN


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the keys that a query may attend to.

    weights[i, j] = exp(scores[i, j]) / sum of exp(scores[i, k]) over allowed k

    Args:
        scores: (..., N, T) alignment scores.
        mask: boolean, broadcastable to ``scores``; True where attention is allowed.

    Returns:
        (..., N, T) weights. Each row sums to one, or is zero where nothing is allowed.
    """
    has_a_key = mask.any(dim=-1, keepdim=True)  # a row of -inf alone would be NaN
    weights = scores.masked_fill(~mask & has_a_key, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)  # for rows without keys


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Every query reads the mean of the values that it may see.

    weights = masked softmax of query key^T / sqrt(d_k),  output = weights value

    Args:
        query: (..., N, d_k) queries.
        key: (..., T, d_k) keys.
        value: (..., T, d_v) values, in the order of the keys.
        mask: boolean, broadcastable to (..., N, T); True where attention is allowed.
            Everything is allowed when there is none.

    Returns:
        output (..., N, d_v) and weights (..., N, T). Both are zero for a query that
        may attend to nothing.

    Source: Vaswani et al. (2017), equation 1.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., N, T)
    weights = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    return weights @ value, weights  # (..., N, d_v), (..., N, T)


def break_masked_softmax() -> tuple[Tensor, Tensor]:
    """Find scores and a mask on which wrong versions of masked_softmax go wrong.

    Returns:
        The arguments of one call of masked_softmax: scores (N, T) from -1000 to 1000,
        and a boolean mask (N, T).
    """
    scores = torch.tensor([[-800.0, 800.0], [0.0, 0.0]])
    mask = torch.tensor([[True, False], [False, False]])
    return scores, mask
