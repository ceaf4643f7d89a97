"""Queries, keys and values against torch, plain loops and what must hold."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solutions.qkv_projections import (
    attention,
    attention_layer,
    choose_projections,
    self_attention_columns,
)

N_Q, N_X, D_Q, D_X, D_K, D_V = 3, 5, 4, 6, 2, 7


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


@pytest.fixture
def layer(rng):
    shapes = (N_Q, D_Q), (N_X, D_X), (D_Q, D_K), (D_X, D_K), (D_X, D_V)
    return [rng.standard_normal(shape) for shape in shapes]


def layer_by_loops(Q, X, W_Q, W_K, W_V):
    """The definition, one number at a time."""

    def apply(vector, weight):
        return [
            sum(vector[d] * weight[d][c] for d in range(len(vector)))
            for c in range(len(weight[0]))
        ]

    outputs, weights = [], []
    for row in Q.tolist():
        query = apply(row, W_Q.tolist())
        scores = []
        for token in X.tolist():
            key = apply(token, W_K.tolist())
            dot = sum(a * b for a, b in zip(query, key, strict=True))
            scores.append(dot / math.sqrt(len(key)))
        total = sum(math.exp(score) for score in scores)
        weights.append([math.exp(score) / total for score in scores])
        output = [0.0] * len(W_V[0])
        for share, token in zip(weights[-1], X.tolist(), strict=True):
            for c, value in enumerate(apply(token, W_V.tolist())):
                output[c] += share * value
        outputs.append(output)
    return outputs, weights


def test_attention_agrees_with_torch(rng):
    arrays = [rng.standard_normal(shape) for shape in ((3, 4), (5, 4), (5, 2))]
    outputs, weights = attention(*arrays)
    q, k, v = (torch.from_numpy(array) for array in arrays)
    np.testing.assert_allclose(outputs, F.scaled_dot_product_attention(q, k, v))
    one_hot = torch.eye(5, dtype=torch.float64)  # the outputs are then the weights
    expected = F.scaled_dot_product_attention(q, k, one_hot)
    np.testing.assert_allclose(weights, expected)


def test_the_layer_agrees_with_plain_loops(layer):
    outputs, weights = attention_layer(*layer)
    expected_outputs, expected_weights = layer_by_loops(*layer)
    np.testing.assert_allclose(outputs, expected_outputs)
    np.testing.assert_allclose(weights, expected_weights)


def test_self_attention_agrees_with_torch_multihead_attention_of_one_head(rng):
    X, W_Q, W_K, W_V = (rng.standard_normal(s) for s in ((5, 4), *3 * [(4, 4)]))
    reference = torch.nn.MultiheadAttention(4, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        packed = np.vstack([W_Q.T, W_K.T, W_V.T])
        reference.in_proj_weight.copy_(torch.from_numpy(packed))
        reference.out_proj.weight.copy_(torch.eye(4))
        x = torch.from_numpy(X)[None]
        expected_outputs, expected_weights = reference(x, x, x)
    outputs, weights = attention_layer(X, X, W_Q, W_K, W_V)
    np.testing.assert_allclose(outputs, expected_outputs[0])
    np.testing.assert_allclose(weights, expected_weights[0])


def test_columns_agree_with_torch_on_columns_turned_into_rows(rng):
    X = rng.standard_normal((6, 5))
    W_Q, W_K, W_V = (rng.standard_normal((d, 6)) for d in (2, 2, 7))
    outputs, weights = self_attention_columns(X, W_Q, W_K, W_V)
    q, k, v = (torch.from_numpy(W @ X).T for W in (W_Q, W_K, W_V))
    np.testing.assert_allclose(outputs.T, F.scaled_dot_product_attention(q, k, v))
    np.testing.assert_allclose(weights.sum(axis=0), np.ones(5))
    np.testing.assert_allclose(outputs, W_V @ X @ weights)


def test_the_order_of_the_tokens_that_are_looked_at_does_not_matter(layer, rng):
    Q, X, *weights = layer
    order = rng.permutation(N_X)
    outputs, shares = attention_layer(Q, X, *weights)
    shuffled_outputs, shuffled_shares = attention_layer(Q, X[order], *weights)
    np.testing.assert_allclose(shuffled_outputs, outputs)
    np.testing.assert_allclose(shuffled_shares, shares[:, order])


def test_only_the_product_of_query_and_key_weights_is_seen(layer, rng):
    Q, X, W_Q, W_K, W_V = layer
    change = rng.standard_normal((D_K, D_K))
    changed = W_Q @ change, W_K @ np.linalg.inv(change).T
    np.testing.assert_allclose(
        attention_layer(Q, X, *changed, W_V)[0], attention_layer(*layer)[0]
    )


def test_adding_one_vector_to_all_keys_changes_nothing(rng):
    queries, keys, values = (
        rng.standard_normal(shape) for shape in ((3, 4), (5, 4), (5, 2))
    )
    moved = keys + 1000 * rng.standard_normal(4)
    np.testing.assert_allclose(
        attention(queries, moved, values)[0], attention(queries, keys, values)[0]
    )


def test_a_query_of_zeros_reads_the_mean_of_all_values(rng):
    values = rng.standard_normal((5, 2))
    outputs, weights = attention(np.zeros((1, 4)), rng.standard_normal((5, 4)), values)
    np.testing.assert_allclose(weights, np.full((1, 5), 0.2))
    np.testing.assert_allclose(outputs[0], values.mean(axis=0))


def test_large_scores_stay_finite_and_pick_the_best_key(rng):
    keys, values = np.eye(4), rng.standard_normal((4, 2))
    outputs, weights = attention(1e6 * np.eye(4)[[2, 0]], keys, values)
    np.testing.assert_allclose(outputs, values[[2, 0]])
    outputs, _ = attention(-1e6 * np.ones((1, 4)), keys, values)
    np.testing.assert_allclose(outputs[0], values.mean(axis=0))


def test_inputs_are_left_as_they_were(layer):
    before = [array.copy() for array in layer]
    attention_layer(*layer)
    columns = [layer[1].T, *(layer[i].T for i in (3, 3, 4))]
    self_attention_columns(*columns)
    for array, copy in zip(layer, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_chosen_projections_give_all_readers_their_books(rng):
    wants, brings, years = (
        rng.permutation(6),
        rng.permutation(6),
        rng.integers(9, size=6),
    )
    X = torch.zeros(6, 13, dtype=torch.float64)
    X[range(6), wants] = X[range(6), 6 + brings] = 1
    X[:, 12] = torch.from_numpy(years)
    W_Q, W_K, W_V = map(torch.from_numpy, choose_projections())
    weights = F.scaled_dot_product_attention(
        X @ W_Q, X @ W_K, torch.eye(6, dtype=X.dtype)
    ).numpy()
    owner = [brings.tolist().index(subject) for subject in wants]
    assert weights[range(6), owner].min() >= 0.9
    np.testing.assert_array_equal(X @ W_V, years[:, None])
