"""Queries, keys and values: the attention layer with learned projections.

Symbols, in this file and in the chapter (rows are tokens):

    Q (N_Q, D_Q)   what asks             W_Q (D_Q, d_k)   queries = Q W_Q
    X (N_X, D_X)   what is looked at     W_K (D_X, d_k)   keys    = X W_K
                                         W_V (D_X, d_v)   values  = X W_V
    E (N_Q, N_X)   scores    A (N_Q, N_X)   weights    Y (N_Q, d_v)   outputs
"""

import numpy as np


def project(
    Q: np.ndarray,
    X: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries ``Q W_Q``, keys ``X W_K`` and values ``X W_V``.

    Args:
        Q: (N_Q, D_Q) the vectors that queries are computed from.
        X: (N_X, D_X) the vectors that are attended to.
        W_Q: (D_Q, d_k) projection to queries.
        W_K: (D_X, d_k) projection to keys.
        W_V: (D_X, d_v) projection to values.

    Returns:
        queries (N_Q, d_k), keys (N_X, d_k) and values (N_X, d_v), in this order.

    Source: Vaswani et al. (2017), section 3.2.2, for one head.
    """
    return Q @ W_Q, X @ W_K, X @ W_V  # (N_Q, d_k), (N_X, d_k), (N_X, d_v)


def similarity(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Scaled score of every query with every key.

    E[i, j] = queries[i] . keys[j] / sqrt(d_k)

    Args:
        queries: (N_Q, d_k) one query a row.
        keys: (N_X, d_k) one key a row.

    Returns:
        E (N_Q, N_X) scores: a row for each query, a column for each key.

    Source: Vaswani et al. (2017), equation 1.
    """
    return queries @ keys.T / np.sqrt(keys.shape[1])  # (N_Q, N_X)


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Every query reads the mean of all values, weighted by how well the keys match.

    A = softmax of ``similarity(queries, keys)`` over the keys, Y = A values

    Args:
        queries: (N_Q, d_k) one query a row.
        keys: (N_X, d_k) one key a row.
        values: (N_X, d_v) one value a row, in the order of the keys.

    Returns:
        Y (N_Q, d_v) outputs and A (N_Q, N_X) weights. Each row of A sums to one.

    Source: Vaswani et al. (2017), equation 1.
    """
    E = similarity(queries, keys)  # (N_Q, N_X)
    A = np.exp(E - E.max(axis=1, keepdims=True))  # no overflow, same quotient
    A /= A.sum(axis=1, keepdims=True)
    return A @ values, A  # (N_Q, d_v), (N_Q, N_X)


def attention_layer(
    Q: np.ndarray,
    X: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Cross-attention: queries from rows of ``Q``, keys and values from rows of ``X``.

    The results are those of ``attention`` for the projected vectors.

    Args:
        Q: (N_Q, D_Q) the vectors that queries are computed from.
        X: (N_X, D_X) the vectors that are attended to.
        W_Q: (D_Q, d_k) projection to queries.
        W_K: (D_X, d_k) projection to keys.
        W_V: (D_X, d_v) projection to values.

    Returns:
        Y (N_Q, d_v) outputs and A (N_Q, N_X) weights. Each row of A sums to one.

    Source: Vaswani et al. (2017), section 3.2, for one head.
    """
    return attention(*project(Q, X, W_Q, W_K, W_V))


def self_attention(
    X: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Self-attention: every token attends to all tokens, itself included.

    Y = softmax(X W_Q (X W_K)^T / sqrt(d_k)) X W_V

    Args:
        X: (N, D) tokens, each of which gives a query, a key and a value.
        W_Q: (D, d_k) projection to queries.
        W_K: (D, d_k) projection to keys.
        W_V: (D, d_v) projection to values.

    Returns:
        Y (N, d_v) outputs and A (N, N) weights. Each row of A sums to one.

    Source: Vaswani et al. (2017), section 3.2.3, for one head.
    """
    return attention_layer(X, X, W_Q, W_K, W_V)


def self_attention_columns(
    X: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Self-attention in the column convention: every column of ``X`` is a token.

    Scores are scaled; the results are those of ``self_attention``, transposed.

    Args:
        X: (D, N) tokens, one a column.
        W_Q: (d_k, D) projection to queries, applied from the left.
        W_K: (d_k, D) projection to keys, applied from the left.
        W_V: (d_v, D) projection to values, applied from the left.

    Returns:
        Y (d_v, N) outputs and A (N, N) weights. A[j, i] is what query i gives to
        key j, so each column of A sums to one.

    Source: Vaswani et al. (2017), section 3.2.3, transposed, for one head.
    """
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X  # (d_k, N) twice, (d_v, N)
    E = keys.T @ queries / np.sqrt(len(keys))  # (N, N), a row for each key
    A = np.exp(E - E.max(axis=0))
    A /= A.sum(axis=0)
    return values @ A, A  # (d_v, N), (N, N)


def break_attention() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find queries, keys and values on which wrong versions of attention go wrong.

    Returns:
        The arguments of one call of attention: queries (N_Q, d_k), keys (N_X, d_k) and
        values (N_X, d_v), with values from -1000 to 1000.
    """
    queries = np.array([[1000.0], [1.0]])  # the second row scores far below the first
    keys = np.array([[1.0], [0.0]])  # more keys than features
    return queries, keys, np.eye(2)  # values wider than keys
