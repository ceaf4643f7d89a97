"""Attention with one query against torch, and its steps against plain loops."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.simplified_attention import (
    alignment_scores,
    attend,
    soft_lookup,
    softmax,
)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 6), (2, 1)])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e300])
def test_softmax_agrees_with_torch(rng, shape, size):
    scores = size * rng.standard_normal(shape)
    expected = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
    np.testing.assert_allclose(softmax(scores), expected, rtol=1e-12)


def test_scores_follow_the_definition(rng):
    q, X = rng.standard_normal(4), rng.standard_normal((6, 4))
    expected = [sum(a * b for a, b in zip(q, x, strict=True)) / 2 for x in X]
    np.testing.assert_allclose(alignment_scores(q, X), expected, rtol=1e-12)


def by_torch(query, keys, values, scale=None):
    """The output of torch's own function."""
    given = (torch.from_numpy(x)[None] for x in (query[None], keys, values))
    return F.scaled_dot_product_attention(*given, scale=scale)[0, 0].numpy()


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_attend_agrees_with_torch(rng, size):
    q, X = size * rng.standard_normal(8), rng.standard_normal((5, 8))
    y, a = attend(q, X)
    np.testing.assert_allclose(y, by_torch(q, X, X), rtol=1e-10)
    one_hot = np.eye(5)  # the output is then the weights
    np.testing.assert_allclose(a, by_torch(q, X, one_hot), rtol=1e-10)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_lookup_agrees_with_torch_at_any_temperature(rng, temperature):
    query, keys = rng.standard_normal(6), rng.standard_normal((5, 6))
    values = rng.standard_normal((5, 3))
    expected = by_torch(query, keys, values, 1 / (math.sqrt(6) * temperature))
    given = soft_lookup(query, keys, values, temperature)
    np.testing.assert_allclose(given, expected, rtol=1e-10)
