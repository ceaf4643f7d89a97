"""Masks and masked attention against torch and plain loops."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose

from solutions.masking import (
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)

B, HEADS, N, T, D_K, D_V = 2, 3, 4, 5, 6, 7


@pytest.fixture
def inputs(rng):
    shapes = (N, D_K), (T, D_K), (T, D_V)
    return [rng.standard_normal((B, HEADS, *shape)) for shape in shapes]


@pytest.fixture
def mask(rng):
    """(B, 1, N, T), with at least one key for each query."""
    drawn = rng.random((B, 1, N, T)) < 0.5
    drawn[..., 1] = True
    return drawn


def by_torch(query, key, value, mask=None, **options):
    """The output of torch's own function."""
    given = [torch.tensor(x) for x in (query, key, value)]
    mask = None if mask is None else torch.tensor(mask)
    return F.scaled_dot_product_attention(*given, attn_mask=mask, **options).numpy()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_token_may_attend_to_itself_and_to_what_is_earlier(n):
    for i, row in enumerate(causal_mask(n).tolist()):
        assert row == [True] * (i + 1) + [False] * (n - i - 1)


def test_padding_is_true_for_as_many_keys_as_the_sequence_is_long():
    mask = padding_mask(np.array([3, 0, 5, 1]), 5)
    assert mask.tolist() == [
        [True, True, True, False, False],
        [False] * 5,
        [True] * 5,
        [True, False, False, False, False],
    ]


def test_a_combined_mask_asks_both_masks_about_every_key(rng):
    padding, causal = rng.random((3, T)) < 0.5, rng.random((N, T)) < 0.5
    combined = combine_masks(padding, causal)
    assert combined.shape == (3, 1, N, T)
    for b, i, j in np.ndindex(3, N, T):
        assert combined[b, 0, i, j] == (padding[b, j] and causal[i, j])


@pytest.mark.parametrize("shift", [0.0, 2e6, -2e6])
def test_masking_is_the_softmax_of_the_allowed_scores_alone(rng, shift):
    scores = rng.standard_normal(7) + shift
    mask = np.array([True, False, True, True, False, False, True])
    weights = masked_softmax(scores[None], mask)[0]
    assert_allclose(weights[mask], torch.tensor(scores[mask]).softmax(dim=0))
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("masked", [True, False])
def test_attention_agrees_with_torch(inputs, mask, masked):
    mask = mask if masked else None
    output, weights = scaled_dot_product_attention(*inputs, mask)
    assert_allclose(output, by_torch(*inputs, mask), atol=1e-12)
    one_hot = np.broadcast_to(np.eye(T), (B, HEADS, T, T)).copy()
    assert_allclose(weights, by_torch(*inputs[:2], one_hot, mask), atol=1e-12)
