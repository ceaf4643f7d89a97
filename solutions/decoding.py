"""Decoding: generate one token after the other, with a cache of keys and values.

Symbols, in this file and in the chapter:

    B sequences in a batch, t tokens of a prefix, V tokens known, K hypotheses in a beam
    h heads, n new tokens, d and d_v features of keys and of values
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def greedy_decode(
    next_logits: Callable[[Tensor], Tensor],
    start_ids: Tensor,
    end_id: int,
    max_length: int,
) -> Tensor:
    """Generate a batch of sequences, taking the most probable token at every step.

    Args:
        next_logits: ``next_logits(prefix (B, t)) -> (B, V)``, scores of the token
            after each prefix. A prefix holds the start and all tokens so far.
        start_ids: (B,) the first token of each prefix. It ends no sequence, even if it
            is ``end_id``.
        end_id: the token that ends a sequence.
        max_length: how many tokens to generate at most.

    Returns:
        (B, L) ids with L <= max_length: without the start, with the end, and filled
        up with ``end_id`` after it. Stops as soon as all sequences have ended.

    Source: Sutskever et al. (2014), section 3.2, with a beam of one.
    """
    prefix = start_ids.unsqueeze(1)  # (B, 1)
    ended = torch.zeros_like(start_ids, dtype=torch.bool)  # (B,)
    while prefix.shape[1] <= max_length and not ended.all():
        token = next_logits(prefix).argmax(dim=-1).masked_fill(ended, end_id)
        ended = ended | (token == end_id)
        prefix = torch.cat([prefix, token.unsqueeze(1)], dim=1)  # (B, t + 1)
    return prefix[:, 1:]


def beam_search(
    next_log_probs: Callable[[Tensor], Tensor],
    start_id: int,
    end_id: int,
    beam_size: int,
    max_length: int,
    length_penalty: float = 0.0,
) -> tuple[Tensor, float]:
    """Generate one sequence, keeping the best few hypotheses at every step.

    score(ids) = sum of log-probabilities / len(ids) ** length_penalty

    The beam starts with one empty hypothesis. At every step, each
    hypothesis that has not ended is continued with every token; one that has ended
    stays as it is, and is not shown to the model. The ``beam_size`` best of all these
    by score are the next beam.

    Args:
        next_log_probs: ``next_log_probs(prefixes (K, t)) -> (K, V)``, log-probabilities
            of the token after each prefix. A prefix holds the start and all tokens
            so far; none that has ended is among them.
        start_id: the first token of every prefix.
        end_id: the token that ends a hypothesis.
        beam_size: how many hypotheses to keep.
        max_length: how many tokens to generate at most.
        length_penalty: 0 compares sums of log-probabilities, 1 compares means.

    Returns:
        ids (L,) of the best hypothesis in the last beam, ended or not, without the
        start, with the end if it was reached, and its score. Stops when all
        hypotheses have ended, or have ``max_length`` tokens.

    Source: Wu et al. (2016), section 7, with the length itself as the penalty's base.
    """

    def score(hypothesis: tuple[list[int], float]) -> float:
        ids, total = hypothesis
        return total / len(ids) ** length_penalty

    growing, ended = [([], 0.0)], []
    for _ in range(max_length):
        prefixes = torch.tensor([[start_id, *ids] for ids, _ in growing])  # (K, t)
        log_probs = next_log_probs(prefixes)  # (K, V)
        best, tokens = log_probs.topk(min(beam_size, log_probs.shape[-1]))
        grown = [
            ([*ids, token], total + log_prob)
            for (ids, total), row, news in zip(
                growing, best.tolist(), tokens.tolist(), strict=True
            )
            for log_prob, token in zip(row, news, strict=True)
        ]
        beam = sorted(ended + grown, key=score, reverse=True)[:beam_size]
        ended = [hypothesis for hypothesis in beam if hypothesis[0][-1] == end_id]
        growing = [hypothesis for hypothesis in beam if hypothesis[0][-1] != end_id]
        if not growing:
            break
    return torch.tensor(beam[0][0]), score(beam[0])


class KVCache:
    """The keys and values of all tokens that one attention layer has seen.

    Attributes:
        keys: (B, h, length, d), or None while the cache is empty.
        values: (B, h, length, d_v), or None while the cache is empty.
    """

    def __init__(self) -> None:
        self.reset()

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new tokens behind those that are there.

        Args:
            key: (B, h, n, d) keys of n new tokens.
            value: (B, h, n, d_v) their values.

        Returns:
            (B, h, length, d) all keys and (B, h, length, d_v) all values so far.
            Gradients flow back into everything that was appended.
        """
        if self.keys is None:
            self.keys, self.values = key, value
            return key, value
        self.keys = torch.cat([self.keys, key], dim=2)  # (B, h, length, d)
        self.values = torch.cat([self.values, value], dim=2)  # (B, h, length, d_v)
        return self.keys, self.values

    @property
    def length(self) -> int:
        """How many tokens the cache holds."""
        return 0 if self.keys is None else self.keys.shape[2]

    def reset(self) -> None:
        """Forget everything; the next tokens may have other sizes."""
        self.keys: Tensor | None = None
        self.values: Tensor | None = None


def cached_attention(
    query: Tensor, key: Tensor, value: Tensor, cache: KVCache
) -> Tensor:
    """Causal attention of new tokens to all tokens so far, themselves included.

    The new keys and values are appended to the cache. New token i sees everything
    that was in the cache before, and the new tokens 0 to i.

    Args:
        query: (B, h, n, d) queries of the n new tokens.
        key: (B, h, n, d) their keys.
        value: (B, h, n, d_v) their values.
        cache: keys and values of the tokens before; grows by n.

    Returns:
        (B, h, n, d_v) output for the new tokens.

    Source: Shazeer (2019), section 2.4.
    """
    keys, values = cache.append(key, value)  # (B, h, T, d), (B, h, T, d_v)
    n, length = query.shape[2], keys.shape[2]
    mask = torch.ones(n, length, dtype=torch.bool, device=query.device)
    mask = mask.tril(length - n)  # the last query sees the last key
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)


def break_cached_attention() -> tuple[int, Tensor, Tensor, Tensor]:
    """Find tokens on which wrong versions of cached_attention go wrong.

    Returns:
        How many of N tokens the first call puts into the empty cache, then queries
        (B, h, N, d), keys (B, h, N, d) and values (B, h, N, d_v) of all N tokens, from
        -1000 to 1000. A second call processes the remaining tokens at once.
    """
    query = torch.tensor([1.0, 2.0, 3.0, 1.0, 3.0, 2.0]).reshape(1, 2, 3, 1)
    key = torch.tensor([0.0, 1.0, 2.0, 2.0, 0.0, 1.0]).reshape(1, 2, 3, 1)
    return 1, query, key, torch.arange(6.0).reshape(1, 2, 3, 1)
