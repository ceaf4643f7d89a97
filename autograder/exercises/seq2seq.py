"""Cases for chapter 3: encoder and decoder with attention.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows. The decoders that ``greedy_translate`` drives are small tables of
numbers: each gives the right next token only if it was fed the right one before.
"""

import numpy as np
import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import (
    fill,
    gradients,
    noted,
    sizes,
    targets_with_padding,
    tensor,
)
from autograder.specification import integers, reals, whole

context_vector = Exercise("context_vector", results=("context", "weights"))
AttentionDecoder = Exercise("AttentionDecoder", results=("logits", "state", "weights"))
sequence_loss = Exercise("sequence_loss")
greedy_translate = Exercise("greedy_translate")


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


@context_vector.case(title="as many sequences as tokens as features", points=1)
def context_of_a_cube(context_vector, rng):
    (n,) = sizes(rng, 1)
    return context_vector(0.7 * tensor(rng, n, n), tensor(rng, n, n, n))


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
    return context, weights, gradients(context, state, states), none


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


@context_vector.case(
    title="one source token; strided inputs, which stay unchanged", points=1
)
def context_leaves_inputs_alone(context_vector, rng):
    b, t, h = sizes(rng, 3)
    state = 0.7 * tensor(rng, h, b).T
    states = tensor(rng, t, b, h).transpose(0, 1)
    mask = torch.from_numpy(rng.random((t, b)) < 0.6).T
    mask[:, 0] = True
    results = [
        context_vector(state, states[:, :1]),
        context_vector(state, states, mask),
    ]
    return results, state, states, mask


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


@AttentionDecoder.case(title="three steps, each from the state before", points=1)
def decoder_steps(AttentionDecoder, rng):
    decoder, _, state, states = decoder_and_inputs(AttentionDecoder, rng)
    b, v = len(state), decoder.embedding.weight.shape[0]
    steps = []
    for token in torch.from_numpy(rng.integers(0, v, (3, b))):
        logits, state, weights = decoder(token, state, states)
        steps.append([logits, state, weights])
    return steps


@AttentionDecoder.case(title="training and evaluation give the same step", points=1)
def decoder_step_in_training(AttentionDecoder, rng):
    decoder, token, state, states = decoder_and_inputs(AttentionDecoder, rng)
    decoder.train()
    result = decoder(token, state, states)
    return result, token, state, states


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


@sequence_loss.case(title="without padding: the mean over all tokens", points=1)
def loss_without_padding(sequence_loss, rng):
    b, t, v = sizes(rng, 3)
    targets = torch.from_numpy(rng.integers(1, v, (b, t)))
    return sequence_loss(1.5 * tensor(rng, b, t, v), targets, 0)


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
    return (
        *(loss, gradients(loss, logits), other, gradients(other, logits)),
        sequence_loss(logits, single, pad),
    )


@sequence_loss.case(title="logits in the thousands stay finite", points=1)
def loss_of_sure_logits(sequence_loss, rng):
    b, t, v = sorted(sizes(rng, 3))
    logits = torch.from_numpy(rng.integers(-8, 9, (b, t, v)) * 250.0)
    return sequence_loss(logits, targets_with_padding(rng, b, t, v, 0), 0)


@sequence_loss.case(title="strided inputs, which stay unchanged", points=1)
def loss_leaves_inputs_alone(sequence_loss, rng):
    b, t, v = sorted(sizes(rng, 3))
    logits = tensor(rng, v, t, b).permute(2, 1, 0)
    targets = targets_with_padding(rng, b, t, v, 1).T.contiguous().T
    return sequence_loss(logits, targets, 1), logits, targets


# greedy_translate ---------------------------------------------------------------------


class ScriptedDecoder:
    """A decoder whose rows know by heart what to write, if they are told the last id.

    The state (B, 2) holds the number of the row and how many steps it has taken. What
    comes next gets the largest logit only after the token that should stand before it;
    after any other token, and after the script, another id is the most probable.
    """

    def __init__(self, rng, lengths, vocab_size, start_id, end_id, places):
        others = np.delete(np.arange(vocab_size), [start_id, end_id])
        batch = len(lengths)
        script = rng.choice(others, (batch, places))
        for row, length in enumerate(lengths):
            if length <= places:
                script[row, length - 1] = end_id
        before = np.concatenate([np.full((batch, 1), start_id), script[:, :-1]], axis=1)
        logits = rng.standard_normal((batch, places, vocab_size, vocab_size))
        logits[..., end_id] -= 6.0
        logits -= 10.0  # the largest logit is the largest, not the furthest from zero
        rows, steps = np.ogrid[:batch, :places]
        logits[rows, steps, before, script] = -1.0
        self.logits = torch.from_numpy(logits)
        self.state = torch.from_numpy(
            np.stack([np.arange(batch), np.zeros(batch)], axis=1)
        )

    def __call__(self, token, state):
        """One step: logits and the state after it."""
        row, taken = state.long().T
        taken = taken.clamp(max=self.logits.shape[1] - 1)
        return self.logits[row, taken, token], state + torch.tensor([0.0, 1.0])


def steps_of(token, state):
    """How many steps a row has taken that a decoder is asked for one more."""
    return int(state[:, 1].max()) + 1


def scripted(rng, lengths, places):
    """A scripted decoder, with drawn ids of the start and the end."""
    vocab_size = int(rng.integers(7, 12))
    start_id, end_id = (int(i) for i in rng.permutation(np.arange(1, vocab_size))[:2])
    decoder = ScriptedDecoder(rng, lengths, vocab_size, start_id, end_id, places)
    return decoder, start_id, end_id


@greedy_translate.case(title="each token is the best one after the last", points=2)
def translation_without_end(greedy_translate, rng):
    batch, length = sizes(rng, 2)
    decoder, start, end = scripted(rng, [99] * batch, length + 3)
    return greedy_translate(noted(decoder)[0], decoder.state, start, end, length)


@greedy_translate.case(title="rows that end early are filled up with the end", points=3)
def translation_of_different_lengths(greedy_translate, rng):
    lengths = [*rng.permutation([1, 3, 4, 6]), 99]
    decoder, start, end = scripted(rng, lengths, 12)
    return greedy_translate(noted(decoder)[0], decoder.state, start, end, 9)


@greedy_translate.case(title="stops when all rows have ended", points=2)
def translation_stops(greedy_translate, rng):
    lengths = rng.permutation([2, 3, 5, 5])
    decoder, start, end = scripted(rng, lengths, 12)
    call, steps = noted(decoder, steps_of)
    ids = greedy_translate(call, decoder.state, start, end, 11)
    return {"ids": ids, "the number of steps": max(steps, default=0)}


@greedy_translate.case(title="a single sequence, and a single token", points=1)
def translation_of_one(greedy_translate, rng):
    decoder, start, end = scripted(rng, [4], 8)
    one = greedy_translate(noted(decoder)[0], decoder.state, start, end, 8)
    decoder, start, end = scripted(rng, [1, 3, 99], 8)
    return one, greedy_translate(noted(decoder)[0], decoder.state, start, end, 1)


@greedy_translate.case(title="a recurrent decoder carries its state along", points=2)
def translation_by_a_recurrent_decoder(greedy_translate, rng):
    batch, width, vocab_size = sizes(rng, 3, 5, 10)
    mix, table = tensor(rng, width, width), tensor(rng, vocab_size, width)
    write = 2 * tensor(rng, width, vocab_size)

    def step(token, state):
        state = torch.tanh(0.6 * state @ mix + table[token])
        return state @ write, state

    state = tensor(rng, batch, width)
    return greedy_translate(step, state, 1, 0, 10), state


@greedy_translate.case(title="the end may be id 0, and as long as allowed", points=1)
def translation_with_end_zero(greedy_translate, rng):
    decoder = ScriptedDecoder(rng, [3, 6, 2], 8, 1, 0, 10)
    call, steps = noted(decoder, steps_of)
    ids = greedy_translate(call, decoder.state, 1, 0, 6)
    return {"ids": ids, "the number of steps": max(steps, default=0)}


# break_sequence_loss ------------------------------------------------------------------


def unknown_token(logits, targets, pad_id):
    """Refuse targets without a logit; the padding may have an id that is no token's."""
    known = int(targets.max()) < logits.shape[-1]
    return "" if known else "all ids in `targets` have to be less than V"


break_sequence_loss = BreakExercise(
    name="break_sequence_loss",
    target=sequence_loss,
    parameters=[
        reals("logits", "B T V"),
        integers("targets", "B T", 0, 63),
        whole("pad_id", -1000, 1000),
    ],
    make=torch.tensor,
    rule=unknown_token,
)
break_sequence_loss.version("right where there is no padding")
break_sequence_loss.version("right where all rows have equally many tokens")
break_sequence_loss.version("right where the padding has the id 0")
break_sequence_loss.version("right while no true token is very improbable")
break_sequence_loss.small(most=13, points=2)
