"""Other right answers to the exercises on language models."""

import functools
import math
from itertools import accumulate

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from toolkit.decoder_block import Block

# merge_pair


def merge_with_a_stack(ids, pair, new_id):
    stack = []
    for i in ids:
        if stack and stack[-1] == pair[0] and i == pair[1]:
            stack[-1] = new_id
        else:
            stack.append(i)
    return stack


# train_bpe


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


def decode_by_recursion(ids, merges):
    def expand(i):
        if i in range(256):
            return bytes((i,))
        one, other = merges[i - 256]
        return expand(one) + expand(other)

    return str(b"".join(map(expand, ids)), "utf-8", "replace")


# LanguageModel


class WithTiedLinear(nn.Module):
    """The output as a linear layer whose weight is the embedding's own parameter."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(Block(d_model, num_heads, d_ff))
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.embedding.weight.data.normal_(0, 0.02)
        self._output = [nn.Linear(1, 1, bias=False)]  # in a list, so not registered
        self._output[0].weight = self.embedding.weight

    def forward(self, ids):
        places = torch.arange(ids.shape[1])
        mask = places[:, None] >= places
        x = functools.reduce(lambda x, f: f(x, mask), self.layers, self.embedding(ids))
        return self._output[0](self.norm(x))


# perplexity


def perplexity_with_torch(logits, targets, pad_id=None):
    logits, targets = torch.from_numpy(logits), torch.from_numpy(targets)
    ignored = -100 if pad_id is None else pad_id
    loss = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=ignored)
    return loss.exp().item()


# filter_logits


def filter_by_shifting(logits, top_k=None, top_p=None):
    """As libraries do it: mark what is above p, and shift the marks by one."""
    logits = torch.from_numpy(logits.copy())
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
    return logits.numpy()


# sample_tokens


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
    return np.array(ids)


ALTERNATIVES = {
    "merge_pair": [merge_with_a_stack],
    "train_bpe": [learn_with_numpy],
    "bpe_encode": [encode_by_rank],
    "bpe_decode": [decode_by_recursion],
    "LanguageModel": [WithTiedLinear],
    "perplexity": [perplexity_with_torch],
    "filter_logits": [filter_by_shifting],
    "sample_tokens": [sample_in_a_loop],
}
