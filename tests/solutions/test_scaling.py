"""Scaling against torch's gradients, scipy and plain loops."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from solutions.scaling import (
    attention_entropy,
    dot_product_variance,
    score_gradient_norm,
    softmax_jacobian,
)


def softmax(scores):
    return torch.as_tensor(scores).softmax(dim=-1).numpy()


def test_the_variance_is_that_of_the_numbers_that_the_generator_gives():
    measured = dot_product_variance(3, 5, np.random.default_rng(8))
    numbers = iter(np.random.default_rng(8).standard_normal(30).tolist())
    queries, keys = (
        [[next(numbers) for _ in range(3)] for _ in range(5)] for _ in "qk"
    )
    products = [
        sum(map(float.__mul__, q, k)) for q, k in zip(queries, keys, strict=True)
    ]
    mean = math.fsum(products) / 5
    assert measured == pytest.approx(math.fsum((p - mean) ** 2 for p in products) / 5)
    assert isinstance(measured, float)


def test_the_jacobian_is_the_derivative_that_torch_finds(rng):
    scores = torch.tensor(rng.standard_normal(6))
    expected = torch.autograd.functional.jacobian(lambda e: e.softmax(0), scores)
    np.testing.assert_allclose(softmax_jacobian(softmax(scores)), expected, atol=1e-15)


def test_entropy_agrees_with_scipy_where_weights_are_zero_too(rng):
    weights = softmax(rng.standard_normal((2, 3, 5)))
    weights[1] = np.eye(5)[:3]
    expected = scipy.stats.entropy(weights, axis=-1)
    with np.errstate(all="raise"):
        np.testing.assert_allclose(attention_entropy(weights), expected)


@pytest.mark.parametrize("scale", [1.0, 0.25, 1.7])
def test_the_gradient_norm_is_the_one_that_torch_finds(scale, rng):
    q, K = rng.standard_normal(5), rng.standard_normal((7, 5))
    expected = torch.autograd.functional.jacobian(
        lambda e: (scale * e).softmax(0), torch.tensor(K @ q)
    )
    norm = torch.linalg.matrix_norm(expected).item()
    assert score_gradient_norm(q, K, scale) == pytest.approx(norm)
