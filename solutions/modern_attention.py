"""Attention since 2017: norm, gate, positions, and a cache that stays small.

Symbols, in this file and in the chapter:

    B batch    h query heads    g key-value heads    N queries    T keys
    d width of a head    D width of the model    F width of the feed-forward layer
    r width of a latent vector
"""

import numpy as np


def kv_cache_bytes(
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    length: int,
    batch: int = 1,
    bytes_per_value: int = 2,
) -> int:
    """Bytes of the keys and values that a decoder keeps for its context.

    Args:
        num_layers: layers, each with a cache of its own.
        num_kv_heads: heads that have keys and values of their own.
        head_dim: features of one key, and of one value.
        length: tokens in the cache.
        batch: sequences that are decoded together.
        bytes_per_value: 2 for bfloat16 and float16, 4 for float32.

    Returns:
        The number of bytes, keys and values together.
    """
    values_per_token = 2 * num_layers * num_kv_heads * head_dim
    return values_per_token * length * batch * bytes_per_value


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Scale each token to a root mean square of one, then each feature by a weight.

    x / sqrt(mean(x^2) + eps) * weight, with the mean over the last axis

    Args:
        x: (..., D) tokens.
        weight: (D,) learned factors.
        eps: added to the mean of the squares, under the square root.

    Returns:
        (..., D) normalised tokens.

    Source: Zhang and Sennrich (2019), equation 4.
    """
    mean_square = np.mean(np.square(x), axis=-1, keepdims=True)  # (..., 1)
    return x / np.sqrt(mean_square + eps) * weight


def swiglu(
    x: np.ndarray, W_gate: np.ndarray, W_up: np.ndarray, W_down: np.ndarray
) -> np.ndarray:
    """Feed-forward layer whose hidden features are gated.

    (silu(x W_gate) * (x W_up)) W_down, with silu(z) = z / (1 + exp(-z))

    Args:
        x: (..., D) tokens.
        W_gate: (D, F) projection to the gates.
        W_up: (D, F) projection to the features that are gated.
        W_down: (F, D) projection back.

    Returns:
        (..., D) outputs, finite and without a warning for gates from -10,000 to 10,000.

    Source: Shazeer (2020), equation 6.
    """
    gate = x @ W_gate  # (..., F)
    decay = np.exp(-np.abs(gate))  # at most one, so nothing overflows
    sigmoid = np.where(gate >= 0, 1.0, decay) / (1.0 + decay)
    return (gate * sigmoid * (x @ W_up)) @ W_down  # (..., D)


def rotary_half(
    x: np.ndarray, positions: np.ndarray, base: float = 10000.0
) -> np.ndarray:
    """Rotary embedding that pairs each feature with the one half a width further on.

    The pair (x[i], x[i + d/2]) is rotated by the angle +position * base^(-2i/d).

    Args:
        x: (..., N, d) queries or keys.
        positions: (N,) position of each token.
        base: sets how slowly the last pair rotates.

    Returns:
        (..., N, d) rotated queries or keys.

    Source: Su et al. (2021), section 3.2.2; the pairing is that of GPT-NeoX (Black et
    al., 2022).
    """
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)  # (N, d/2)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]  # (..., N, d/2)
    rotated = [first * cos - second * sin, first * sin + second * cos]
    return np.concatenate(rotated, axis=-1)  # (..., N, d)


def rescale_rotary(dim: int, base: float, factor: float) -> np.ndarray:
    """Frequencies of rotary pairs for a context that is longer by a factor.

    base'^(-2i/d), with base' = base * factor^(d/(d-2)): the fastest pair stays as it
    is, and the slowest rotates slower by exactly ``factor``.

    Args:
        dim: d, the even width of a head, at least 4.
        base: the base that was used in training.
        factor: new length over length in training.

    Returns:
        (d/2,) angles per position, the fastest pair first.

    Source: Peng et al. (2024), section 3.1, NTK-aware interpolation.
    """
    larger = base * factor ** (dim / (dim - 2))
    return larger ** (-np.arange(0, dim, 2) / dim)


def grouped_query_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Attention in which groups of consecutive query heads share keys and values.

    Head i attends to the keys and values of group i // (h / g), with scores
    q . k / sqrt(d). With g = h this is multi-head attention, with g = 1 multi-query.

    Args:
        query: (B, h, N, d) queries.
        key: (B, g, T, d) keys.
        value: (B, g, T, d_v) values.
        mask: boolean, broadcastable to (B, h, N, T); True where a query may attend.

    Returns:
        (B, h, N, d_v) outputs; zeros for a query that may attend to nothing.

    Raises:
        ValueError: if g does not divide h.

    Source: Ainslie et al. (2023), section 2.2.
    """
    (B, h, N, d), (g, T) = query.shape, key.shape[1:3]
    if h % g:
        raise ValueError(f"{h} query heads cannot share {g} key-value heads evenly")
    grouped = query.reshape(B, g, h // g, N, d)
    keys, values = key[:, :, None], value[:, :, None]  # (B, g, 1, T, ...)
    scores = grouped @ np.swapaxes(keys, -1, -2) / np.sqrt(d)  # (B, g, h/g, N, T)
    if mask is not None:
        allowed = np.broadcast_to(mask, (B, h, N, T)).reshape(scores.shape)
        scores = np.where(allowed, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1.0)
    return (weights @ values).reshape(B, h, N, -1)  # (B, h, N, d_v)


def sliding_window_mask(n: int, window: int) -> np.ndarray:
    """Mask of causal attention within a window.

    Args:
        n: number of tokens, each a query and a key.
        window: number of tokens that a query sees, itself included.

    Returns:
        (n, n) bool, True where query (row) may attend to key (column): the token
        itself and the ``window - 1`` tokens before it.

    Source: Beltagy et al. (2020), section 3.1, made causal; Jiang et al. (2023).
    """
    distance = np.arange(n)[:, None] - np.arange(n)  # (n, n), how far back the key is
    return (distance >= 0) & (distance < window)


def softmax_with_sink(scores: np.ndarray, sink: np.ndarray) -> np.ndarray:
    """Softmax over the scores and one more score, whose weight is then dropped.

    exp(scores_j) / (exp(sink) + sum_k exp(scores_k))

    Args:
        scores: (..., h, N, T) scores; -inf where a query may not attend.
        sink: (h,) one finite score for each head.

    Returns:
        (..., h, N, T) weights, whose rows sum to at most one; zeros in a row in which
        all scores are -inf.

    Source: OpenAI (2025), section 2.2; Xiao et al. (2024) for attention sinks.
    """
    sink = sink[:, None, None]  # (h, 1, 1)
    largest = np.maximum(scores.max(axis=-1, keepdims=True), sink)  # finite: sink is
    weights = np.exp(scores - largest)
    return weights / (weights.sum(axis=-1, keepdims=True) + np.exp(sink - largest))


def latent_scores(
    query: np.ndarray, latent: np.ndarray, W_up: np.ndarray
) -> np.ndarray:
    """Scores against keys that are stored as one latent vector per token.

    The keys of a head are ``latent @ W_up[head]``. They are never made: no array of
    T * d entries exists at any time.

    Args:
        query: (h, N, d) queries.
        latent: (T, r) one vector per token, shared by all heads.
        W_up: (h, r, d) projection from latent vectors to the keys of each head.

    Returns:
        (h, N, T) scores, scaled by 1 / sqrt(d).

    Source: DeepSeek-AI (2024a), section 2.1.2.
    """
    absorbed = query @ np.swapaxes(W_up, -1, -2)  # (h, N, r)
    return absorbed @ latent.T / np.sqrt(query.shape[-1])  # (h, N, T)


def delta_rule_step(
    state: np.ndarray, key: np.ndarray, value: np.ndarray, beta: float
) -> np.ndarray:
    """Correct what a state returns for a key, by a fraction beta of the error.

    A step of gradient descent in S on the error 1/2 |v - k S|^2, where k S is what the
    key finds.

    Args:
        state: (d_k, d_v) the state S.
        key: (d_k,) used as it is, not normalised.
        value: (d_v,) what the key should find.
        beta: size of the step. With 1 and a key of norm one, the key finds exactly
            ``value`` afterwards.

    Returns:
        (d_k, d_v) the new state.

    Source: Schlag et al. (2021), equation 23; Widrow and Hoff (1960) for the rule.
    """
    error = value - key @ state  # (d_v,)
    return state + beta * np.outer(key, error)  # (d_k, d_v)
