"""Misconceptions about the inside of a model, as code that can be recognised."""

import torch

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.looking_inside import (
    break_induction_score,
    head_contributions,
    induction_score,
    logit_attribution,
    logit_lens,
    patching_effect,
    previous_token_score,
)
from solutions import looking_inside as right


def along(weights, back):
    """The weights on the token ``back`` positions before each query."""
    return weights.diagonal(-back, dim1=-2, dim2=-1)


# previous_token_score -----------------------------------------------------------------


@mistake(previous_token_score)
def attention_to_itself(weights):
    """The score is the weight that queries put on their own position. A head that only
    attends to itself moves nothing between positions; the previous token is one column
    further left."""
    return along(weights, 0)[..., 1:].mean(-1)


@mistake(previous_token_score)
def attention_to_the_next(weights):
    """You read weights[i, i + 1], or exchanged rows and columns. Under a causal mask
    that diagonal is empty, so every head gets a score of zero. Rows are queries."""
    return along(weights, -1).mean(-1)


@mistake(previous_token_score)
def two_tokens_back(weights):
    """You looked two tokens back. A perfect previous-token head then gets a score of
    zero; for query i the key is i - 1."""
    return along(weights, 2).mean(-1)


@mistake(previous_token_score)
def divided_by_all_queries(weights):
    """The sum was divided by the number of all queries. The first one has no previous
    token and does not count, so a perfect head stays below one in this way, the more so
    the shorter the text is."""
    return along(weights, 1).sum(-1) / weights.shape[-1]


@mistake(previous_token_score)
def first_query_wraps_around(weights):
    """The first query was counted with its weight on the last token, as indices of -1
    or a roll do. It has no previous token, so it is left out of the mean."""
    return along(weights.roll(1, dims=-1), 0).mean(-1)


@mistake(previous_token_score)
def proportion_of_queries(weights):
    """You counted the queries whose largest weight is on the previous token. A head
    that puts 0.3 there and less elsewhere then looks perfect; the score averages
    the weights themselves."""
    largest = weights.argmax(-1)[..., 1:]
    return (largest == torch.arange(largest.shape[-1])).double().mean(-1)


@mistake(previous_token_score)
def best_query(weights):
    """You took the largest weight on a previous token. One query that happens to attend
    there is enough for a high score; the mean asks for all of them."""
    return along(weights, 1).amax(-1)


@mistake(previous_token_score)
def last_query(weights):
    """Only the last query was looked at. A head may do something else everywhere else,
    so the score is a mean over all queries that have a previous token."""
    return weights[..., -1, -2]


@mistake(previous_token_score)
def not_averaged(weights):
    """The weights were added up and not averaged, so the score grows with the text. It
    is meant to lie between 0 and 1."""
    return along(weights, 1).sum(-1)


@mistake(previous_token_score)
def all_maps_together(weights):
    """You got one score for all maps. Heads do different things, and to find those that
    attend to the previous token each map needs a score of its own."""
    return along(weights, 1).mean()


@mistake(previous_token_score)
def diagonal_of_the_first_axes(weights):
    """The diagonal was taken along the first two axes, which is torch's default. They
    count sequences and heads here; queries and keys are the last two."""
    return weights.diagonal(-1).mean(-1)


@mistake(previous_token_score)
def everything_before(weights):
    """You added up the weights on all earlier tokens. A head that looks far back scores
    as high in this way; only the token directly before the query counts."""
    return weights.tril(-1).sum(-1)[..., 1:].mean(-1)


# induction_score ----------------------------------------------------------------------


def induction(weights, period, start=None, stop=None, back=None):
    """The mean of weights[i, i - back] from query start on, both changeable."""
    back = period - 1 if back is None else back
    start = period if start is None else start
    return along(weights, back)[..., start - back :][..., :stop].mean(-1)


@mistake(induction_score)
def earlier_copy_of_itself(weights, period):
    """You scored attention to the earlier occurrence of the query's own token. Copying
    from there repeats the current token; the one to predict stands one position
    later."""
    return induction(weights, period, back=period)


@mistake(induction_score)
def one_token_too_late(weights, period):
    """The key is one position too late: that token followed the one to be predicted. A
    perfect induction head gets a score of zero in this way."""
    return induction(weights, period, back=period - 2)


@mistake(induction_score)
def one_query_too_many(weights, period):
    """You began with query period - 1. Its token occurs for the first time, so no head
    can know what follows, and every score is too low for the heads that are looked
    for."""
    return induction(weights, period, start=period - 1)


@mistake(induction_score)
def one_query_too_few(weights, period):
    """The first query that repeats a token was left out. It is number period, counted
    from 0, and a head can already know what follows it."""
    diagonal = along(weights, period - 1)
    return diagonal[..., 2:].sum(-1) / (weights.shape[-1] - period - 1)


@mistake(induction_score)
def divided_by_the_whole_length(weights, period):
    """The sum was divided by the length of the sequence. Queries of the first copy have
    nothing to repeat and do not count, so a perfect head gets one half in this way."""
    N = weights.shape[-1]
    return right.induction_score(weights, period) * (N - period) / N


@mistake(induction_score)
def half_the_length_as_period(weights, period):
    """The result does not depend on `period`: half the length was taken for it. That
    is right for two copies of a block and for nothing else."""
    half = weights.shape[-1] // 2
    return along(weights, half - 1)[..., 1:].mean(-1)


@mistake(induction_score)
def first_repetition_only(weights, period):
    """Queries from the third copy on were left out. They can find what followed just as
    well, so the mean runs to the end of the sequence."""
    return induction(weights, period, stop=period)


@mistake(induction_score)
def queries_that_prefer_it(weights, period):
    """You counted the queries whose largest weight is on the right token. A head that
    spreads its weight thinly would look perfect; the score averages the weights."""
    largest = weights.argmax(-1)[..., period:]
    found = largest == torch.arange(1, largest.shape[-1] + 1)
    return found.double().mean(-1)


@mistake(induction_score)
def all_earlier_copies(weights, period):
    """You added the weights on the right token in all earlier copies. The score asks
    for the most recent one, i - period + 1; with two copies there is no difference."""
    N = weights.shape[-1]
    total = 0
    for back in range(period - 1, N, period):
        queries = max(period, back)
        total = total + along(weights, back)[..., queries - back :].sum(-1)
    return total / (N - period)


@mistake(induction_score)
def queries_exchanged_with_keys(weights, period):
    """Rows and columns are exchanged: you read how much earlier queries attend to later
    keys, which a causal mask forbids, so all scores would be zero."""
    return induction(weights.mT, period)


@mistake(induction_score)
def one_score_for_all(weights, period):
    """You got one score for all maps. Which heads are induction heads is the question,
    so each map needs a score of its own."""
    return induction(weights, period).mean()


@mistake(induction_score)
def last_query_of_all(weights, period):
    """Only the last query was looked at. One query may attend there by chance; the
    score is a mean over all that repeat a token."""
    return along(weights, period - 1)[..., -1]


@mistake(induction_score)
def last_copy_only(weights, period):
    """You averaged over the last `period` queries alone. Every query from position
    `period` on has an earlier copy of its token, and none before it: all of these
    count, and no others."""
    i = torch.arange(weights.shape[-1])[-period:]
    return weights[..., i, i - period + 1].mean(-1)


@mistake(induction_score)
def one_token_too_early(weights, period):
    """You read the weight on the token before the earlier copy, at i - period - 1; for
    the first query, that index of -1 even means the last token. An induction head looks
    at the token after the copy, which is at i - period + 1."""
    i = torch.arange(period, weights.shape[-1])
    return weights[..., i, i - period - 1].mean(-1)


@mistake(induction_score)
def one_query_more_than_the_divisor(weights, period):
    """One more weight is added up than the sum is divided by: the query at period - 1
    counts in the sum. It has no earlier copy yet: begin with query i = period, and
    divide by N - period."""
    total = along(weights, period - 1).sum(-1)
    return total / (weights.shape[-1] - period)


# head_contributions -------------------------------------------------------------------


@mistake(head_contributions)
def heads_added_up(weights, values, W_O):
    """You returned the output of the layer, in which the heads are added up
    already. The sum cannot be taken apart again; keep the axis of the heads."""
    return (weights @ values @ W_O).sum(1)


@mistake(head_contributions)
def before_the_projection(weights, values, W_O):
    """You returned the averaged values. They are in a space that belongs to the head
    alone; its part of the output projection says where in the residual stream they
    are added."""
    return weights @ values


@mistake(head_contributions)
def projection_of_the_first_head(weights, values, W_O):
    """All heads went through the output projection of the first. Each has a part of its
    own, W_O[head], so the others land in the wrong directions."""
    return weights @ values @ W_O[0]


@mistake(head_contributions)
def projections_added_up(weights, values, W_O):
    """All heads went through the sum of all the heads' parts of the output projection,
    as in an einsum with one letter for the heads of the values and another one for
    those of W_O. Each head has a part of its own."""
    return weights @ values @ W_O.sum(0)


@mistake(head_contributions)
def average_of_the_maps(weights, values, W_O):
    """The maps of all heads were averaged first. Every head then attends alike, and
    what made one of them special is lost before it can be seen."""
    return weights.mean(1, keepdim=True) @ values @ W_O


@mistake(head_contributions)
def mean_in_place_of_sum(weights, values, W_O):
    """Your contributions were divided by the number of heads, so they sum to the mean.
    The layer adds its heads to the residual stream and does not average them."""
    return weights @ values @ W_O / weights.shape[1]


@mistake(head_contributions)
def heads_after_queries(weights, values, W_O):
    """Heads and queries are exchanged in the result. It is (B, h, N, E), so that
    result[:, i] is all that head i adds."""
    return (weights @ values @ W_O).transpose(1, 2)


@mistake(head_contributions)
def softmax_once_more(weights, values, W_O):
    """Another softmax was applied to the weights. They are distributions already, and a
    second softmax makes them nearly even, so all heads seem to do little."""
    return weights.softmax(-1) @ values @ W_O


@mistake(head_contributions)
def mean_of_the_values(weights, values, W_O):
    """The weights have no effect: you averaged the values evenly. Where a head attends
    decides what it adds."""
    even = torch.full_like(weights, 1 / weights.shape[-1])
    return even @ values @ W_O


@mistake(head_contributions)
def projections_in_reverse(weights, values, W_O):
    """The parts of the output projection are in another order than the heads. Every
    shape fits, and even the number of heads; only a sum that is compared with the
    layer's output shows it."""
    return weights @ values @ W_O.flip(0)


@mistake(head_contributions)
def projections_interleaved(weights, values, W_O):
    """W_O was reshaped as if its axes came in another order, (d_v, h, E), so each head
    gets rows of several heads. Its first axis is that of the heads already: W_O[head]
    is the part of one head."""
    h, d_v, E = W_O.shape
    return weights @ values @ W_O.reshape(d_v, h, E).transpose(0, 1)


@mistake(head_contributions)
def heads_mixed_by_a_view(weights, values, W_O):
    """Axes were joined or split without moving them first, so features of different
    heads and tokens are mixed. Move the axes, then reshape; or leave them where they
    are and multiply."""
    mixed = weights @ values
    B, h, N, d_v = mixed.shape
    return mixed.reshape(B, N, h, d_v).transpose(1, 2) @ W_O


# logit_attribution --------------------------------------------------------------------


def picked(logits, targets):
    """(B, h, N, V), (B, N) -> (B, h, N): the logit of each target."""
    index = targets[:, None, :, None].expand(*logits.shape[:3], 1)
    return logits.gather(-1, index)[..., 0]


def attributed(contributions, W_U, targets, subtract):
    """The logits of the targets, minus something of all logits."""
    logits = contributions @ W_U
    return picked(logits, targets) - subtract(logits)


@mistake(logit_attribution)
def mean_not_subtracted(contributions, W_U, targets):
    """The mean over the vocabulary is missing. A head that raises all logits alike
    changes no probability, and gets a large attribution in this way."""
    return attributed(contributions, W_U, targets, lambda logits: 0)


@mistake(logit_attribution)
def mean_over_heads(contributions, W_U, targets):
    """What you subtracted from the logit of the target is its mean over the heads. The
    attributions of all heads then sum to zero at each position, whatever the layer does
    for the target. The mean to subtract is over the vocabulary, for each head."""
    found = picked(contributions @ W_U, targets)
    return found - found.mean(1, keepdim=True)


@mistake(logit_attribution)
def mean_over_positions(contributions, W_U, targets):
    """You subtracted the mean of the attributions over the positions. That hides what
    a head does everywhere; the mean to subtract is over the vocabulary, at each
    position."""
    found = picked(contributions @ W_U, targets)
    return found - found.mean(-1, keepdim=True)


@mistake(logit_attribution)
def mean_of_all_logits(contributions, W_U, targets):
    """You subtracted one and the same number everywhere: a mean without an axis runs
    over sequences, heads and positions as well. Each head has a mean over the
    vocabulary at each position."""
    return attributed(contributions, W_U, targets, lambda logits: logits.mean())


@mistake(logit_attribution)
def mean_of_the_others(contributions, W_U, targets):
    """You left the target out of the mean. The result is larger by V / (V - 1), which
    matters for small vocabularies; the mean is over all logits."""
    V = W_U.shape[1]
    return attributed(contributions, W_U, targets, lambda x: x.mean(-1)) * V / (V - 1)


@mistake(logit_attribution)
def strongest_rival_subtracted(contributions, W_U, targets):
    """You subtracted the largest logit. The result is never positive then, whatever a
    head does for the target; subtract the mean."""
    return attributed(contributions, W_U, targets, lambda logits: logits.amax(-1))


@mistake(logit_attribution)
def log_probability_of_a_head(contributions, W_U, targets):
    """You applied a log softmax to each head. Heads add their logits first, and one
    softmax follows; log-probabilities of single heads do not add up to anything."""
    return attributed(contributions, W_U, targets, lambda x: x.logsumexp(-1))


@mistake(logit_attribution)
def targets_of_the_next_position(contributions, W_U, targets):
    """The targets are moved by one position. `targets[:, i]` is already the token
    that position i should predict."""
    return attributed(
        contributions, W_U, targets.roll(-1, 1), lambda logits: logits.mean(-1)
    )


@mistake(logit_attribution)
def standardised_logits(contributions, W_U, targets):
    """You also divided by the standard deviation. A head that adds next to nothing then
    looks as strong as one that decides the answer."""
    logits = contributions @ W_U
    spread = logits.std(-1, correction=0)
    return (picked(logits, targets) - logits.mean(-1)) / spread


@mistake(logit_attribution)
def shares_of_the_heads(contributions, W_U, targets):
    """You divided by the sum over the heads. Contributions have signs, so the sum
    can be close to zero, and a share of it means nothing."""
    found = attributed(contributions, W_U, targets, lambda logits: logits.mean(-1))
    return found / found.sum(1, keepdim=True)


@mistake(logit_attribution)
def best_token_of_each_head(contributions, W_U, targets):
    """The targets have no effect: you took the largest logit of each head. That is the
    token that the head promotes most, and often a wrong one."""
    logits = contributions @ W_U
    return logits.amax(-1) - logits.mean(-1)


@mistake(logit_attribution)
def targets_of_the_first_sequence(contributions, W_U, targets):
    """All sequences got the targets of the first. Each has its own row of targets."""
    first = targets[:1].expand_as(targets)
    return attributed(contributions, W_U, first, lambda logits: logits.mean(-1))


@mistake(logit_attribution)
def contributions_centred(contributions, W_U, targets):
    """The mean was subtracted over the features, of a contribution or of the
    unembedding. It has no meaning for the logits; subtract the mean over the
    vocabulary."""
    centred = contributions - contributions.mean(-1, keepdim=True)
    return picked(centred @ W_U, targets)


@mistake(logit_attribution)
def sizes_without_signs(contributions, W_U, targets):
    """Your attributions have no sign. A head that lowers the logit of the target works
    against it, and has to get a negative number."""
    return attributed(contributions, W_U, targets, lambda logits: logits.mean(-1)).abs()


@mistake(logit_attribution)
def heads_summed(contributions, W_U, targets):
    """You added the heads up, which gives the attribution of the whole layer. To tell
    the heads apart, keep their axis."""
    found = attributed(contributions, W_U, targets, lambda logits: logits.mean(-1))
    return found.sum(1)


# patching_effect ----------------------------------------------------------------------


def restored(patched, clean, corrupted):
    """The right effect."""
    return (patched - corrupted) / (clean - corrupted)


def clean_activation(name, activations, others):
    """The right patch."""
    return {name: activations[name]}


def corrupted_inputs(clean, corrupted):
    """The right inputs of a patched run."""
    return corrupted


def patched(
    run,
    clean,
    corrupted,
    names,
    *,
    effect=restored,
    patch=clean_activation,
    onto=corrupted_inputs,
    clean_again=False,
    if_equal=None,
    skip_unknown=False,
):
    """The right patching, with steps that can be replaced."""
    clean_metric, activations = run(clean, {})
    corrupted_metric, others = run(corrupted, {})
    if clean_metric == corrupted_metric and if_equal is not None:
        return dict.fromkeys(names, if_equal)
    if skip_unknown:
        names = [name for name in names if name in activations]
    effects = {}
    for name in names:
        if clean_again:
            run(clean, {})
        metric, _ = run(onto(clean, corrupted), patch(name, activations, others))
        effects[name] = effect(metric, clean_metric, corrupted_metric)
    return effects


@mistake(patching_effect)
def corrupted_into_clean(run, clean, corrupted, names):
    """You put corrupted activations into the clean run. That measures what the metric
    loses without an activation, and is another experiment: here the clean activation
    goes into the corrupted run, to see what it brings back."""
    return patched(
        *(run, clean, corrupted, names),
        patch=lambda name, activations, others: {name: others[name]},
        onto=lambda clean, corrupted: clean,
    )


@mistake(patching_effect)
def clean_into_clean(run, clean, corrupted, names):
    """The patched runs are on the clean inputs. The clean activation changes nothing
    there, so every effect is one."""
    return patched(*(run, clean, corrupted, names), onto=lambda clean, corrupted: clean)


@mistake(patching_effect)
def corrupted_into_corrupted(run, clean, corrupted, names):
    """The activations that you put in are those of the corrupted run. It has them
    already, so every effect is zero."""
    return patched(
        *(run, clean, corrupted, names),
        patch=lambda name, activations, others: {name: others[name]},
    )


@mistake(patching_effect)
def difference_not_scaled(run, clean, corrupted, names):
    """You returned the change of the metric itself. Divide it by the whole gap between
    the clean and the corrupted run, so that one means that everything came back."""
    return patched(
        *(run, clean, corrupted, names), effect=lambda patched, _, c: patched - c
    )


@mistake(patching_effect)
def what_is_still_missing(run, clean, corrupted, names):
    """You returned the part of the gap that is still missing. An activation that brings
    everything back gets zero in this way, and one without an effect gets one."""
    return patched(
        *(run, clean, corrupted, names),
        effect=lambda patched, clean, c: (clean - patched) / (clean - c),
    )


@mistake(patching_effect)
def relative_to_clean(run, clean, corrupted, names):
    """You divided the patched metric by the clean one. The corrupted run has a
    metric as well, and an activation without an effect gets the ratio of the two,
    not zero."""
    return patched(
        *(run, clean, corrupted, names),
        effect=lambda patched, clean, _: patched / clean,
    )


@mistake(patching_effect)
def divided_by_corrupted(run, clean, corrupted, names):
    """The change was divided by the corrupted metric. Its unit is the gap between clean
    and corrupted: only then is one the whole effect."""
    return patched(
        *(run, clean, corrupted, names),
        effect=lambda patched, _, c: (patched - c) / c,
    )


@mistake(patching_effect)
def effects_without_sign(run, clean, corrupted, names):
    """Your effects have no sign. An activation can push the metric further away
    from the clean one, and its effect is then below zero."""
    return patched(
        *(run, clean, corrupted, names),
        effect=lambda patched, clean, c: abs((patched - c) / (clean - c)),
    )


@mistake(patching_effect)
def effects_cut_off(run, clean, corrupted, names):
    """The effects are cut off at 0 and 1. They are no proportions: one activation may
    overshoot, and another may hurt, which a cut hides."""
    return patched(
        *(run, clean, corrupted, names),
        effect=lambda patched, clean, c: min(
            1.0, max(0.0, (patched - c) / (clean - c))
        ),
    )


@mistake(patching_effect)
def patches_pile_up(run, clean, corrupted, names):
    """Patches of earlier names stay in place, so that the effects depend on the
    order of the names. Each activation is patched alone, in a run of its own."""
    pile = {}

    def add(name, activations, others):
        pile[name] = activations[name]
        return dict(pile)

    return patched(run, clean, corrupted, names, patch=add)


@mistake(patching_effect)
def everything_at_once(run, clean, corrupted, names):
    """All named activations are replaced in one run. That says what they do together,
    and every name gets an equal number."""
    return patched(
        *(run, clean, corrupted, names),
        patch=lambda name, activations, others: {n: activations[n] for n in names},
    )


@mistake(patching_effect)
def zeros_put_in(run, clean, corrupted, names):
    """You replaced activations by zeros. That is an ablation: it asks what breaks
    without an activation, and never looks at the clean one."""
    return patched(
        *(run, clean, corrupted, names),
        patch=lambda name, activations, others: {name: 0 * activations[name]},
    )


@mistake(patching_effect)
def clean_run_for_each_name(run, clean, corrupted, names):
    """You ran the model more often than needed. The unpatched runs do not depend on the
    name: run each once, before the loop, for 2 + len(names) runs in all."""
    return patched(run, clean, corrupted, names, clean_again=True)


@mistake(patching_effect)
def both_runs_for_each_name(run, clean, corrupted, names):
    """The clean run and the corrupted one are made again for each name. Neither depends
    on the name: make each once, before the loop, for 2 + len(names) runs in all."""
    effects = {}
    for name in names:
        effects |= patched(run, clean, corrupted, [name])
    return effects


@mistake(patching_effect)
def divided_by_clean(run, clean, corrupted, names):
    """You divided by the clean metric. An effect of 1 means that all of the difference
    is back, so the divisor is that difference: clean minus corrupted."""

    def effect(metric, clean_metric, corrupted_metric):
        return (metric - corrupted_metric) / clean_metric

    return patched(run, clean, corrupted, names, effect=effect)


# logit_lens ---------------------------------------------------------------------------


def lens(hidden, norm, W_U, decode=lambda states, norm, W_U: norm(states) @ W_U):
    """The right lens, whose logits can be computed in another way."""
    return decode(hidden, norm, W_U).argmax(-1)


@mistake(logit_lens)
def lens_norm_missing(hidden, norm, W_U):
    """The norm is missing. The unembedding was trained on normalised states, whose
    features have learned factors and offsets, so it misreads all others, even those of
    the last layer."""
    return lens(hidden, norm, W_U, lambda states, norm, W_U: states @ W_U)


@mistake(logit_lens)
def last_layer_alone_normalised(hidden, norm, W_U):
    """Only the last layer was normalised. The lens treats every layer as if it were the
    last, with its norm and its unembedding."""

    def decode(states, norm, W_U):
        return torch.cat([states[:-1], norm(states[-1:])]) @ W_U

    return lens(hidden, norm, W_U, decode)


@mistake(logit_lens)
def last_layer_not_normalised(hidden, norm, W_U):
    """The last layer was not normalised, as if it had been already. The states are
    given as the layers return them, and the model's norm comes after the last."""

    def decode(states, norm, W_U):
        return torch.cat([norm(states[:-1]), states[-1:]]) @ W_U

    return lens(hidden, norm, W_U, decode)


@mistake(logit_lens)
def normalised_twice(hidden, norm, W_U):
    """The norm was applied twice. Its learned factors and offsets then count twice, and
    the ids of the last layer differ from what the model predicts."""
    return lens(hidden, norm, W_U, lambda states, norm, W_U: norm(norm(states)) @ W_U)


@mistake(logit_lens)
def layers_added_up(hidden, norm, W_U):
    """You added up the layers first. The residual stream is that sum already: each
    layer's state contains what all layers before it have added."""
    return lens(hidden, norm, W_U, lambda x, norm, W_U: norm(x.cumsum(0)) @ W_U)


@mistake(logit_lens)
def changes_decoded(hidden, norm, W_U):
    """You decoded what each layer adds. The lens asks what the model would predict
    if it ended there, which takes the whole state."""

    def decode(states, norm, W_U):
        change = torch.cat([states[:1], states[1:] - states[:-1]])
        return norm(change) @ W_U

    return lens(hidden, norm, W_U, decode)


@mistake(logit_lens)
def nearest_direction(hidden, norm, W_U):
    """You looked for the most similar column of the unembedding, by cosine. The model
    uses dot products, in which a token with a large norm has larger logits."""
    columns = W_U / W_U.norm(dim=0)
    return lens(hidden, norm, columns)


@mistake(logit_lens)
def largest_in_size(hidden, norm, W_U):
    """The logit that is largest in absolute value was chosen. A very negative logit
    belongs to a token that is ruled out."""
    return lens(hidden, norm, W_U, lambda x, norm, W_U: (norm(x) @ W_U).abs())


@mistake(logit_lens)
def least_likely_token(hidden, norm, W_U):
    """You returned the token with the smallest logit, the one that is least likely in
    the eyes of the model."""
    return lens(hidden, norm, W_U, lambda x, norm, W_U: -(norm(x) @ W_U))


@mistake(logit_lens)
def last_of_equals(hidden, norm, W_U):
    """Of equal logits you took the last, as sorting often does. The specification names
    the first, so that everybody gets equal ids."""
    logits = (norm(hidden) @ W_U).flip(-1)
    return logits.shape[-1] - 1 - logits.argmax(-1)


@mistake(logit_lens)
def last_position_alone(hidden, norm, W_U):
    """Only the last position was decoded. Every position of every sequence predicts a
    token of its own: the result is (L, B, N)."""
    return lens(hidden[:, :, -1], norm, W_U)


@mistake(logit_lens)
def logits_in_place_of_ids(hidden, norm, W_U):
    """You returned the logits. The lens names tokens: the id of the largest logit at
    each position."""
    return norm(hidden) @ W_U


@mistake(logit_lens)
def largest_of_the_layers(hidden, norm, W_U):
    """Your argmax runs over the first axis, so it compares the layers. For each layer,
    the tokens of the vocabulary compete, on the last axis."""
    return (norm(hidden) @ W_U).argmax(0)


@mistake(logit_lens)
def first_layer_for_all(hidden, norm, W_U):
    """All layers got the ids of the first. Comparing layers is the purpose of the lens,
    so each is decoded from its own state."""
    return lens(hidden[:1].expand_as(hidden), norm, W_U)


# break_induction_score ----------------------------------------------------------------

wrong_versions_of_induction_score = hide(
    break_induction_score,
    half_the_length_as_period,
    first_repetition_only,
    queries_that_prefer_it,
    one_query_too_many,
)


def evenly(rows):
    """A map whose rows are divided by their sums."""
    rows = torch.tensor(rows, dtype=torch.float64)
    return rows / rows.sum(-1, keepdim=True)


@mistake(break_induction_score)
def test_with_two_copies():
    """Two copies cannot tell which period was used, nor whether later copies count.
    Have the block begin a third time."""
    rows = [[1.0 + (3 * i + j * j) % 5 for j in range(6)] for i in range(6)]
    return evenly(rows), 3


@mistake(break_induction_score)
def test_with_a_perfect_head():
    """Your queries put all their weight on one token. Then a mean of weights and a
    count of queries agree: spread some of the weight."""
    weights = torch.eye(7, dtype=torch.float64)
    weights[2:4] = torch.eye(7, dtype=torch.float64)[1:3]  # the first repetition
    return weights, 2


@mistake(break_induction_score)
def test_with_even_weights():
    """Where every query attends alike to everything, any mean of any weights gives one
    number. Only a version that counts queries was found."""
    return torch.full((7, 7), 1 / 7, dtype=torch.float64), 2


@mistake(break_induction_score)
def test_that_is_large():
    """All wrong versions were found, with more values than needed. Which is the
    shortest sequence with a third copy in which half the length is not the
    period?"""
    rows = [[1.0 + (5 * i + 3 * j * j) % 7 for j in range(9)] for i in range(9)]
    return evenly(rows), 2
