"""Other right ways to write `decoding`: loops, buffers, torch's own functions."""

import heapq
import math

import torch
import torch.nn.functional as F


def greedy_in_a_buffer(next_logits, start_ids, end_id, max_length):
    batch = start_ids.shape[0]
    ids = torch.full((batch, max_length + 1), end_id)
    ids[:, 0] = start_ids
    unfinished = torch.ones(batch, dtype=torch.bool)
    t = 0
    while t < max_length and unfinished.any():
        best = next_logits(ids[:, : t + 1]).max(dim=1).indices
        ids[unfinished, t + 1] = best[unfinished]
        unfinished &= best != end_id
        t += 1
    return ids[:, 1 : t + 1]


def greedy_with_lists(next_logits, start_ids, end_id, max_length):
    rows = [[int(token)] for token in start_ids]
    for _ in range(max_length):
        logits = next_logits(torch.tensor(rows))
        for row, scores in zip(rows, logits, strict=True):
            finished = end_id in row[1:]
            row.append(end_id if finished else int(scores.argmax()))
        if all(end_id in row[1:] for row in rows):
            break
    return torch.tensor(rows)[:, 1:]


def greedy_recursive(next_logits, start_ids, end_id, max_length):
    def write(prefix):
        written = prefix[:, 1:]
        ended = (written == end_id).any(dim=1)
        if written.shape[1] == max_length or bool(ended.all()):
            return written
        token = torch.where(
            ended, torch.tensor(end_id), next_logits(prefix).softmax(-1).argmax(-1)
        )
        return write(torch.hstack([prefix, token[:, None]]))

    return write(start_ids[:, None])


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
            (row,) = next_log_probs(torch.tensor([[start_id, *ids]]))
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


def beam_with_tensors(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    """All places in one tensor from the start; empty places have the score -inf."""
    prefixes = torch.full((beam_size, 1), start_id)
    totals = torch.full((beam_size,), -torch.inf)
    totals[0] = 0.0
    totals = totals.double()
    lengths = torch.zeros(beam_size)
    ended = torch.zeros(beam_size, dtype=torch.bool)
    for _ in range(max_length):
        of_the_living = next_log_probs(prefixes[~ended])
        vocab_size = of_the_living.shape[1]
        log_probs = of_the_living.new_full((beam_size, vocab_size), -torch.inf)
        log_probs[~ended] = of_the_living
        log_probs[ended, end_id] = 0.0  # an ended one stays, once, at no cost
        new_lengths = lengths + (~ended).float()
        sums = totals[:, None] + log_probs
        scores = sums / (new_lengths**length_penalty)[:, None]
        _, flat = scores.flatten().topk(beam_size)
        parent, token = flat // vocab_size, flat % vocab_size
        prefixes = torch.cat([prefixes[parent], token[:, None]], dim=1)
        totals = sums.flatten()[flat]
        lengths = new_lengths[parent]
        ended = ended[parent] | (token == end_id)
        if bool((ended | totals.isinf()).all()):
            break
    scores = totals / lengths**length_penalty
    best = int(scores.argmax())
    return prefixes[best, 1 : int(lengths[best]) + 1], scores[best]


def beam_in_single_precision(
    next_log_probs, start_id, end_id, beam_size, max_length, length_penalty=0.0
):
    def normalised(entry):
        return sum(entry[1]) / max(1, len(entry[0])) ** length_penalty

    beam = [([], [])]
    for _ in range(max_length):
        alive = [entry for entry in beam if end_id not in entry[0]]
        if not alive:
            break
        pool = [entry for entry in beam if end_id in entry[0]]
        inputs = torch.tensor([[start_id] + ids for ids, _ in alive])
        for (ids, costs), row in zip(
            alive, next_log_probs(inputs).float(), strict=True
        ):
            for v in range(len(row)):
                pool.append((ids + [v], costs + [float(row[v])]))
        pool.sort(key=normalised)
        beam = pool[::-1][:beam_size]
    winner = max(beam, key=normalised)
    return torch.tensor(winner[0]), normalised(winner)


class CacheOfPieces:
    """Keeps a list of pieces and joins them when asked."""

    def __init__(self):
        self.pieces = []

    @property
    def length(self):
        return sum(key.size(2) for key, _ in self.pieces)

    def reset(self):
        self.pieces = []

    @property
    def keys(self):
        return torch.cat([key for key, _ in self.pieces], 2) if self.pieces else None

    @property
    def values(self):
        return torch.cat([v for _, v in self.pieces], 2) if self.pieces else None

    def append(self, key, value):
        self.pieces.append((key, value))
        return self.keys, self.values


class CacheInABuffer:
    """Writes into a buffer that doubles when it is full, as fast libraries do."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.buffers, self.used = None, 0

    @property
    def length(self):
        return self.used

    @property
    def keys(self):
        return self.buffers and self.buffers[0][:, :, : self.used]

    @property
    def values(self):
        return self.buffers and self.buffers[1][:, :, : self.used]

    def append(self, key, value):
        n = key.shape[2]
        if self.buffers is None:
            self.buffers = tuple(
                x.new_empty(x.shape[0], x.shape[1], 4, x.shape[3]) for x in (key, value)
            )
        while self.used + n > self.buffers[0].shape[2]:
            self.buffers = tuple(
                torch.cat([b, torch.empty_like(b)], dim=2) for b in self.buffers
            )
        for buffer, new in zip(self.buffers, (key, value), strict=True):
            buffer[:, :, self.used : self.used + n] = new
        self.used += n
        return self.keys, self.values


class CacheWithTokensFirst:
    """Keeps (n, B, h, d) and turns it round on the way in and out."""

    def __init__(self):
        self._store = {}

    def reset(self):
        self._store.clear()

    @property
    def length(self):
        return len(self._store["key"]) if self._store else 0

    def __getattr__(self, name):
        if name not in ("keys", "values"):
            raise AttributeError(name)
        return self._store[name[:-1]].movedim(0, 2) if self._store else None

    def append(self, key, value):
        new = {"key": key.movedim(2, 0), "value": value.movedim(2, 0)}
        if self._store:
            new = {name: torch.cat([self._store[name], new[name]]) for name in new}
        self._store = new
        return self.keys, self.values


def attention_written_out(query, key, value, cache):
    keys, values = cache.append(key, value)
    n, length = query.size(2), keys.size(2)
    scores = torch.einsum("bhnd,bhtd->bhnt", query, keys) / math.sqrt(query.size(3))
    own_place = torch.arange(length - n, length).unsqueeze(1)
    scores = scores.masked_fill(torch.arange(length) > own_place, float("-inf"))
    return torch.einsum("bhnt,bhtd->bhnd", scores.softmax(-1), values)


def attention_query_by_query(query, key, value, cache):
    before = cache.length
    keys, values = cache.append(key, value)
    rows = [
        F.scaled_dot_product_attention(
            query[:, :, i : i + 1],
            keys[:, :, : before + i + 1],
            values[:, :, : before + i + 1],
        )
        for i in range(query.shape[2])
    ]
    return torch.cat(rows, dim=2)


def attention_token_by_token(query, key, value, cache):
    outputs = []
    for i in range(query.shape[2]):
        new = slice(i, i + 1)
        keys, values = cache.append(key[:, :, new], value[:, :, new])
        weights = (query[:, :, new] @ keys.mT * keys.shape[-1] ** -0.5).softmax(-1)
        outputs.append(weights @ values)
    return torch.cat(outputs, dim=2)


def attention_with_an_additive_mask_in_single_precision(query, key, value, cache):
    keys, values = cache.append(key, value)
    query, keys, values = query.float(), keys.float(), values.float()
    n, length = query.shape[-2], keys.shape[-2]
    mask = torch.full((n, length), -torch.inf).triu(length - n + 1)
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)


def break_cached_attention_with_integers():
    query = torch.tensor([[[[2], [1], [4]], [[1], [0], [-1]]]])
    key = torch.tensor([[[[1], [0], [3]], [[-2], [1], [2]]]])
    return [1, query, key, torch.tensor([[[[5], [7], [1]], [[2], [3], [9]]]])]


def break_cached_attention_at_random():
    generator = torch.Generator().manual_seed(5)
    return 1, *torch.randn(3, 1, 2, 3, 1, generator=generator)


ALTERNATIVES = {
    "break_cached_attention": [
        break_cached_attention_with_integers,
        break_cached_attention_at_random,
    ],
    "greedy_decode": [greedy_in_a_buffer, greedy_with_lists, greedy_recursive],
    "beam_search": [
        beam_one_prefix_at_a_time,
        beam_with_tensors,
        beam_in_single_precision,
    ],
    "KVCache": [CacheOfPieces, CacheInABuffer, CacheWithTokensFirst],
    "cached_attention": [
        attention_written_out,
        attention_query_by_query,
        attention_token_by_token,
        attention_with_an_additive_mask_in_single_precision,
    ],
}
