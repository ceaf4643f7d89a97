"""Right answers as students write them, and the same with slips in them.

They are written otherwise than the references and the mistakes of the bank, so that
what is said of a slip is tried on another way to make it. A slip is a piece of text
that takes the place of another one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from toolkit.patches import PatchTokens

Slip = tuple[str, str]  # what stands in a right answer, and what stands in its place

NAMES = {"copy": copy, "math": math, "np": np, "torch": torch, "F": F, "nn": nn} | {
    "PatchTokens": PatchTokens
}


def student(exercise: str, *slips: Slip) -> Callable:
    """The answer to an exercise with some slips in it."""
    source = RIGHT[exercise]
    for right, wrong in slips:
        assert source.count(right) == 1, (exercise, right)
        source = source.replace(right, wrong)
    namespace = dict(NAMES)
    exec(compile(source, f"<{exercise}>", "exec"), namespace)
    return namespace[exercise]


RIGHT = {
    "EncoderLayer": """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False,
                 activation=F.relu, eps=1e-5):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def forward(self, x, mask=None, padding_mask=None):
        hidden = ~mask if mask is not None else None
        padded = ~padding_mask if padding_mask is not None else None
        h = self.norm1(x) if self.norm_first else x
        h, _ = self.self_attn(h, h, h, attn_mask=hidden, key_padding_mask=padded)
        s = x + h
        if not self.norm_first:
            s = self.norm1(s)
        h = self.norm2(s) if self.norm_first else s
        h = self.linear1(h)
        h = self.activation(h)
        out = s + self.linear2(h)
        if not self.norm_first:
            out = self.norm2(out)
        return out
""",
    "DecoderLayer": """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, norm_first=False,
                 activation=F.relu, eps=1e-5):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.multihead_attn = nn.MultiheadAttention(
            d_model, num_heads, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm3 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        hidden, padded = mask, memory_padding_mask
        if hidden is not None:
            hidden = hidden.logical_not()
        if padded is not None:
            padded = padded.logical_not()
        h = self.norm1(x) if self.norm_first else x
        h, _ = self.self_attn(h, h, h, attn_mask=hidden)
        x = x + h
        if not self.norm_first:
            x = self.norm1(x)
        h = self.norm2(x) if self.norm_first else x
        h, _ = self.multihead_attn(h, memory, memory, key_padding_mask=padded)
        x = h + x
        if not self.norm_first:
            x = self.norm2(x)
        h = self.norm3(x) if self.norm_first else x
        h = self.linear2(self.activation(self.linear1(h)))
        x = x + h + 0
        if not self.norm_first:
            x = self.norm3(x)
        return x
""",
    "Encoder": """
class Encoder(nn.Module):
    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x, *masks, **named):
        finish = lambda y: y if self.norm is None else self.norm(y)
        y = x
        for layer in self.layers:
            y = layer(y, *masks, **named)
        y = finish(y)
        return y
""",
    "VisionTransformer": """
class VisionTransformer(nn.Module):
    def __init__(self, image_size, patch_size, channels, embed_dim, num_layers,
                 num_heads, mlp_dim, num_classes, eps=1e-6):
        super().__init__()
        if image_size % patch_size:
            raise ValueError("patches do not fill the image")
        if embed_dim % num_heads:
            raise ValueError("heads do not divide the width")
        self.embedding = PatchTokens(
            nn.Linear(channels * patch_size * patch_size, embed_dim),
            (image_size // patch_size) ** 2, patch_size)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(nn.TransformerEncoderLayer(
                d_model=embed_dim, nhead=num_heads, dim_feedforward=mlp_dim,
                dropout=0, activation="gelu", layer_norm_eps=eps,
                batch_first=True, norm_first=True))
        self.norm = nn.LayerNorm(embed_dim, eps=eps)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, images):
        z = self.embedding(images)
        for layer in self.layers:
            z = layer(z)
        z = z[:, 0]
        z = self.norm(z)
        return self.head(z)
""",
    "MultiHeadAttention": """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads do not divide the width")
        self.h = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        B, N, E = q.shape
        T, d = k.shape[1], E // self.h
        q = q.view(B, N, self.h, d).transpose(1, 2)
        k = k.view(B, T, self.h, d).transpose(1, 2)
        v = v.view(B, T, self.h, d).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d)
        if mask is None:
            mask = torch.ones_like(scores, dtype=torch.bool)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), -1)
        weights = torch.nan_to_num(weights)
        joined = (weights @ v).transpose(1, 2).reshape(B, N, E)
        return self.out_proj(joined), weights
""",
    "cached_attention": """
def cached_attention(query, key, value, cache):
    K, V = cache.append(key, value)
    n, T = query.shape[2], K.shape[2]
    rows = np.arange(T - n, T)[:, None]
    mask = np.arange(T)[None, :] <= rows
    scores = np.einsum("bhnd,bhtd->bhnt", query, K) / query.shape[3] ** 0.5
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return np.einsum("bhnt,bhtd->bhnd", weights, V)
""",
    "softmax": """
def softmax(scores):
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    total = np.sum(e, axis=-1, keepdims=True)
    return e / total
""",
    "attention": """
def attention(Q, K, V):
    E = np.einsum("id,jd->ij", Q, K) / math.sqrt(Q.shape[1])
    e = np.exp(E - E.max(1)[:, None])
    A = e / e.sum(1)[:, None]
    return A @ V, A
""",
    "attention_entropy": """
def attention_entropy(weights):
    safe = np.where(weights > 0, weights, 1.0)
    return -np.sum(weights * np.log(safe), axis=-1)
""",
    "causal_mask": """
def causal_mask(n):
    i = np.arange(n)
    return i[None, :] <= i[:, None]
""",
    "padding_mask": """
def padding_mask(lengths, max_length):
    positions = np.arange(max_length)
    return positions[None, :] < lengths.reshape(-1, 1)
""",
    "scaled_dot_product_attention": """
def scaled_dot_product_attention(query, key, value, mask=None):
    d = query.shape[-1]
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) / math.sqrt(d)
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    bias = np.where(mask, 0.0, -np.inf)
    e = np.exp(scores + bias - np.max(scores + bias, -1, keepdims=True, initial=-1e300))
    weights = e / np.maximum(np.sum(e, -1, keepdims=True), 1e-300)
    return np.matmul(weights, value), weights
""",
    "split_heads": """
def split_heads(x, num_heads):
    B, N, E = x.shape
    if E % num_heads:
        raise ValueError(f"{x.shape} {num_heads}")
    d = E // num_heads
    heads = [x[:, :, i * d : (i + 1) * d] for i in range(num_heads)]
    return np.stack(heads, axis=1)
""",
    "merge_heads": """
def merge_heads(x):
    return np.concatenate([x[:, i] for i in range(x.shape[1])], axis=-1)
""",
    "multi_head_attention": """
def multi_head_attention(x, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    B, N, E = x.shape
    d = E // num_heads
    q = (x @ W_Q).reshape(B, N, num_heads, d).transpose(0, 2, 1, 3)
    k = (x @ W_K).reshape(B, N, num_heads, d).transpose(0, 2, 1, 3)
    v = (x @ W_V).reshape(B, N, num_heads, d).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d)
    if mask is not None:
        scores = scores + np.where(mask, 0.0, -1e30)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    a = e / e.sum(-1, keepdims=True)
    if mask is not None:
        a = a * mask
    joined = (a @ v).transpose(0, 2, 1, 3).reshape(B, N, E)
    return joined @ W_O, a
""",
    "layer_norm": """
def layer_norm(x, weight, bias, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = ((x - mu) ** 2).mean(-1, keepdims=True)
    return weight * ((x - mu) / np.sqrt(var + eps)) + bias
""",
    "rms_norm": """
def rms_norm(x, weight, eps=1e-6):
    ms = (x * x).mean(-1, keepdims=True)
    return x * (1 / np.sqrt(ms + eps)) * weight
""",
    "swiglu": """
def swiglu(x, W_gate, W_up, W_down):
    g = x @ W_gate
    g = g * (0.5 * (1 + np.tanh(g / 2)))
    return (g * (x @ W_up)) @ W_down
""",
    "patchify": """
def patchify(images, patch_size):
    B, C, H, W = images.shape
    p = patch_size
    if p < 1 or H % p or W % p:
        raise ValueError(f"{tuple(images.shape)} {p}")
    patches = []
    for i in range(0, H, p):
        for j in range(0, W, p):
            patches.append(images[:, :, i : i + p, j : j + p].reshape(B, C * p * p))
    return np.stack(patches, axis=1)
""",
    "attention_rollout": """
def attention_rollout(attentions):
    eye = np.eye(attentions[0].shape[-1])
    R = eye
    for A in attentions:
        A = A.sum(1) / A.shape[1]
        A = A + eye
        A = A / A.sum(-1, keepdims=True)
        R = A @ R
    return R[:, 0, 1:]
""",
    "shift_right": """
def shift_right(targets, start_id):
    shifted = np.zeros_like(targets)
    shifted[:, 0] = start_id
    shifted[:, 1:] = targets[:, :-1]
    return shifted
""",
    "context_vector": """
def context_vector(state, encoder_states, source_mask=None):
    if state.shape[-1] != encoder_states.shape[-1]:
        raise ValueError(f"{state.shape} {encoder_states.shape}")
    scores = (encoder_states * state[:, None, :]).sum(-1)
    if source_mask is None:
        weights = torch.softmax(scores, dim=1)
    else:
        empty = ~source_mask.any(1, keepdim=True)
        scores = scores.masked_fill(~source_mask, -math.inf)
        weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=1)
        weights = weights.masked_fill(empty, 0.0)
    return torch.einsum("bt,bth->bh", weights, encoder_states), weights
""",
    "greedy_decode": """
def greedy_decode(next_logits, start_ids, end_id, max_length):
    ids = start_ids.reshape(-1, 1)
    ended = np.zeros(len(ids), dtype=bool)
    for _ in range(max_length):
        token = np.argmax(next_logits(ids), axis=-1)
        token[ended] = end_id
        ids = np.concatenate([ids, token.reshape(-1, 1)], axis=1)
        ended = ended | (token == end_id)
        if bool(ended.all()):
            break
    return ids[:, 1:]
""",
}
