"""Masks: which query may attend to which key.

Symbols, in this file and in the chapter:

    B  sequences in a batch    N  queries    T  keys and values
    d_k  features of a query or key           d_v  features of a value

A mask is boolean and ``True`` means: may attend.
"""

import numpy as np


def causal_mask(n: int) -> np.ndarray:
    """Let each of n tokens attend to itself and to the tokens before it.

    mask[i, j] = (j <= i)

    Args:
        n: number of tokens.

    Returns:
        (n, n) boolean mask, True where query i may attend to key j.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    return np.tri(n, dtype=bool)  # row i begins with i + 1 times True


def padding_mask(lengths: np.ndarray, max_length: int) -> np.ndarray:
    """Hide the padding after the end of each sequence in a batch.

    mask[b, j] = (j < lengths[b])

    Args:
        lengths: (B,) integers, the number of real tokens per sequence; 0 is legal.
        max_length: T, the length to which all sequences are padded.

    Returns:
        (B, T) boolean mask, True at real tokens.
    """
    return np.arange(max_length) < lengths[:, None]  # (T,) against (B, 1)


def combine_masks(padding: np.ndarray, causal: np.ndarray) -> np.ndarray:
    """Allow what both masks allow.

    Args:
        padding: (B, T) boolean, True where a key is a real token.
        causal: (N, T) boolean, True where a query may attend to a key.

    Returns:
        (B, 1, N, T) boolean mask; the 1 broadcasts over any number of heads.
    """
    return padding[:, None, None, :] & causal  # (B, 1, N, T)


def masked_softmax(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Softmax over the keys that a query may attend to.

    weights[i, j] = exp(scores[i, j]) / sum of exp(scores[i, k]) over allowed k

    Args:
        scores: (..., N, T) alignment scores.
        mask: boolean, broadcastable to ``scores``; True where attention is allowed.

    Returns:
        (..., N, T) weights. Each row sums to one, or is zero where nothing is allowed.
    """
    hidden = np.where(mask, scores, -np.inf)  # (..., N, T)
    largest = hidden.max(axis=-1, keepdims=True)
    largest = np.where(largest > -np.inf, largest, 0.0)  # a row without keys has none
    raised = np.exp(hidden - largest)  # exp(-inf) is exactly 0
    total = raised.sum(axis=-1, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


def scaled_dot_product_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Every query receives a weighted mean of the values that it may attend to.

    weights = masked softmax of query key^T / sqrt(d_k),  output = weights value

    Args:
        query: (..., N, d_k) queries.
        key: (..., T, d_k) keys.
        value: (..., T, d_v) values, in the order of the keys.
        mask: boolean, broadcastable to (..., N, T); without it, all is allowed.

    Returns:
        output (..., N, d_v) and weights (..., N, T), zero for a query without keys.

    Source: Vaswani et al. (2017), equation 1.
    """
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])  # (..., N, T)
    weights = masked_softmax(scores, np.True_ if mask is None else mask)
    return weights @ value, weights  # (..., N, d_v), (..., N, T)


def break_masked_softmax() -> tuple[np.ndarray, np.ndarray]:
    """Find scores and a mask on which wrong versions of masked_softmax fail.

    Returns:
        The arguments of one call of masked_softmax: scores (N, T) from -1000 to 1000,
        and a boolean mask (N, T).
    """
    scores = np.array([[-800.0, 800.0], [0.0, 0.0]])
    mask = np.array([[True, False], [False, False]])
    return scores, mask
