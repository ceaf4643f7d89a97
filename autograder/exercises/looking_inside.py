"""Cases for the chapter on the inside of a trained transformer."""

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from autograder.arrays import different
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import noted, strided, tensor
from autograder.specification import reals, whole

previous_token_score = Exercise("previous_token_score")
induction_score = Exercise("induction_score")
head_contributions = Exercise("head_contributions")
logit_attribution = Exercise("logit_attribution")
patching_effect = Exercise("patching_effect")
logit_lens = Exercise("logit_lens")


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def maps(rng, *shape):
    """Attention weights, neither even nor saturated."""
    return (1.5 * tensor(rng, *shape)).softmax(dim=-1)


def earlier_only(rng, *shape):
    """Attention weights of queries that attend to nothing after them."""
    weights = maps(rng, *shape).tril()
    return weights / weights.sum(dim=-1, keepdim=True)


# previous_token_score -----------------------------------------------------------------


@previous_token_score.case(title="the heads of a batch", points=2)
def previous_of_heads(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    return previous_token_score(maps(rng, 2, 3, n, n))


@previous_token_score.case(title="weights under a causal mask", points=1)
def previous_causal(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    return previous_token_score(earlier_only(rng, 3, n, n))


@previous_token_score.case(title="a single map", points=1)
def previous_of_one(previous_token_score, rng):
    n = drawn(rng, 5, 9)
    return previous_token_score(maps(rng, n, n))


@previous_token_score.case(title="two tokens", points=1)
def previous_of_two(previous_token_score, rng):
    return previous_token_score(maps(rng, 3, 2, 2))


@previous_token_score.case(title="as many sequences as heads as tokens", points=1)
def previous_cube(previous_token_score, rng):
    n = drawn(rng, 4, 6)
    return previous_token_score(maps(rng, n, n, n, n))


@previous_token_score.case(
    title="strided weights are read correctly, left unchanged", points=1
)
def previous_unchanged(previous_token_score, rng):
    weights = strided(maps(rng, 2, 6, 6))
    return previous_token_score(weights), weights


# induction_score ----------------------------------------------------------------------


@induction_score.case(title="the heads of a batch, two copies", points=2)
def induction_of_heads(induction_score, rng):
    period = drawn(rng, 4, 7)
    return induction_score(maps(rng, 2, 3, 2 * period, 2 * period), period)


@induction_score.case(title="three copies and the beginning of a fourth", points=1)
def induction_of_copies(induction_score, rng):
    period = drawn(rng, 3, 5)
    n = 3 * period + 2
    return induction_score(maps(rng, 3, n, n), period)


@induction_score.case(title="weights under a causal mask", points=1)
def induction_causal(induction_score, rng):
    period = drawn(rng, 4, 6)
    n = 2 * period + 1
    return induction_score(earlier_only(rng, 2, n, n), period)


@induction_score.case(title="a single map, less than two copies", points=1)
def induction_of_one(induction_score, rng):
    period = drawn(rng, 5, 7)
    return induction_score(maps(rng, period + 3, period + 3), period)


@induction_score.case(title="the shortest period, and the longest", points=1)
def induction_extremes(induction_score, rng):
    weights = maps(rng, 3, 7, 7)
    return induction_score(weights, 2), induction_score(weights, 6)


@induction_score.case(title="as many sequences as heads as tokens", points=1)
def induction_cube(induction_score, rng):
    n = drawn(rng, 6, 7)
    return induction_score(maps(rng, n, n, n, n), period=4)


@induction_score.case(
    title="strided weights are read correctly, left unchanged", points=1
)
def induction_unchanged(induction_score, rng):
    weights = strided(maps(rng, 2, 8, 8))
    return induction_score(weights, 3), weights


# head_contributions -------------------------------------------------------------------


def layer_of_heads(rng, B, h, N, T, d_v, E):
    """Weights, values and output projection of a layer."""
    return maps(rng, B, h, N, T), tensor(rng, B, h, T, d_v), tensor(rng, h, d_v, E)


@head_contributions.case(title="all sizes differ", points=2)
def heads_distinct(head_contributions, rng):
    return head_contributions(*layer_of_heads(rng, *different(rng, 6, 2, 8)))


@head_contributions.case(title="all sizes equal: only the values can tell", points=1)
def heads_square(head_contributions, rng):
    return head_contributions(*layer_of_heads(rng, *6 * [drawn(rng, 3, 5)]))


@head_contributions.case(title="one sequence, one query, one head", points=1)
def heads_single(head_contributions, rng):
    T, d_v, E = different(rng, 3, 2, 8)
    return head_contributions(*layer_of_heads(rng, 1, 1, 1, T, d_v, E))


@head_contributions.case(title="as wide as its heads side by side", points=1)
def heads_usual(head_contributions, rng):
    h, d_v = different(rng, 2, 2, 4)
    return head_contributions(*layer_of_heads(rng, 2, h, 5, 5, d_v, h * d_v))


@head_contributions.case(
    title="strided inputs are read correctly, left unchanged", points=1
)
def heads_unchanged(head_contributions, rng):
    inputs = [strided(x) for x in layer_of_heads(rng, 2, 3, 4, 5, 6, 7)]
    return head_contributions(*inputs), inputs


# logit_attribution --------------------------------------------------------------------


def added(rng, B, h, N, E, V):
    """Contributions, an unembedding and targets."""
    targets = torch.from_numpy(rng.integers(V, size=(B, N)))
    return tensor(rng, B, h, N, E), tensor(rng, E, V), targets


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
    return logit_attribution(contributions, W_U + 3 * tensor(rng, 4, 1), targets)


@logit_attribution.case(title="one head, one position, two tokens", points=1)
def attribution_single(logit_attribution, rng):
    return logit_attribution(*added(rng, 1, 1, 1, drawn(rng, 3, 6), 2))


@logit_attribution.case(title="two sequences with different targets", points=1)
def attribution_targets(logit_attribution, rng):
    contributions, W_U, _ = added(rng, 2, 3, 6, 5, 12)
    targets = torch.from_numpy(rng.permutation(12)).reshape(2, 6)
    return logit_attribution(contributions, W_U, targets)


@logit_attribution.case(
    title="strided inputs are read correctly, left unchanged", points=1
)
def attribution_unchanged(logit_attribution, rng):
    contributions, W_U, targets = added(rng, 2, 3, 4, 5, 7)
    inputs = strided(contributions), strided(W_U), strided(targets)
    return logit_attribution(*inputs), inputs


# patching_effect ----------------------------------------------------------------------

PARTS = ("first", "second", "third")


def small_model(rng, width=4):
    """Weights of three parts, each of which reads the input and all parts before.

    None is negative, so larger inputs give larger activations and a larger metric.
    """
    reads = {part: 0.3 * tensor(rng, width, width).abs() for part in PARTS}
    return reads, tensor(rng, width).abs()


def run_model(model, inputs, replace):
    """The metric and the activations of one run."""
    reads, output = model
    state, activations = inputs, {}
    for part, W in reads.items():
        activations[part] = replace[part] if part in replace else (state @ W).tanh()
        state = state + activations[part]
    return float((state @ output).mean()), activations


def patching(rng):
    """A function ``run``, the notes that it takes, and two inputs."""
    model = small_model(rng)

    def run(inputs, replace):
        return run_model(model, inputs, replace)

    def replaced(inputs, replace):
        return [float(inputs.sum()), *sorted(replace)]

    run, runs = noted(run, replaced)
    corrupted, more = 0.5 * tensor(rng, 2, 3, 4).abs()
    return run, runs, corrupted + more + 0.1, corrupted


@patching_effect.case(title="each part of a small model", points=3)
def patching_parts(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    return patching_effect(run, clean, corrupted, list(PARTS))


@patching_effect.case(title="some of the parts, in another order", points=1)
def patching_some(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    return patching_effect(run, clean, corrupted, ["third", "first"])


@patching_effect.case(title="the better metric of either input", points=1)
def patching_both_ways(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    there = patching_effect(run, clean, corrupted, list(PARTS))
    return there, patching_effect(run, corrupted, clean, list(PARTS))


@patching_effect.case(title="no names", points=1)
def patching_nothing(patching_effect, rng):
    run, _, clean, corrupted = patching(rng)
    effects = patching_effect(run, clean, corrupted, [])
    return effects, patching_effect(run, clean, corrupted, ["second"])


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

    low, step = tensor(rng, 3), torch.from_numpy(rng.uniform(1, 2, 3))
    clean = low + step * torch.tensor([3.0, -1.0, 0.0])
    return patching_effect(run, clean, low, ["helps", "hurts", "idle"])


@patching_effect.case(title="inputs and activations are left unchanged", points=1)
def patching_unchanged(patching_effect, rng):
    plain, _, clean, corrupted = patching(rng)
    seen: list[tuple[Tensor, Tensor]] = []

    def run(inputs, replace):
        metric, activations = plain(inputs, replace)
        seen.extend((x, x.clone()) for x in activations.values())
        return metric, activations

    effects = patching_effect(run, clean, corrupted, list(PARTS))
    changed = any(not torch.equal(x, before) for x, before in seen)
    found = {"effects": effects, "clean": clean, "corrupted": corrupted}
    return {**found, "an activation was changed": changed}


# logit_lens ---------------------------------------------------------------------------


def learned_norm(rng, width):
    """A norm with factors and offsets that differ from feature to feature."""
    factors, offsets = 1 + 0.6 * tensor(rng, width), 0.6 * tensor(rng, width)

    def norm(x):  # torch's own: a formula here would answer an exercise
        return layer_norm(x, x.shape[-1:], factors, offsets)

    return norm


def states(rng, L, B, N, E):
    """States that grow from layer to layer, as they do in a residual stream."""
    return tensor(rng, L, B, N, E).cumsum(dim=0) + 0.5


@logit_lens.case(title="all sizes differ, and the norm matters", points=2)
def lens_distinct(logit_lens, rng):
    L, B, E, V = different(rng, 4, 3, 9)
    return logit_lens(states(rng, L, B, 12, E), learned_norm(rng, E), tensor(rng, E, V))


@logit_lens.case(title="all sizes equal: only the values can tell", points=1)
def lens_square(logit_lens, rng):
    n = drawn(rng, 6, 7)
    norm, W_U = learned_norm(rng, n), tensor(rng, n, n)
    return logit_lens(states(rng, n, n, n, n), norm, W_U)


@logit_lens.case(title="a norm that changes nothing", points=1)
def lens_without_norm(logit_lens, rng):
    return logit_lens(states(rng, 3, 4, 9, 5), lambda x: x, tensor(rng, 5, 8))


@logit_lens.case(title="one layer, one sequence, one position", points=1)
def lens_single(logit_lens, rng):
    return [
        logit_lens(states(rng, 1, 1, 1, 5), learned_norm(rng, 5), tensor(rng, 5, 50))
        for _ in range(6)
    ]


@logit_lens.case(title="tokens of unequal norm in the unembedding", points=1)
def lens_unequal(logit_lens, rng):
    sizes = torch.from_numpy(rng.permutation(8)) + 0.5
    W_U = tensor(rng, 5, 8) * sizes
    return logit_lens(states(rng, 3, 4, 9, 5), learned_norm(rng, 5), W_U)


@logit_lens.case(title="the first of equal logits", points=1)
def lens_ties(logit_lens, rng):
    hidden = torch.from_numpy(rng.integers(-3, 4, (2, 3, 9, 4))).double()
    W_U = torch.from_numpy(rng.integers(-3, 4, (4, 5))).double()
    return logit_lens(hidden, lambda x: 2 * x, torch.cat([W_U, W_U], dim=1))


@logit_lens.case(title="strided inputs are read correctly, left unchanged", points=1)
def lens_unchanged(logit_lens, rng):
    hidden, W_U = strided(states(rng, 3, 2, 9, 5)), strided(tensor(rng, 5, 7))
    return logit_lens(hidden, learned_norm(rng, 5), W_U), hidden, W_U


# break_induction_score ----------------------------------------------------------------


def no_map(weights, period):
    """Refuse rows that do not sum to one, and periods that leave no query."""
    near = abs(weights.sum(axis=-1) - 1) < 1e-6
    if not near.all():
        return "each row of `weights` has to sum to one"
    return "" if period < len(weights) else "`period` has to be below the size N"


break_induction_score = BreakExercise(
    name="break_induction_score",
    target=induction_score,
    parameters=[reals("weights", "N N", 0.0, 1.0), whole("period", 2, 63)],
    make=torch.tensor,
    rule=no_map,
)
break_induction_score.version("right for exactly two copies")
break_induction_score.version("right for at most two copies")
break_induction_score.version("right where each weight is 0 or 1")
break_induction_score.version("right where all queries attend alike to their target")
break_induction_score.small(most=37, points=2)
