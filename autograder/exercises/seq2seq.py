"""Cases for the chapter on encoder and decoder with attention."""

import numpy as np
import torch

from autograder.exercise import Exercise
from autograder.inputs import (
    fill,
    gradients,
    sizes,
    targets_with_padding,
    tensor,
)

context_vector = Exercise(
    "context_vector",
    results=("context", "weights"),
    hints=(
        "Take one row of the batch first: one query against T states. Which axis do "
        "the scores lie along?",
        "Padding has to lose its weight before the weights are made, or the rest will "
        "not sum to one. What does a row of nothing but padding give then?",
        "`masked_fill(~source_mask, -torch.inf)` replaces scores; `torch.where` with "
        "the mask turns the weights of an empty row into 0.",
    ),
)
AttentionDecoder = Exercise(
    "AttentionDecoder",
    results=("logits", "state", "weights"),
    hints=(
        "Read the formula from left to right: each of its three parts is one line of "
        "`forward`. Which state asks, the old one or the new one?",
        "The cell reads embedding and context side by side, in this order. How wide is "
        "its input?",
        "Begin with `context, weights = context_vector(state, encoder_states, "
        "source_mask)`.",
    ),
)
sequence_loss = Exercise(
    "sequence_loss",
    hints=(
        "Sum over all tokens that count, then divide by their number. When is that "
        "number 0?",
        "`F.cross_entropy` wants (tokens, V) and (tokens,): flatten both batch and "
        "positions.",
        "It has `ignore_index` and `reduction='sum'`.",
    ),
)


def ragged_mask(rng, batch, length):
    """(B, T) True at the first tokens of each row, at least one of them."""
    hidden = np.sort(rng.random((batch, length)) < 0.5, axis=1)
    hidden[:, 0], hidden[0] = False, False
    hidden[0, -1] = True
    return torch.from_numpy(~hidden)


# context_vector -----------------------------------------------------------------------


@context_vector.case(title="context and weights, in this order", points=2)
def context_of_random_states(context_vector, rng):
    b, t, h = sizes(rng, 3)
    return context_vector(0.7 * tensor(rng, b, h), tensor(rng, b, t, h))


@context_vector.case(title="padding is not attended to, in any row", points=2)
def context_with_padding(context_vector, rng):
    b, t, h = *sorted(sizes(rng, 2, 4, 9)), 3
    mask = ragged_mask(rng, b, t)
    scattered = torch.from_numpy(rng.random((b, t)) < 0.5)
    scattered[:, 1] = True
    scattered[0, 0] = False
    state, states = 0.7 * tensor(rng, b, h), tensor(rng, b, t, h)
    return [context_vector(state, states, m) for m in (mask, scattered)]


@context_vector.case(
    title="a row with nothing to attend to gives zeros, and clean gradients", points=2
)
def context_of_nothing(context_vector, rng):
    b, t, h = sizes(rng, 3)
    mask = ragged_mask(rng, b, t)
    mask[1] = False
    state = (0.7 * tensor(rng, b, h)).requires_grad_()
    states = tensor(rng, b, t, h).requires_grad_()
    context, weights = context_vector(state, states, mask)
    none = context_vector(state, states, torch.zeros_like(mask))
    names = "the gradient of `state`", "the gradient of `encoder_states`"
    found = dict(zip(names, gradients(context, state, states), strict=True))
    return context, weights, found, none


@context_vector.case(title="scores in the thousands do not overflow", points=1)
def context_of_long_states(context_vector, rng):
    b, t, h = sizes(rng, 3)
    state = torch.from_numpy(rng.integers(-4, 5, (b, h)) / 4.0)
    states = torch.from_numpy(rng.integers(-8, 9, (b, t, h)) / 2.0)
    state[:, 0] = 200.0  # exact in float32 as well
    level = rng.choice([-10.0, 10.0], (b, 1))
    level[0] = -10.0
    states[:, :, 0] = torch.from_numpy(level)
    mask = torch.ones(b, t, dtype=torch.bool)
    mask[0, 0] = False
    return context_vector(state, states), context_vector(state, states, mask)


# AttentionDecoder ---------------------------------------------------------------------


def decoder_and_inputs(AttentionDecoder, rng):
    b, t, v, e, h = sizes(rng, 5)
    decoder = fill(AttentionDecoder(v, e, h), rng)
    decoder.eval()
    token = torch.from_numpy(rng.integers(0, v, b))
    return decoder, token, 0.7 * tensor(rng, b, h), tensor(rng, b, t, h)


@AttentionDecoder.case(title="names and shapes of all parameters", points=1)
def decoder_parameters(AttentionDecoder, rng):
    v, e, h = sizes(rng, 3)
    decoder = AttentionDecoder(vocab_size=v, embed_dim=e, hidden_dim=h)
    return {name: list(p.shape) for name, p in decoder.named_parameters()}


@AttentionDecoder.case(title="logits, new state and weights of one step", points=3)
def decoder_step(AttentionDecoder, rng):
    decoder, token, state, states = decoder_and_inputs(AttentionDecoder, rng)
    return decoder(token, state, states)


@AttentionDecoder.case(title="padding of the source is hidden", points=2)
def decoder_step_with_padding(AttentionDecoder, rng):
    decoder, token, state, states = decoder_and_inputs(AttentionDecoder, rng)
    mask = torch.from_numpy(rng.random(states.shape[:2]) < 0.5)
    mask[:, 0], mask[0, 1:] = True, False
    mask[1] = False  # nothing at all
    return decoder(token, state, states, mask)


@AttentionDecoder.case(
    title="gradients reach every parameter, the states and the encoder", points=2
)
def decoder_gradients(AttentionDecoder, rng):
    decoder, token, state, states = decoder_and_inputs(AttentionDecoder, rng)
    state.requires_grad_()
    states.requires_grad_()
    logits, new_state, _ = decoder(token, state, states)
    logits, _, _ = decoder(token, new_state, states)
    named = dict(sorted(decoder.named_parameters()))
    found = gradients(logits, state, states, *named.values())
    names = "state", "encoder_states", *named
    return {
        f"the gradient of `{name}`": gradient
        for name, gradient in zip(names, found, strict=True)
    }


# sequence_loss ------------------------------------------------------------------------


@sequence_loss.case(title="rows of different length, any padding id", points=3)
def loss_with_padding(sequence_loss, rng):
    b, t, v = sorted(sizes(rng, 3))
    return [
        sequence_loss(
            1.5 * tensor(rng, b, t, v), targets_with_padding(rng, b, t, v, pad), pad
        )
        for pad in (0, v - 1, v // 2)
    ]


@sequence_loss.case(title="padding in front and in between is left out too", points=1)
def loss_with_padding_anywhere(sequence_loss, rng):
    b, t, v = sizes(rng, 3)
    pad = int(rng.integers(1, v))
    targets = rng.choice(np.delete(np.arange(v), pad), (b, t))
    targets[0, 0] = targets[0, 2] = targets[1, 1] = pad
    targets[-1] = pad
    return sequence_loss(1.5 * tensor(rng, b, t, v), torch.from_numpy(targets), pad)


@sequence_loss.case(title="nothing but padding: 0, and no NaN in gradients", points=1)
def loss_of_nothing(sequence_loss, rng):
    b, t, v = sizes(rng, 3)
    pad = int(rng.integers(0, v))
    logits = tensor(rng, b, t, v).requires_grad_()
    loss = sequence_loss(logits, torch.full((b, t), pad), pad)
    targets = targets_with_padding(rng, min(b, t), t, v, pad)
    other = sequence_loss(logits[: len(targets)], targets, pad)
    single = torch.full((b, t), pad)
    single[0, 0] = (pad + 1) % v
    one, two = (
        {"the gradient of `logits`": gradients(value, logits)[0]}
        for value in (loss, other)
    )
    return loss, one, other, two, sequence_loss(logits, single, pad)


@sequence_loss.case(title="logits in the thousands stay finite", points=1)
def loss_of_sure_logits(sequence_loss, rng):
    b, t, v = sorted(sizes(rng, 3))
    logits = torch.from_numpy(rng.integers(-8, 9, (b, t, v)) * 250.0)
    return sequence_loss(logits, targets_with_padding(rng, b, t, v, 0), 0)
