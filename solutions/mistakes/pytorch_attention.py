"""Misconceptions about PyTorch's attention layer, as code that can be recognised."""

import torch
import torch.nn.functional as F

from autograder.exercise import edit, mistake
from autograder.exercises.pytorch_attention import (
    TorchMultiheadAttention,
    in_projection,
    in_projection_packed,
)

# in_projection


@edit(in_projection, "F.linear(query, w_q, b_q)", "F.linear(query, w_q.T, b_q)")
def separate_transposed_queries():
    """You used the queries' weight as (inputs, outputs). Weights are stored as
    (outputs, inputs), like those of nn.Linear; this one is square, so no error tells
    you."""


@edit(
    in_projection,
    "F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)",
    "F.linear(value, w_v, b_v), F.linear(key, w_k, b_k)",
)
def separate_keys_and_values_swapped():
    """You swapped keys and values in the result. The order is queries, keys, values, in
    this book and in torch."""


@edit(in_projection, "if bias is None else", "if True else")
def separate_no_bias():
    """You left out the bias. Each third of it belongs to one projection, in the order
    query, key, value."""


@edit(in_projection, "else bias.chunk(3)", "else 3 * [bias[: len(w_q)]]")
def separate_one_bias():
    """You gave all three projections the first third of the bias. Each has its own, in
    the order query, key, value."""


@edit(in_projection, "b_q, b_k, b_v =", "b_k, b_v, b_q =")
def separate_bias_order():
    """You took the thirds of the bias in a different order from the weights. Queries
    come first, then keys, then values, though all thirds have the same length."""


@edit(in_projection, "F.linear(value, w_v, b_v)", "value")
def separate_raw_values():
    """You passed the values on as they came. They are projected too, to the width of
    the layer: what a token passes on is learned, as what it is found by is."""


# in_projection_packed


def linear_thirds(query, key, value, weight, bias, order=(0, 1, 2)):
    matrices = weight.chunk(3)
    biases = bias.chunk(3) if bias is not None else (None,) * 3
    return tuple(
        F.linear(x, matrices[i], biases[i])
        for x, i in zip((query, key, value), order, strict=True)
    )


@mistake(in_projection_packed)
def packed_key_first(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order key, query, value. Queries
    come first; the shapes cannot tell you, and a layer loaded from a file would ask
    with its keys."""
    return linear_thirds(query, key, value, weight, bias, order=(1, 0, 2))


@mistake(in_projection_packed)
def packed_value_before_key(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order query, value, key. Keys
    come before values; the shapes cannot tell you."""
    return linear_thirds(query, key, value, weight, bias, order=(0, 2, 1))


@mistake(in_projection_packed)
def packed_weight_key_first(query, key, value, weight, bias=None):
    """You took the thirds of the packed weight in the order key, query, value, but
    those of the bias in the right order. Queries come first in both."""
    queries, keys, values = weight.chunk(3)
    return linear_thirds(query, key, value, torch.cat([keys, queries, values]), bias)


@mistake(in_projection_packed)
def packed_always_self(query, key, value, weight, bias=None):
    """You projected the query three times, which is right in self-attention only. Keys
    and values are made from their own inputs, or a decoder never sees what the encoder
    read."""
    return tuple(F.linear(query, weight, bias).chunk(3, dim=-1))


@mistake(in_projection_packed)
def packed_interleaved(query, key, value, weight, bias=None):
    """You took every third row, as if the rows were interleaved. The three matrices are
    stacked, each as one block of E rows, and so are the three parts of the bias."""
    biases = [None] * 3 if bias is None else [bias[i::3] for i in range(3)]
    inputs = (query, key, value)
    return tuple(F.linear(inputs[i], weight[i::3], biases[i]) for i in range(3))


@mistake(in_projection_packed)
def packed_transposed(query, key, value, weight, bias=None):
    """You used the matrices as (inputs, outputs). They are stored as (outputs, inputs),
    like every weight of nn.Linear, and all of them are square, so no error tells
    you."""
    transposed = torch.cat([third.T for third in weight.chunk(3)])
    return linear_thirds(query, key, value, transposed, bias)


@mistake(in_projection_packed)
def packed_no_bias(query, key, value, weight, bias=None):
    """You left out the bias. Each third of it belongs to one projection; without it, a
    query cannot prefer some keys whatever its token is."""
    return linear_thirds(query, key, value, weight, None)


@mistake(in_projection_packed)
def packed_one_bias(query, key, value, weight, bias=None):
    """You gave all three projections the first third of the bias. Each has its own, in
    the order of the weights."""
    bias = None if bias is None else bias[: len(bias) // 3].repeat(3)
    return linear_thirds(query, key, value, weight, bias)


# TorchMultiheadAttention


@edit(TorchMultiheadAttention, "math.sqrt(q.shape[-1])", "math.sqrt(query.shape[-1])")
def layer_scaled_by_the_width_of_the_layer():
    """You divided by the square root of the layer's width. A score inside a head sums
    E / h products, so the head's width belongs there."""


@edit(
    TorchMultiheadAttention,
    "x.unflatten(-1, (h, -1)).transpose(1, 2) for x",
    "x.reshape(B, h, x.shape[1], -1) for x",
)
def layer_split_by_reshaping():
    """You split the heads with a single reshape, which mixes tokens: split the features
    into (h, d) first, then swap heads and tokens."""


@edit(
    TorchMultiheadAttention,
    "torch.where(given, -torch.inf, 0.0)",
    "torch.where(given, 0.0, -torch.inf)",
)
def layer_mask_inverted():
    """You hide where a boolean mask is False. In this layer True hides, the opposite of
    the rest of the book."""


@edit(
    TorchMultiheadAttention,
    "if given.dtype == torch.bool:",
    "given = given.bool()\n                if True:",
)
def layer_floats_taken_for_truth():
    """You treated a mask of floats as a boolean one, so every number but zero hides its
    key. Its numbers are added to the scores, and only -inf hides."""


@edit(
    TorchMultiheadAttention,
    "attn_mask.reshape(B, h, N, T)",
    "attn_mask.reshape(h, B, N, T).transpose(0, 1)",
)
def layer_mask_heads_first():
    """You read a (B * h, N, T) mask as if all sequences of the first head came first.
    All heads of the first sequence come first: reshape it to (B, h, N, T)."""


@edit(
    TorchMultiheadAttention,
    "for given in (attn_mask, key_padding_mask):",
    "for given in (attn_mask,):",
)
def layer_padding_ignored():
    """You ignored key_padding_mask. It has one row per sequence, and hides its keys
    from all queries in all heads."""


@edit(TorchMultiheadAttention, "self.packed = kdim == vdim == E", "self.packed = False")
def layer_always_separate():
    """You keep three separate weights although kdim and vdim equal the width of the
    layer. Then there is one packed in_proj_weight, or a state dict of torch's layer
    does not load."""


@edit(TorchMultiheadAttention, "if self.bias_k is not None:", "if False:")
def layer_learned_key_ignored():
    """You ignored add_bias_kv. It appends one learned key and one learned value to
    every sequence, after the projection."""


@edit(
    TorchMultiheadAttention,
    "k = torch.cat([k, self.bias_k.expand(B, -1, -1)], dim=1)  # (B, T + 1, E)\n"
    "            v = torch.cat([v, self.bias_v.expand(B, -1, -1)], dim=1)",
    "k, v = k + self.bias_k, v + self.bias_v",
)
def layer_learned_key_added():
    """You add bias_k and bias_v to every key and value. Despite their names they are
    not biases but one more token, appended to the sequence."""


@edit(TorchMultiheadAttention, "if self.add_zero_attn:", "if False:")
def layer_zero_key_ignored():
    """You ignored add_zero_attn. It appends a key and a value of zeros, to which a head
    can turn when no token of the sequence is relevant."""


@edit(
    TorchMultiheadAttention,
    "mask = F.pad(mask, (0, k.shape[1] - T))",
    "mask = F.pad(mask, (0, k.shape[1] - T), value=-torch.inf)",
)
def layer_appended_keys_hidden():
    """You hide the appended keys. No mask speaks about them, so they stay visible to
    every query."""
