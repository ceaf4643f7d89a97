"""Cases for the chapter on attention since 2017."""

import warnings

import numpy as np

from autograder.arrays import different, peak_bytes
from autograder.exercise import Exercise

kv_cache_bytes = Exercise(
    "kv_cache_bytes",
    hints=(
        "What is kept for one token in one layer? Count the vectors, then the numbers "
        "in each.",
        "One token of one sequence has a key and a value in each layer and each "
        "key-value head. What else is there more than one of? Multiply.",
    ),
)
rms_norm = Exercise(
    "rms_norm",
    hints=(
        "Take the token (3, 4) on paper. What is the mean of its squares, and by what "
        "is each feature divided?",
        "Only the last axis is averaged, and the result has to broadcast against `x`: "
        "keep that axis with size 1.",
    ),
)
swiglu = Exercise(
    "swiglu",
    hints=(
        "There are two projections up and one down. Which of the two passes through "
        "silu, and where do they meet?",
        "Which of exp(z) and exp(-z) overflows for z = 10,000, and which for "
        "z = -10,000? Multiply the numerator and the denominator by a suitable "
        "exponential.",
        "`np.exp(-np.abs(gate))` is at most one for either sign.",
    ),
)
rotary_half = Exercise(
    "rotary_half",
    hints=(
        "Write down the pairs for six features. What is the partner of feature 0, and "
        "what is the partner of feature 1?",
        "One table of angles, (N, d/2), serves both halves: position times "
        "base^(-2i/d).",
        "A rotation of the pair (a, b) is (a cos - b sin, a sin + b cos). Here a is "
        "the first half of the features and b the second.",
    ),
)
rescale_rotary = Exercise(
    "rescale_rotary",
    hints=(
        "Compute the new base first. What does it do to the pair i = 0?",
        "For the slowest pair, 2i = d - 2. Insert that into base'^(-2i/d): which power "
        "of the factor remains?",
    ),
)
grouped_query_attention = Exercise(
    "grouped_query_attention",
    hints=(
        "With six query heads and two key-value heads, write down which key head each "
        "query head reads.",
        "Give the queries one more axis, (B, g, h/g, N, d). Where do keys and values "
        "need an axis of size 1, so that a group of queries shares them?",
        "A row without any key has a maximum of -inf, and -inf - -inf is not a number: "
        "subtract 0 there, and divide by 1 where the sum is 0.",
    ),
)
sliding_window_mask = Exercise(
    "sliding_window_mask",
    hints=(
        "Draw the mask of four tokens with a window of two. In which cells is the key "
        "in the future, and in which too far back?",
        "Both questions are about the distance between query and key: make a table of "
        "it with `np.arange(n)[:, None]` and `np.arange(n)`.",
    ),
)
softmax_with_sink = Exercise(
    "softmax_with_sink",
    hints=(
        "Imagine one more key whose score is the sink. What would its weight be, and "
        "what do the other weights sum to without it?",
        "The sink has one number per head. Which axes does it need to broadcast "
        "against (..., h, N, T)?",
        "Which maximum do you subtract so that neither scores nor sink overflow?",
    ),
)
latent_scores = Exercise(
    "latent_scores",
    hints=(
        "Write one score as q (c W)^T, with the latent vector c as a row. Where can W "
        "go instead?",
        "There are few queries and many tokens. Multiply the small one by W first, and "
        "check the shapes: (h, N, d) and (h, r, d).",
    ),
)
delta_rule_step = Exercise(
    "delta_rule_step",
    hints=(
        "What does the key find in the state now? What is missing from the value?",
        "The correction has the shape of the state: (d_k, d_v). Which product of a "
        "vector of d_k and one of d_v has that shape?",
    ),
)

LOOSE = {"rtol": 1e-5, "atol": 1e-4}  # angles may be computed in single precision


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


LARGE = {"rtol": 1e-3, "atol": 1e-3}  # float32 keeps few digits of thousands


def normal(rng, *shape):
    return rng.standard_normal(shape)


# kv_cache_bytes -----------------------------------------------------------------------


@kv_cache_bytes.case(title="one sequence, two bytes for a value", points=1)
def cache_of_one(kv_cache_bytes, rng):
    layers, heads, dim, length = different(rng, 4, 3, 40)
    return kv_cache_bytes(layers, heads, dim, length)


@kv_cache_bytes.case(title="several sequences", points=1)
def cache_of_a_batch(kv_cache_bytes, rng):
    layers, heads, dim, length, batch = different(rng, 5, 3, 40)
    return kv_cache_bytes(layers, heads, dim, length, batch=batch)


@kv_cache_bytes.case(title="one byte, and four bytes, for a value", points=1)
def cache_in_other_precisions(kv_cache_bytes, rng):
    layers, heads, dim, length, batch = different(rng, 5, 3, 40)
    sizes = layers, heads, dim, length, batch
    return [kv_cache_bytes(*sizes, bytes_per_value=size) for size in (1, 4)]


# rms_norm -----------------------------------------------------------------------------


@rms_norm.case(title="tokens whose mean is not zero", points=2)
def norm_with_mean(rms_norm, rng):
    batch, n, width = different(rng, 3, 3, 9)
    x = normal(rng, batch, n, width) + rng.uniform(1, 3, (batch, n, 1))
    return rms_norm(x, rng.uniform(0.5, 2, width))


@rms_norm.case(title="as many tokens as features", points=1)
def norm_square(rms_norm, rng):
    n = drawn(rng, 4, 9)
    x = normal(rng, n, n) * rng.uniform(0.5, 5, (n, 1))
    return rms_norm(x, normal(rng, n))


@rms_norm.case(title="small tokens and a large eps", points=1)
def norm_eps(rms_norm, rng):
    n, width = different(rng, 2, 3, 9)
    x = 0.3 * normal(rng, n, width)
    eps = rng.uniform(0.1, 0.4)
    return rms_norm(x, rng.uniform(0.5, 2, width), eps)


@rms_norm.case(title="tokens of zeros, and the eps that is given by default", points=1)
def norm_default_eps(rms_norm, rng):
    width = drawn(rng, 3, 9)
    x = np.stack([np.zeros(width), 1e-3 * (1 + rng.uniform(size=width))])
    return rms_norm(x, np.ones(width))


# swiglu -------------------------------------------------------------------------------


def feed_forward(rng, *leading):
    """x, W_gate, W_up, W_down with gates of about unit variance."""
    width, hidden = different(rng, 2, 3, 9)
    return (
        normal(rng, *leading, width),
        normal(rng, width, hidden) / np.sqrt(width),
        normal(rng, width, hidden) / np.sqrt(width),
        normal(rng, hidden, width) / np.sqrt(hidden),
    )


@swiglu.case(title="a batch of tokens", points=2)
def swiglu_batch(swiglu, rng):
    return swiglu(*feed_forward(rng, 2, 11))


@swiglu.case(title="as many hidden features as features", points=1)
def swiglu_square(swiglu, rng):
    n = drawn(rng, 4, 8)
    W_gate, W_up, W_down = normal(rng, 3, n, n) / np.sqrt(n)
    return swiglu(normal(rng, 2, n), W_gate, W_up, W_down)


@swiglu.case(
    title="gates from -10,000 to 10,000, without a warning", points=2, warns=True
)
def swiglu_extreme(swiglu, rng):
    gates = np.sort(rng.uniform(-1e4, 1e4, 20))
    gates[[0, -1]] = -1e4, 1e4
    x = np.column_stack([gates, 1e-3 * normal(rng, 20)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = swiglu(x, np.eye(2), np.fliplr(np.eye(2)).copy(), np.eye(2))
    return {"result": result, "the number of warnings": len(caught)}


# rotary_half --------------------------------------------------------------------------


def gaps(rng, count):
    """Increasing positions with gaps, the first of which is not 0."""
    return np.sort(1 + rng.choice(40, size=count, replace=False))


@rotary_half.case(title="positions with gaps", points=2, **LOOSE)
def half_gaps(rotary_half, rng):
    return rotary_half(normal(rng, 3, 5, 8), gaps(rng, 5))


@rotary_half.case(
    title="several heads, as many as tokens: positions run along the tokens",
    points=1,
    **LOOSE,
)
def half_heads(rotary_half, rng):
    return rotary_half(normal(rng, 2, 4, 4, 6), gaps(rng, 4))


@rotary_half.case(title="another base", points=1, **LOOSE)
def half_base(rotary_half, rng):
    return rotary_half(normal(rng, 2, 5, 6), gaps(rng, 5), float(rng.uniform(20, 500)))


@rotary_half.case(
    title="scores of queries and keys, all moved by the same offset", points=2, **LOOSE
)
def half_scores(rotary_half, rng):
    query, key, moved = normal(rng, 5, 8), normal(rng, 6, 8), drawn(rng, 1, 20)
    q, k = rotary_half(query, np.arange(5)), rotary_half(key, np.arange(6))
    q_moved = rotary_half(query, np.arange(5) + moved)
    k_moved = rotary_half(key, np.arange(6) + moved)
    return {
        "scores": q @ k.T,
        "scores, both moved": q_moved @ k_moved.T,
        "scores, only the queries moved": q_moved @ k.T,
    }


# rescale_rotary -----------------------------------------------------------------------


@rescale_rotary.case(title="a longer context", points=2)
def rescale_longer(rescale_rotary, rng):
    dim = 2 * drawn(rng, 4, 12)
    return rescale_rotary(dim, 10000.0, float(rng.uniform(2, 6)))


@rescale_rotary.case(title="another base", points=1)
def rescale_base(rescale_rotary, rng):
    return rescale_rotary(2 * drawn(rng, 3, 9), float(rng.uniform(50, 500)), 4.0)


@rescale_rotary.case(
    title="the fastest pair stays, the slowest is slower by the factor"
)
def rescale_ends(rescale_rotary, rng):
    dim, factor = 2 * drawn(rng, 3, 9), float(rng.uniform(2, 6))
    found = rescale_rotary(dim, 100.0, factor)
    return {"of the fastest": found[0], "of the slowest, times": found[-1] * factor}


# grouped_query_attention --------------------------------------------------------------


def grouped(rng, g, per_group, batch=2):
    """Queries, keys and values of different sizes; g * per_group query heads."""
    n, t, d, d_v = different(rng, 4, 3, 8)
    query = normal(rng, batch, g * per_group, n, d)
    return query, normal(rng, batch, g, t, d), normal(rng, batch, g, t, d_v)


def holes(rng, *shape):
    """A mask with holes in which each query may attend to some key."""
    mask = rng.random(shape) < 0.6
    mask[..., 0] |= ~mask.any(axis=-1)
    return mask


@grouped_query_attention.case(title="six query heads share two keys", points=2)
def groups_of_three(grouped_query_attention, rng):
    return grouped_query_attention(*grouped(rng, 2, 3))


@grouped_query_attention.case(title="as many groups as heads in a group", points=1)
def groups_square(grouped_query_attention, rng):
    size = drawn(rng, 2, 4)
    return grouped_query_attention(*grouped(rng, size, size, batch=3))


@grouped_query_attention.case(title="a mask for all heads", points=1)
def groups_shared_mask(grouped_query_attention, rng):
    inputs = grouped(rng, 3, 2)
    mask = holes(rng, inputs[0].shape[2], inputs[1].shape[2])
    return grouped_query_attention(*inputs, mask)


@grouped_query_attention.case(title="queries that may attend to nothing", points=1)
def groups_masked(grouped_query_attention, rng):
    inputs = grouped(rng, 2, 2)
    mask = holes(rng, 2, 1, inputs[0].shape[2], inputs[1].shape[2])
    mask[0, 0, 1] = False
    return grouped_query_attention(*inputs, mask)


@grouped_query_attention.case(title="scores in the thousands", points=1, **LARGE)
def groups_large(grouped_query_attention, rng):
    query, key, value = grouped(rng, 2, 2)
    query[..., 0] = rng.choice([-1, 1], query.shape[:-1]) * 2e3
    key[..., 0] = 3.0
    key[:, :, 0, 0] = -3.0  # the scores of a row are far apart as well
    query[:, :, 0, 0] = 0.0  # and so are the largest scores of two rows
    return grouped_query_attention(query, key, value)


@grouped_query_attention.case(
    title="a ValueError for groups that do not divide the heads", points=1
)
def groups_indivisible(grouped_query_attention, rng):
    query, key, value = grouped(rng, 2, 2)
    return grouped_query_attention(np.repeat(query, 2, axis=1)[:, :5], key, value)


# sliding_window_mask ------------------------------------------------------------------


@sliding_window_mask.case(title="a window shorter than the text", points=2)
def window_short(sliding_window_mask, rng):
    window = drawn(rng, 3, 5)
    return sliding_window_mask(drawn(rng, 8, 14), window)


@sliding_window_mask.case(title="a window longer than the text", points=1)
def window_long(sliding_window_mask, rng):
    n = drawn(rng, 4, 8)
    return sliding_window_mask(n, n + drawn(rng, 1, 9))


@sliding_window_mask.case(title="a window of one token, and one token", points=1)
def window_of_one(sliding_window_mask, rng):
    return (
        sliding_window_mask(drawn(rng, 3, 9), 1),
        sliding_window_mask(1, drawn(rng, 1, 9)),
    )


# softmax_with_sink --------------------------------------------------------------------


@softmax_with_sink.case(title="heads with sinks of their own", points=2)
def sink_heads(softmax_with_sink, rng):
    heads, n, t = different(rng, 3, 3, 8)
    return softmax_with_sink(normal(rng, 2, heads, n, t), normal(rng, heads))


@softmax_with_sink.case(title="as many heads as queries as keys, no batch", points=1)
def sink_square(softmax_with_sink, rng):
    size = drawn(rng, 3, 6)
    return softmax_with_sink(normal(rng, size, size, size), 2 * normal(rng, size))


@softmax_with_sink.case(title="scores of -inf, in whole rows as well", points=1)
def sink_masked(softmax_with_sink, rng):
    heads, n, t = different(rng, 3, 3, 8)
    scores = normal(rng, 2, heads, n, t)
    scores[..., 0] = -np.inf
    scores[1, :, 2] = -np.inf
    hidden = np.full((1, n, t), -np.inf)
    return [
        softmax_with_sink(scores, normal(rng, heads)),
        softmax_with_sink(hidden, np.array([-900.0])),  # its exponential alone is zero
    ]


@softmax_with_sink.case(
    title="scores in the thousands, of either sign", points=1, **LARGE
)
def sink_large(softmax_with_sink, rng):
    heads, n, t = different(rng, 3, 3, 8)
    shift = rng.choice([-3000.0, 3000.0], (heads, 1, 1))
    shift[:2, 0, 0] = -3000.0, 3000.0
    scores, sink = normal(rng, heads, n, t) + shift, normal(rng, heads) + shift[:, 0, 0]
    scores[1, :, 0] -= 6000.0  # the scores of a row are far apart as well
    sink[1] -= 6000.0
    return softmax_with_sink(scores, sink)


# latent_scores ------------------------------------------------------------------------


def latent_inputs(rng):
    """Queries, latent vectors and projections; all sizes differ."""
    heads, n, t, d, r = different(rng, 5, 2, 9)
    return normal(rng, heads, n, d), normal(rng, t, r), normal(rng, heads, r, d)


@latent_scores.case(title="all sizes differ", points=2)
def latent_distinct(latent_scores, rng):
    return latent_scores(*latent_inputs(rng))


@latent_scores.case(title="all sizes equal, so that only the values can tell", points=1)
def latent_square(latent_scores, rng):
    size = drawn(rng, 3, 6)
    query, W_up = normal(rng, 2, size, size, size)
    return latent_scores(query, normal(rng, size, size), W_up)


def long_text(rng, heads):
    """Many tokens and wide keys, so that keys would outweigh all else."""
    t, r, d = drawn(rng, 2000, 2400), drawn(rng, 2, 4), drawn(rng, 250, 300)
    query, W_up = normal(rng, heads, 1, d), normal(rng, heads, r, d) / np.sqrt(r)
    return (query, normal(rng, t, r), W_up), t * d * 4  # one head's keys in float32


@latent_scores.case(
    title="many tokens: no keys are made, not even of one head", points=2
)
def latent_no_key(latent_scores, rng):
    arguments, keys_of_one_head = long_text(rng, heads=2)
    scores, peak = peak_bytes(latent_scores, *arguments)
    return {"scores": scores, "memory is small": peak < keys_of_one_head / 2}


# delta_rule_step ----------------------------------------------------------------------


def memory(rng):
    """A state that holds something, a key and a value; the widths differ."""
    d_k, d_v = different(rng, 2, 3, 9)
    return normal(rng, d_k, d_v), normal(rng, d_k), normal(rng, d_v)


@delta_rule_step.case(title="a state that already holds something", points=2)
def delta_full(delta_rule_step, rng):
    return delta_rule_step(*memory(rng), rng.uniform(0.2, 0.8))


@delta_rule_step.case(title="as many features in keys as in values", points=1)
def delta_square(delta_rule_step, rng):
    n = drawn(rng, 3, 7)
    state, (key, value) = normal(rng, n, n), normal(rng, 2, n)
    return delta_rule_step(state, key, value, rng.uniform(0.2, 0.8))


@delta_rule_step.case(
    title="beta of zero changes nothing, a small one little", points=1
)
def delta_zero(delta_rule_step, rng):
    inputs = memory(rng)
    return delta_rule_step(*inputs, 0.0), delta_rule_step(*inputs, 0.1)
