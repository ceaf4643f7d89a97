"""Encoder, decoder and loss against torch and the equations written out."""

import pytest
import torch
import torch.nn.functional as F

from solutions.seq2seq import (
    AttentionDecoder,
    context_vector,
    sequence_loss,
)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(1)


@pytest.fixture
def normal(generator):
    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw


def a_mask(generator, *shape):
    """Of what may be attended to: at least the first token of each row."""
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[:, 0] = True
    return mask


def by_torch(state, states, mask):
    """Context and weights of torch's own function."""
    one_hot = torch.eye(states.shape[1], dtype=states.dtype).expand(len(states), -1, -1)
    return [
        F.scaled_dot_product_attention(
            state[:, None], states, values, attn_mask=mask[:, None], scale=1.0
        )[:, 0]
        for values in (states, one_hot)
    ]


# context_vector


@pytest.mark.parametrize("size", [1.0, 1e5])
def test_context_is_torchs_attention_without_its_scale(normal, generator, size):
    state, states = size * normal(4, 6), normal(4, 9, 6)
    for found, expected in zip(
        context_vector(state, states, mask := a_mask(generator, 4, 9)),
        by_torch(state, states, mask),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


# AttentionDecoder


def test_decoder_step_is_the_gated_recurrence_written_out(normal, generator):
    torch.manual_seed(0)
    decoder = AttentionDecoder(11, 5, 7).double()
    token, state, states = torch.tensor([4, 9]), normal(2, 7), normal(2, 6, 7)
    mask = a_mask(generator, 2, 6)
    logits, after, weights = decoder(token, state, states, mask)
    contexts, expected_weights = by_torch(state, states, mask)
    torch.testing.assert_close(weights, expected_weights)
    for b, context in enumerate(contexts):
        seen = torch.cat([decoder.embedding.weight[token[b]], context])
        cell = decoder.cell
        ours = cell.weight_ih @ seen + cell.bias_ih
        theirs = cell.weight_hh @ state[b] + cell.bias_hh
        reset = 1 / (1 + (-(ours[:7] + theirs[:7])).exp())
        update = 1 / (1 + (-(ours[7:14] + theirs[7:14])).exp())
        new = (ours[14:] + reset * theirs[14:]).tanh()
        expected = (1 - update) * new + update * state[b]
        torch.testing.assert_close(after[b], expected)
        read = torch.cat([expected, context])
        expected_logits = decoder.output.weight @ read + decoder.output.bias
        torch.testing.assert_close(logits[b], expected_logits)


# sequence_loss


def test_loss_is_torchs_with_padding_ignored(normal, generator):
    logits = normal(3, 5, 7)
    targets = torch.randint(0, 7, (3, 5), generator=generator)
    expected = F.cross_entropy(logits.mT, targets, ignore_index=4)
    torch.testing.assert_close(sequence_loss(logits, targets, 4), expected)
