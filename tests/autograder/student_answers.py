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

    def forward(self, x, mask=None, padding_mask=None):
        finish = lambda y: y if self.norm is None else self.norm(y)
        y = x
        for layer in self.layers:
            y = layer(y, mask, padding_mask)
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
    def __init__(self, embed_dim, num_heads, bias=True, add_bias_kv=False,
                 add_zero_attn=False, kdim=None, vdim=None):
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError("heads do not divide the width")
        self.num_heads, self.d = num_heads, embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        kdim = embed_dim if kdim is None else kdim
        vdim = embed_dim if vdim is None else vdim
        self.same = kdim == embed_dim and vdim == embed_dim
        if self.same:
            self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
            nn.init.xavier_uniform_(self.in_proj_weight)
        else:
            self.q_proj_weight = nn.Parameter(torch.empty(embed_dim, embed_dim))
            self.k_proj_weight = nn.Parameter(torch.empty(embed_dim, kdim))
            self.v_proj_weight = nn.Parameter(torch.empty(embed_dim, vdim))
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                nn.init.xavier_uniform_(weight)
        self.in_proj_bias = None
        if bias:
            self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        if bias:
            nn.init.constant_(self.out_proj.bias, 0.0)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = nn.Parameter(torch.empty(1, 1, embed_dim))
            self.bias_v = nn.Parameter(torch.empty(1, 1, embed_dim))
            nn.init.xavier_normal_(self.bias_k)
            nn.init.xavier_normal_(self.bias_v)

    def forward(self, query, key, value, key_padding_mask=None, attn_mask=None,
                need_weights=True, average_attn_weights=True):
        single = query.dim() == 2
        if single:
            query, key, value = query[None], key[None], value[None]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        B, N, E = query.shape
        T = key.shape[1]
        if key.shape[0] != B or value.shape[0] != B or value.shape[1] != T:
            raise ValueError(f"{query.shape} {key.shape} {value.shape}")
        if key_padding_mask is not None and key_padding_mask.shape != (B, T):
            raise ValueError(f"{key_padding_mask.shape}")
        if attn_mask is not None and attn_mask.shape not in (
            (N, T), (B * self.num_heads, N, T)
        ):
            raise ValueError(f"{attn_mask.shape}")
        if self.same:
            wq, wk, wv = self.in_proj_weight.split(E)
        else:
            wq, wk, wv = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        if key.shape[-1] != wk.shape[1] or value.shape[-1] != wv.shape[1]:
            raise ValueError(f"{key.shape} {value.shape}")
        q, k, v = query @ wq.T, key @ wk.T, value @ wv.T
        if self.in_proj_bias is not None:
            bq, bk, bv = self.in_proj_bias.split(E)
            q, k, v = q + bq, k + bk, v + bv
        if self.bias_k is not None:
            k = torch.cat((k, self.bias_k.repeat(B, 1, 1)), 1)
            v = torch.cat((v, self.bias_v.repeat(B, 1, 1)), 1)
        if self.add_zero_attn:
            k = torch.cat((k, k.new_zeros(B, 1, E)), 1)
            v = torch.cat((v, v.new_zeros(B, 1, E)), 1)
        more = k.shape[1] - T
        h, d = self.num_heads, self.d
        q = q.view(B, N, h, d).transpose(1, 2)
        k = k.view(B, T + more, h, d).transpose(1, 2)
        v = v.view(B, T + more, h, d).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d)
        if attn_mask is not None:
            if attn_mask.dim() == 2:
                m = attn_mask[None, None]
            else:
                m = attn_mask.view(B, h, N, T)
            if m.dtype == torch.bool:
                m = torch.zeros_like(m, dtype=q.dtype).masked_fill(m, -math.inf)
            scores = scores + F.pad(m, (0, more))
        if key_padding_mask is not None:
            m = key_padding_mask[:, None, None, :]
            if m.dtype == torch.bool:
                m = torch.zeros_like(m, dtype=q.dtype).masked_fill(m, -math.inf)
            scores = scores + F.pad(m, (0, more))
        nothing = (scores == -math.inf).all(-1, keepdim=True)
        weights = scores.masked_fill(nothing, 0.0).softmax(-1)
        weights = weights.masked_fill(nothing, 0.0)
        heads = weights @ v
        joined = heads.transpose(1, 2).reshape(B, N, E)
        output = self.out_proj(joined)
        if need_weights and average_attn_weights:
            weights = weights.mean(1)
        if not need_weights:
            weights = None
        if single:
            return output[0], None if weights is None else weights[0]
        return output, weights
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
    "similarity": """
def similarity(Q, K):
    if Q.shape[1] != K.shape[1]:
        raise ValueError(f"{Q.shape} {K.shape}")
    return np.einsum("id,jd->ij", Q, K) / math.sqrt(Q.shape[1])
""",
    "attention_entropy": """
def attention_entropy(weights):
    safe = np.where(weights > 0, weights, 1.0)
    return -np.sum(weights * np.log(safe), axis=-1)
""",
    "causal_mask": """
def causal_mask(n):
    i = torch.arange(n)
    return i[None, :] <= i[:, None]
""",
    "padding_mask": """
def padding_mask(lengths, max_length):
    positions = torch.arange(max_length, device=lengths.device)
    return positions.unsqueeze(0) < lengths.unsqueeze(1)
""",
    "scaled_dot_product_attention": """
def scaled_dot_product_attention(query, key, value, mask=None):
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(f"{query.shape} {key.shape} {value.shape}")
    d = query.size(-1)
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(d)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    bias = torch.zeros_like(scores).masked_fill(~mask, -math.inf)
    empty = ~mask.expand_as(scores).any(-1, keepdim=True)
    weights = torch.softmax((scores + bias).masked_fill(empty, 0.0), -1)
    weights = weights.masked_fill(empty, 0.0)
    return torch.matmul(weights, value), weights
""",
    "split_heads": """
def split_heads(x, num_heads):
    B, N, E = x.size()
    if num_heads < 1 or E % num_heads:
        raise ValueError(f"{tuple(x.shape)} {num_heads}")
    d = E // num_heads
    heads = [x[:, :, i * d : (i + 1) * d] for i in range(num_heads)]
    return torch.stack(heads, dim=1)
""",
    "merge_heads": """
def merge_heads(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)
""",
    "layer_norm": """
def layer_norm(x, weight, bias, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    var = ((x - mu) ** 2).mean(-1, keepdim=True)
    return weight * ((x - mu) / torch.sqrt(var + eps)) + bias
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
            patches.append(images[:, :, i : i + p, j : j + p].flatten(1))
    return torch.stack(patches, dim=1)
""",
    "attention_rollout": """
def attention_rollout(attentions):
    n = attentions[0].size(-1)
    eye = torch.eye(n, dtype=attentions[0].dtype)
    R = eye
    for A in attentions:
        A = A.sum(1) / A.size(1)
        A = A + eye
        A = A / A.sum(-1, keepdim=True)
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
    "mean_pool": """
def mean_pool(hidden, mask):
    m = mask[:, :, None].to(hidden.dtype)
    counts = m.sum(1).clamp(min=1)
    mean = torch.where(mask[:, :, None], hidden, 0.0).sum(1) / counts
    length = mean.norm(dim=-1, keepdim=True)
    return mean / torch.where(length > 0, length, 1.0)
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
