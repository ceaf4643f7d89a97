"""Masks and masked attention against torch, plain loops and what must hold."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose
from torch import nn

from solutions.masking import (
    break_masked_softmax,
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)

B, HEADS, N, T, D_K, D_V = 2, 3, 4, 5, 6, 7


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


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


def attention_by_loops(query, key, value, mask):
    """The definition for one head, one number at a time."""
    outputs, weights = [], []
    for i, q in enumerate(query.tolist()):
        allowed = [j for j in range(len(key)) if mask[i][j]]
        scores = {
            j: math.fsum(a * b for a, b in zip(q, key[j].tolist(), strict=True))
            / math.sqrt(len(q))
            for j in allowed
        }
        total = math.fsum(math.exp(score) for score in scores.values())
        row = [0.0] * len(key)
        for j in allowed:
            row[j] = math.exp(scores[j]) / total
        weights.append(row)
        outputs.append(
            [
                math.fsum(share * float(value[j][c]) for j, share in enumerate(row))
                for c in range(value.shape[1])
            ]
        )
    return np.array(outputs), np.array(weights)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_token_may_attend_to_itself_and_to_what_is_earlier(n):
    for i, row in enumerate(causal_mask(n).tolist()):
        assert row == [True] * (i + 1) + [False] * (n - i - 1)


def test_the_causal_mask_hides_what_torch_hides_with_is_causal(inputs):
    query, _, value = (x[..., :N, :] for x in inputs)
    ours, _ = scaled_dot_product_attention(query, query, value, causal_mask(N))
    assert_allclose(ours, by_torch(query, query, value, is_causal=True), atol=1e-12)


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


def test_masking_is_the_softmax_of_the_allowed_scores_alone(rng):
    scores = rng.standard_normal(7)
    mask = np.array([True, False, True, True, False, False, True])
    weights = masked_softmax(scores[None], mask)[0]
    assert_allclose(weights[mask], torch.tensor(scores[mask]).softmax(dim=0))
    assert (weights[~mask] == 0).all()


def test_a_hidden_score_has_no_influence_whatever_it_is(rng):
    scores, mask = rng.standard_normal((3, 5)), np.arange(5) < 3
    expected = masked_softmax(scores, mask)
    for other in (1e300, -1e300, np.inf, -np.inf, np.nan):
        changed = np.where(mask, scores, other)
        assert (masked_softmax(changed, mask) == expected).all()


def test_shifting_all_scores_of_a_query_changes_nothing(rng):
    scores, mask = rng.integers(-8, 9, (4, 5)) / 4, np.arange(5) < 4
    for shift in (2e6, -2e6):
        shifted = masked_softmax(scores + shift, mask)
        assert_allclose(shifted, masked_softmax(scores, mask))


@pytest.mark.parametrize("hidden_rows", [[1], [0, 1, 2]])
def test_a_row_without_keys_is_zero_and_arises_without_a_warning(rng, hidden_rows):
    mask = np.ones((3, 5), dtype=bool)
    mask[hidden_rows] = False
    with np.errstate(all="raise", under="ignore"):
        weights = masked_softmax(rng.standard_normal((2, 3, 5)), mask)
    assert (weights[:, hidden_rows] == 0).all()
    assert_allclose(weights.sum(axis=-1), np.tile(mask.any(axis=-1), (2, 1)))


def test_attention_agrees_with_plain_loops(inputs, mask):
    output, weights = scaled_dot_product_attention(*inputs, mask)
    for b, h in np.ndindex(B, HEADS):
        expected = attention_by_loops(*[x[b, h] for x in inputs], mask[b, 0])
        assert_allclose(output[b, h], expected[0])
        assert_allclose(weights[b, h], expected[1])


@pytest.mark.parametrize("masked", [True, False])
def test_attention_agrees_with_torch(inputs, mask, masked):
    mask = mask if masked else None
    output, weights = scaled_dot_product_attention(*inputs, mask)
    assert_allclose(output, by_torch(*inputs, mask), atol=1e-12)
    one_hot = np.broadcast_to(np.eye(T), (B, HEADS, T, T)).copy()
    assert_allclose(weights, by_torch(*inputs[:2], one_hot, mask), atol=1e-12)


def test_attention_agrees_with_torchs_layer_whose_mask_says_the_opposite(inputs, mask):
    query, key = inputs[0][:, 0], inputs[1][:, 0]  # (B, N, D_K), (B, T, D_K)
    layer = nn.MultiheadAttention(D_K, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_K).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_K))
        q, k, hidden = torch.tensor(query), torch.tensor(key), ~mask[:, 0]
        expected = layer(q, k, k, attn_mask=torch.tensor(hidden))
    ours = scaled_dot_product_attention(query, key, key, mask[:, 0])
    for mine, theirs in zip(ours, expected, strict=True):
        assert_allclose(mine, theirs, atol=1e-12)


def test_changing_a_later_token_leaves_the_earlier_outputs_as_they_were(rng):
    x = rng.standard_normal((2, 8, D_K))
    before, _ = scaled_dot_product_attention(x, x, x, causal_mask(8))
    for t in range(8):
        changed = x.copy()
        changed[:, t] += 10
        after, _ = scaled_dot_product_attention(
            changed, changed, changed, causal_mask(8)
        )
        assert (after[:, :t] == before[:, :t]).all()
        assert (after[:, t:] != before[:, t:]).any(axis=-1).all()


def test_attending_all_at_once_equals_one_token_at_a_time(rng):
    x = rng.standard_normal((2, 8, D_K))
    at_once, _ = scaled_dot_product_attention(x, x, x, causal_mask(8))
    for t in range(8):
        seen = x[:, : t + 1]
        step, _ = scaled_dot_product_attention(x[:, t : t + 1], seen, seen)
        assert_allclose(step[:, 0], at_once[:, t])


def test_padding_a_batch_does_not_change_its_sequences(rng):
    lengths = np.array([3, 5, 0])
    x = rng.standard_normal((3, 9, D_K))
    mask = combine_masks(padding_mask(lengths, 9), causal_mask(9))[:, 0]
    padded, weights = scaled_dot_product_attention(x, x, x, mask)
    for b, length in enumerate(lengths[:2]):
        alone = x[b, :length]
        expected, _ = scaled_dot_product_attention(
            alone, alone, alone, causal_mask(length)
        )
        assert_allclose(padded[b, :length], expected)
    assert not weights[2].any()
    assert not padded[2].any()


def test_inputs_are_left_as_they_were(inputs, mask):
    before = [x.copy() for x in (*inputs, mask)]
    scaled_dot_product_attention(*inputs, mask)
    masked_softmax(inputs[0] @ inputs[1].swapaxes(-2, -1), mask)
    for now, copy in zip((*inputs, mask), before, strict=True):
        assert (now == copy).all()


def test_break_masked_softmax_has_an_empty_row_and_masks_the_largest_score():
    scores, mask = break_masked_softmax()
    assert (~mask).all(axis=-1).any()
    partly = mask.any(axis=-1)
    hidden = np.where(mask, -np.inf, scores)[partly].max(axis=-1)
    shown = np.where(mask, scores, -np.inf)[partly].max(axis=-1)
    assert (hidden - shown).max() > 745  # exp(-745) is 0 in float64
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(scores)).any()
