"""Attention for long sequences against torch, plain loops and counted operations."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose
from torch.utils.flop_counter import FlopCounterMode

from autograder.arrays import peak_bytes
from solutions.efficient_attention import (
    attention_flops,
    blockwise_attention,
    causal_linear_attention,
    linear_attention,
    online_softmax_sum,
)

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture
def rng():
    return np.random.default_rng(20246)


def phi(number):
    """The feature map, for one number."""
    return number + 1 if number > 0 else math.exp(number)


def linear_by_loops(query, key, value, causal):
    """The definition for one sequence, one number at a time."""
    outputs = []
    for i, q in enumerate(query.tolist()):
        keys = key[: i + 1] if causal else key
        weights = [
            math.fsum(phi(a) * phi(b) for a, b in zip(q, k, strict=True))
            for k in keys.tolist()
        ]
        total = math.fsum(weights)
        outputs.append(
            [
                math.fsum(w / total * float(value[j, c]) for j, w in enumerate(weights))
                for c in range(value.shape[1])
            ]
        )
    return np.array(outputs)


def by_torch(query, key, value, **options):
    given = [torch.tensor(x) for x in (query, key, value)]
    return F.scaled_dot_product_attention(*given, **options).numpy()


def softmax(scores):
    return torch.tensor(scores).softmax(dim=-1).numpy()


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (64, 16), (5, 40)])
def test_torch_counts_the_same_operations(n, d):
    query, key, value = torch.ones(3, n, d).unbind()
    with FlopCounterMode(display=False) as counter:
        (query @ key.mT).softmax(dim=-1) @ value
    assert attention_flops(n, d) == counter.get_total_flops()


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_agrees_with_plain_loops(rng, causal):
    function = causal_linear_attention if causal else linear_attention
    query, key = rng.standard_normal((2, 2, 3, 6, 4))
    value = rng.standard_normal((2, 3, 6, 5))
    result = function(query, key, value)
    for b, h in np.ndindex(2, 3):
        inputs = [x[b, h] for x in (query, key, value)]
        assert_allclose(result[b, h], linear_by_loops(*inputs, causal))


def test_the_order_of_the_keys_matters_to_neither_sum(rng):
    query, key, value = rng.standard_normal((3, 6, 4))
    order = rng.permutation(6)
    shuffled = linear_attention(query, key[order], value[order])
    assert_allclose(shuffled, linear_attention(query, key, value))


def test_the_last_causal_output_is_that_of_all_keys(rng):
    query, key, value = rng.standard_normal((3, 2, 9, 4))
    everything = linear_attention(query, key, value)
    assert_allclose(
        causal_linear_attention(query, key, value)[:, -1], everything[:, -1]
    )


def test_linear_attention_takes_memory_that_grows_with_the_length_only(rng):
    def peak(n):
        return peak_bytes(linear_attention, *rng.standard_normal((3, n, 4)))[1]

    assert peak(4000) < 2.1 * peak(2000)


@pytest.mark.parametrize("sizes", [[9], [1] * 9, [2, 3, 4], [4, 4, 1], [8, 1]])
def test_one_pass_over_blocks_is_the_softmax(rng, sizes):
    scores = 3 * rng.standard_normal((2, 4, 9))
    values = rng.standard_normal((2, 9, 5))
    stops = np.cumsum(sizes)[:-1]
    blocks = np.split(scores, stops, axis=-1), np.split(values, stops, axis=-2)
    result = online_softmax_sum(*(iter(each) for each in blocks))
    assert_allclose(result, softmax(scores) @ values, **EXACT)


def test_the_order_of_the_blocks_does_not_matter(rng):
    scores = [
        1000 * rng.standard_normal() + rng.standard_normal((4, 3)) for _ in "12345"
    ]
    values = [rng.standard_normal((3, 2)) for _ in "12345"]
    forward = online_softmax_sum(scores, values)
    assert np.isfinite(forward).all()
    assert_allclose(forward, online_softmax_sum(scores[::-1], values[::-1]), **EXACT)


def test_hidden_keys_give_zeros_or_nothing_and_no_warning(rng):
    scores, values = rng.standard_normal((4, 6)), rng.standard_normal((6, 3))
    scores[0] = scores[1, :4] = scores[2, 2:] = -np.inf
    blocks = np.split(scores, 3, axis=-1), np.split(values, 3, axis=-2)
    with np.errstate(all="raise", under="ignore"):
        output = online_softmax_sum(*blocks)
    assert (output[0] == 0).all()
    assert_allclose(output[1:], softmax(scores[1:]) @ values)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("n", "t", "size"), [(11, 11, 4), (11, 7, 3), (5, 13, 4), (8, 8, 1), (300, 300, 96)]
)
def test_blockwise_attention_is_torchs_attention(rng, n, t, size, causal):
    shapes = (n, 4), (t, 4), (t, 5)
    inputs = [rng.standard_normal((2, 3, *shape)) for shape in shapes]
    result = blockwise_attention(*inputs, size, causal)
    assert_allclose(result, by_torch(*inputs, is_causal=causal), **EXACT)


def test_large_scores_neither_overflow_nor_vanish(rng):
    shapes = (7, 4), (9, 4), (9, 3)
    inputs = [100 * rng.standard_normal(shape) for shape in shapes]
    assert_allclose(blockwise_attention(*inputs, 2), by_torch(*inputs), **EXACT)


@pytest.mark.parametrize("causal", [False, True])
def test_memory_grows_with_the_length_and_not_with_its_square(rng, causal):
    def peak(n):
        inputs = rng.standard_normal((3, n, 4))
        return peak_bytes(blockwise_attention, *inputs, 64, causal)[1]

    assert peak(2048) < 2.2 * peak(1024)
    assert peak(2048) < 2048 * 2048  # bytes; the weights alone would take 8 times this


def test_inputs_are_left_as_they_were(rng):
    inputs = rng.standard_normal((3, 2, 6, 3))
    before = inputs.copy()
    linear_attention(*inputs)
    causal_linear_attention(*inputs)
    blockwise_attention(*inputs, 4, True)
    assert (inputs == before).all()
