"""Scaling against torch's gradients, scipy, theory and what must hold."""

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


@pytest.fixture
def rng():
    return np.random.default_rng(512)


def softmax(scores):
    return torch.as_tensor(scores).softmax(dim=-1).numpy()


@pytest.mark.parametrize("d", [1, 4, 64, 1024])
def test_the_variance_of_a_dot_product_is_its_width(d, rng):
    variance = dot_product_variance(d, 4000, rng)
    assert variance == pytest.approx(d, rel=0.15)


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


def test_raising_all_scores_together_changes_no_weight(rng):
    jacobian = softmax_jacobian(softmax(rng.standard_normal(6)))
    np.testing.assert_allclose(jacobian @ np.ones(6), np.zeros(6), atol=1e-15)
    np.testing.assert_allclose(np.ones(6) @ jacobian, np.zeros(6), atol=1e-15)
    assert (np.linalg.eigvalsh(jacobian) > -1e-15).all()


def test_a_saturated_softmax_does_not_react():
    assert not softmax_jacobian(np.array([0.0, 1.0, 0.0])).any()


def test_entropy_agrees_with_scipy(rng):
    weights = softmax(rng.standard_normal((2, 3, 5)))
    expected = scipy.stats.entropy(weights, axis=-1)
    np.testing.assert_allclose(attention_entropy(weights), expected)


def test_entropy_runs_from_zero_to_the_logarithm_of_the_number_of_keys(rng):
    with np.errstate(all="raise"):
        assert attention_entropy(np.eye(4)).tolist() == [0, 0, 0, 0]
    assert attention_entropy(np.full(7, 1 / 7)) == pytest.approx(math.log(7))
    inside = attention_entropy(softmax(rng.standard_normal((50, 7))))
    assert (inside > 0).all() and (inside < math.log(7)).all()


def test_independent_choices_add_their_entropies(rng):
    first, second = softmax(rng.standard_normal(3)), softmax(rng.standard_normal(4))
    both = attention_entropy(np.outer(first, second).ravel())
    assert both == pytest.approx(attention_entropy(first) + attention_entropy(second))


@pytest.mark.parametrize("scale", [1.0, 0.25, 1.7])
def test_the_gradient_norm_is_the_one_that_torch_finds(scale, rng):
    q, K = rng.standard_normal(5), rng.standard_normal((7, 5))
    expected = torch.autograd.functional.jacobian(
        lambda e: (scale * e).softmax(0), torch.tensor(K @ q)
    )
    norm = torch.linalg.matrix_norm(expected).item()
    assert score_gradient_norm(q, K, scale) == pytest.approx(norm)


def test_the_gradient_norm_is_the_slope_seen_when_scores_are_nudged(rng):
    scores, step = rng.standard_normal(4), 1e-6
    moved = [softmax(0.5 * (scores + step * e)) for e in np.eye(4)]
    slopes = (np.array(moved) - softmax(0.5 * scores)) / step
    norm = score_gradient_norm(scores, np.eye(4), 0.5)
    assert norm == pytest.approx(np.linalg.norm(slopes), rel=1e-5)


def test_huge_scores_have_no_gradient_and_no_overflow(rng):
    with np.errstate(over="raise", invalid="raise"):
        assert score_gradient_norm(np.ones(2), 1e6 * np.eye(2)[[0, 1, 1]], 1.0) > 0.1
        assert score_gradient_norm(np.ones(1), np.array([[0.0], [1e6]]), 1.0) == 0
