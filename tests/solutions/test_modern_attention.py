"""Attention since 2017 against torch, complex numbers and definitions."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.modern_attention import (
    delta_rule_step,
    grouped_query_attention,
    kv_cache_bytes,
    latent_scores,
    rescale_rotary,
    rms_norm,
    rotary_half,
    sliding_window_mask,
    softmax_with_sink,
    swiglu,
)


def as_tensors(*arrays):
    return [torch.from_numpy(array) for array in arrays]


def test_cache_bytes_are_those_of_the_tensors_that_would_be_kept():
    layers, heads, dim, length, batch = 3, 5, 8, 7, 2
    kept = [
        torch.zeros(batch, heads, length, dim, dtype=torch.float16)
        for _ in range(layers)
        for _ in ("key", "value")
    ]
    expected = sum(tensor.nbytes for tensor in kept)
    assert kv_cache_bytes(layers, heads, dim, length, batch) == expected
    assert kv_cache_bytes(layers, heads, dim, length, batch, 4) == 2 * expected


def test_rms_norm_agrees_with_torch(rng):
    x, weight = rng.standard_normal((2, 5, 7)) + 1, rng.standard_normal(7)
    module = nn.RMSNorm(7, eps=0.1, dtype=torch.float64)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(weight))
        expected = module(torch.from_numpy(x))
    np.testing.assert_allclose(rms_norm(x, weight, eps=0.1), expected)


def test_swiglu_agrees_with_torch(rng):
    arrays = [rng.standard_normal(shape) for shape in ((2, 3, 4), *2 * [(4, 6)])]
    arrays.append(rng.standard_normal((6, 4)))
    x, gate, up, down = as_tensors(*arrays)
    expected = F.linear(F.silu(F.linear(x, gate.T)) * F.linear(x, up.T), down.T)
    np.testing.assert_allclose(swiglu(*arrays), expected)


def test_half_and_neighbouring_pairs_differ_by_a_permutation_of_the_features(rng):
    x, positions = rng.standard_normal((2, 3, 5, 8)), rng.permutation(5)
    turns = np.exp(1j * np.outer(positions, 50.0 ** (-np.arange(4) / 4)))
    neighbours = (x[..., ::2] + 1j * x[..., 1::2]) * turns
    neighbours_first = np.arange(8).reshape(4, 2).T.ravel()  # 0 2 4 6 1 3 5 7
    found = rotary_half(x[..., neighbours_first], positions, 50.0)
    expected = np.concatenate([neighbours.real, neighbours.imag], axis=-1)
    np.testing.assert_allclose(found, expected)


def test_rescaling_keeps_the_fastest_pair_and_slows_the_last_one_by_the_factor():
    before, after = rescale_rotary(16, 500.0, 1.0), rescale_rotary(16, 500.0, 8.0)
    np.testing.assert_allclose(before, 500.0 ** (-np.arange(8) / 8))
    slowed = before / after
    np.testing.assert_allclose(slowed[[0, -1]], [1.0, 8.0])
    np.testing.assert_allclose(slowed[1:] / slowed[:-1], 8 ** (1 / 7))


@pytest.mark.parametrize("g", [1, 2, 3, 6])
@pytest.mark.parametrize("masked", [False, True])
def test_grouped_attention_agrees_with_torch_and_is_zero_without_keys(rng, g, masked):
    query = rng.standard_normal((2, 6, 4, 8))
    key, value = rng.standard_normal((2, g, 5, 8)), rng.standard_normal((2, g, 5, 3))
    mask = rng.random((2, 6, 4, 5)) < 0.5 if masked else None
    if masked:
        mask[..., 0] = True
        mask[1, 2, 3] = False  # torch gives NaN where there is no key
    q, k, v = as_tensors(query, key, value)
    expected = F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=torch.from_numpy(mask) if masked else None,
        enable_gqa=True,
    )
    output = grouped_query_attention(query, key, value, mask)
    np.testing.assert_allclose(output, expected.nan_to_num())


def test_window_mask_agrees_with_its_definition():
    for n, window in [(1, 1), (7, 1), (7, 3), (7, 7), (7, 20)]:
        expected = [[0 <= i - j < window for j in range(n)] for i in range(n)]
        mask = sliding_window_mask(n, window)
        assert mask.dtype == bool
        assert mask.tolist() == expected


def test_a_sink_is_a_key_whose_value_is_zero(rng):
    query, key, value = (rng.standard_normal((2, 3, 5, 4)) for _ in range(3))
    sink = rng.standard_normal(3)
    weights = softmax_with_sink(query @ key.swapaxes(-1, -2) / 2, sink)
    q, k, v = as_tensors(query, key, value)
    bias = torch.zeros(3, 5, 6, dtype=torch.float64)
    bias[..., 5] = torch.from_numpy(sink)[:, None]
    empty = torch.zeros(2, 3, 1, 4, dtype=torch.float64)
    expected = F.scaled_dot_product_attention(
        q, torch.cat([k, empty], 2), torch.cat([v, empty], 2), attn_mask=bias
    )
    np.testing.assert_allclose(weights @ value, expected)


def test_latent_scores_are_those_of_the_keys_that_were_not_made(rng):
    query, latent = rng.standard_normal((3, 4, 6)), rng.standard_normal((7, 2))
    W_up = rng.standard_normal((3, 2, 6))
    for head in range(3):
        keys = torch.from_numpy(latent) @ torch.from_numpy(W_up[head])
        expected = torch.from_numpy(query[head]) @ keys.T / math.sqrt(6)
        np.testing.assert_allclose(latent_scores(query, latent, W_up)[head], expected)


def test_a_delta_step_goes_down_the_gradient_of_the_squared_error(rng):
    state, key, value = (rng.standard_normal(shape) for shape in ((4, 3), 4, 3))
    s, k, v = as_tensors(state, key, value)
    s.requires_grad_()
    (0.5 * (v - k @ s).square().sum()).backward()
    expected = state - 0.3 * s.grad.numpy()
    np.testing.assert_allclose(delta_rule_step(state, key, value, 0.3), expected)
