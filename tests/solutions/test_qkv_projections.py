"""Queries, keys and values against torch."""

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


def by_torch(queries, keys, values):
    """Outputs and weights of torch's own function."""
    q, k, v = map(torch.from_numpy, (queries, keys, values))
    one_hot = torch.eye(len(k), dtype=k.dtype)  # the outputs are then the weights
    return [F.scaled_dot_product_attention(q, k, x).numpy() for x in (v, one_hot)]


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_attention_and_its_layer_agree_with_torch(rng, size):
    shapes = (3, 4), (5, 6), (4, 2), (6, 2), (6, 7)
    Q, X, W_Q, W_K, W_V = (rng.standard_normal(shape) for shape in shapes)
    W_Q *= size  # large scores must not overflow
    projected = Q @ W_Q, X @ W_K, X @ W_V
    expected = by_torch(*projected)
    for found in (attention(*projected), attention_layer(Q, X, W_Q, W_K, W_V)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_columns_agree_with_torch_on_columns_turned_into_rows(rng):
    X = rng.standard_normal((6, 5))
    W_Q, W_K, W_V = (rng.standard_normal((d, 6)) for d in (2, 2, 7))
    outputs, weights = self_attention_columns(X, W_Q, W_K, W_V)
    expected, shares = by_torch(*((W @ X).T for W in (W_Q, W_K, W_V)))
    np.testing.assert_allclose(outputs.T, expected)
    np.testing.assert_allclose(weights.T, shares)


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
