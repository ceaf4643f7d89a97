"""Masks and masked attention against torch, plain loops and what must hold."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from solutions.masking import (
    additive_mask,
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
    return torch.Generator().manual_seed(20240)


@pytest.fixture
def inputs(rng):
    shapes = (N, D_K), (T, D_K), (T, D_V)
    return [
        torch.randn(B, HEADS, *shape, generator=rng, dtype=torch.float64)
        for shape in shapes
    ]


@pytest.fixture
def mask(rng):
    """(B, 1, N, T), with at least one key for each query."""
    drawn = torch.rand(B, 1, N, T, generator=rng) < 0.5
    drawn[..., 1] = True
    return drawn


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
    return torch.tensor(outputs).double(), torch.tensor(weights).double()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_token_may_see_itself_and_what_is_earlier(n):
    for i, row in enumerate(causal_mask(n).tolist()):
        assert row == [True] * (i + 1) + [False] * (n - i - 1)


def test_the_causal_mask_hides_what_torch_hides_with_is_causal(inputs):
    query, _, value = (x[..., :N, :] for x in inputs)
    ours, _ = scaled_dot_product_attention(query, query, value, causal_mask(N))
    assert_close(
        ours, F.scaled_dot_product_attention(query, query, value, is_causal=True)
    )


def test_the_causal_mask_is_the_opposite_of_torchs_own_for_layers():
    theirs = nn.Transformer.generate_square_subsequent_mask(6)
    assert_close(additive_mask(causal_mask(6), torch.float32), theirs)


def test_padding_is_true_for_as_many_keys_as_the_sequence_is_long():
    mask = padding_mask(torch.tensor([3, 0, 5, 1]), 5)
    assert mask.tolist() == [
        [True, True, True, False, False],
        [False] * 5,
        [True] * 5,
        [True, False, False, False, False],
    ]


def test_the_padding_mask_is_made_on_the_device_of_the_lengths():
    lengths = torch.zeros(3, dtype=torch.int64, device="meta")
    assert padding_mask(lengths, 4).device.type == "meta"


def test_a_combined_mask_asks_both_masks_about_every_key(rng):
    padding = torch.rand(3, T, generator=rng) < 0.5
    causal = torch.rand(N, T, generator=rng) < 0.5
    combined = combine_masks(padding, causal)
    assert combined.shape == (3, 1, N, T)
    for b, i, j in np.ndindex(3, N, T):
        assert combined[b, 0, i, j] == (padding[b, j] and causal[i, j])


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16]
)
def test_the_additive_mask_is_the_logarithm_of_the_mask(mask, dtype):
    result = additive_mask(mask, dtype)
    assert result.dtype == dtype
    assert_close(result, torch.log(mask.double()).to(dtype))


def test_adding_the_additive_mask_is_masking(inputs, mask):
    scores = inputs[0] @ inputs[1].mT
    added = (scores + additive_mask(mask, scores.dtype)).softmax(dim=-1)
    assert_close(masked_softmax(scores, mask), added)


def test_masking_is_the_softmax_of_the_allowed_scores_alone(rng):
    scores = torch.randn(7, generator=rng, dtype=torch.float64)
    mask = torch.tensor([True, False, True, True, False, False, True])
    weights = masked_softmax(scores[None], mask)[0]
    assert_close(weights[mask], scores[mask].softmax(dim=0))
    assert (weights[~mask] == 0).all()


def test_a_hidden_score_has_no_influence_whatever_it_is(rng):
    scores = torch.randn(3, 5, generator=rng, dtype=torch.float64)
    mask = torch.arange(5) < 3
    expected = masked_softmax(scores, mask)
    for other in (1e300, -1e300, torch.inf, -torch.inf, torch.nan):
        changed = scores.masked_fill(~mask, other)
        assert_close(masked_softmax(changed, mask), expected, rtol=0, atol=0)


def test_shifting_all_scores_of_a_query_changes_nothing(rng):
    scores = torch.randint(-8, 9, (4, 5), generator=rng).double() / 4
    mask = torch.arange(5) < 4
    for shift in (2e6, -2e6):
        assert_close(masked_softmax(scores + shift, mask), masked_softmax(scores, mask))


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("hidden_rows", [[1], [0, 1, 2]])
def test_a_row_without_keys_is_zero_in_value_and_gradient_and_on_the_way(
    rng, hidden_rows
):
    scores = torch.randn(2, 3, 5, generator=rng, dtype=torch.float64)
    scores.requires_grad_()
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[hidden_rows] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        weights = masked_softmax(scores, mask)
        weights.square().sum().backward()
    assert (weights[:, hidden_rows] == 0).all()
    assert (scores.grad[:, hidden_rows] == 0).all()
    assert scores.grad.isfinite().all()


def test_the_gradient_is_the_derivative(inputs, mask):
    mask = mask.clone()
    mask[1, :, 2] = False
    for x in inputs:
        x.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *x: scaled_dot_product_attention(*x, mask), inputs
    )


def test_attention_agrees_with_plain_loops(inputs, mask):
    output, weights = scaled_dot_product_attention(*inputs, mask)
    for b, h in np.ndindex(B, HEADS):
        one_head = [x[b, h] for x in inputs]
        expected = attention_by_loops(*one_head, mask[b, 0])
        assert_close((output[b, h], weights[b, h]), expected)


@pytest.mark.parametrize("masked", [True, False])
def test_attention_agrees_with_torch(inputs, mask, masked):
    mask = mask if masked else None
    output, weights = scaled_dot_product_attention(*inputs, mask)
    assert_close(output, F.scaled_dot_product_attention(*inputs, attn_mask=mask))
    one_hot = torch.eye(T, dtype=torch.float64).expand(B, HEADS, T, T)
    expected = F.scaled_dot_product_attention(*inputs[:2], one_hot, attn_mask=mask)
    assert_close(weights, expected)


def test_attention_agrees_with_torchs_layer_whose_mask_says_the_opposite(inputs, mask):
    key = inputs[1][:, 0]  # (B, T, D_K)
    query = inputs[0][:, 0]  # (B, N, D_K)
    layer = nn.MultiheadAttention(D_K, 1, bias=False, batch_first=True).double()
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(D_K).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(D_K))
        expected = layer(query, key, key, attn_mask=~mask[:, 0])
    assert_close(scaled_dot_product_attention(query, key, key, mask[:, 0]), expected)


def test_changing_a_later_token_leaves_the_earlier_outputs_as_they_were(rng):
    x = torch.randn(2, 8, D_K, generator=rng, dtype=torch.float64)
    before, _ = scaled_dot_product_attention(x, x, x, causal_mask(8))
    for t in range(8):
        changed = x.clone()
        changed[:, t] += 10
        after, _ = scaled_dot_product_attention(
            changed, changed, changed, causal_mask(8)
        )
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] != before[:, t:]).any(dim=-1).all()


def test_attending_all_at_once_equals_one_token_at_a_time(rng):
    x = torch.randn(2, 8, D_K, generator=rng, dtype=torch.float64)
    at_once, _ = scaled_dot_product_attention(x, x, x, causal_mask(8))
    for t in range(8):
        seen = x[:, : t + 1]
        step, _ = scaled_dot_product_attention(x[:, t : t + 1], seen, seen)
        assert_close(step[:, 0], at_once[:, t])


def test_padding_a_batch_does_not_change_its_sequences(rng):
    lengths = torch.tensor([3, 5, 0])
    x = torch.randn(3, 9, D_K, generator=rng, dtype=torch.float64)
    mask = combine_masks(padding_mask(lengths, 9), causal_mask(9))[:, 0]
    padded, weights = scaled_dot_product_attention(x, x, x, mask)
    for b, length in enumerate(lengths.tolist()):
        alone = x[b, :length]
        expected, _ = scaled_dot_product_attention(
            alone, alone, alone, causal_mask(length)
        )
        assert_close(padded[b, :length], expected)
    assert (weights[2] == 0).all()
    assert (padded[2] == 0).all()


def test_inputs_are_left_as_they_were(inputs, mask):
    before = [x.clone() for x in (*inputs, mask)]
    scaled_dot_product_attention(*inputs, mask)
    masked_softmax(inputs[0] @ inputs[1].mT, mask)
    additive_mask(mask, torch.float32)
    for now, copy in zip((*inputs, mask), before, strict=True):
        assert torch.equal(now, copy)


def test_break_masked_softmax_has_an_empty_row_and_masks_the_largest_score():
    scores, mask = break_masked_softmax()
    assert (~mask).all(dim=-1).any()
    partly = mask.any(dim=-1)
    hidden = scores.masked_fill(mask, -torch.inf)[partly]
    shown = scores.masked_fill(~mask, -torch.inf)[partly]
    assert (hidden.amax(-1) - shown.amax(-1)).max() > 745  # exp(-745) is 0 in float64
    assert scores.double().exp().isinf().any()
