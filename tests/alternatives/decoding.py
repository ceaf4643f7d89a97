"""Other right ways to write `decoding`: loops, buffers, torch's own functions."""

import heapq
import math

import numpy as np
import torch
import torch.nn.functional as F


def greedy_in_a_buffer(next_logits, start_ids, end_id, max_length):
    batch = start_ids.shape[0]
    ids = np.full((batch, max_length + 1), end_id)
    ids[:, 0] = start_ids
    unfinished = np.ones(batch, dtype=bool)
    t = 0
    while t < max_length and unfinished.any():
        best = np.argmax(next_logits(ids[:, : t + 1]), axis=1)
        ids[unfinished, t + 1] = best[unfinished]
        unfinished &= best != end_id
        t += 1
    return ids[:, 1 : t + 1]


def greedy_with_lists(next_logits, start_ids, end_id, max_length):
    rows = [[int(token)] for token in start_ids]
    for _ in range(max_length):
        logits = next_logits(np.array(rows))
        for row, scores in zip(rows, logits, strict=True):
            finished = end_id in row[1:]
            row.append(end_id if finished else int(scores.argmax()))
        if all(end_id in row[1:] for row in rows):
            break
    return np.array(rows)[:, 1:]


def beam_one_prefix_at_a_time(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    beam = [(0.0, 0.0, ())]  # score, sum, ids
    for _ in range(max_length):
        candidates = []
        for score, total, ids in beam:
            if ids and ids[-1] == end_id:
                candidates.append((score, total, ids))
                continue
            (row,) = next_log_probs(np.array([[start_id, *ids]]))
            for token, log_prob in enumerate(row.tolist()):
                longer = (*ids, token)
                summed = total + log_prob
                value = summed / len(longer) ** length_penalty
                candidates.append((value, summed, longer))
        beam = heapq.nlargest(beam_size, candidates)
        if all(ids[-1] == end_id for _, _, ids in beam):
            break
    score, _, ids = max(beam)
    return list(ids), score


def beam_in_arrays(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """All places in one array from the start; empty places have the score -inf."""
    prefixes = np.full((beam_size, 1), start_id)
    totals = np.full(beam_size, -np.inf)
    totals[0] = 0.0
    lengths, ended = np.zeros(beam_size), np.zeros(beam_size, dtype=bool)
    for _ in range(max_length):
        of_the_living = next_log_probs(prefixes[~ended])
        vocab_size = of_the_living.shape[1]
        log_probs = np.full((beam_size, vocab_size), -np.inf)
        log_probs[~ended] = of_the_living
        log_probs[ended, end_id] = 0.0  # an ended one stays, once, at no cost
        new_lengths = lengths + ~ended
        sums = totals[:, None] + log_probs
        scores = sums / (new_lengths**length_penalty)[:, None]
        best = np.argsort(-scores, axis=None)[:beam_size]
        parent, token = np.divmod(best, vocab_size)
        prefixes = np.concatenate([prefixes[parent], token[:, None]], axis=1)
        totals, lengths = sums.flatten()[best], new_lengths[parent]
        ended = ended[parent] | (token == end_id)
        if (ended | np.isinf(totals)).all():
            break
    scores = totals / lengths**length_penalty
    best = scores.argmax()
    return prefixes[best, 1 : int(lengths[best]) + 1], scores[best]


class CacheOfPieces:
    """Keeps a list of pieces and joins them when asked."""

    def __init__(self):
        self.pieces = []

    @property
    def length(self):
        return sum(key.shape[2] for key, _ in self.pieces)

    def reset(self):
        self.pieces = []

    def append(self, key, value):
        self.pieces.append((key, value))
        return tuple(np.concatenate(part, 2) for part in zip(*self.pieces, strict=True))


class CacheInABuffer:
    """Writes into a buffer that doubles when it is full, as fast libraries do."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.buffers, self.length = None, 0

    def append(self, key, value):
        end = self.length + key.shape[2]
        if self.buffers is None:
            self.buffers = [
                np.empty((*x.shape[:2], 4, x.shape[3])) for x in (key, value)
            ]
        while end > self.buffers[0].shape[2]:
            self.buffers = [np.concatenate([b, b], axis=2) for b in self.buffers]
        for buffer, new in zip(self.buffers, (key, value), strict=True):
            buffer[:, :, self.length : end] = new
        self.length = end
        return tuple(buffer[:, :, :end] for buffer in self.buffers)


def attention_query_by_query(query, key, value, cache):
    before = cache.length
    keys, values = cache.append(key, value)
    outputs = []
    for i in range(query.shape[2]):
        seen = slice(0, before + i + 1)
        scores = np.einsum("bhd,bhtd->bht", query[:, :, i], keys[:, :, seen])
        scores = scores / math.sqrt(query.shape[3])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        outputs.append(np.einsum("bht,bhtd->bhd", weights, values[:, :, seen]))
    return np.stack(outputs, axis=2)


def attention_by_torch(query, key, value, cache):
    keys, values = cache.append(key, value)
    n, length = query.shape[2], keys.shape[2]
    seen = torch.ones(n, length, dtype=torch.bool).tril(length - n)
    tokens = (torch.from_numpy(x.copy()) for x in (query, keys, values))
    return F.scaled_dot_product_attention(*tokens, attn_mask=seen).numpy()


def break_cached_attention_with_integers():
    query = np.array([[[[2], [1], [4]], [[1], [0], [-1]]]])
    key = np.array([[[[1], [0], [3]], [[-2], [1], [2]]]])
    return [1, query, key, np.array([[[[5], [7], [1]], [[2], [3], [9]]]])]


def break_cached_attention_at_random():
    return 1, *np.random.default_rng(5).standard_normal((3, 1, 2, 3, 1))


ALTERNATIVES = {
    "break_cached_attention": [
        break_cached_attention_with_integers,
        break_cached_attention_at_random,
    ],
    "greedy_decode": [greedy_in_a_buffer, greedy_with_lists],
    "beam_search": [beam_one_prefix_at_a_time, beam_in_arrays],
    "KVCache": [CacheOfPieces, CacheInABuffer],
    "cached_attention": [attention_query_by_query, attention_by_torch],
}
