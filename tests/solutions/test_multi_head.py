"""Multi-head attention against torch's own layer, and heads against plain loops."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from autograder.inputs import fill, tensor
from solutions.multi_head import (
    MultiHeadAttention,
    merge_heads,
    multi_head_attention,
    projection_parameter_count,
    split_heads,
)

B, N, T, HEADS, E = 2, 3, 5, 4, 8


def torchs(query, key, value, weights, biases, num_heads, mask=None):
    """Output and weights of ``nn.MultiheadAttention``; ``mask`` is True where allowed.

    Args:
        weights: four (E, E) matrices, used as ``x @ W``.
        biases: four (E,).
    """
    width = query.shape[-1]
    layer = nn.MultiheadAttention(width, num_heads, batch_first=True).double()
    *projections, W_O = (torch.as_tensor(W).T for W in weights)
    *offsets, b_O = (torch.as_tensor(b) for b in biases)
    layer.load_state_dict(
        {
            "in_proj_weight": torch.cat(projections),
            "in_proj_bias": torch.cat(offsets),
            "out_proj.weight": W_O,
            "out_proj.bias": b_O,
        }
    )
    if mask is not None:
        shape = len(query), num_heads, query.shape[1], key.shape[1]
        mask = ~torch.as_tensor(mask).expand(shape).flatten(0, 1)
    inputs = (torch.as_tensor(x) for x in (query, key, value))
    with torch.no_grad():
        output, maps = layer(*inputs, attn_mask=mask, average_attn_weights=False)
    return output.numpy(), maps.numpy()


def drawn(rng, tokens=N):
    x = rng.standard_normal((B, tokens, E))
    return x, *rng.standard_normal((4, E, E)) / math.sqrt(E)


def a_mask(rng, *shape):
    mask = rng.random(shape) < 0.6
    mask[..., 0] = True  # torch's own layer gives NaN for a row without keys
    return mask


MASKS = [None, (N, N), (B, 1, 1, N), (1, HEADS, N, N), (B, HEADS, N, N)]


@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("num_heads", [1, 2, HEADS, E])
def test_the_function_equals_torchs_layer_without_biases(num_heads, shape, rng):
    x, *weights = drawn(rng)
    if shape and HEADS in shape:
        shape = tuple(num_heads if size == HEADS else size for size in shape)
    mask = a_mask(rng, *shape) if shape else None
    expected = torchs(x, x, x, weights, np.zeros((4, E)), num_heads, mask)
    found = multi_head_attention(x, *weights, num_heads, mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("shape", [None, (N, T), (B, 1, 1, T), (B, HEADS, N, T)])
def test_the_layer_equals_torchs_in_cross_attention(shape, rng):
    layer = fill(MultiHeadAttention(E, HEADS), rng)
    query, key, value = tensor(rng, B, N, E), tensor(rng, B, T, E), tensor(rng, B, T, E)
    mask = a_mask(rng, *shape) if shape else None
    parts = [layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj]
    weights = [part.weight.detach().T for part in parts]
    biases = [part.bias.detach() for part in parts]
    expected = torchs(query, key, value, weights, biases, HEADS, mask)
    found = layer(query, key, value, None if mask is None else torch.as_tensor(mask))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach(), other, atol=1e-12)


def test_splitting_gives_head_i_the_i_th_slice_of_every_token(rng):
    x = rng.standard_normal((B, N, 6))
    heads = split_heads(x, 3)
    for b, head, n in itertools.product(range(B), range(3), range(N)):
        assert (heads[b, head, n] == x[b, n, 2 * head : 2 * head + 2]).all()


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4, 6, 12])
def test_merging_undoes_splitting(num_heads, rng):
    x = rng.standard_normal((12, N, B)).T  # (B, N, 12), not contiguous
    assert (merge_heads(split_heads(x, num_heads)) == x).all()


@pytest.mark.parametrize("embed_dim", [1, 6, 12, 512])
def test_the_count_is_that_of_torchs_layer_whatever_the_number_of_heads(embed_dim):
    for num_heads in (h for h in (1, 2, 3, 4, 6) if embed_dim % h == 0):
        layer = nn.MultiheadAttention(embed_dim, num_heads)
        expected = sum(p.numel() for p in layer.parameters())
        assert projection_parameter_count(embed_dim, num_heads) == expected
