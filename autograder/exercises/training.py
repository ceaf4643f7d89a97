"""Cases for `training`: the shifted targets, the loss, the learning rate.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows.
"""

import numpy as np
import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import gradients, sizes, targets_with_padding, tensor
from autograder.specification import integers, real, reals, whole

shift_right = Exercise("shift_right")
sequence_cross_entropy = Exercise("sequence_cross_entropy")
warmup_learning_rate = Exercise("warmup_learning_rate")


# shift_right --------------------------------------------------------------------------


def token_ids(rng, vocab_size, *shape):
    return torch.from_numpy(rng.integers(3, vocab_size, shape))


@shift_right.case(title="each place reads the token before it", points=2)
def shift_random_targets(shift_right, rng):
    b, t = sizes(rng, 2)
    return shift_right(token_ids(rng, 60, b, t), int(rng.integers(61, 70)))


@shift_right.case(title="a square batch, and the start may be id 0", points=1)
def shift_square_targets(shift_right, rng):
    (n,) = sizes(rng, 1)
    targets = token_ids(rng, 60, n, n)
    return [shift_right(targets, start_id) for start_id in (0, 1)]


@shift_right.case(title="ends and padding are tokens like all others", points=1)
def shift_targets_with_padding(shift_right, rng):
    b, t = sizes(rng, 2, 5, 9)
    targets = token_ids(rng, 60, b, t)
    for row, length in zip(targets, rng.integers(1, t - 1, b), strict=True):
        row[length], row[length + 1 :] = 2, 0
    return shift_right(targets, 1)


@shift_right.case(title="targets of one token", points=1)
def shift_single_tokens(shift_right, rng):
    (b,) = sizes(rng, 1)
    start_id = int(rng.integers(61, 90))
    return shift_right(token_ids(rng, 60, b, 1), start_id)


@shift_right.case(title="strided targets, which stay unchanged", points=1)
def shift_leaves_targets_alone(shift_right, rng):
    b, t = sizes(rng, 2, 4, 9)
    plain, strided = token_ids(rng, 60, b, t), token_ids(rng, 60, t, b).T
    results = [shift_right(targets, 1) for targets in (plain, strided)]
    return results, plain, strided


# sequence_cross_entropy ---------------------------------------------------------------


def losses_with_padding(sequence_cross_entropy, rng, *smoothing):
    """The losses of one batch after the other, each padded with another id."""
    b, t, v = sorted(sizes(rng, 3))
    losses = []
    for pad in (0, v - 1, v // 2):
        targets = targets_with_padding(rng, b, t, v, pad)
        logits = 1.5 * tensor(rng, b, t, v)
        losses.append(sequence_cross_entropy(logits, targets, pad, *smoothing))
    return losses


@sequence_cross_entropy.case(title="without padding: mean over all tokens", points=1)
def loss_without_padding(sequence_cross_entropy, rng):
    b, t, v = sizes(rng, 3)
    targets = torch.from_numpy(rng.integers(1, v, (b, t)))
    return sequence_cross_entropy(1.5 * tensor(rng, b, t, v), targets, 0)


@sequence_cross_entropy.case(title="padding is left out, whatever its id", points=2)
def loss_with_padding(sequence_cross_entropy, rng):
    return losses_with_padding(sequence_cross_entropy, rng)


@sequence_cross_entropy.case(title="label smoothing without padding", points=1)
def smoothed_loss_without_padding(sequence_cross_entropy, rng):
    b, t, v = sizes(rng, 3)
    targets = torch.from_numpy(rng.integers(1, v, (b, t)))
    logits = 1.5 * tensor(rng, b, t, v)
    return [
        sequence_cross_entropy(logits, targets, 0, label_smoothing=smoothing)
        for smoothing in (0.1, 0.4, 1.0)
    ]


@sequence_cross_entropy.case(title="label smoothing with padding", points=2)
def smoothed_loss_with_padding(sequence_cross_entropy, rng):
    return losses_with_padding(sequence_cross_entropy, rng, 0.3)


@sequence_cross_entropy.case(
    title="gradients reach the logits of real tokens, and of no padding", points=1
)
def loss_gradients(sequence_cross_entropy, rng):
    b, t, v = sorted(sizes(rng, 3))
    logits = (1.5 * tensor(rng, b, t, v)).requires_grad_()
    targets = targets_with_padding(rng, b, t, v, 0)
    loss = sequence_cross_entropy(logits, targets, 0, 0.2)
    return loss, gradients(loss, logits)


@sequence_cross_entropy.case(
    title="logits in the thousands; strided inputs, which stay unchanged", points=1
)
def loss_of_sure_logits(sequence_cross_entropy, rng):
    b, t, v = sorted(sizes(rng, 3))
    logits = torch.from_numpy(rng.integers(-8, 9, (v, t, b)) * 250.0).permute(2, 1, 0)
    targets = targets_with_padding(rng, b, t, v, 1).T.contiguous().T
    losses = [sequence_cross_entropy(logits, targets, 1, s) for s in (0.0, 0.1)]
    return losses, logits, targets


# warmup_learning_rate -----------------------------------------------------------------


@warmup_learning_rate.case(title="rises in a straight line", points=1, atol=0)
def rate_rises(warmup_learning_rate, rng):
    d_model, warmup_steps = int(rng.integers(16, 1024)), int(rng.integers(200, 4000))
    steps = sorted(rng.integers(1, warmup_steps, 4).tolist())
    return [warmup_learning_rate(step, d_model, warmup_steps) for step in steps]


@warmup_learning_rate.case(
    title="falls with the root of the step after the warm-up", points=1, atol=0
)
def rate_falls(warmup_learning_rate, rng):
    d_model, warmup_steps = int(rng.integers(16, 1024)), int(rng.integers(200, 4000))
    steps = warmup_steps * np.array([2, 5, 30]) + rng.integers(1, 100, 3)
    return [
        warmup_learning_rate(step, d_model, warmup_steps) for step in steps.tolist()
    ]


@warmup_learning_rate.case(
    title="the first step, the peak, and one step beside it", points=1, atol=0
)
def rate_at_the_peak(warmup_learning_rate, rng):
    d_model, warmup_steps = int(rng.integers(16, 1024)), int(rng.integers(5, 40))
    steps = (1, warmup_steps - 1, warmup_steps, warmup_steps + 1)
    return [warmup_learning_rate(step, d_model, warmup_steps) for step in steps]


@warmup_learning_rate.case(title="a warm-up of a single step", points=1, atol=0)
def rate_without_warmup(warmup_learning_rate, rng):
    d_model, step = int(rng.integers(16, 1024)), int(rng.integers(3, 90))
    return [warmup_learning_rate(s, d_model, 1) for s in (1, 2, step)]


# break_sequence_cross_entropy ---------------------------------------------------------


def not_a_batch(logits, targets, pad_id, label_smoothing):
    """Refuse ids without a logit, a single id, and a batch of nothing but padding."""
    v = logits.shape[-1]
    if v < 2:
        return "V has to be at least 2"
    if int(targets.max()) >= v:
        return "all ids in `targets` have to be less than V"
    if pad_id >= v:
        return "`pad_id` has to be less than V"
    return "" if (targets != pad_id).any() else "at least one token is not padding"


break_sequence_cross_entropy = BreakExercise(
    name="break_sequence_cross_entropy",
    target=sequence_cross_entropy,
    parameters=[
        reals("logits", "B T V"),
        integers("targets", "B T", 0, 63),
        whole("pad_id", 0, 63),
        real("label_smoothing", 0.0, 1.0),
    ],
    make=torch.tensor,
    rule=not_a_batch,
)
break_sequence_cross_entropy.version("right without label smoothing")
break_sequence_cross_entropy.version(
    "right where the logit of the padding id is the mean of the others"
)
break_sequence_cross_entropy.version("right where all rows have equally many tokens")
break_sequence_cross_entropy.version("right while no logit is far from zero")
break_sequence_cross_entropy.small(most=14, points=2)
