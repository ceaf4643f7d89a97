"""Queries, keys and values: the attention layer with learned projections.

Symbols, in this file and in the chapter (rows are tokens):

    Q (N_Q, D_Q)   tokens that attend         W_Q (D_Q, d_k)   queries = Q W_Q
    X (N_X, D_X)   tokens attended to         W_K (D_X, d_k)   keys    = X W_K
                                              W_V (D_X, d_v)   values  = X W_V
    E (N_Q, N_X)   scores    A (N_Q, N_X)   weights    Y (N_Q, d_v)   outputs
"""

import numpy as np


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Average the values for each query, weighted by how well the keys match it.

    Args:
        queries: (N_Q, d_k) one query per row.
        keys: (N_X, d_k) one key per row.
        values: (N_X, d_v) one value per row, in the order of the keys.

    Returns:
        Y (N_Q, d_v) outputs and A (N_Q, N_X) weights. Each row of A sums to one.

    Source: Vaswani et al. (2017), equation 1.
    """
    E = queries @ keys.T / np.sqrt(keys.shape[1])  # (N_Q, N_X)
    A = np.exp(E - E.max(axis=1, keepdims=True))  # no overflow, same ratios
    A = A / A.sum(axis=1, keepdims=True)
    return A @ values, A  # (N_Q, d_v), (N_Q, N_X)


def attention_layer(
    Q: np.ndarray,
    X: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Project tokens to queries, keys and values, and let the queries attend.

    Args:
        Q: (N_Q, D_Q) the tokens that attend.
        X: (N_X, D_X) the tokens that are attended to.
        W_Q: (D_Q, d_k) projection to queries.
        W_K: (D_X, d_k) projection to keys.
        W_V: (D_X, d_v) projection to values.

    Returns:
        Y (N_Q, d_v) outputs and A (N_Q, N_X) weights. Each row of A sums to one.

    Source: Vaswani et al. (2017), section 3.2, for one head.
    """
    # (N_Q, d_k), (N_X, d_k), (N_X, d_v)
    queries, keys, values = Q @ W_Q, X @ W_K, X @ W_V
    return attention(queries, keys, values)


def choose_projections() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Set the projections by hand so that all readers get the book they want.

    Columns 0 to 5 of a token are the subject wanted, 6 to 11 the subject brought,
    column 12 is the book.

    Returns:
        W_Q (13, d_k), W_K (13, d_k) and W_V (13, 1), for any d_k.
    """
    W_Q, W_K, W_V = np.split(np.eye(13), [6, 12], axis=1)  # (13, 6), (13, 6), (13, 1)
    return 20 * W_Q, W_K, W_V


def self_attention_columns(
    X: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Self-attention in the column convention: every column of ``X`` is a token.

    Args:
        X: (D, N) tokens, one per column.
        W_Q: (d_k, D) projection to queries, applied from the left.
        W_K: (d_k, D) projection to keys, applied from the left.
        W_V: (d_v, D) projection to values, applied from the left.

    Returns:
        Y (d_v, N) outputs and A (N, N) weights, whose columns sum to one.

    Source: Vaswani et al. (2017), section 3.2.3, transposed, for one head.
    """
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X  # (d_k, N) twice, (d_v, N)
    E = keys.T @ queries / np.sqrt(len(keys))  # (N, N), one row per key
    A = np.exp(E - E.max(axis=0))
    A = A / A.sum(axis=0)
    return values @ A, A  # (d_v, N), (N, N)
