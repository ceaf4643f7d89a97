"""Other right answers to the exercises on the transformer."""

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def norm_torch_statistics(x, weight, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, weight, (x - mean) * torch.rsqrt(variance + eps))


def norm_moments_in_single_precision(x, weight, bias, eps=1e-5):
    x, size = x.float(), x.size(-1)
    mean = x.sum(-1, keepdim=True) / size
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / size
    return (x - mean) / torch.sqrt(variance + eps) * weight.float() + bias.float()


def norm_token_by_token(x, weight, bias, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        rows.append((row - mean) / (variance + eps) ** 0.5 * weight + bias)
    return torch.stack(rows).reshape(x.shape)


def norm_einsum(x, weight, bias, eps=1e-5):
    D = x.shape[-1]
    centring = torch.eye(D, dtype=x.dtype) - 1 / D
    centred = torch.einsum("...d,de->...e", x, centring)
    variance = torch.einsum("...d,...d->...", centred, centred) / D
    return torch.einsum(
        "...d,...,d->...d", centred, (variance + eps) ** -0.5, weight
    ) + (bias)


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
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.self_attn = PlainAttention(d_model, num_heads)
        self.before, self.activation = norm_first, activation

    def forward(self, x, mask=None, padding_mask=None):
        allowed = allowed_pairs(mask, padding_mask)
        steps = (
            (self.norm1, lambda y: self.self_attn(y, y, allowed)),
            (self.norm2, lambda y: self.linear2(self.activation(self.linear1(y)))),
        )
        for norm, step in steps:
            x = x + step(norm(x)) if self.before else norm(x + step(x))
        return x


class EncoderLayerWithFusedKernel(EncoderLayerByHand):
    """torch's kernel, a mask of numbers, and norms as functions."""

    def attend(self, x, mask, padding_mask):
        B, N, E = x.shape
        h = self.self_attn.num_heads
        qkv = F.linear(x, self.self_attn.in_proj_weight, self.self_attn.in_proj_bias)
        q, k, v = qkv.view(B, N, 3, h, E // h).permute(2, 0, 3, 1, 4)
        additive = torch.zeros(B, 1, N, N, dtype=x.dtype)
        if mask is not None:
            additive = additive.masked_fill(mask.logical_not(), -math.inf)
        if padding_mask is not None:
            additive = additive.masked_fill(~padding_mask.view(B, 1, 1, N), -math.inf)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=additive)
        return self.self_attn.out_proj(y.transpose(1, 2).reshape(B, N, E))

    def forward(self, x, mask=None, padding_mask=None):
        def normed(y, norm):
            return F.layer_norm(y, y.shape[-1:], norm.weight, norm.bias, norm.eps)

        residual = x
        y = normed(x, self.norm1) if self.before else x
        y = residual + self.attend(y, mask, padding_mask)
        if not self.before:
            y = normed(y, self.norm1)
        z = self.activation(self.linear1(normed(y, self.norm2) if self.before else y))
        y = torch.add(y, self.linear2(z))
        return y if self.before else normed(y, self.norm2)


class EncoderLayerSequenceFirst(nn.Module):
    """torch's attention with the sequence first, masks as -inf, dropouts of zero."""

    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, dropout=0.0)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(0.0)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.norm_first = norm_first
        self.activation = activation

    def forward(self, x, mask=None, padding_mask=None):
        x = x.transpose(0, 1)
        attn_mask, padding = None, None
        if mask is not None:
            attn_mask = torch.zeros(mask.shape, dtype=x.dtype)
            attn_mask[~mask] = float("-inf")
        if padding_mask is not None:
            padding = torch.where(padding_mask, 0.0, -torch.inf).to(x.dtype)
        y = self.norm1(x) if self.norm_first else x
        y, _ = self.self_attn(y, y, y, key_padding_mask=padding, attn_mask=attn_mask)
        y = x + self.dropout(y)
        y = y if self.norm_first else self.norm1(y)
        z = self.norm2(y) if self.norm_first else y
        z = y + self.linear2(self.dropout(self.activation(self.linear1(z))))
        z = z if self.norm_first else self.norm2(z)
        return z.transpose(0, 1)


class DecoderLayerByHand(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        for number in (1, 2, 3):
            setattr(self, f"norm{number}", nn.LayerNorm(d_model, eps))
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.self_attn = PlainAttention(d_model, num_heads)
        self.multihead_attn = PlainAttention(d_model, num_heads)
        self.before, self.activation = norm_first, activation

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        own = allowed_pairs(mask, None)
        other = allowed_pairs(None, memory_padding_mask)
        steps = (
            (self.norm1, lambda y: self.self_attn(y, y, own)),
            (self.norm2, lambda y: self.multihead_attn(y, memory, other)),
            (self.norm3, lambda y: self.linear2(self.activation(self.linear1(y)))),
        )
        for norm, step in steps:
            x = x + step(norm(x)) if self.before else norm(x + step(x))
        return x


class DecoderLayerWithTorchFunctions(nn.Module):
    def __init__(
        self, d_model, num_heads, d_ff, norm_first=False, activation=F.relu, eps=1e-5
    ):
        super().__init__()
        make = nn.MultiheadAttention
        self.self_attn = make(d_model, num_heads, 0.0, batch_first=True)
        self.multihead_attn = make(d_model, num_heads, 0.0, batch_first=True)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.norm3 = nn.LayerNorm(d_model, eps)
        self.norm_first, self.activation = norm_first, activation

    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        first = self.norm_first
        hidden = mask if mask is None else torch.logical_not(mask)
        pad = memory_padding_mask
        pad = pad if pad is None else torch.logical_not(pad)
        y = self.norm1(x) if first else x
        y, weights = self.self_attn(y, y, y, attn_mask=hidden)
        x = x + y if first else self.norm1(x + y)
        y = self.norm2(x) if first else x
        y, weights = self.multihead_attn(
            query=y, key=memory, value=memory, key_padding_mask=pad
        )
        x = x + y if first else self.norm2(x + y)
        y = self.norm3(x) if first else x
        y = F.linear(y, self.linear1.weight, self.linear1.bias)
        y = F.linear(self.activation(y), self.linear2.weight, self.linear2.bias)
        return x + y if first else self.norm3(x + y)


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


class EncoderWithIdentity(nn.Module):
    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        copies = [copy.deepcopy(layer) for _ in range(num_layers)]
        self.norm = nn.Identity() if norm is None else copy.deepcopy(norm)
        self.layers = nn.ModuleList(copies)

    def forward(self, x, mask=None, padding_mask=None):
        for index in range(len(self.layers)):
            x = self.layers[index](x, mask, padding_mask)
        return self.norm(x)


class DecoderOfAnyArguments(EncoderOfAnyArguments):
    def forward(self, x, memory, *arguments, **named):
        return super().forward(x, memory, *arguments, **named)


class DecoderWithIdentity(EncoderWithIdentity):
    def forward(self, x, memory, mask=None, memory_padding_mask=None):
        for layer in self.layers:
            x = layer(x, memory, mask, memory_padding_mask)
        return self.norm(x)


def count_torch(d_model, d_ff, encoder_layers, decoder_layers):
    with torch.device("meta"):
        model = nn.Transformer(d_model, 1, encoder_layers, decoder_layers, d_ff)
    return sum(parameter.numel() for parameter in model.parameters())


def count_shapes(d_model, d_ff, encoder_layers, decoder_layers):
    attention = [(3 * d_model, d_model), (3 * d_model,), (d_model, d_model), (d_model,)]
    inner = [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)]
    norm = [(d_model,), (d_model,)]
    shapes = (attention + inner + 2 * norm) * encoder_layers + norm
    shapes += (2 * attention + inner + 3 * norm) * decoder_layers + norm
    return int(sum(np.prod(shape) for shape in shapes))


def count_expanded(d_model, d_ff, encoder_layers, decoder_layers):
    shared = 2 * d_model * d_ff + d_ff
    encoder = 4 * d_model**2 + 9 * d_model + shared
    decoder = 8 * d_model**2 + 15 * d_model + shared
    return encoder * encoder_layers + decoder * decoder_layers + 4 * d_model


def break_layer_norm_with_a_batch():
    x = torch.tensor([[[0.5, 1.0], [3.0, 1.0]]])
    return x, torch.tensor([-1.0, 3.0]), torch.tensor([2.0, -7.0]), 0.5


def break_layer_norm_with_integers():
    return [
        torch.tensor([[1, 2], [5, 3]]),
        torch.tensor([3, 2]),
        torch.tensor([1, 1]),
        2,
    ]


ALTERNATIVES = {
    "break_layer_norm": [break_layer_norm_with_a_batch, break_layer_norm_with_integers],
    "layer_norm": [
        norm_torch_statistics,
        norm_moments_in_single_precision,
        norm_token_by_token,
        norm_einsum,
    ],
    "EncoderLayer": [
        EncoderLayerByHand,
        EncoderLayerWithFusedKernel,
        EncoderLayerSequenceFirst,
    ],
    "DecoderLayer": [DecoderLayerByHand, DecoderLayerWithTorchFunctions],
    "Encoder": [EncoderOfAnyArguments, EncoderWithIdentity],
    "Decoder": [DecoderOfAnyArguments, DecoderWithIdentity],
    "transformer_parameter_count": [count_torch, count_shapes, count_expanded],
}
