"""Cases for the chapter on the inside of a trained transformer."""

import numpy as np

from autograder.arrays import different, noted
from autograder.exercise import Exercise

previous_token_score = Exercise(
    "previous_token_score",
    hints=(
        "Draw the map of four tokens, with queries as rows. In which cells is the key "
        "directly before the query, and how many of them are there?",
        "They form the diagonal just below the main one. `np.diagonal` takes an offset "
        "and the two axes of a map.",
    ),
)
induction_score = Exercise(
    "induction_score",
    hints=(
        "Write `t x m t x m t x` and number the positions from 0. Where is the token "
        "that followed the earlier `t` for the query at position 3? And at position 6?",
        "For query i the key is i - period + 1, so all keys lie on one diagonal of the "
        "map. What is its offset?",
        "That diagonal begins at query period - 1. Has that token occurred before?",
    ),
)
head_contributions = Exercise(
    "head_contributions",
    hints=(
        "First average the values of each head by its weights. What is the shape?",
        "A matrix product repeats over the axes in front, and (h, d_v, E) broadcasts "
        "against (B, h, N, d_v). No axis has to be moved.",
    ),
)
logit_attribution = Exercise(
    "logit_attribution",
    hints=(
        "A logit of the target is a dot product with one column of `W_U`. Which matrix "
        "gives logits whose mean over the vocabulary is already subtracted?",
        "Indexing with an array of ids picks a row for each: `table[targets]` is "
        "(B, N, E) for a table of (V, E).",
        "All heads at one position share that direction: give it an axis of size 1 "
        "where the contributions have their heads.",
    ),
)
patching_effect = Exercise(
    "patching_effect",
    hints=(
        "Mark the metrics of the corrupted and the clean run on a line, and write 0 "
        "and 1 below them. What belongs below a metric halfway between?",
        "Into which of the two inputs does the activation go, and from which run does "
        "it come?",
        "Begin with `clean_metric, activations = run(clean, {})`. Which of the runs "
        "depend on the name, and so belong in the loop?",
    ),
)
logit_lens = Exercise(
    "logit_lens",
    hints=(
        "What does the model do with the state after its last layer? Do that with "
        "every state.",
        "Norm and unembedding work on the last axis and leave the others alone, so no "
        "loop is needed. Along which axis do the tokens compete?",
    ),
)


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def normal(rng, *shape):
    return rng.standard_normal(shape)


def maps(rng, *shape):
    """Attention weights, neither even nor saturated."""
    weights = np.exp(1.5 * normal(rng, *shape))
    return weights / weights.sum(axis=-1, keepdims=True)


def earlier_only(rng, *shape):
    """Attention weights of queries that attend to nothing after them."""
    weights = np.tril(maps(rng, *shape))
    return weights / weights.sum(axis=-1, keepdims=True)


# previous_token_score


@previous_token_score.case(title="the heads of a batch", points=2)
def previous_of_heads(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    return previous_token_score(maps(rng, 2, 3, n, n))


@previous_token_score.case(title="weights under a causal mask", points=1)
def previous_causal(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    return previous_token_score(earlier_only(rng, 3, n, n))


@previous_token_score.case(title="a single map, and one of two tokens", points=1)
def previous_of_one(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    one, smallest = maps(rng, n, n), maps(rng, 2, 2)
    return {
        "a single map": previous_token_score(one),
        "two tokens": previous_token_score(smallest),
    }


# induction_score


@induction_score.case(title="the heads of a batch, two copies", points=2)
def induction_of_heads(induction_score, rng):
    period = drawn(rng, 4, 7)
    return induction_score(maps(rng, 2, 3, 2 * period, 2 * period), period)


@induction_score.case(title="three copies and the beginning of a fourth", points=1)
def induction_of_copies(induction_score, rng):
    period = drawn(rng, 3, 5)
    n = 3 * period + 2
    return induction_score(maps(rng, 3, n, n), period)


@induction_score.case(title="a single map, less than two copies", points=1)
def induction_of_one(induction_score, rng):
    period = drawn(rng, 5, 7)
    return induction_score(maps(rng, period + 3, period + 3), period)


@induction_score.case(title="the shortest period, and the longest", points=1)
def induction_extremes(induction_score, rng):
    weights = maps(rng, 3, 7, 7)
    return induction_score(weights, 2), induction_score(weights, 6)


# head_contributions


def layer_of_heads(rng, B, h, N, T, d_v, E):
    """Weights, values and output projection of a layer."""
    return maps(rng, B, h, N, T), normal(rng, B, h, T, d_v), normal(rng, h, d_v, E)


@head_contributions.case(title="all sizes differ", points=2)
def heads_distinct(head_contributions, rng):
    return head_contributions(*layer_of_heads(rng, *different(rng, 6, 2, 8)))


@head_contributions.case(title="all sizes equal: only the values can tell", points=1)
def heads_square(head_contributions, rng):
    return head_contributions(*layer_of_heads(rng, *6 * [drawn(rng, 3, 5)]))


@head_contributions.case(title="as wide as its heads side by side", points=1)
def heads_usual(head_contributions, rng):
    h, d_v = different(rng, 2, 2, 4)
    return head_contributions(*layer_of_heads(rng, 2, h, 5, 5, d_v, h * d_v))


# logit_attribution


def added(rng, B, h, N, E, V):
    """Contributions, an unembedding and targets."""
    return normal(rng, B, h, N, E), normal(rng, E, V), rng.integers(V, size=(B, N))


@logit_attribution.case(title="all sizes differ", points=2)
def attribution_distinct(logit_attribution, rng):
    return logit_attribution(*added(rng, *different(rng, 5, 3, 9)))


@logit_attribution.case(title="all sizes equal: only the values can tell", points=1)
def attribution_square(logit_attribution, rng):
    return logit_attribution(*added(rng, *5 * [drawn(rng, 4, 6)]))


@logit_attribution.case(
    title="logits that all tokens have in common", points=1, atol=1e-5
)
def attribution_shifted(logit_attribution, rng):
    contributions, W_U, targets = added(rng, 2, 3, 5, 4, 6)
    return logit_attribution(contributions, W_U + 3 * normal(rng, 4, 1), targets)


# patching_effect

PARTS = ("first", "second", "third")


def small_model(rng, width=4):
    """Weights of three parts, each of which reads the input and all parts before.

    None is negative, so larger inputs give larger activations and a larger metric.
    """
    reads = {part: 0.3 * np.abs(normal(rng, width, width)) for part in PARTS}
    return reads, np.abs(normal(rng, width))


def run_model(model, inputs, replace):
    """The metric and the activations of one run."""
    reads, output = model
    state, activations = inputs, {}
    for part, W in reads.items():
        found = replace[part] if part in replace else np.tanh(state @ W)
        activations[part] = found
        state = state + found
    return float((state @ output).mean()), activations


def patching(rng):
    """A function ``run``, the notes that it takes, and two inputs."""
    model = small_model(rng)

    def run(inputs, replace):
        return run_model(model, inputs, replace)

    def replaced(inputs, replace):
        return [float(inputs.sum()), *sorted(replace)]

    run, runs = noted(run, replaced)
    corrupted, more = 0.5 * np.abs(normal(rng, 2, 3, 4))
    return run, runs, corrupted + more + 0.1, corrupted


@patching_effect.case(title="each part of a small model", points=3)
def patching_parts(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    return patching_effect(run, clean, corrupted, list(PARTS))


@patching_effect.case(title="the better metric of either input", points=1)
def patching_both_ways(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    there = patching_effect(run, clean, corrupted, list(PARTS))
    return there, patching_effect(run, corrupted, clean, list(PARTS))


@patching_effect.case(title="which runs are made: 2, and one for each name", points=2)
def patching_runs(patching_effect, rng):
    run, runs, clean, corrupted = patching(rng)
    patching_effect(run, clean, corrupted, ["third", "second"])
    found = {}
    for number, (total, *replaced) in enumerate(sorted(runs), start=1):
        found[f"the inputs of run {number}, added up"] = total
        found[f"what is replaced in run {number}"] = ", ".join(replaced)
    return found


@patching_effect.case(title="effects above one, and below zero", points=1)
def patching_far(patching_effect, rng):
    def run(inputs, replace):
        names = ("helps", "hurts", "idle")
        activations = dict(zip(names, inputs, strict=True)) | replace
        return float(sum(activations.values())), activations

    low, step = normal(rng, 3), rng.uniform(1, 2, 3)
    clean = low + step * np.array([3.0, -1.0, 0.0])
    return patching_effect(run, clean, low, ["helps", "hurts", "idle"])


# logit_lens


def learned_norm(rng, width):
    """A norm with factors and offsets that differ from feature to feature.

    It divides by the mean size of the features: layer norm and RMSNorm are exercises.
    """
    factors, offsets = 1 + 0.6 * normal(rng, width), 0.6 * normal(rng, width)

    def norm(x):
        return x / np.abs(x).mean(axis=-1, keepdims=True) * factors + offsets

    return norm


def states(rng, L, B, N, E):
    """States that grow from layer to layer, as they do in a residual stream."""
    return normal(rng, L, B, N, E).cumsum(axis=0) + 0.5


@logit_lens.case(title="all sizes differ, and the norm matters", points=2)
def lens_distinct(logit_lens, rng):
    L, B, E, V = different(rng, 4, 3, 9)
    return logit_lens(states(rng, L, B, 12, E), learned_norm(rng, E), normal(rng, E, V))


@logit_lens.case(title="all sizes equal: only the values can tell", points=1)
def lens_square(logit_lens, rng):
    n = drawn(rng, 6, 7)
    norm, W_U = learned_norm(rng, n), normal(rng, n, n)
    return logit_lens(states(rng, n, n, n, n), norm, W_U)


@logit_lens.case(title="tokens of unequal norm in the unembedding", points=1)
def lens_unequal(logit_lens, rng):
    W_U = normal(rng, 5, 8) * (rng.permutation(8) + 0.5)
    return logit_lens(states(rng, 3, 4, 9, 5), learned_norm(rng, 5), W_U)
