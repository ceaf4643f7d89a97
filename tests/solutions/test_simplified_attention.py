"""The reference of chapter 1 against torch, plain loops, closed forms, invariants."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.simplified_attention import (
    alignment_scores,
    attend,
    break_softmax,
    soft_lookup,
    softmax,
)

SEEDS = range(5)


@pytest.fixture(params=SEEDS)
def rng(request):
    return np.random.default_rng(request.param)


def loop_attention(q, X):
    """The definition, one number at a time."""
    scores = [sum(q[d] * x[d] for d in range(len(q))) / math.sqrt(len(q)) for x in X]
    exponentials = [math.exp(score) for score in scores]
    weights = [e / sum(exponentials) for e in exponentials]
    output = [
        sum(weights[n] * X[n][d] for n in range(len(X))) for d in range(len(X[0]))
    ]
    return np.array(output), np.array(weights)


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 6), (2, 1)])
def test_softmax_agrees_with_torch(rng, shape):
    scores = rng.standard_normal(shape)
    expected = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
    np.testing.assert_allclose(softmax(scores), expected, rtol=1e-12)


def test_softmax_undoes_the_logarithm_of_a_distribution(rng):
    distribution = rng.dirichlet(np.ones(6), size=3)
    np.testing.assert_allclose(softmax(np.log(distribution)), distribution, rtol=1e-12)


def test_softmax_does_not_change_when_all_scores_move_together(rng):
    scores = rng.standard_normal((3, 5))
    np.testing.assert_allclose(softmax(scores + 1e6), softmax(scores), rtol=1e-8)


def test_softmax_of_two_scores_is_a_sigmoid(rng):
    first, second = rng.standard_normal(2)
    expected = 1 / (1 + math.exp(second - first))
    assert softmax(np.array([first, second]))[0] == pytest.approx(expected)


def test_softmax_of_huge_scores_stays_finite():
    weights = softmax(np.array([[1000.0, 999.0], [-1e6, -1e6], [1e300, 0.0]]))
    expected = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(
        weights, [[expected, 1 - expected], [0.5, 0.5], [1, 0]], rtol=1e-12
    )


def test_scores_follow_the_definition(rng):
    q, X = rng.standard_normal(4), rng.standard_normal((6, 4))
    expected = [sum(a * b for a, b in zip(q, x, strict=True)) / 2 for x in X]
    np.testing.assert_allclose(alignment_scores(q, X), expected, rtol=1e-12)


def test_scores_keep_unit_variance_whatever_the_number_of_features(rng):
    for features in (4, 64, 1024):
        scores = [
            alignment_scores(q, rng.standard_normal((200, features)))
            for q in rng.standard_normal((20, features))
        ]
        assert np.var(scores) == pytest.approx(1, abs=0.35)


def test_attend_agrees_with_plain_loops(rng):
    q, X = rng.standard_normal(5), rng.standard_normal((7, 5))
    for given, expected in zip(attend(q, X), loop_attention(q, X), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-12)


def test_attend_agrees_with_torch(rng):
    q, X = rng.standard_normal(8), rng.standard_normal((5, 8))
    Q, T = torch.from_numpy(q)[None], torch.from_numpy(X)
    expected = F.scaled_dot_product_attention(Q[None], T[None], T[None])[0, 0]
    np.testing.assert_allclose(attend(q, X)[0], expected.numpy(), rtol=1e-10)


def test_the_order_of_the_inputs_permutes_weights_and_keeps_the_output(rng):
    q, X, order = (
        rng.standard_normal(3),
        rng.standard_normal((9, 3)),
        rng.permutation(9),
    )
    y, a = attend(q, X)
    y_permuted, a_permuted = attend(q, X[order])
    np.testing.assert_allclose(y_permuted, y, rtol=1e-10)
    np.testing.assert_allclose(a_permuted, a[order], rtol=1e-10)


def test_the_output_lies_between_the_inputs_in_every_direction(rng):
    q, X = 5 * rng.standard_normal(4), rng.standard_normal((6, 4))
    y, a = attend(q, X)
    assert a.min() > 0
    assert a.sum() == pytest.approx(1)
    for direction in rng.standard_normal((50, 4)):
        along = X @ direction
        assert along.min() - 1e-12 <= y @ direction <= along.max() + 1e-12


def test_a_query_of_zeros_averages_the_inputs(rng):
    X = rng.standard_normal((6, 4))
    y, a = attend(np.zeros(4), X)
    np.testing.assert_allclose(a, np.full(6, 1 / 6), rtol=1e-12)
    np.testing.assert_allclose(y, X.mean(axis=0), rtol=1e-10)


def test_the_gradient_of_the_log_partition_function_is_the_output(rng):
    # y = d/dq sqrt(D) log sum_i exp(e_i): a published identity of softmax attention
    q, X = rng.standard_normal(4), rng.standard_normal((6, 4))
    Q = torch.from_numpy(q).requires_grad_()
    (2 * torch.logsumexp(torch.from_numpy(X) @ Q / 2, dim=0)).backward()
    np.testing.assert_allclose(attend(q, X)[0], Q.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_lookup_agrees_with_torch_at_any_temperature(rng, temperature):
    query, keys = rng.standard_normal(6), rng.standard_normal((5, 6))
    values = rng.standard_normal((5, 3))
    q, K, V = (torch.from_numpy(a)[None] for a in (query[None], keys, values))
    scale = 1 / (math.sqrt(6) * temperature)
    expected = F.scaled_dot_product_attention(q, K, V, scale=scale)[0, 0]
    given = soft_lookup(query, keys, values, temperature)
    np.testing.assert_allclose(given, expected.numpy(), rtol=1e-10)


def test_a_cold_lookup_of_a_stored_key_returns_its_value_like_a_dictionary(rng):
    keys, values = np.eye(5), rng.standard_normal((5, 2))
    dictionary = {tuple(k): v for k, v in zip(keys, values, strict=True)}
    for key in keys:
        given = soft_lookup(key, keys, values, temperature=1e-3)
        np.testing.assert_allclose(given, dictionary[tuple(key)], rtol=1e-12)


def test_a_hot_lookup_returns_the_mean(rng):
    query, keys = rng.standard_normal(4), rng.standard_normal((6, 4))
    values = rng.standard_normal((6, 2))
    given = soft_lookup(query, keys, values, temperature=1e9)
    np.testing.assert_allclose(given, values.mean(axis=0), atol=1e-8)


def test_a_lookup_among_its_own_keys_is_attention(rng):
    q, X = rng.standard_normal(4), rng.standard_normal((6, 4))
    np.testing.assert_allclose(soft_lookup(q, X, X), attend(q, X)[0], rtol=1e-12)


def test_nothing_that_is_given_is_changed(rng):
    q, X, V = (rng.standard_normal(shape) for shape in [(4,), (6, 4), (6, 2)])
    before = [array.copy() for array in (q, X, V)]
    attend(q, X)
    soft_lookup(q, X, V, 0.5)
    softmax(X)
    for array, copy in zip((q, X, V), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_break_softmax_is_a_small_table_with_extreme_scores():
    (scores,) = break_softmax()
    right = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
    np.testing.assert_allclose(softmax(scores), right)
    assert not np.allclose(right, right.T)  # the wrong axis shows
    with np.errstate(over="ignore", under="ignore"):
        mean_taken_away = np.exp(scores - scores.mean(axis=-1, keepdims=True))
        largest_taken_away = np.exp(scores - scores.max())
    assert np.isinf(mean_taken_away).any()
    assert (largest_taken_away.sum(axis=-1) == 0).any()
