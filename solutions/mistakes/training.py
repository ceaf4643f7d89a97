"""Misconceptions about teacher forcing, the loss of a batch and the learning rate."""

import torch
import torch.nn.functional as F

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.training import (
    break_sequence_cross_entropy,
    sequence_cross_entropy,
    shift_right,
    warmup_learning_rate,
)
from solutions import training as right

# shift_right --------------------------------------------------------------------------


@mistake(shift_right)
def not_shifted(targets, start_id):
    """You gave the decoder the targets themselves, so each place reads the very token
    that it should write. The loss falls to nearly 0 at once, and nothing is learned but
    copying."""
    return targets.clone()


@mistake(shift_right)
def shifted_left(targets, start_id):
    """You moved the targets the other way, so each place reads the token that comes
    after the one it should write. A decoder may read only what is already written."""
    start = torch.full_like(targets[:, :1], start_id)
    return torch.cat([targets[:, 1:], start], dim=1)


@mistake(shift_right)
def rolled(targets, start_id):
    """You rolled the row round, so its last token came in at the front. The first place
    should read the start, and the last target is read by nobody."""
    return targets.roll(1, dims=1)


@mistake(shift_right)
def start_added(targets, start_id):
    """You put the start in front and kept all the targets, so there is one token too
    many. Inputs and targets must pair up, one prediction for each place."""
    return torch.cat([torch.full_like(targets[:, :1], start_id), targets], dim=1)


@mistake(shift_right)
def first_overwritten(targets, start_id):
    """You wrote the start over the first target and left the others where they were.
    Every token has to move by one place, or all places but the first still read their
    own answer."""
    shifted = targets.clone()
    shifted[:, 0] = start_id
    return shifted


@mistake(shift_right)
def shifted_along_the_batch(targets, start_id):
    """You shifted along the batch, so each sequence reads another one's tokens. The
    second axis is the one that runs along a sequence."""
    start = torch.full_like(targets[:1], start_id)
    return torch.cat([start, targets[:-1]], dim=0)


@mistake(shift_right)
def rolled_along_the_batch(targets, start_id):
    """You put the start in the first column, and moved the others along the batch: each
    sequence reads another one's tokens, at the places where they were. The second axis
    is the one that runs along a sequence."""
    moved = targets.roll(1, dims=0)
    moved[:, 0] = start_id
    return moved


@mistake(shift_right)
def starts_with_zero(targets, start_id):
    """You put 0 in front in place of the start that you were given. The id of the start
    is up to the vocabulary, and 0 is often padding."""
    return torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], dim=1)


@mistake(shift_right)
def shifted_in_place(targets, start_id):
    """You shifted the targets in place, so the caller's targets are shifted as well.
    The loss then compares with the inputs, and the model learns to copy them."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start_id
    return targets


@mistake(shift_right)
def ids_as_floats(targets, start_id):
    """You returned numbers with a decimal point. Token ids choose a row of a table, so
    they have to stay integers."""
    return right.shift_right(targets, start_id).double()


@mistake(shift_right)
def first_copied_to_all(targets, start_id):
    """From the second place on, every place reads the first target: each column was
    copied from the one before it, which had just been overwritten. Read from the
    targets and write to a new tensor, or shift with one slice."""
    inputs = targets[:, :1].expand_as(targets).clone()
    inputs[:, 0] = start_id
    return inputs


# sequence_cross_entropy ---------------------------------------------------------------


def token_losses(logits, targets, label_smoothing=0.0):
    """(B, T) loss of each place, padding too."""
    losses = F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        reduction="none",
        label_smoothing=label_smoothing,
    )
    return losses.reshape(targets.shape)


@mistake(sequence_cross_entropy)
def padding_counted(logits, targets, pad_id, label_smoothing=0.0):
    """You averaged over the padding as well. The model is then trained to write
    padding, and the loss of a sequence depends on how long its neighbours are."""
    return token_losses(logits, targets, label_smoothing).mean()


@mistake(sequence_cross_entropy)
def divided_by_all_places(logits, targets, pad_id, label_smoothing=0.0):
    """You left the padding out of the sum and still divided by the number of all
    places. The more padding a batch has, the smaller its loss and its gradients
    become."""
    share = (targets != pad_id).double().mean()
    return (
        right.sequence_cross_entropy(logits, targets, pad_id, label_smoothing) * share
    )


@mistake(sequence_cross_entropy)
def mean_of_means(logits, targets, pad_id, label_smoothing=0.0):
    """You averaged each sequence first, and then the sequences. A token of a short
    sequence then weighs more than one of a long sequence; the mean is over all tokens
    of the batch."""
    real = targets != pad_id
    losses = token_losses(logits, targets, label_smoothing) * real
    return (losses.sum(1) / real.sum(1)).mean()


@mistake(sequence_cross_entropy)
def summed(logits, targets, pad_id, label_smoothing=0.0):
    """You returned the sum over all tokens. The size of a step would then depend on how
    many tokens happen to be in the batch; a mean does not."""
    tokens = (targets != pad_id).sum()
    return (
        right.sequence_cross_entropy(logits, targets, pad_id, label_smoothing) * tokens
    )


@mistake(sequence_cross_entropy)
def divided_by_sequences(logits, targets, pad_id, label_smoothing=0.0):
    """You divided the sum by the number of sequences in place of the number of tokens.
    Long batches then have a larger loss than short ones."""
    each = (targets != pad_id).sum() / len(targets)
    return right.sequence_cross_entropy(logits, targets, pad_id, label_smoothing) * each


@mistake(sequence_cross_entropy)
def smoothing_ignored(logits, targets, pad_id, label_smoothing=0.0):
    """You accepted the label smoothing and never used it. With smoothing, a small part
    of the probability goes to all tokens, so being too sure costs something."""
    return right.sequence_cross_entropy(logits, targets, pad_id)


@mistake(sequence_cross_entropy)
def smoothing_over_others(logits, targets, pad_id, label_smoothing=0.0):
    """You spread the smoothing over the wrong tokens only. In the definition that torch
    uses, all V tokens get an equal share, the true one as well."""
    v = logits.shape[-1]
    return right.sequence_cross_entropy(
        logits, targets, pad_id, label_smoothing * v / (v - 1)
    )


@mistake(sequence_cross_entropy)
def smoothing_without_pad(logits, targets, pad_id, label_smoothing=0.0):
    """You gave the padding token no share of the smoothing. The share is the same for
    all V tokens; what is left out are the places where the target is padding."""
    real = targets != pad_id
    log_probs = logits.log_softmax(dim=-1)
    others = [v for v in range(logits.shape[-1]) if v != pad_id]
    true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    even = log_probs[..., others].mean(dim=-1)
    losses = -(1 - label_smoothing) * true - label_smoothing * even
    return losses[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_over_all_but_two(logits, targets, pad_id, label_smoothing=0.0):
    """You divided the smoothing by V - 2, to spread it over all tokens but the true one
    and the padding. In the definition that torch uses, all V tokens get an equal share;
    what is left out are the places where the target is padding."""
    real = targets != pad_id
    log_probs = logits.log_softmax(dim=-1)
    share = label_smoothing / max(logits.shape[-1] - 2, 1)
    smoothed = torch.full_like(log_probs, share)
    smoothed.scatter_(-1, targets.unsqueeze(-1), 1 - label_smoothing)
    smoothed[..., pad_id] = 0
    return -(smoothed * log_probs).sum(dim=-1)[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_over_all_but_two_and_padding(
    logits, targets, pad_id, label_smoothing=0.0
):
    """You divided the smoothing by V - 2 and gave this share to all V - 1 tokens but
    the true one, so your smoothed targets sum to more than one. In the definition that
    torch uses, all V tokens get an equal share."""
    real = targets != pad_id
    log_probs = logits.log_softmax(dim=-1)
    share = label_smoothing / max(logits.shape[-1] - 2, 1)
    smoothed = torch.full_like(log_probs, share)
    smoothed.scatter_(-1, targets.unsqueeze(-1), 1 - label_smoothing)
    return -(smoothed * log_probs).sum(dim=-1)[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_lost_for_the_true_token(logits, targets, pad_id, label_smoothing=0.0):
    """Your smoothed targets do not sum to one: each wrong token has its share of the
    smoothing, and the true one only what the smoothing leaves. All V tokens get that
    share, and the true one besides what is left."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).mean(dim=-1)
    true = token_losses(logits, targets)
    share = label_smoothing / logits.shape[-1]
    losses = (1 - label_smoothing - share) * true + label_smoothing * even
    return losses[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_of_padding_too(logits, targets, pad_id, label_smoothing=0.0):
    """You left padding out of the mean for the true tokens, and not out of the mean for
    the even part. Where the target is padding nothing is to be predicted, however
    smooth."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).mean(dim=-1)
    true = token_losses(logits, targets)[real].mean()
    return (1 - label_smoothing) * true + label_smoothing * even.mean()


@mistake(sequence_cross_entropy)
def smoothing_summed_over_padding(logits, targets, pad_id, label_smoothing=0.0):
    """You left padding out of the sum for the true tokens and out of the number that
    you divide by, but not out of the sum for the even part. Where the target is padding
    nothing is to be predicted, however smooth: leave these places out of both sums."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).mean(dim=-1).sum() / real.sum()
    true = token_losses(logits, targets)[real].mean()
    return (1 - label_smoothing) * true + label_smoothing * even


@mistake(sequence_cross_entropy)
def smoothing_exchanged(logits, targets, pad_id, label_smoothing=0.0):
    """The true token gets the share that should be spread, and what is spread gets the
    rest. Without smoothing, the true token has all of the probability."""
    return right.sequence_cross_entropy(logits, targets, pad_id, 1 - label_smoothing)


@mistake(sequence_cross_entropy)
def smoothing_of_the_logits(logits, targets, pad_id, label_smoothing=0.0):
    """You smoothed the logits and not the targets. Smaller logits only make the
    prediction less sure; what is smoothed is the distribution that it is compared
    with."""
    return right.sequence_cross_entropy((1 - label_smoothing) * logits, targets, pad_id)


@mistake(sequence_cross_entropy)
def smoothing_rewarded(logits, targets, pad_id, label_smoothing=0.0):
    """The even part of your loss has the wrong sign, so it rewards a prediction that
    is sure. Both parts are mean surprises, and both are added."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).mean(dim=-1)
    losses = (1 - label_smoothing) * token_losses(logits, targets)
    return (losses - label_smoothing * even)[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_added(logits, targets, pad_id, label_smoothing=0.0):
    """You added the even share on top and left the true token its full weight. The
    target must stay a distribution: what is spread has to be taken from the true
    token."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).mean(dim=-1)
    return (token_losses(logits, targets) + label_smoothing * even)[real].mean()


@mistake(sequence_cross_entropy)
def smoothing_not_divided(logits, targets, pad_id, label_smoothing=0.0):
    """You summed the even part over all tokens and did not divide it by their number.
    Smoothing then outweighs the truth in any real vocabulary."""
    real = targets != pad_id
    even = -logits.log_softmax(dim=-1).sum(dim=-1)
    losses = (1 - label_smoothing) * token_losses(logits, targets)
    return (losses + label_smoothing * even)[real].mean()


@mistake(sequence_cross_entropy)
def softmax_twice(logits, targets, pad_id, label_smoothing=0.0):
    """You applied a softmax before the cross-entropy, which has one of its own. The
    scores it sees are then all between 0 and 1, and the loss cannot get near 0."""
    return right.sequence_cross_entropy(
        logits.softmax(dim=-1), targets, pad_id, label_smoothing
    )


@mistake(sequence_cross_entropy)
def pad_id_assumed(logits, targets, pad_id, label_smoothing=0.0):
    """You removed padding by asking where the target is 0. The id of the padding is an
    argument; another vocabulary has a real token there."""
    return right.sequence_cross_entropy(logits, targets, 0, label_smoothing)


@mistake(sequence_cross_entropy)
def not_stable(logits, targets, pad_id, label_smoothing=0.0):
    """You computed exponentials of the raw logits, and large ones overflow. Take the
    largest logit away first, or use the logarithm of the softmax as one function."""
    real = targets != pad_id
    log_probs = (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()
    true = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - label_smoothing) * true - label_smoothing * log_probs.mean(-1)
    return losses[real].mean()


@mistake(sequence_cross_entropy)
def places_out_of_step(logits, targets, pad_id, label_smoothing=0.0):
    """You exchanged batch and places of the logits and not of the targets, or the other
    way round, before you made one axis of both. Each row of scores is then compared
    with the target of another place."""
    mixed = logits.transpose(0, 1).reshape(logits.shape)
    return right.sequence_cross_entropy(mixed, targets, pad_id, label_smoothing)


@mistake(sequence_cross_entropy)
def padding_zero_counted(logits, targets, pad_id, label_smoothing=0.0):
    """Padding whose id is 0 counts as a token; any other id is left out, as it should
    be. In Python 0 is false, so an if or an or that asks for pad_id takes the id 0 for
    no padding at all."""
    if pad_id == 0:
        return token_losses(logits, targets, label_smoothing).mean()
    return right.sequence_cross_entropy(logits, targets, pad_id, label_smoothing)


@mistake(sequence_cross_entropy)
def padding_has_no_probability(logits, targets, pad_id, label_smoothing=0.0):
    """The padding token takes no part in the softmax, so the other tokens seem more
    probable than the model says. Only places whose target is padding are left out; at
    the others, padding is a token like any other, which the model must learn to
    avoid."""
    logits = logits.clone()
    logits[..., pad_id] = -1e9
    return right.sequence_cross_entropy(logits, targets, pad_id, label_smoothing)


# warmup_learning_rate -----------------------------------------------------------------


@mistake(warmup_learning_rate)
def larger_term(step, d_model, warmup_steps):
    """You took the larger of the two terms. The rate then starts very high and grows
    without end; it is the smaller one that rises first and falls later."""
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@mistake(warmup_learning_rate)
def rounded_down(step, d_model, warmup_steps):
    """Your rate is 0 while it should rise. A quotient is rounded down to a whole number
    there, as // and int() do, and that is 0 during the warm-up."""
    return d_model**-0.5 * min(step**-0.5, step // warmup_steps**1.5)


@mistake(warmup_learning_rate)
def no_warmup(step, d_model, warmup_steps):
    """You left the warm-up out: the rate is largest at the first step, when the
    gradients are least to be trusted. It should rise first."""
    return d_model**-0.5 * step**-0.5


@mistake(warmup_learning_rate)
def no_decay(step, d_model, warmup_steps):
    """You let the rate rise for ever. After the warm-up it falls with the square root
    of the step, so that training can settle."""
    return d_model**-0.5 * step * warmup_steps**-1.5


@mistake(warmup_learning_rate)
def constant_after_warmup(step, d_model, warmup_steps):
    """You kept the rate at its peak after the warm-up. It should fall with the square
    root of the step, so that training can settle."""
    return d_model**-0.5 * min(warmup_steps**-0.5, step * warmup_steps**-1.5)


@mistake(warmup_learning_rate)
def divided_by_width(step, d_model, warmup_steps):
    """You divided by the width of the model in place of its square root, so wide models
    learn far too slowly."""
    return right.warmup_learning_rate(step, d_model, warmup_steps) * d_model**-0.5


@mistake(warmup_learning_rate)
def without_width(step, d_model, warmup_steps):
    """You left out the factor with the width of the model. Wider models need smaller
    steps, and this factor makes one schedule fit them all."""
    return right.warmup_learning_rate(step, d_model, warmup_steps) * d_model**0.5


@mistake(warmup_learning_rate)
def multiplied_by_width(step, d_model, warmup_steps):
    """You multiplied by the square root of the width, which makes steps larger for
    wider models. They need smaller ones."""
    return right.warmup_learning_rate(step, d_model, warmup_steps) * d_model


@mistake(warmup_learning_rate)
def parts_do_not_meet(step, d_model, warmup_steps):
    """Your rate rises with step / warmup_steps, which is too steep by the square root
    of warmup_steps, so it peaks long before the warm-up ends. Multiply the step by
    warmup_steps^-3/2: then the rise meets step^-1/2 exactly at the end of the
    warm-up."""
    return d_model**-0.5 * min(step**-0.5, step / warmup_steps)


@mistake(warmup_learning_rate)
def rate_jumps_at_the_peak(step, d_model, warmup_steps):
    """Your rate rises to d_model^-1/2 at the end of the warm-up, and what follows is
    smaller by the root of warmup_steps. Both parts have to meet there, so the rise has
    this root as well: step * warmup_steps^-3/2."""
    rise, fall = step / warmup_steps, step**-0.5
    return d_model**-0.5 * (rise if step < warmup_steps else fall)


@mistake(warmup_learning_rate)
def rises_too_steeply(step, d_model, warmup_steps):
    """While it warms up, your rate is too large by the number of warm-up steps. The
    power of warmup_steps is -1.5: only then do the two terms meet at the end of the
    warm-up, where the peak belongs."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-0.5)


@mistake(warmup_learning_rate)
def counted_from_zero(step, d_model, warmup_steps):
    """Every rate is the one of the step after, as if the steps were counted from 0. The
    first step has the number 1, so nothing has to be added to it."""
    return right.warmup_learning_rate(step + 1, d_model, warmup_steps)


# break_sequence_cross_entropy ---------------------------------------------------------

wrong_versions_of_sequence_cross_entropy = hide(
    break_sequence_cross_entropy,
    smoothing_over_others,
    smoothing_without_pad,
    mean_of_means,
    not_stable,
    shown_by=[
        "take a label_smoothing above zero, and a target whose logit is not the mean "
        "of all logits there.",
        "take a label_smoothing above zero, and move the logit of the padding id away "
        "from the others, at a place whose target is not padding.",
        "fill up one row with padding and not the other, and let the losses of their "
        "tokens differ.",
        "move a logit so far from zero that its exponential overflows, to 1000, say, "
        "at a place whose target is not padding.",
    ],
)


@mistake(break_sequence_cross_entropy)
def test_with_equal_logits():
    """None of the wrong versions was found. Where all logits are equal, each token has
    the loss log V, however the probability is spread and the tokens are counted."""
    return torch.zeros(2, 3, 4), torch.tensor([[1, 2, 0], [3, 0, 0]]), 0, 0.3


@mistake(break_sequence_cross_entropy)
def test_without_smoothing():
    """Only the version that averages the averages of the rows was found. Two others
    spread the label smoothing over the wrong ids, which shows only if there is some,
    and one is wrong only about logits far from zero."""
    logits = (torch.arange(24.0) ** 2).reshape(2, 3, 4).sin()
    return logits, torch.tensor([[1, 2, 0], [3, 0, 0]]), 0, 0.0


@mistake(break_sequence_cross_entropy)
def test_without_padding():
    """Your smoothing finds the two versions that spread it over the wrong ids. If all
    rows have equally many tokens, the mean of their means is the mean of all tokens;
    and your logits are too near zero for an exponential to overflow."""
    logits = (torch.arange(24.0) ** 2).reshape(2, 3, 4).sin()
    return logits, torch.tensor([[1, 2, 3], [3, 2, 1]]), 0, 0.3
