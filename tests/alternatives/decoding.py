"""Other right ways to write `decoding`: loops, buffers, torch's own functions."""

import heapq

import numpy as np
import torch
import torch.nn.functional as F


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


ALTERNATIVES = {
    "break_cached_attention": [break_cached_attention_with_integers],
    "greedy_decode": [greedy_with_lists],
    "beam_search": [beam_one_prefix_at_a_time],
    "KVCache": [CacheInABuffer],
    "cached_attention": [attention_by_torch],
}
