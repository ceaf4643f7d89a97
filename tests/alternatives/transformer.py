"""Other right answers to the exercises on the transformer."""

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def norm_by_torch(x, weight, bias, eps=1e-5):
    x, weight, bias = (torch.from_numpy(array) for array in (x, weight, bias))
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps).numpy()


def feed_forward_unit_by_unit(x, W_1, b_1, W_2, b_2):
    total = np.zeros(x.shape) + b_2
    for unit in range(len(b_1)):
        value = x @ W_1[:, unit] + b_1[unit]
        total = total + np.where(value > 0, value, 0.0)[..., None] * W_2[unit]
    return total


class PlainAttention(nn.Module):
    """The names of nn.MultiheadAttention, without using it."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model))
        self.out_proj = nn.Linear(d_model, d_model)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, query, memory, allowed=None):
        E = query.shape[-1]
        weights, biases = self.in_proj_weight.split(E), self.in_proj_bias.split(E)
        q, k, v = (
            F.linear(x, w, b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for x, w, b in zip((query, memory, memory), weights, biases, strict=True)
        )
        scores = torch.einsum("bhnd,bhtd->bhnt", q, k) / math.sqrt(q.shape[-1])
        if allowed is not None:
            scores = scores.masked_fill(~allowed, float("-inf"))
        mixed = torch.einsum("bhnt,bhtd->bnhd", scores.softmax(-1), v)
        return self.out_proj(mixed.flatten(2))


def allowed_pairs(mask, padding_mask):
    """(B or 1, 1, N or 1, T) from (N, T) and (B, T)."""
    allowed = None if mask is None else mask[None, None]
    if padding_mask is not None:
        padding = padding_mask[:, None, None]
        allowed = padding if allowed is None else allowed & padding
    return allowed


class EncoderLayerByHand(nn.Module):
    norms = 2

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        for number in range(self.norms):
            self.add_module(f"norm{number + 1}", nn.LayerNorm(d_model, eps))
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.self_attn = PlainAttention(d_model, num_heads)
        if self.norms == 3:
            self.multihead_attn = PlainAttention(d_model, num_heads)
        self.before, self.activation = norm_first, activation

    def feed_forward(self, y):
        return self.linear2(self.activation(self.linear1(y)))

    def through(self, x, *steps):
        for number, step in enumerate(steps, 1):
            norm = getattr(self, f"norm{number}")
            x = x + step(norm(x)) if self.before else norm(x + step(x))
        return x

    def forward(self, x, mask=None, padding_mask=None):
        allowed = allowed_pairs(mask, padding_mask)
        return self.through(
            x, lambda y: self.self_attn(y, y, allowed), self.feed_forward
        )


class DecoderLayerByHand(EncoderLayerByHand):
    norms = 3

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        own = allowed_pairs(mask, None)
        other = allowed_pairs(None, memory_padding_mask)
        return self.through(
            x,
            lambda y: self.self_attn(y, y, own),
            lambda y: self.multihead_attn(y, memory, other),
            self.feed_forward,
        )


class EncoderOfAnyArguments(nn.Module):
    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(copy.deepcopy(layer))
        self.norm = norm

    def forward(self, x, *arguments, **named):
        for layer in self.layers:
            x = layer(x, *arguments, **named)
        if self.norm is not None:
            x = self.norm(x)
        return x


def count_shapes(d_model, d_ff, encoder_layers, decoder_layers):
    attention = [(3 * d_model, d_model), (3 * d_model,), (d_model, d_model), (d_model,)]
    inner = [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)]
    norm = [(d_model,), (d_model,)]
    shapes = (attention + inner + 2 * norm) * encoder_layers + norm
    shapes += (2 * attention + inner + 3 * norm) * decoder_layers + norm
    return int(sum(np.prod(shape) for shape in shapes))


ALTERNATIVES = {
    "layer_norm": [norm_by_torch],
    "feed_forward": [feed_forward_unit_by_unit],
    "EncoderLayer": [EncoderLayerByHand],
    "DecoderLayer": [DecoderLayerByHand],
    "Encoder": [EncoderOfAnyArguments],
    "transformer_parameter_count": [count_shapes],
}
