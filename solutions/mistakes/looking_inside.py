"""Misconceptions about the inside of a model, as code that can be recognised."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.looking_inside import (
    head_contributions,
    induction_score,
    logit_attribution,
    logit_lens,
    patching_effect,
    previous_token_score,
)

# previous_token_score


@edit(
    previous_token_score,
    "np.diagonal(weights, -1, -2, -1)",
    "np.diagonal(weights, 0, -2, -1)[..., 1:]",
)
def attention_to_itself():
    """The score is the weight that queries put on their own position. A head that
    only attends to itself moves nothing between positions; the previous token is
    one column further left."""


@edit(
    previous_token_score,
    "np.diagonal(weights, -1, -2, -1)",
    "np.diagonal(weights, -min(2, weights.shape[-1] - 1), -2, -1)",
)
def two_tokens_back():
    """You looked two tokens back. A perfect previous-token head then gets a score
    of zero; for query i the key is i - 1."""


@edit(previous_token_score, ".mean(axis=-1)", ".sum(axis=-1) / weights.shape[-1]")
def divided_by_all_queries():
    """The sum was divided by the number of all queries. The first one has no
    previous token and does not count, so even a perfect head stays below one."""


@edit(
    previous_token_score,
    "np.diagonal(weights, -1, -2, -1)",
    "np.diagonal(np.roll(weights, 1, -1), 0, -2, -1)",
)
def first_query_wraps_around():
    """The first query was counted with its weight on the last token, as an index of
    -1 or a roll does. It has no previous token, so it is left out of the mean."""


@mistake(previous_token_score)
def proportion_of_queries(weights):
    """You counted the queries whose largest weight is on the previous token. A head
    that puts 0.3 there and less elsewhere then looks perfect; the score averages
    the weights themselves."""
    largest = weights.argmax(-1)[..., 1:]
    return (largest == np.arange(largest.shape[-1])).mean(-1)


@mistake(previous_token_score)
def everything_before(weights):
    """You summed the weights on all earlier tokens. A head that looks far back then
    scores just as high; only the token directly before the query counts."""
    return np.tril(weights, -1).sum(-1)[..., 1:].mean(-1)


# induction_score


@edit(induction_score, "1 - period, -2, -1)[..., 1:]", "-period, -2, -1)")
def earlier_copy_of_itself():
    """You scored attention to the earlier occurrence of the query's own token.
    Copying from there repeats the current token; the one to predict is one position
    later."""


@edit(induction_score, "1 - period, -2, -1)[..., 1:]", "2 - period, -2, -1)[..., 2:]")
def one_token_too_late():
    """The key is one position too late: that token followed the one to be
    predicted. A perfect induction head would score zero."""


@edit(induction_score, "[..., 1:]", "")
def one_query_too_many():
    """You began with query period - 1. Its token occurs for the first time, so no
    head can know what follows, and every score is too low."""


@mistake(induction_score)
def one_query_too_few(weights, period):
    """The first query that repeats a token was left out. It is number `period`,
    counted from 0, and a head can already know what follows it."""
    later = np.diagonal(weights, 1 - period, -2, -1)[..., 2:]
    return later.sum(-1) / (weights.shape[-1] - period - 1 or 1)


@edit(induction_score, ".mean(axis=-1)", ".sum(axis=-1) / weights.shape[-1]")
def divided_by_the_whole_length():
    """The sum was divided by the length of the sequence. Queries of the first copy
    have nothing to repeat and do not count, so with two copies a perfect head would
    get one half."""


@edit(induction_score, "1 - period", "1 - weights.shape[-1] // 2")
def half_the_length_as_period():
    """The result does not depend on `period`: half the length was used in its
    place. That is right for two copies of a block and for nothing else."""


@edit(induction_score, "[..., 1:]", "[..., 1 : period + 1]")
def first_repetition_only():
    """Queries from the third copy on were left out. They can find what followed
    just as well, so the mean runs to the end of the sequence."""


@mistake(induction_score)
def queries_that_prefer_it(weights, period):
    """You counted the queries whose largest weight is on the right token. A head
    that spreads its weight thinly would look perfect; the score averages the
    weights."""
    largest = weights.argmax(-1)[..., period:]
    return (largest == np.arange(1, largest.shape[-1] + 1)).mean(-1)


@mistake(induction_score)
def all_earlier_copies(weights, period):
    """You added the weights on the right token in all earlier copies. The score is
    about the most recent one, i - period + 1; with two copies there is no
    difference."""
    n = weights.shape[-1]
    queries, keys = np.indices((n, n))
    back = queries - keys
    found = (back % period == period - 1) & (back > 0) & (queries >= period)
    return (weights * found).sum((-2, -1)) / (n - period)


# head_contributions


@edit(
    head_contributions, "weights @ values @ W_O", "(weights @ values @ W_O).sum(axis=1)"
)
def heads_summed_already():
    """You returned the output of the layer, in which the heads are already summed.
    The sum cannot be taken apart again; keep the axis of the heads."""


@edit(head_contributions, "weights @ values @ W_O", "weights @ values")
def before_the_projection():
    """You returned the averaged values. They are in a space that belongs to the
    head alone; its part of the output projection says where in the residual stream
    they are added."""


@edit(head_contributions, "@ W_O", "@ W_O[0]")
def projection_of_the_first_head():
    """All heads went through the output projection of the first. Each has a part of
    its own, W_O[head], so the others land in the wrong directions."""


@edit(head_contributions, "@ W_O", "@ W_O.sum(axis=0)")
def projections_summed():
    """All heads went through the sum of the heads' parts of the output projection,
    as in an einsum with one letter for the heads of the values and a different one
    for those of W_O."""


@edit(
    head_contributions, "return weights", "return weights.mean(axis=1, keepdims=True)"
)
def average_of_the_maps():
    """The maps of all heads were averaged first. Every head then attends alike, and
    what made one of them special is lost before it can be seen."""


@edit(
    head_contributions,
    "weights @ values @ W_O",
    "np.full_like(weights, 1 / weights.shape[-1]) @ values @ W_O",
)
def mean_of_the_values():
    """The weights have no effect: you averaged the values evenly. Where a head
    attends decides what it adds."""


@mistake(head_contributions)
def projections_interleaved(weights, values, W_O):
    """W_O was reshaped as if its axes were (d_v, h, E), so each head gets rows of
    several heads. Its first axis is already that of the heads: W_O[head] is the
    part of one head."""
    h, d_v, E = W_O.shape
    return weights @ values @ W_O.reshape(d_v, h, E).swapaxes(0, 1)


@mistake(head_contributions)
def heads_mixed_by_a_reshape(weights, values, W_O):
    """A reshape without a swap of axes mixes features of different heads and
    tokens. Move the axes first; or leave them where they are and multiply."""
    B, h, N, d_v = (mixed := weights @ values).shape
    return mixed.reshape(B, N, h, d_v).swapaxes(1, 2) @ W_O


# logit_attribution


@edit(logit_attribution, "(W_U - W_U.mean(axis=1, keepdims=True))", "W_U")
def mean_not_subtracted():
    """The mean over the vocabulary is missing. A head that raises all logits alike
    changes no probability, and still gets a large attribution."""


def picked(contributions, W_U, targets):
    """(B, h, N) the logit of the target that each head adds."""
    return (contributions * W_U.T[targets][:, None]).sum(axis=-1)


@mistake(logit_attribution)
def mean_over_heads(contributions, W_U, targets):
    """You subtracted the mean over the heads, so that the attributions sum to zero
    at each position. The mean to subtract is over the vocabulary, for each head."""
    found = picked(contributions, W_U, targets)
    return found - found.mean(axis=1, keepdims=True)


@edit(
    logit_attribution,
    ".sum(axis=-1)",
    ".sum(axis=-1) * (1 + 1 / (W_U.shape[1] - 1))",
)
def mean_of_the_others():
    """You left the target out of the mean. The result is larger by V / (V - 1),
    which matters for small vocabularies; the mean is over all logits."""


@mistake(logit_attribution)
def strongest_rival_subtracted(contributions, W_U, targets):
    """You subtracted the largest logit. The result is never positive then, whatever
    a head does for the target; subtract the mean."""
    logits = contributions @ W_U
    found = picked(contributions, W_U, targets)
    return found - logits.max(axis=-1)


@mistake(logit_attribution)
def log_probability_of_a_head(contributions, W_U, targets):
    """You applied a log-softmax to each head. Heads add their logits first, and one
    softmax follows; log-probabilities of single heads do not add up to anything."""
    logits = contributions @ W_U
    found = picked(contributions, W_U, targets)
    return found - np.log(np.exp(logits).sum(axis=-1))


@edit(logit_attribution, "[targets]", "[np.roll(targets, -1, 1)]")
def targets_of_the_next_position():
    """The targets are shifted by one position. `targets[:, i]` is already the token
    that position i should predict."""


@mistake(logit_attribution)
def best_token_of_each_head(contributions, W_U, targets):
    """The targets have no effect: you took the largest logit of each head. That is
    the token that the head promotes most, and often a wrong one."""
    logits = contributions @ W_U
    return logits.max(axis=-1) - logits.mean(axis=-1)


# patching_effect


@edit(
    patching_effect,
    "corrupted_metric, _ = run(corrupted, {})",
    "corrupted_metric, activations = run(corrupted, {})\n    corrupted = clean",
)
def corrupted_into_clean():
    """You put corrupted activations into the clean run. That measures what the
    metric loses without an activation; here the clean activation goes into the
    corrupted run, to see what it restores."""


@edit(patching_effect, "run(corrupted, {name", "run(clean, {name")
def clean_into_clean():
    """The patched runs are on the clean inputs. The clean activation changes
    nothing there, so every effect is one."""


@edit(patching_effect, "corrupted_metric, _ =", "corrupted_metric, activations =")
def corrupted_into_corrupted():
    """The activations that you put in are those of the corrupted run. It has them
    already, so every effect is zero."""


@edit(patching_effect, " / gap", "")
def difference_not_scaled():
    """You returned the change of the metric itself. Divide it by the gap between
    the clean and the corrupted run, so that an effect of one means that everything
    came back."""


@edit(
    patching_effect,
    "(patched_metric - corrupted_metric)",
    "(clean_metric - patched_metric)",
)
def missing_part():
    """You returned the part of the gap that is still missing. An activation that
    restores everything then gets zero, and one without an effect gets one."""


@edit(
    patching_effect,
    "(patched_metric - corrupted_metric) / gap",
    "patched_metric / clean_metric",
)
def relative_to_clean():
    """You divided the patched metric by the clean one. The corrupted run has a
    metric as well, and an activation without an effect gets the ratio of the two,
    not zero."""


@edit(
    patching_effect,
    "(patched_metric - corrupted_metric) / gap",
    "abs((patched_metric - corrupted_metric) / gap)",
)
def effects_without_sign():
    """Your effects have no sign. An activation can push the metric further away
    from the clean one, and its effect is then below zero."""


@edit(
    patching_effect,
    "(patched_metric - corrupted_metric) / gap",
    "min(1.0, max(0.0, (patched_metric - corrupted_metric) / gap))",
)
def effects_cut_off():
    """The effects are cut off at 0 and 1. They are not proportions: one activation
    may overshoot, and another may hurt, which a cut hides."""


@mistake(patching_effect)
def patches_pile_up(run, clean, corrupted, names):
    """Patches of earlier names stay in place, so the effects depend on the order of
    the names. Each activation is patched alone, in a run of its own."""
    (high, activations), (low, _) = run(clean, {}), run(corrupted, {})
    effects, pile = {}, {}
    for name in names:
        pile[name] = activations[name]
        effects[name] = (run(corrupted, dict(pile))[0] - low) / (high - low)
    return effects


@edit(
    patching_effect,
    "{name: activations[name]}",
    "{other: activations[other] for other in names}",
)
def everything_at_once():
    """All named activations are replaced in one run. That says what they do
    together, and every name gets the same number."""


@edit(patching_effect, ": activations[name]", ": 0 * activations[name]")
def zeros_put_in():
    """You replaced activations by zeros. That is an ablation: it tests what breaks
    without an activation, and never uses the clean one."""


@edit(
    patching_effect,
    "for name in names:\n",
    "for name in names:\n        run(clean, {}), run(corrupted, {})\n",
)
def both_runs_for_each_name():
    """The clean run and the corrupted one are repeated for each name. Neither
    depends on the name: make each once, before the loop, for 2 + len(names) runs in
    all."""


# logit_lens


@edit(logit_lens, "norm(hidden)", "hidden")
def lens_norm_missing():
    """The norm is missing. The unembedding was trained on normalised states, whose
    features have learned factors and offsets, so it misreads all others."""


@edit(logit_lens, "norm(hidden)", "np.concatenate([hidden[:-1], norm(hidden[-1:])])")
def last_layer_alone_normalised():
    """Only the last layer was normalised. The lens treats every layer as if it were
    the last, with its norm and its unembedding."""


@edit(logit_lens, "norm(hidden)", "np.concatenate([norm(hidden[:-1]), hidden[-1:]])")
def last_layer_not_normalised():
    """The last layer was not normalised. The states are given as the layers return
    them, and the model's norm comes after the last."""


@edit(logit_lens, "norm(hidden)", "norm(norm(hidden))")
def normalised_twice():
    """The norm was applied twice. Its learned factors and offsets then count twice,
    and the ids of the last layer differ from the model's prediction."""


@edit(logit_lens, "@ W_U", "@ (W_U / np.linalg.norm(W_U, axis=0))")
def nearest_direction():
    """You looked for the most similar column of the unembedding, by cosine. The
    model uses dot products, in which a token with a large norm has larger
    logits."""


@edit(logit_lens, ".argmax(axis=-1)", "")
def logits_in_place_of_ids():
    """You returned the logits. The lens names tokens: the id of the largest logit
    at each position."""


@edit(logit_lens, "argmax(axis=-1)", "argmax(axis=0)")
def largest_of_the_layers():
    """Your argmax runs over the first axis, so it compares the layers. For each
    layer, the tokens of the vocabulary compete, on the last axis."""
