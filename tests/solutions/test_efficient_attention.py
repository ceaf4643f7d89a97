"""Attention for long sequences against torch, plain loops and counted operations."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from solutions.efficient_attention import (
    attention_bytes,
    attention_flops,
    blockwise_attention,
    break_linear_attention,
    causal_linear_attention,
    linear_attention,
    online_softmax_sum,
)
from toolkit.memory import peak_bytes

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture
def draw():
    rng = torch.Generator().manual_seed(20246)

    def normal(*shape):
        return torch.randn(*shape, generator=rng, dtype=torch.float64)

    return normal


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
    return torch.tensor(outputs, dtype=torch.float64)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (64, 16), (5, 40)])
def test_torch_counts_the_same_operations(draw, n, d):
    query, key, value = draw(n, d), draw(n, d), draw(n, d)
    with FlopCounterMode(display=False) as counter:
        (query @ key.T).softmax(dim=-1) @ value
    assert attention_flops(n, d) == counter.get_total_flops()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_weights_take_as_many_bytes_as_torch_allocates(dtype):
    weights = torch.empty(3, 11, 11, dtype=dtype)
    assert attention_bytes(11, 3, dtype.itemsize) == weights.untyped_storage().nbytes()


def test_linear_attention_agrees_with_plain_loops(draw):
    query, key, value = draw(4, 3), draw(5, 3), draw(5, 2)
    expected = linear_by_loops(query, key, value, causal=False)
    assert_close(linear_attention(query, key, value), expected)


def test_causal_linear_attention_agrees_with_plain_loops(draw):
    query, key, value = draw(6, 3), draw(6, 3), draw(6, 2)
    expected = linear_by_loops(query, key, value, causal=True)
    assert_close(causal_linear_attention(query, key, value), expected)


def test_the_recurrence_equals_the_parallel_form(draw):
    query, key, value = draw(2, 3, 40, 5), draw(2, 3, 40, 5), draw(2, 3, 40, 7)
    weights = ((F.elu(query) + 1) @ (F.elu(key) + 1).mT).tril()
    parallel = weights / weights.sum(dim=-1, keepdim=True) @ value
    assert_close(causal_linear_attention(query, key, value), parallel, **EXACT)


def test_the_last_token_of_the_recurrence_has_seen_everything(draw):
    query, key, value = draw(2, 9, 4), draw(2, 9, 4), draw(2, 9, 3)
    causal = causal_linear_attention(query, key, value)
    assert_close(causal[:, -1], linear_attention(query, key, value)[:, -1])


@pytest.mark.parametrize("attend", [linear_attention, causal_linear_attention])
def test_linear_attention_returns_averages(draw, attend):
    query, key, ones = draw(2, 8, 3), draw(2, 8, 3), torch.ones(2, 8, 4).double()
    assert_close(attend(query, key, ones), ones)
    output = attend(query, key, ones.cumsum(dim=1))
    assert (output >= 1).all() and (output <= 8).all()


def test_linear_attention_takes_memory_that_grows_with_the_length_only(draw):
    def peak(n):
        return peak_bytes(linear_attention, draw(n, 4), draw(n, 4), draw(n, 4))

    assert peak(4000) < 2.1 * peak(2000)


@pytest.mark.parametrize("sizes", [[9], [1] * 9, [2, 3, 4], [4, 4, 1], [8, 1]])
def test_one_pass_over_blocks_is_the_softmax(draw, sizes):
    scores, values = 3 * draw(2, 4, 9), draw(2, 9, 5)
    blocks = iter(scores.split(sizes, dim=-1)), iter(values.split(sizes, dim=-2))
    assert_close(online_softmax_sum(*blocks), scores.softmax(dim=-1) @ values, **EXACT)


def test_the_order_of_the_blocks_does_not_matter(draw):
    scores = [1000 * draw(1, 1) + draw(4, 3) for _ in range(5)]
    values = [draw(3, 2) for _ in range(5)]
    forward = online_softmax_sum(scores, values)
    assert forward.isfinite().all()
    assert_close(forward, online_softmax_sum(scores[::-1], values[::-1]), **EXACT)


def test_hidden_keys_give_zeros_or_nothing_in_value_and_gradient(draw):
    scores = draw(4, 6)
    scores[0] = scores[1, :4] = scores[2, 2:] = -torch.inf
    scores.requires_grad_()
    values = draw(6, 3)
    with torch.autograd.set_detect_anomaly(True, check_nan=True):
        output = online_softmax_sum(scores.split(2, -1), values.split(2, -2))
        output.square().sum().backward()
    expected = scores.detach()[1:].softmax(dim=-1) @ values
    assert (output[0] == 0).all()
    assert_close(output[1:].detach(), expected)
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("n", "t", "size"), [(11, 11, 4), (11, 7, 3), (5, 13, 4), (8, 8, 1), (6, 6, 99)]
)
def test_blockwise_attention_is_torchs_attention(draw, n, t, size, causal):
    query, key, value = draw(2, 3, n, 4), draw(2, 3, t, 4), draw(2, 3, t, 5)
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    result = blockwise_attention(query, key, value, size, causal)
    assert_close(result, expected, **EXACT)


def test_blockwise_attention_of_a_thousand_tokens_is_torchs_attention(draw):
    query, key, value = draw(2, 1000, 8), draw(2, 1000, 8), draw(2, 1000, 8)
    for causal in (False, True):
        expected = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        result = blockwise_attention(query, key, value, 96, causal)
        assert_close(result, expected, **EXACT)


def test_the_gradient_is_torchs_too(draw):
    inputs = [draw(2, 10, 3).requires_grad_() for _ in range(3)]
    direction = draw(2, 10, 3)
    ours = (blockwise_attention(*inputs, 4, causal=True) * direction).sum()
    theirs = F.scaled_dot_product_attention(*inputs, is_causal=True) * direction
    assert_close(
        torch.autograd.grad(ours, inputs),
        torch.autograd.grad(theirs.sum(), inputs),
        **EXACT,
    )


def test_large_scores_neither_overflow_nor_vanish(draw):
    query, key, value = 100 * draw(7, 4), 100 * draw(9, 4), draw(9, 3)
    expected = F.scaled_dot_product_attention(query, key, value)
    assert_close(blockwise_attention(query, key, value, 2), expected, **EXACT)


@pytest.mark.parametrize("causal", [False, True])
def test_memory_grows_with_the_length_and_not_with_its_square(draw, causal):
    def peak(n):
        x = draw(n, 4)
        return peak_bytes(blockwise_attention, x, x, x, 64, causal)

    assert peak(2048) < 2.2 * peak(1024)
    assert peak(2048) < 2048 * 2048  # bytes; the weights alone would take 8 times this


def test_inputs_are_left_as_they_were(draw):
    inputs = [draw(2, 6, 3) for _ in range(3)]
    before = [x.clone() for x in inputs]
    linear_attention(*inputs)
    causal_linear_attention(*inputs)
    blockwise_attention(*inputs, 4, True)
    for now, copy in zip(inputs, before, strict=True):
        assert torch.equal(now, copy)


def test_break_linear_attention_has_features_of_both_signs():
    query, key, value = break_linear_attention()
    signs = torch.cat([query, key]).sign()
    assert {-1.0, 1.0} <= set(signs.flatten().tolist())
    assert len(key) > 1 and query.shape[-1] > 1
    weights = (F.elu(query) + 1) @ (F.elu(key) + 1).T
    right = (weights / weights.sum(-1, keepdim=True)) @ value
    torch.testing.assert_close(linear_attention(query, key, value), right)
