"""Attention for long sequences against torch, plain loops and counted operations."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose
from torch.utils.flop_counter import FlopCounterMode

from solutions.efficient_attention import (
    attention_flops,
    blockwise_attention,
    causal_linear_attention,
    linear_attention,
    online_softmax_sum,
)

EXACT = {"rtol": 1e-10, "atol": 1e-10}


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


@pytest.mark.parametrize("sizes", [[9], [1] * 9, [2, 3, 4], [4, 4, 1], [8, 1]])
def test_one_pass_over_blocks_is_the_softmax(rng, sizes):
    scores = 3 * rng.standard_normal((2, 4, 9))
    values = rng.standard_normal((2, 9, 5))
    stops = np.cumsum(sizes)[:-1]
    blocks = np.split(scores, stops, axis=-1), np.split(values, stops, axis=-2)
    result = online_softmax_sum(*(iter(each) for each in blocks))
    assert_allclose(result, softmax(scores) @ values, **EXACT)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("n", "t", "size"), [(11, 11, 4), (11, 7, 3), (5, 13, 4), (8, 8, 1), (300, 300, 96)]
)
def test_blockwise_attention_is_torchs_attention(rng, n, t, size, causal):
    shapes = (n, 4), (t, 4), (t, 5)
    inputs = [rng.standard_normal((2, 3, *shape)) for shape in shapes]
    result = blockwise_attention(*inputs, size, causal)
    assert_allclose(result, by_torch(*inputs, is_causal=causal), **EXACT)
    inputs[0] *= 1e4  # large scores neither overflow nor vanish
    result = blockwise_attention(*inputs, size, causal)
    assert_allclose(result, by_torch(*inputs, is_causal=causal), **EXACT)
