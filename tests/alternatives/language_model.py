"""Other right answers to the exercises on language models."""

import copy
import math
from itertools import accumulate

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# merge_pair


def merge_by_recursion(ids, pair, new_id):
    if len(ids) < 2:
        return ids[:]
    if (ids[0], ids[1]) == pair:
        return [new_id, *merge_by_recursion(ids[2:], pair, new_id)]
    return [ids[0], *merge_by_recursion(ids[1:], pair, new_id)]


def merge_with_a_stack(ids, pair, new_id):
    stack = []
    for i in ids:
        if stack and stack[-1] == pair[0] and i == pair[1]:
            stack[-1] = new_id
        else:
            stack.append(i)
    return stack


def merge_as_characters(ids, pair, new_id):
    text = "".join(map(chr, ids)).replace("".join(map(chr, pair)), chr(new_id))
    return [ord(character) for character in text]


def merge_with_an_iterator(ids, pair, new_id):
    result, left = [], list(reversed(ids))
    while left:
        one = left.pop()
        if left and one == pair[0] and left[-1] == pair[1]:
            left.pop()
            one = new_id
        result += [one]
    return tuple(result)


# train_bpe


def learn_with_dictionaries(text, num_merges):
    ids, merges = list(text.encode()), []
    for new_id in range(256, 256 + num_merges):
        counts, first = {}, {}
        for i, pair in enumerate(zip(ids, ids[1:], strict=False)):
            counts[pair] = counts.get(pair, 0) + 1
            first.setdefault(pair, i)
        ranked = sorted(counts, key=lambda pair: (-counts[pair], first[pair]))
        if not ranked or counts[ranked[0]] == 1:
            break
        merges.append(ranked[0])
        ids = merge_with_a_stack(ids, ranked[0], new_id)
    return merges


def learn_with_numpy(text, num_merges):
    ids, merges = np.frombuffer(text.encode(), dtype=np.uint8).astype(int), []
    while len(merges) < num_merges and len(ids) > 1:
        codes = ids[:-1] * 10_000 + ids[1:]
        found, first, counts = np.unique(codes, return_index=True, return_counts=True)
        best = min(range(len(found)), key=lambda i: (-counts[i], first[i]))
        if counts[best] < 2:
            break
        pair = divmod(int(found[best]), 10_000)
        merges.append(pair)
        merged = merge_with_a_stack(ids.tolist(), pair, 255 + len(merges))
        ids = np.array(merged)
    return merges


# bpe_encode and bpe_decode


def encode_by_rank(text, merges):
    """At each step, the earliest merge that occurs anywhere."""
    ids, rank = list(text.encode("utf8")), {p: i for i, p in enumerate(merges)}
    while len(ids) > 1:
        pairs = list(zip(ids[:-1], ids[1:], strict=True))
        best = min(pairs, key=lambda pair: rank.get(pair, math.inf))
        if best not in rank:
            break
        ids = merge_with_a_stack(ids, best, 256 + rank[best])
    return ids


def encode_one_occurrence_at_a_time(text, merges):
    ids = list(bytearray(text, "utf-8"))
    for new_id, (one, other) in enumerate(merges, start=256):
        i = 0
        while i < len(ids) - 1:
            if ids[i] == one and ids[i + 1] == other:
                ids[i : i + 2] = [new_id]
            i += 1
    return ids


def decode_from_the_last_merge(ids, merges):
    for number in range(len(merges) - 1, -1, -1):
        replaced = []
        for i in ids:
            replaced += list(merges[number]) if i == 256 + number else [i]
        ids = replaced
    return bytes(ids).decode(errors="replace")


def decode_by_recursion(ids, merges):
    def expand(i):
        if i in range(256):
            return bytes((i,))
        one, other = merges[i - 256]
        return expand(one) + expand(other)

    return str(b"".join(map(expand, ids)), "utf-8", "replace")


# LanguageModel


class LayerOfParts(nn.Module):
    """A pre-norm layer from torch's attention, with the names of torch's layer."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.norm2 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x, hidden):
        y = self.norm1(x)
        x = x + self.self_attn(y, y, y, attn_mask=hidden, need_weights=False)[0]
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class OwnLayers(nn.Module):
    def __init__(self, vocab_size, max_length, d_model, num_heads, num_layers, d_ff):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        layers = []
        for _ in range(num_layers):
            layers.append(LayerOfParts(d_model, num_heads, d_ff))
        self.layers = nn.ModuleList(layers)
        self.positions = nn.Parameter(torch.zeros(1, max_length, d_model))
        self.embedding = nn.Embedding(vocab_size, d_model)
        for table in (self.positions, self.embedding.weight):
            table.data.normal_(0, 0.02)

    def forward(self, ids):
        B, T = ids.shape
        x = self.embedding(ids) + self.positions[0, :T]
        hidden = nn.Transformer.generate_square_subsequent_mask(T, dtype=x.dtype)
        for layer in self.layers:
            x = layer(x, hidden)
        return F.linear(self.norm(x), self.embedding.weight)


class WithAStackOfTorch(nn.Module):
    """torch's own stack, whose layers are registered under the names asked for."""

    def __init__(self, vocab_size, max_length, d_model, num_heads, num_layers, d_ff):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, 0, F.gelu, batch_first=True, norm_first=True
        )
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.embedding = nn.Embedding.from_pretrained(
            torch.randn(vocab_size, d_model) / 50, freeze=False
        )
        self.norm = nn.LayerNorm(d_model)
        self.positions = nn.Parameter(torch.randn(1, max_length, d_model) / 50)

    def forward(self, ids):
        places = torch.arange(ids.shape[1])
        tokens = self.embedding(ids) + self.positions[:, places]
        mask = torch.full((len(places), len(places)), -torch.inf).triu(1).to(tokens)
        for layer in self.layers:
            tokens = layer(tokens, mask, is_causal=True)
        return torch.einsum("btd,vd->btv", self.norm(tokens), self.embedding.weight)


class WithTiedLinear(OwnLayers):
    """The output as a linear layer whose weight is the embedding's own parameter."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self._output = [nn.Linear(1, 1, bias=False)]  # in a list, so not registered
        self._output[0].weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids) + self.positions[:, : ids.shape[1]]
        for layer in self.layers:
            x = x + self.attend(layer.self_attn, layer.norm1(x))
            x = x + layer.linear2(F.gelu(layer.linear1(layer.norm2(x))))
        return self._output[0](self.norm(x))

    def attend(self, attention, x):
        B, N, E = x.shape
        h = attention.num_heads
        packed = F.linear(x, attention.in_proj_weight, attention.in_proj_bias)
        q, k, v = packed.view(B, N, 3, h, E // h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return attention.out_proj(y.transpose(1, 2).reshape(B, N, E))


# perplexity


def perplexity_of_probabilities(logits, targets, pad_id=None):
    total, count = 0.0, 0
    for scores, ids in zip(logits, targets, strict=True):
        for row, token in zip(scores, ids, strict=True):
            if pad_id is None or int(token) != pad_id:
                total += float(row.logsumexp(0) - row[token])
                count += 1
    try:
        return math.exp(total / count)
    except OverflowError:
        return math.inf


def perplexity_by_ignoring(logits, targets, pad_id=None):
    B, T = targets.shape
    ignored = -100 if pad_id is None else pad_id
    loss = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=ignored)
    return torch.exp(loss)


def perplexity_in_single_precision(logits, targets, pad_id=None):
    chosen = logits.float().log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    counted = torch.ones_like(chosen) if pad_id is None else (targets != pad_id).float()
    mean = float((chosen * counted).sum() / counted.sum())
    return float(np.exp(np.float64(-mean)))


# filter_logits


def filter_row_by_row(logits, top_k=None, top_p=None):
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]).tolist():
        kept = set(range(len(row)))
        if top_k is not None:
            limit = sorted(row)[-min(top_k, len(row))]
            kept = {v for v in kept if row[v] >= limit}
        if top_p is not None and top_p < 1:
            largest = max(row)
            p = {v: math.exp(row[v] - largest) for v in kept}
            total, reached, chosen = sum(p.values()), 0.0, set()
            for v in sorted(kept, key=lambda v: (-row[v], v)):
                if reached >= top_p:
                    break
                chosen.add(v)
                reached += p[v] / total
            kept = chosen
        rows.append([x if v in kept else -math.inf for v, x in enumerate(row)])
    return torch.tensor(rows, dtype=logits.dtype).reshape(logits.shape)


def filter_by_shifting(logits, top_k=None, top_p=None):
    """As libraries do it: mark what is above p, and shift the marks by one."""
    logits = logits.clone()
    if top_k is not None:
        k = min(top_k, logits.size(-1))
        kth = torch.sort(logits, dim=-1, descending=True).values[..., k - 1, None]
        logits[logits < kth] = float("-inf")
    if top_p is not None and top_p != 1:
        ordered, order = torch.sort(logits, dim=-1, descending=True, stable=True)
        remove = ordered.softmax(-1).cumsum(-1) >= top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits[remove.gather(-1, order.argsort(-1))] = float("-inf")
    return logits


def filter_with_numpy(logits, top_k=None, top_p=None):
    x = logits.numpy().copy()
    if top_k is not None and top_k < x.shape[-1]:
        kth = -np.partition(-x, top_k - 1, axis=-1)[..., top_k - 1 : top_k]
        x = np.where(x < kth, -np.inf, x)
    if top_p is not None and top_p < 1:
        order = np.argsort(-x, axis=-1, kind="stable")
        y = np.take_along_axis(x, order, -1)
        p = np.exp(y - y[..., :1])
        p = p / p.sum(axis=-1, keepdims=True)
        before = np.concatenate([0 * p[..., :1], p.cumsum(-1)[..., :-1]], axis=-1)
        y = np.where(before >= top_p, -np.inf, y)
        np.put_along_axis(x, order, y, -1)
    return torch.from_numpy(x)


# sample_tokens


def sample_by_search(logits, uniform, temperature=1.0):
    if temperature == 0:
        return torch.argmax(logits, dim=1)
    p = torch.softmax((logits - logits.max(1, keepdim=True).values) / temperature, 1)
    found = torch.searchsorted(p.cumsum(1), uniform[:, None], right=True)[:, 0]
    last = p.shape[1] - 1 - (p.flip(1) > 0).int().argmax(1)
    return torch.where(found > last, last, found)


def sample_in_a_loop(logits, uniform, temperature=1.0):
    ids = []
    for row, u in zip(logits.tolist(), uniform.tolist(), strict=True):
        largest = max(row)
        if temperature == 0:
            ids.append(row.index(largest))
            continue
        p = [math.exp((x - largest) / temperature) for x in row]
        total = sum(p)
        chosen = [i for i, s in enumerate(accumulate(x / total for x in p)) if s > u]
        ids.append(min(chosen) if chosen else max(i for i, x in enumerate(p) if x > 0))
    return torch.tensor(ids)


def sample_in_single_precision(logits, uniform, temperature=1.0):
    logits = logits.float()
    if temperature == 0:
        return logits.argmax(1)
    p = torch.softmax((logits - logits.amax(1, keepdim=True)) / temperature, dim=1)
    above = p.double().cumsum(1) > uniform.unsqueeze(1)
    return torch.stack(
        [
            row.nonzero()[0, 0] if row.any() else q.nonzero()[-1, 0]
            for row, q in zip(above, p, strict=True)
        ]
    )


# break_filter_logits


def break_filter_logits_with_integers():
    return [torch.tensor([[5, 5, 6], [-2, 0, -1]]), 2, 0.7]


def break_filter_logits_with_numpy():
    return np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]), np.int64(2), np.float64(0.7)


ALTERNATIVES = {
    "merge_pair": [
        merge_by_recursion,
        merge_with_a_stack,
        merge_as_characters,
        merge_with_an_iterator,
    ],
    "train_bpe": [learn_with_dictionaries, learn_with_numpy],
    "bpe_encode": [encode_by_rank, encode_one_occurrence_at_a_time],
    "bpe_decode": [decode_from_the_last_merge, decode_by_recursion],
    "LanguageModel": [OwnLayers, WithAStackOfTorch, WithTiedLinear],
    "perplexity": [
        perplexity_of_probabilities,
        perplexity_by_ignoring,
        perplexity_in_single_precision,
    ],
    "filter_logits": [filter_row_by_row, filter_by_shifting, filter_with_numpy],
    "sample_tokens": [sample_by_search, sample_in_a_loop, sample_in_single_precision],
    "break_filter_logits": [
        break_filter_logits_with_integers,
        break_filter_logits_with_numpy,
    ],
}
