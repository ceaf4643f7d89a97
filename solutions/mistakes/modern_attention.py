"""Misconceptions about attention since 2017, as code that can be recognised."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.modern_attention import (
    delta_rule_step,
    grouped_query_attention,
    kv_cache_bytes,
    latent_scores,
    rescale_rotary,
    rms_norm,
    rotary_half,
    sliding_window_mask,
    softmax_with_sink,
    swiglu,
)
from solutions import modern_attention as right

# kv_cache_bytes


@edit(kv_cache_bytes, "2 * num_layers", "num_layers")
def cache_keys_only():
    """The result is half of the bytes. A cache holds two vectors for every token and
    head: the keys, to compute the weights, and the values that they average."""


@edit(kv_cache_bytes, "bytes_per_value", "2")
def cache_always_two_bytes():
    """Every value is counted as two bytes. That is the default only: caches are also
    kept in four bytes, or quantised to one."""


@edit(kv_cache_bytes, "length *", "length**2 *")
def cache_of_weights():
    """The result grows with the square of the length, as the attention weights do. The
    cache holds vectors of tokens, not of pairs of tokens, and grows linearly."""


# rms_norm


@edit(
    rms_norm,
    "mean_square = np",
    "x = x - x.mean(axis=-1, keepdims=True)\n    mean_square = np",
)
def centred():
    """The mean of each token is subtracted, as in layer norm. RMSNorm leaves the mean
    where it is: it changes the norm of a token and not its direction."""


@edit(rms_norm, "np.mean(np.square(x)", "np.var(x")
def divided_by_standard_deviation():
    """The divisor looks like the standard deviation. It measures the spread around the
    mean, so a token whose features are nearly equal is blown up; the root mean square
    measures the distance from zero."""


@edit(rms_norm, "np.mean(np", "np.sum(np")
def divided_by_norm():
    """Tokens end up with norm one before the weights. The square root of the *sum* of
    squares makes features smaller the wider the model is; that of their *mean* leaves a
    typical feature near one at any width."""


@edit(rms_norm, " * weight", " + weight")
def weight_added():
    """The weight is added where it should multiply. It is a factor for each feature,
    and begins at one; added, it is an offset, which RMSNorm does not have."""


@edit(rms_norm, "np.sqrt(mean_square + eps)", "(mean_square + eps)")
def root_missing():
    """The tokens are divided by the mean square itself. Doubling a token would then
    halve the result, where a norm should leave it unchanged."""


@edit(
    rms_norm,
    "np.mean(np.square(x), axis=-1, keepdims=True)",
    "np.square(np.mean(x, axis=-1, keepdims=True))",
)
def square_of_the_mean():
    """The mean was taken before the square, so the divisor is the absolute value of the
    mean. A token whose features cancel each other is blown up; square first."""


@edit(rms_norm, " * weight", "")
def weight_ignored():
    """The learned factors have no effect. Without them every feature of a token enters
    the next layer with the scale that the norm gives it."""


@edit(rms_norm, "* weight", "* (1 + weight)")
def weight_plus_one():
    """The result is scaled by one plus the weight. Some models store their factors that
    way, around zero; here the weight itself is the factor."""


@edit(rms_norm, "np.sqrt(mean_square + eps)", "(np.sqrt(mean_square) + eps)")
def eps_after_the_root():
    """`eps` is added after the square root. It then shrinks small tokens more strongly:
    the square root of 1e-6 is a thousand times as large as 1e-6."""


# swiglu


@edit(swiglu, "gate * sigmoid", "sigmoid")
def sigmoid_gate():
    """The gate is a sigmoid alone. That is the original gated linear unit; silu also
    multiplies by the gate's input, so a gate can be larger than one."""


@edit(swiglu, "gate * sigmoid", "np.maximum(gate, 0)")
def relu_gate():
    """Gates below zero are cut off. Silu lets a little of them through, with a
    gradient, which relu does not."""


@edit(swiglu, " * (x @ W_up)", "")
def without_gate():
    """The features x W_up have no effect. What remains is an ordinary feed-forward
    layer with silu: the gates have to multiply something."""


@edit(swiglu, "gate * sigmoid", "gate")
def without_silu():
    """Gates and features are multiplied without a silu. The layer is then a quadratic
    function of its input, and its sign does not change when the input's does."""


@edit(swiglu, "sigmoid * (x", "sigmoid + (x")
def added():
    """Gates and features are added. A gate decides how much of a feature passes, so it
    has to multiply; a sum passes everything."""


@edit(
    swiglu,
    "np.where(gate >= 0, 1.0, decay) / (1.0 + decay)",
    "1.0 / (1.0 + np.exp(-gate))",
)
def overflowing():
    """The values are right, but NumPy warned of an overflow: exp(10,000) is beyond all
    floating-point numbers. The exponential of a value that is never positive cannot
    overflow."""


# rotary_half


@mistake(rotary_half)
def neighbours(x, positions, base=10000.0):
    """Neighbouring features are paired, (0, 1), (2, 3) and so on. Scores of queries and
    keys still depend on positions through their distance, but weights trained with the
    other pairing mean something else."""
    order = np.r_[0 : x.shape[-1] : 2, 1 : x.shape[-1] : 2]
    rotated = right.rotary_half(x[..., order], positions, base)
    return rotated[..., np.argsort(order)]


@mistake(rotary_half)
def halves_with_angles_of_neighbours(x, positions, base=10000.0):
    """Each feature is combined with the one half a width further on, while the angles
    are laid out for neighbours (each one twice in a row). So the two features of a pair
    get different angles, and nothing is rotated. Both have to follow one layout."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    angles = angles.repeat(2, axis=-1)
    other = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * np.cos(angles) + other * np.sin(angles)


@edit(rotary_half, "positions[:, None]", "-positions[:, None]")
def backwards():
    """The pairs are rotated the other way. Scores of rotated queries and keys then
    change too: the distance enters with the other sign."""


@edit(rotary_half, "first * cos - second", "first * cos + second")
def without_minus():
    """Both sines of the two-by-two matrix are added, so nothing is rotated: two equal
    features stay equal at every position, and the norm changes. In a rotation one of
    the two sines has a minus sign."""


@edit(rotary_half, "-np.arange(half) / half", "-np.arange(half) / half / 2")
def exponent_halved():
    """The speeds fall half as fast as they should: the exponent is -i/d, where i counts
    pairs. The slowest pair then rotates a hundred times too fast for the default
    base."""


@edit(rotary_half, "-np.arange(half) / half", "-2 * np.arange(half) / half")
def exponent_doubled():
    """The speeds fall twice as fast as they should, as if i in base^(-2i/d) counted
    features and not pairs. Most pairs then hardly turn, and tell no distances apart."""


@edit(rotary_half, "-np.arange(half) / half", "-np.arange(half) / max(half - 1, 1)")
def last_pair_reaches_the_base():
    """The exponents are spread so that the last pair's speed is one over the base, as
    from a linspace between 0 and 1. The formula divides the number of a pair by that of
    all pairs, and the last pair stays a step short."""


@edit(rotary_half, "positions[:, None]", "np.arange(x.shape[-2])[:, None]")
def counted_from_zero():
    """The given positions have no effect: tokens are numbered from zero. A token that
    is decoded with a cache arrives alone, and still has a position of its own."""


@edit(rotary_half, "positions[:, None]", "(positions[:, None] + 1)")
def one_position_further():
    """Every token is rotated as if its position were larger by one. Scores of queries
    and keys do not show it, since the distances are right, but a token at position 0
    stays as it is."""


# rescale_rotary


@edit(rescale_rotary, "factor ** (dim / (dim - 2))", "factor")
def base_times_factor():
    """You multiplied the base by the factor itself. The slowest pair then rotates
    slower by a little less than the factor, because its exponent is not quite -1; the
    power d/(d-2) makes up for that."""


@edit(
    rescale_rotary,
    "larger ** (-np.arange(0, dim, 2) / dim)",
    "base ** (-np.arange(0, dim, 2) / dim) / factor",
)
def all_pairs_slowed():
    """You divided every frequency by the factor, which interpolates positions. The fast
    pairs, which tell neighbours apart, then change as much as the slow ones; NTK-aware
    rescaling leaves the fastest pair alone."""


@edit(rescale_rotary, "dim / (dim - 2)", "(dim - 2) / dim")
def power_upside_down():
    """The power of the factor is upside down: (d-2)/d in place of d/(d-2). Insert 2i =
    d-2 to see what the slowest pair becomes."""


@edit(rescale_rotary, "-np.arange(0, dim, 2) / dim", "-np.arange(0, dim, 2) * 2 / dim")
def exponent_doubled_again():
    """The exponent is doubled: 2i already counts features in steps of two, so the last
    pair should have the exponent -(d-2)/d."""


@edit(rescale_rotary, "np.arange(0, dim, 2)", "np.arange(dim)")
def one_for_each_feature():
    """You returned a frequency for each feature. Two features form a pair and rotate
    together: there are d/2 frequencies."""


# grouped_query_attention


@mistake(grouped_query_attention)
def heads_in_turn(query, key, value, mask=None):
    """Query heads take key-value heads in turn, 0, 1, 0, 1, where groups of consecutive
    heads should share one, 0, 0, 1, 1. Shapes do not show the difference; the weights
    of a published model do."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    key, value = np.tile(key, (1, h // g, 1, 1)), np.tile(value, (1, h // g, 1, 1))
    return right.grouped_query_attention(query, key, value, mask)


@mistake(grouped_query_attention)
def always_the_first(query, key, value, mask=None):
    """All query heads use the first key-value head. That is multi-query attention, and
    right only if there is a single one."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    return right.grouped_query_attention(query, key[:, :1], value[:, :1], mask)


@edit(grouped_query_attention, " / np.sqrt(d)", "")
def scores_unscaled():
    """The scores are not divided by sqrt(d). Sharing keys changes nothing about the
    spread of a dot product."""


@edit(grouped_query_attention, "np.sqrt(d)", "np.sqrt(h * d)")
def scaled_by_whole_width():
    """The scores are too small: the scale seems to use the width of all heads together.
    A score is a dot product of d features, those of one head."""


@edit(grouped_query_attention, "np.sqrt(d)", "np.sqrt(value.shape[-1])")
def scaled_by_value_width():
    """You divided by the square root of the width of the values. A score is a dot
    product of a query and a key, so it is their d that sets the scale."""


@edit(grouped_query_attention, "-np.inf", "0.0")
def hidden_score_of_zero():
    """A hidden key still gets weight: its score seems to be 0, which is an ordinary
    score. Only minus infinity gives a weight of zero."""


@edit(grouped_query_attention, "-np.inf", "-1e9")
def average_of_the_hidden():
    """A query without any key averages all values. A large negative score hides a key
    among others, but in a row of equal scores the softmax is even; such a row gives
    zeros."""


@edit(
    grouped_query_attention, "np.where(np.isfinite(largest), largest, 0.0)", "largest"
)
def not_a_number():
    """A query without any key gives NaN: zero divided by zero, or infinity minus
    infinity. Such a row gives zeros."""


@edit(grouped_query_attention, " - np.where(np.isfinite(largest), largest, 0.0)", "")
def not_stable():
    """Scores in the thousands overflow. Subtract the largest score of each row before
    the exponential, which leaves the weights unchanged."""


@mistake(grouped_query_attention)
def remainder_unnoticed(query, key, value, mask=None):
    """Heads that cannot be divided evenly do not raise `ValueError`. The last group
    would be smaller than the others, and no model is built that way."""
    h, g = query.shape[1], key.shape[1]
    head = np.minimum(np.arange(h) // max(h // g, 1), g - 1)
    return right.grouped_query_attention(query, key[:, head], value[:, head], mask)


# sliding_window_mask


@edit(sliding_window_mask, "< window", "<= window")
def one_too_many():
    """Each query sees one token too many. The window includes the token itself, so
    `window - 1` tokens before it remain."""


@edit(sliding_window_mask, "< window", "< max(window - 1, 1)")
def one_too_few():
    """Each query sees one token too few. Beside the token itself there are `window - 1`
    tokens before it."""


@edit(sliding_window_mask, ">= 0", "> 0")
def without_itself():
    """A token does not see itself, and the first one sees nothing at all. The window
    begins with the token itself."""


@edit(
    sliding_window_mask,
    "(distance >= 0) & (distance < window)",
    "np.abs(distance) < window",
)
def both_sides():
    """Tokens see the future as far as the past. A model that generates text has to be
    causal within its window as well."""


@edit(sliding_window_mask, " & (distance < window)", "")
def no_limit():
    """The window has no effect: the mask is the causal one. Tokens that are `window`
    positions back, or more, have to be hidden."""


@edit(
    sliding_window_mask,
    "distance < window",
    "np.arange(n)[:, None] // window == np.arange(n) // window",
)
def blocks():
    """The text is cut into blocks, and tokens see only their own block. The window
    slides: each token sees as many tokens back as the one before it did."""


# softmax_with_sink


@edit(softmax_with_sink, " + np.exp(sink - largest)", "")
def sink_ignored():
    """The sink has no effect: rows sum to one. The sink's weight belongs to the sum
    that is divided by, although it is dropped afterwards."""


@mistake(softmax_with_sink)
def sink_returned(scores, sink):
    """The result has one column too many. The weight of the sink is dropped: no value
    belongs to it."""
    return _with_column(scores, sink)


@mistake(softmax_with_sink)
def first_key_dropped(scores, sink):
    """The result begins with the weight of the second key and ends with that of the
    sink. What is dropped has to be the column where the sink was put."""
    return _with_column(scores, sink)[..., 1:]


@mistake(softmax_with_sink)
def rescaled(scores, sink):
    """Rows sum to one again. Dividing by the sum that is left undoes what the sink
    does: a query with nothing to find should be able to return little."""
    weights = right.softmax_with_sink(scores, sink)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


@edit(softmax_with_sink, "np.exp(sink - largest)", "sink")
def sink_without_exponential():
    """The sink was added to the sum as it is. It is a score, so its exponential belongs
    there; a negative sink could even make the sum negative."""


@edit(softmax_with_sink, "np.exp(sink - largest)", "np.exp(sink)")
def sink_shift_forgotten():
    """The largest score was subtracted from the scores and not from the sink. The sink
    then counts for more or less than it should: all scores have to be shifted alike."""


@edit(
    softmax_with_sink,
    "np.maximum(scores.max(axis=-1, keepdims=True), sink)",
    "scores.max(axis=-1, keepdims=True)",
)
def largest_of_scores_alone():
    """Rows without any score become NaN, or a large sink overflows. The sink is a score
    too: the number that is subtracted has to be the largest of all of them."""


@edit(softmax_with_sink, "np.maximum(scores.max(axis=-1, keepdims=True), sink)", "0.0")
def unstable():
    """Scores in the thousands overflow, or vanish all together. Subtract the largest
    score of a row, the sink included, before the exponentials."""


@edit(softmax_with_sink, "sink[:, None, None]", "sink[0]")
def sink_of_the_first_head():
    """All heads use the first head's sink. Each head has learned its own, along the
    axis of the heads, because some need a place to rest more than others."""


def _with_column(scores, sink):
    """The weights of a plain softmax over the scores and a column with the sink."""
    column = np.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))
    longer = np.concatenate([scores, column], axis=-1)
    exponentials = np.exp(longer - longer.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# latent_scores


@mistake(latent_scores)
def makes_all_keys(query, latent, W_up):
    """The scores are right, but keys were made on the way, of all heads or of one head
    after the other. For a long text they are the very memory that the latent vectors
    save: use another order of the products."""
    keys = latent @ W_up  # (h, T, d)
    return query @ keys.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


@edit(latent_scores, " / np.sqrt(query.shape[-1])", "")
def latent_unscaled():
    """The scores are not divided by sqrt(d). A different order of the products changes
    neither the scores nor the spread that the scale is there for."""


@edit(latent_scores, "query.shape[-1]", "latent.shape[-1]")
def scaled_by_rank():
    """The scores are divided by the square root of the latent width. The dot product
    that is meant has d features, even when r of them are multiplied."""


@edit(latent_scores, "np.swapaxes(W_up, -1, -2)", "W_up[0].T")
def first_projection_for_all():
    """All heads use the first head's projection. The latent vector is shared; the keys
    that each head reads from it are not."""


# delta_rule_step


@edit(delta_rule_step, " - key @ state", "")
def value_added():
    """The value is added without subtracting what the key found before. The key then
    finds a sum of the old value and the new one, which is what the rule corrects."""


@edit(delta_rule_step, "beta * np", "np")
def beta_of_one():
    """`beta` has no effect: the whole error is corrected every time. A smaller step
    keeps a part of what was stored."""


@edit(
    delta_rule_step,
    "state + beta * np.outer(key, error)",
    "state + np.outer(key, beta * value - key @ state)",
)
def beta_on_the_value():
    """`beta` multiplies the value and not the whole error. With beta = 0 the old value
    would be erased, where nothing should change."""


@edit(
    delta_rule_step,
    "state + beta * np.outer(key, error)",
    "(1 - beta) * state + beta * np.outer(key, value)",
)
def everything_decays():
    """The whole state fades. The rule takes away only what this key finds; keys
    orthogonal to it keep what they have."""


@edit(delta_rule_step, "np.outer(key, error)", "np.outer(key, error) / (key @ key)")
def step_divided_by_the_squared_norm():
    """The correction was divided by the squared norm of the key. A step of one would
    then correct the whole error for a key of any norm; here it does so for keys of norm
    one, and the key is used as it is."""
