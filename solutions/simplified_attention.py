"""Attention with one query: the simplest layer that looks at every input."""

import numpy as np


def alignment_scores(q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Score every input against one query.

    e = X q / sqrt(D)

    Args:
        q: (D,) query.
        X: (N, D) inputs, one per row.

    Returns:
        (N,) scores, one per input; larger means a better match.

    Source:
        Vaswani et al. (2017), "Attention is all you need", equation 1, for one query.
    """
    return X @ q / np.sqrt(q.shape[-1])  # (N,)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Turn scores into weights that are positive and sum to one.

    softmax(e)_i = exp(e_i) / sum_j exp(e_j)

    Args:
        scores: (..., N) any real numbers, however large.

    Returns:
        (..., N) weights; those along the last axis sum to one.

    Source:
        Bridle (1990), "Probabilistic interpretation of feedforward classification
        network outputs".
    """
    shifted = scores - scores.max(axis=-1, keepdims=True)  # exp never sees more than 0
    exponentials = np.exp(shifted)  # (..., N)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attend(q: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average the inputs, weighted by how well they match one query.

    Args:
        q: (D,) query.
        X: (N, D) inputs, one per row.

    Returns:
        y: (D,) output, the inputs averaged with the weights.
        a: (N,) attention weights, which sum to one.

    Source:
        Vaswani et al. (2017), "Attention is all you need", equation 1, for one query
        and with the inputs as keys and as values.
    """
    a = softmax(alignment_scores(q, X))  # (N,)
    y = a @ X  # (D,)
    return y, a


def soft_lookup(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    """Look up a query in a dictionary whose keys need not match exactly.

    Args:
        query: (D,) what to look for.
        keys: (N, D) compared with the query, one per entry.
        values: (N, d_v) averaged, one per entry.
        temperature: positive; divides the alignment scores.

    Returns:
        (d_v,) the weighted average of the values.
    """
    weights = softmax(alignment_scores(query, keys) / temperature)  # (N,)
    return weights @ values  # (d_v,)


def break_softmax() -> tuple[np.ndarray]:
    """Find scores on which wrong versions of softmax give wrong weights.

    Returns:
        A tuple with one array of scores, (..., N), with values from -1000 to 1000.
    """
    far_apart = [1000.0, -1000.0]  # also from their mean, which is 0
    level = [0.0, 0.0]  # far below the other row, and to be divided by 2
    return (np.array([far_apart, level]),)
