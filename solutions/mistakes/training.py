"""Misconceptions about teacher forcing, the loss of a batch and the learning rate."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.training import (
    sequence_cross_entropy,
    shift_right,
    warmup_learning_rate,
)
from solutions import training as right

# shift_right --------------------------------------------------------------------------


@mistake(shift_right)
def not_shifted(targets, start_id):
    """You gave the decoder the targets themselves, so the input at each position is the
    very token to predict. The loss falls to nearly 0 at once, and the model learns only
    to copy."""
    return targets.copy()


@edit(shift_right, "[start, targets[:, :-1]]", "[targets[:, 1:], start]")
def shifted_left():
    """You moved the targets the other way, so each position receives the token after
    the one to predict. A decoder may receive only what has already been generated."""


@mistake(shift_right)
def rolled(targets, start_id):
    """You rolled the row round, so its last token came in at the front. The first input
    is the start, and the last target is not part of the input."""
    return np.roll(targets, 1, axis=1)


@edit(shift_right, "targets[:, :-1]", "targets")
def start_added():
    """You put the start in front and kept all the targets, so there is one token too
    many. Inputs and targets must pair up, one prediction for each position."""


@mistake(shift_right)
def first_overwritten(targets, start_id):
    """You wrote the start over the first target and left the others where they were.
    Every token has to move by one position, or all positions but the first still
    receive their own answer."""
    shifted = targets.copy()
    shifted[:, 0] = start_id
    return shifted


@edit(shift_right, "targets[:, :1], start_id", "targets[:, :1], 0")
def starts_with_zero():
    """You put 0 in front and not the start that you were given. The id of the start
    depends on the vocabulary, and 0 is often padding."""


@mistake(shift_right)
def shifted_in_place(targets, start_id):
    """You shifted the targets in place, so the caller's targets are shifted as well.
    The loss then compares with the inputs, and the model learns to copy them."""
    targets[:, 1:] = targets[:, :-1].copy()
    targets[:, 0] = start_id
    return targets


@mistake(shift_right)
def first_copied_to_all(targets, start_id):
    """From the second position on, every input is the first target: each column was
    copied from the one before it, which had just been overwritten. Read from the
    targets and write to a new array, or shift with one slice."""
    inputs = np.repeat(targets[:, :1], targets.shape[1], axis=1)
    inputs[:, 0] = start_id
    return inputs


# sequence_cross_entropy ---------------------------------------------------------------


@edit(sequence_cross_entropy, "losses[targets != pad_id]", "losses")
def padding_counted():
    """You averaged over the padding as well. The model is then trained to generate
    padding, and the loss of a sequence depends on how long its neighbours are."""


@edit(
    sequence_cross_entropy,
    "losses[targets != pad_id]",
    "(losses * (targets != pad_id))",
)
def divided_by_all_positions():
    """You left the padding out of the sum and still divided by the number of all
    positions. The more padding a batch has, the smaller its loss and its gradients
    become."""


@edit(
    sequence_cross_entropy,
    "losses[targets != pad_id].mean()",
    "np.mean([row[y != pad_id].mean() for row, y in zip(losses, targets)])",
)
def mean_of_means():
    """You averaged each sequence first, and then the sequences. A token of a short
    sequence then weighs more than one of a long sequence; the mean is over all tokens
    of the batch."""


@edit(
    sequence_cross_entropy,
    "losses[targets != pad_id].mean()",
    "losses[targets != pad_id].sum()",
)
def summed():
    """You returned the sum over all tokens. The size of a step would then depend on how
    many tokens happen to be in the batch; a mean does not."""


@edit(
    sequence_cross_entropy,
    "losses[targets != pad_id].mean()",
    "losses[targets != pad_id].sum() / len(targets)",
)
def divided_by_sequences():
    """You divided the sum by the number of sequences, not by the number of tokens. Long
    batches then have a larger loss than short ones."""


@edit(
    sequence_cross_entropy,
    "-(1 - label_smoothing) * true - label_smoothing * even",
    "-true",
)
def smoothing_ignored():
    """You accepted the label smoothing and never used it. With smoothing, a small part
    of the probability goes to all tokens, so an overconfident model is penalised."""


@edit(
    sequence_cross_entropy,
    "log_probs.mean(axis=-1)",
    "(log_probs.sum(axis=-1) - true) / (logits.shape[-1] - 1)",
)
def smoothing_over_others():
    """You spread the smoothing over the wrong tokens only. In the definition that torch
    uses, all V tokens get an equal fraction, including the true one."""


@edit(sequence_cross_entropy, "-(1 - label_smoothing) * true", "-true")
def smoothing_added():
    """You added the even part on top and left the true token its full weight. The
    target must stay a distribution: what is spread has to be taken from the true
    token."""


@mistake(sequence_cross_entropy)
def softmax_twice(logits, targets, pad_id, label_smoothing=0.0):
    """You applied a softmax to what was already a softmax. The second one receives
    scores between 0 and 1, so the loss cannot get near 0."""
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares = shares / shares.sum(axis=-1, keepdims=True)
    return right.sequence_cross_entropy(shares, targets, pad_id, label_smoothing)


@edit(sequence_cross_entropy, "targets != pad_id", "targets != 0")
def pad_id_assumed():
    """You removed padding by asking where the target is 0. The id of the padding is an
    argument; a different vocabulary has a real token there."""


@edit(
    sequence_cross_entropy,
    "logits - logits.max(axis=-1, keepdims=True)",
    "logits",
)
def not_stable():
    """You computed exponentials of the raw logits, and large ones overflow. Subtract
    the largest logit of each position first; the probabilities do not change."""


@edit(warmup_learning_rate, "min(", "max(")
def larger_term():
    """You took the larger of the two terms. The rate then starts very high and grows
    without end; it is the smaller one that rises first and falls later."""


# warmup_learning_rate -----------------------------------------------------------------


@edit(warmup_learning_rate, "step * warmup_steps**-1.5", "step // warmup_steps**1.5")
def rounded_down():
    """Your rate is 0 while it should rise. A quotient is rounded down to a whole number
    there, as // and int() do, and that is 0 during the warm-up."""


@edit(warmup_learning_rate, "min(step**-0.5, step * warmup_steps**-1.5)", "step**-0.5")
def no_warmup():
    """You left the warm-up out: the rate is largest at the first step, when the
    gradients are least reliable. It should rise first."""


@edit(warmup_learning_rate, "min(step**-0.5", "min(warmup_steps**-0.5")
def constant_after_warmup():
    """You kept the rate at its peak after the warm-up. It should fall with the square
    root of the step, so that training can settle."""


@edit(warmup_learning_rate, "d_model**-0.5", "d_model**-1")
def divided_by_width():
    """You divided by the width of the model, not by its square root, so wide models
    learn far too slowly."""


@edit(warmup_learning_rate, "d_model**-0.5 * ", "")
def without_width():
    """You left out the factor with the width of the model. Wider models need smaller
    steps, and this factor makes one schedule fit them all."""


@edit(warmup_learning_rate, "warmup_steps**-1.5", "warmup_steps**-1")
def parts_do_not_meet():
    """Your rate rises with step / warmup_steps, which is too steep by the square root
    of warmup_steps, so it peaks long before the warm-up ends. Multiply the step by
    warmup_steps^-3/2: then the rise meets step^-1/2 exactly at the end of the
    warm-up."""


@edit(warmup_learning_rate, "warmup_steps**-1.5", "warmup_steps**-0.5")
def rises_too_steeply():
    """While it warms up, your rate is too large by the number of warm-up steps. The
    power of warmup_steps is -1.5: only then do the two terms meet at the end of the
    warm-up, where the peak belongs."""


@mistake(warmup_learning_rate)
def counted_from_zero(step, d_model, warmup_steps):
    """Every rate is the one of the step after, as if the steps were counted from 0. The
    first step has the number 1, so there is nothing to add to it."""
    return right.warmup_learning_rate(step + 1, d_model, warmup_steps)
