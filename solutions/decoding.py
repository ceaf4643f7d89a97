"""Decoding: generate one token after the other, with a cache of keys and values.

Symbols, in this file and in the chapter:

    B sequences in a batch, t tokens of a prefix, K hypotheses in a beam,
    V tokens in the vocabulary
    h heads, n new tokens, T tokens so far, d and d_v features of keys and of values
"""

from collections.abc import Callable

import numpy as np


def greedy_decode(
    next_logits: Callable[[np.ndarray], np.ndarray],
    start_ids: np.ndarray,
    end_id: int,
    max_length: int,
) -> np.ndarray:
    """Generate a batch of sequences, taking the most probable token at every step.

    Args:
        next_logits: maps prefixes (B, t), start included, to logits (B, V).
        start_ids: (B,) the first token of each prefix; it ends no sequence.
        end_id: the token that ends a sequence.
        max_length: how many tokens to generate at most.

    Returns:
        (B, L) ids with L <= max_length, without the start: rows keep their end and are
        padded with ``end_id`` after it. Stops when all rows have ended.

    Source: Sutskever et al. (2014), section 3.2, with a beam of one.
    """
    prefix = start_ids[:, None]  # (B, 1)
    ended = np.zeros(len(start_ids), dtype=bool)  # (B,)
    while prefix.shape[1] <= max_length and not ended.all():
        token = np.where(ended, end_id, next_logits(prefix).argmax(axis=-1))
        ended = ended | (token == end_id)
        prefix = np.concatenate([prefix, token[:, None]], axis=1)  # (B, t + 1)
    return prefix[:, 1:]


def beam_search(
    next_log_probs: Callable[[np.ndarray], np.ndarray],
    start_id: int,
    end_id: int,
    beam_size: int,
    max_length: int,
    length_penalty: float = 0.0,
) -> tuple[np.ndarray, float]:
    """Generate one sequence, keeping the best hypotheses at every step.

    Args:
        next_log_probs: maps prefixes (K, t), start included, to (K, V); it is shown
            only hypotheses that have not ended.
        start_id: the first token of every prefix.
        end_id: the token that ends a hypothesis.
        beam_size: how many hypotheses to keep.
        max_length: how many tokens to generate at most.
        length_penalty: the exponent of the length in the score.

    Returns:
        (L,) ids of the best hypothesis, without the start, and its score.

    Source: Wu et al. (2016), section 7, with the length itself as the penalty's base.
    """

    def score(hypothesis: tuple[list[int], float]) -> float:
        ids, total = hypothesis
        return total / len(ids) ** length_penalty

    growing, ended = [([], 0.0)], []
    for _ in range(max_length):
        prefixes = np.array([[start_id, *ids] for ids, _ in growing])  # (K, t)
        grown = [
            ([*ids, token], total + log_prob)
            for (ids, total), row in zip(growing, next_log_probs(prefixes), strict=True)
            for token, log_prob in enumerate(row)
        ]
        beam = sorted(ended + grown, key=score, reverse=True)[:beam_size]
        ended = [hypothesis for hypothesis in beam if hypothesis[0][-1] == end_id]
        growing = [hypothesis for hypothesis in beam if hypothesis[0][-1] != end_id]
        if not growing:
            break
    best = max(beam, key=score)
    return np.array(best[0]), float(score(best))


class KVCache:
    """The keys and values of all tokens that one attention layer has seen."""

    def __init__(self) -> None:
        self.reset()

    def append(
        self, key: np.ndarray, value: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the keys and values of n new tokens after the stored ones.

        Args:
            key: (B, h, n, d) keys of the new tokens.
            value: (B, h, n, d_v) their values.

        Returns:
            (B, h, T, d) all keys and (B, h, T, d_v) all values so far.
        """
        if self.length:
            pairs = (self._keys, key), (self._values, value)
            key, value = (np.concatenate(pair, axis=2) for pair in pairs)
        self._keys, self._values = key, value
        return self._keys, self._values

    @property
    def length(self) -> int:
        """The number of tokens in the cache."""
        return 0 if self._keys is None else self._keys.shape[2]

    def reset(self) -> None:
        """Forget everything; the next tokens may have other sizes."""
        self._keys: np.ndarray | None = None
        self._values: np.ndarray | None = None


def cached_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, cache: KVCache
) -> np.ndarray:
    """Causal attention of n new tokens to all tokens so far, themselves included.

    Args:
        query: (B, h, n, d) queries of the new tokens.
        key: (B, h, n, d) their keys, which are appended to the cache.
        value: (B, h, n, d_v) their values, likewise.
        cache: keys and values of the tokens before.

    Returns:
        (B, h, n, d_v) outputs of the new tokens.

    Source: Shazeer (2019), section 2.4.
    """
    keys, values = cache.append(key, value)  # (B, h, T, d), (B, h, T, d_v)
    n, length = query.shape[2], keys.shape[2]
    scores = query @ keys.swapaxes(-1, -2) / np.sqrt(query.shape[-1])  # (B, h, n, T)
    seen = np.tri(n, length, length - n, dtype=bool)  # ends at the last key
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values


def break_cached_attention() -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Find tokens on which wrong versions of cached_attention fail.

    Returns:
        How many of N tokens the first call puts into the empty cache, then queries
        (B, h, N, d), keys (B, h, N, d) and values (B, h, N, d_v) of all N tokens, from
        -1000 to 1000. A second call processes the remaining tokens at once.
    """
    query = np.array([1.0, 2, 3, 1, 3, 2]).reshape(1, 2, 3, 1)
    key = np.array([0.0, 1, 2, 2, 0, 1]).reshape(1, 2, 3, 1)
    return 1, query, key, np.arange(6.0).reshape(1, 2, 3, 1)
