"""Cases for `training`: the shifted targets, the loss, the learning rate.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows.
"""

import numpy as np

from autograder.arrays import different
from autograder.exercise import Exercise

shift_right = Exercise(
    "shift_right",
    core=True,
    right="Each position reads the token before it, and the first one reads the start.",
    hints=(
        "Write the row 2 0 2 6 and, below it, the input that predicts it. Which column "
        "is new, and which one has dropped out?",
        "Build the new column first, one start for each row. Everything else is a "
        "slice of the targets, joined to it along the axis of the tokens.",
        "The first line can be start = np.full_like(targets[:, :1], start_id).",
    ),
)
sequence_cross_entropy = Exercise(
    "sequence_cross_entropy",
    hints=(
        "Begin with log-probabilities at every position: a stable log-softmax over "
        "the last axis.",
        "The loss at one position mixes two numbers: the log-probability of the true "
        "id, and the mean of all V log-probabilities. How is each weighted?",
        "np.take_along_axis(log_probs, targets[..., None], axis=-1) picks the true "
        "ones. Average last, over the entries with targets != pad_id.",
    ),
)
warmup_learning_rate = Exercise(
    "warmup_learning_rate",
    hints=(
        "Sketch both terms of the minimum against the step. Where do they cross?",
        "Python needs no array here: min of two powers, times a third one.",
    ),
)


# shift_right --------------------------------------------------------------------------


def token_ids(rng, *shape):
    return rng.integers(3, 60, shape)


@shift_right.case(title="each position receives the token before it", points=2)
def shift_random_targets(shift_right, rng):
    b, t = different(rng, 2, 3, 9)
    return shift_right(token_ids(rng, b, t), int(rng.integers(61, 70)))


@shift_right.case(title="a square batch, and the start may be id 0", points=1)
def shift_square_targets(shift_right, rng):
    (n,) = different(rng, 1, 3, 9)
    targets = token_ids(rng, n, n)
    return [shift_right(targets, start_id) for start_id in (0, 1)]


@shift_right.case(title="ends and padding are tokens like all others", points=1)
def shift_targets_with_padding(shift_right, rng):
    b, t = different(rng, 2, 5, 9)
    targets = token_ids(rng, b, t)
    for row, length in zip(targets, rng.integers(1, t - 1, b), strict=True):
        row[length], row[length + 1 :] = 2, 0
    return shift_right(targets, 1)


@shift_right.case(title="the targets stay as they were", points=1)
def shift_leaves_targets_alone(shift_right, rng):
    targets = token_ids(rng, *different(rng, 2, 4, 9))
    return shift_right(targets, 1), targets


# sequence_cross_entropy ---------------------------------------------------------------


def padded_targets(rng, b, t, v, pad_id):
    """(B, T) ids below V in rows of different lengths, padded with ``pad_id``."""
    targets = rng.choice(np.delete(np.arange(v), pad_id), (b, t))
    for row, length in zip(targets, 1 + rng.permutation(t)[:b], strict=True):
        row[length:] = pad_id
    return targets


def losses_with_padding(sequence_cross_entropy, rng, *smoothing):
    """The losses of three batches, each padded with a different id."""
    b, t, v = sorted(different(rng, 3, 3, 9))
    losses = []
    for pad in (0, v - 1, v // 2):
        targets = padded_targets(rng, b, t, v, pad)
        logits = 1.5 * rng.standard_normal((b, t, v))
        losses.append(sequence_cross_entropy(logits, targets, pad, *smoothing))
    return losses


@sequence_cross_entropy.case(title="padding is left out, whatever its id", points=2)
def loss_with_padding(sequence_cross_entropy, rng):
    return losses_with_padding(sequence_cross_entropy, rng)


@sequence_cross_entropy.case(title="label smoothing with padding", points=2)
def smoothed_loss_with_padding(sequence_cross_entropy, rng):
    return losses_with_padding(sequence_cross_entropy, rng, 0.3)


@sequence_cross_entropy.case(title="logits in the thousands", points=1)
def loss_of_sure_logits(sequence_cross_entropy, rng):
    b, t, v = sorted(different(rng, 3, 3, 9))
    logits = rng.integers(-8, 9, (b, t, v)) * 250.0
    targets = padded_targets(rng, b, t, v, 1)
    return [sequence_cross_entropy(logits, targets, 1, s) for s in (0.0, 0.1)]


# warmup_learning_rate -----------------------------------------------------------------


@warmup_learning_rate.case(title="rises linearly", points=1, atol=0)
def rate_rises(warmup_learning_rate, rng):
    d_model, warmup_steps = int(rng.integers(16, 1024)), int(rng.integers(200, 4000))
    steps = sorted(rng.integers(1, warmup_steps, 4).tolist())
    return [warmup_learning_rate(step, d_model, warmup_steps) for step in steps]


@warmup_learning_rate.case(
    title="falls with 1 / sqrt(step) after the warm-up", points=1, atol=0
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
