"""The reference of chapter 3 against torch, plain loops, closed forms, invariants."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.seq2seq import (
    AttentionDecoder,
    context_vector,
    sequence_loss,
)

SEEDS = range(5)


def loop_context(state, states, mask):
    """One row of the batch by the definition, one number at a time."""
    length, width = states.shape
    scores = [
        sum(float(state[i] * states[t, i]) for i in range(width)) for t in range(length)
    ]
    shares = [math.exp(scores[t]) if mask[t] else 0.0 for t in range(length)]
    weights = [share / sum(shares) for share in shares]
    context = [
        sum(weights[t] * float(states[t, i]) for t in range(length))
        for i in range(width)
    ]
    return torch.tensor(context).double(), torch.tensor(weights).double()


# context_vector


def test_context_follows_the_definition(normal, generator):
    state, states = normal(3, 5), normal(3, 7, 5)
    mask = torch.rand(3, 7, generator=generator) < 0.6
    mask[:, 2] = True
    context, weights = context_vector(state, states, mask)
    for b in range(3):
        expected_context, expected_weights = loop_context(state[b], states[b], mask[b])
        torch.testing.assert_close(context[b].float(), expected_context.float())
        torch.testing.assert_close(weights[b].float(), expected_weights.float())


def test_context_is_torchs_attention_without_its_scale(normal, generator):
    state, states = normal(4, 6), normal(4, 9, 6)
    mask = torch.rand(4, 9, generator=generator) < 0.6
    mask[:, 0] = True
    expected = F.scaled_dot_product_attention(
        state[:, None], states, states, attn_mask=mask[:, None], scale=1.0
    )
    context, _ = context_vector(state, states, mask)
    torch.testing.assert_close(context, expected[:, 0], rtol=1e-12, atol=1e-12)


def test_more_padding_changes_nothing(normal):
    state, states, filler = normal(2, 4), normal(2, 5, 4), normal(2, 3, 4)
    mask = torch.arange(8).expand(2, 8) < 5
    context, weights = context_vector(state, states)
    padded, padded_weights = context_vector(
        state, torch.cat([states, 10 * filler], dim=1), mask
    )
    torch.testing.assert_close(padded, context)
    torch.testing.assert_close(padded_weights[:, :5], weights)
    assert (padded_weights[:, 5:] == 0).all()


def test_context_follows_a_shuffle_of_the_source(normal):
    state, states = normal(2, 4), normal(2, 6, 4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    context, weights = context_vector(state, states)
    shuffled, shuffled_weights = context_vector(state, states[:, order])
    torch.testing.assert_close(shuffled, context)
    torch.testing.assert_close(shuffled_weights, weights[:, order])


def test_a_long_query_reads_the_best_match_alone(normal):
    states = normal(2, 5, 3)
    context, weights = context_vector(1e5 * states[:, 3] / 10, states)
    best = (states @ states[:, 3, :, None]).squeeze(-1).argmax(1)
    torch.testing.assert_close(context, states[[0, 1], best])
    assert weights.isfinite().all()


def test_a_row_without_tokens_gives_zeros_in_value_and_gradient(normal):
    state = normal(3, 4).requires_grad_()
    states = normal(3, 5, 4).requires_grad_()
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    context, weights = context_vector(state, states, mask)
    (context.square().sum() + weights.square().sum()).backward()
    assert (context[1] == 0).all()
    assert (weights[1] == 0).all()
    for gradient in (state.grad, states.grad):
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()
        assert (gradient[0] != 0).any()


def test_gradient_of_the_context_is_that_of_finite_differences(normal):
    state = normal(2, 3).requires_grad_()
    states = normal(2, 4, 3).requires_grad_()
    mask = torch.tensor([[True, True, False, True], [False, True, True, True]])
    assert torch.autograd.gradcheck(
        lambda s, h: context_vector(s, h, mask), (state, states)
    )


# AttentionDecoder


def test_decoder_has_the_three_parts_of_the_catalogue():
    decoder = AttentionDecoder(11, 5, 7)
    assert {name: type(part) for name, part in decoder.named_children()} == {
        "embedding": nn.Embedding,
        "cell": nn.GRUCell,
        "output": nn.Linear,
    }
    assert decoder.cell.input_size == 5 + 7
    assert decoder.output.weight.shape == (11, 2 * 7)


def test_decoder_step_is_the_gated_recurrence_written_out(normal):
    torch.manual_seed(0)
    decoder = AttentionDecoder(11, 5, 7).double()
    token, state, states = torch.tensor([4, 9]), normal(2, 7), normal(2, 6, 7)
    logits, after, weights = decoder(token, state, states)
    for b in range(2):
        context, expected_weights = loop_context(state[b], states[b], [True] * 6)
        seen = torch.cat([decoder.embedding.weight[token[b]], context])
        cell = decoder.cell
        ours = cell.weight_ih @ seen + cell.bias_ih
        theirs = cell.weight_hh @ state[b] + cell.bias_hh
        reset = 1 / (1 + (-(ours[:7] + theirs[:7])).exp())
        update = 1 / (1 + (-(ours[7:14] + theirs[7:14])).exp())
        new = (ours[14:] + reset * theirs[14:]).tanh()
        expected = (1 - update) * new + update * state[b]
        torch.testing.assert_close(after[b], expected, rtol=1e-6, atol=1e-6)
        read = torch.cat([expected, context])
        expected_logits = decoder.output.weight @ read + decoder.output.bias
        torch.testing.assert_close(logits[b], expected_logits, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(weights[b], expected_weights, rtol=1e-6, atol=1e-6)


def test_decoder_rows_do_not_know_of_each_other(normal):
    torch.manual_seed(0)
    decoder = AttentionDecoder(11, 5, 7).double()
    token, state, states = torch.tensor([4, 9, 4]), normal(3, 7), normal(3, 6, 7)
    mask = torch.arange(6) < torch.tensor([[6], [3], [4]])
    together = decoder(token, state, states, mask)
    for b, count in enumerate([6, 3, 4]):
        alone = decoder(token[b : b + 1], state[b : b + 1], states[b : b + 1, :count])
        for one, many in zip(alone[:2], together[:2], strict=True):
            torch.testing.assert_close(one[0], many[b])
        torch.testing.assert_close(alone[2][0], together[2][b, :count])


# sequence_loss


def test_loss_of_even_logits_is_the_logarithm_of_the_vocabulary():
    targets = torch.tensor([[1, 2, 0], [3, 0, 0]])
    loss = sequence_loss(torch.zeros(2, 3, 8).double(), targets, 0)
    assert float(loss) == pytest.approx(math.log(8))


def test_loss_follows_the_definition(normal, generator):
    logits = normal(3, 5, 7)
    targets = torch.randint(0, 7, (3, 5), generator=generator)
    total, count = 0.0, 0
    for b in range(3):
        for t in range(5):
            if targets[b, t] != 4:
                exponentials = [math.exp(float(x)) for x in logits[b, t]]
                total -= math.log(exponentials[targets[b, t]] / sum(exponentials))
                count += 1
    assert float(sequence_loss(logits, targets, 4)) == pytest.approx(total / count)


def test_loss_does_not_change_when_the_batch_is_padded_further(normal):
    logits, targets = normal(2, 4, 6), torch.tensor([[1, 2, 3, 4], [5, 5, 0, 0]])
    more = torch.cat([logits, normal(2, 3, 6)], dim=1)
    longer = F.pad(targets, (0, 3))
    assert torch.equal(
        sequence_loss(more, longer, 0), sequence_loss(logits, targets, 0)
    )


def test_loss_of_nothing_is_zero_and_teaches_nothing(normal):
    logits = normal(2, 3, 5).requires_grad_()
    loss = sequence_loss(logits, torch.full((2, 3), 4), 4)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()
