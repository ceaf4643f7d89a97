"""Other right answers to the exercises on several heads."""

import math

import numpy as np
import torch
from torch import nn


def check_division(features, num_heads):
    if features % num_heads:
        raise ValueError(f"{features} features in {num_heads} heads")


def split_by_loops(x, num_heads):
    check_division(x.shape[-1], num_heads)
    d = x.shape[-1] // num_heads
    heads = np.zeros((len(x), num_heads, x.shape[1], d))
    for head in range(num_heads):
        for token in range(x.shape[1]):
            heads[:, head, token] = x[:, token, head * d : (head + 1) * d]
    return heads


def split_with_numpys_own_complaint(x, num_heads):
    heads = np.split(x, num_heads, axis=2)  # a ValueError unless they are equal
    return np.moveaxis(np.array(heads), 0, 1)


def merge_by_concatenating(x):
    return np.concatenate([x[:, head] for head in range(x.shape[1])], axis=-1)


def merge_by_einsum(x):
    x = np.einsum("bhnd->bnhd", x)
    return x.reshape(*x.shape[:2], -1)


def attention_head_by_head(x, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    B, N, E = x.shape
    d = E // num_heads
    allowed = np.broadcast_to(True if mask is None else mask, (B, num_heads, N, N))
    output, weights = np.zeros((B, N, E)), np.zeros((B, num_heads, N, N))
    for b in range(B):
        for head in range(num_heads):
            part = slice(head * d, (head + 1) * d)
            q, k, v = x[b] @ W_Q[:, part], x[b] @ W_K[:, part], x[b] @ W_V[:, part]
            for i in range(N):
                keys = np.flatnonzero(allowed[b, head, i])
                if len(keys) == 0:
                    continue
                scores = k[keys] @ q[i] / math.sqrt(d)
                row = np.exp(scores - scores.max())
                weights[b, head, i, keys] = row / row.sum()
            output[b] += weights[b, head] @ v @ W_O[part]
    return output, weights


def attention_with_einsum(x, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    E = x.shape[-1]
    q, k, v = (
        np.einsum("bne,ehd->bhnd", x, W.reshape(E, num_heads, -1))
        for W in (W_Q, W_K, W_V)
    )
    scores = np.einsum("bhnd,bhtd->bhnt", q, k) * (E // num_heads) ** -0.5
    hidden = np.zeros_like(scores, dtype=bool) if mask is None else ~mask
    scores = np.where(hidden, -1e30, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * ~hidden
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    heads = np.einsum("bhnt,bhtd->bnhd", weights, v)
    return heads.reshape(x.shape) @ W_O, weights


class Projections(nn.Module):
    """The parameters that the exercise names, and nothing else."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        check_division(d_model, num_heads)
        for name in ("q", "k", "v", "out"):
            self.add_module(f"{name}_proj", nn.Linear(d_model, d_model))
        self.h, self.d = num_heads, d_model // num_heads


class HeadByHead(Projections):
    """A loop over heads; masked rows are computed where a key is left."""

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        shape = len(q), self.h, q.shape[1], k.shape[1]
        allowed = torch.ones(shape, dtype=torch.bool)
        if mask is not None:
            allowed = allowed & mask
        heads, maps = [], []
        for i in range(self.h):
            part = slice(i * self.d, (i + 1) * self.d)
            scores = torch.einsum("bnd,btd->bnt", q[..., part], k[..., part])
            scores = (scores / math.sqrt(self.d)).where(allowed[:, i], -1e30)
            row = (scores - scores.amax(-1, keepdim=True)).exp() * allowed[:, i]
            maps.append(row / row.sum(-1, keepdim=True).clamp(min=1e-30))
            heads.append(maps[-1] @ v[..., part])
        return self.out_proj(torch.cat(heads, dim=-1)), torch.stack(maps, dim=1)


class WithViews(Projections):
    """All heads at once; rows without keys are put right by ``nan_to_num``."""

    def heads(self, x):
        return x.view(*x.shape[:2], self.h, self.d).permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.heads(layer(x))
            for layer, x in (
                (self.q_proj, query),
                (self.k_proj, key),
                (self.v_proj, value),
            )
        )
        scores = q @ k.transpose(-1, -2) * self.d**-0.5
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        weights = torch.nan_to_num(torch.softmax(scores, -1))
        merged = (weights @ v).permute(0, 2, 1, 3).contiguous()
        return self.out_proj(merged.view(query.shape)), weights


def count_head_by_head(embed_dim, num_heads):
    d = embed_dim // num_heads
    total = embed_dim  # the output's bias
    for _ in range(num_heads):
        total += 3 * d * (embed_dim + 1) + embed_dim * d
    return total


def count_by_building(embed_dim, num_heads):
    with torch.device("meta"):
        layer = nn.MultiheadAttention(embed_dim, num_heads)
    return sum(p.numel() for p in layer.parameters())


def break_split_heads_with_three_heads():
    return np.linspace(-1.0, 1.0, 12).reshape(1, 2, 6), 3


def break_split_heads_with_integers():
    return [np.arange(12)[::-1].reshape(1, 2, 6), 2]


ALTERNATIVES = {
    "break_split_heads": [
        break_split_heads_with_three_heads,
        break_split_heads_with_integers,
    ],
    "split_heads": [split_by_loops, split_with_numpys_own_complaint],
    "merge_heads": [merge_by_concatenating, merge_by_einsum],
    "multi_head_attention": [attention_head_by_head, attention_with_einsum],
    "MultiHeadAttention": [HeadByHead, WithViews],
    "projection_parameter_count": [count_head_by_head, count_by_building],
}
