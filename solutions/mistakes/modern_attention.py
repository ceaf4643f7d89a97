"""Misconceptions about current models' attention, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.modern_attention import (
    break_grouped_query_attention,
    delta_rule_step,
    grouped_query_attention,
    kv_cache_bytes,
    latent_scores,
    qk_norm_scores,
    rms_norm,
    rotary_half,
    sliding_window_mask,
    softmax_with_sink,
    swiglu,
)
from solutions import modern_attention as right


def silu(z):
    decay = np.exp(-np.abs(z))
    return z * np.where(z >= 0, 1.0, decay) / (1.0 + decay)


def rms(x, eps=1e-6):
    return np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def softmax(scores):
    """Along the last axis; a row of -inf gets zeros."""
    largest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1.0)


# kv_cache_bytes


@mistake(kv_cache_bytes)
def cache_keys_only(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result is half of the bytes. A cache holds two vectors for every token and
    head: the keys, to compute the weights, and the values that they average."""
    return num_layers * num_kv_heads * head_dim * length * batch * bytes_per_value


@mistake(kv_cache_bytes)
def cache_of_one_layer(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result does not depend on the number of layers. Each layer projects its own
    input to keys and values, so no two layers can use one cache."""
    return 2 * num_kv_heads * head_dim * length * batch * bytes_per_value


@mistake(kv_cache_bytes)
def cache_of_one_head(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result does not depend on the number of heads. Every key-value head keeps
    `head_dim` features of each token; `head_dim` is not the width of the model."""
    return 2 * num_layers * head_dim * length * batch * bytes_per_value


@mistake(kv_cache_bytes)
def cache_batch_ignored(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result does not depend on the batch. Sequences that are decoded together
    have different tokens, so each one fills a cache of its own."""
    return 2 * num_layers * num_kv_heads * head_dim * length * bytes_per_value


@mistake(kv_cache_bytes)
def cache_in_values(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result is a number of values, whatever the precision. The memory that they
    take depends on `bytes_per_value`."""
    return 2 * num_layers * num_kv_heads * head_dim * length * batch


@mistake(kv_cache_bytes)
def cache_always_two_bytes(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """Every value is counted as two bytes. That is the default only: caches are also
    kept in four bytes, or quantised to one."""
    return 4 * num_layers * num_kv_heads * head_dim * length * batch


@mistake(kv_cache_bytes)
def cache_of_weights(
    num_layers, num_kv_heads, head_dim, length, batch=1, bytes_per_value=2
):
    """The result grows with the square of the length, as the attention weights do. The
    cache holds vectors of tokens, not of pairs of tokens, and grows linearly."""
    return (
        2 * num_layers * num_kv_heads * head_dim * length**2 * batch * bytes_per_value
    )


# rms_norm


@mistake(rms_norm)
def centred(x, weight, eps=1e-6):
    """The mean of each token is subtracted, as in layer norm. RMSNorm leaves the mean
    where it is: it changes the norm of a token and not its direction."""
    x = x - x.mean(axis=-1, keepdims=True)
    return x / rms(x, eps) * weight


@mistake(rms_norm)
def divided_by_standard_deviation(x, weight, eps=1e-6):
    """The divisor looks like the standard deviation. It measures the spread around the
    mean, so a token whose features are nearly equal is blown up; the root mean square
    measures the distance from zero."""
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * weight


@mistake(rms_norm)
def divided_by_norm(x, weight, eps=1e-6):
    """Tokens end up with norm one before the weights. The root of the *sum* of squares
    makes features smaller the wider the model is; the root of their *mean* leaves a
    typical feature near one at any width."""
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + eps) * weight


@mistake(rms_norm)
def weight_added(x, weight, eps=1e-6):
    """The weight is added where it should multiply. It is a factor for each feature,
    and begins at one; added, it is an offset, which RMSNorm does not have."""
    return x / rms(x, eps) + weight


@mistake(rms_norm)
def root_missing(x, weight, eps=1e-6):
    """The tokens are divided by the mean square itself. Doubling a token would then
    halve the result, where a norm should leave it unchanged."""
    return x / (np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


@mistake(rms_norm)
def over_tokens(x, weight, eps=1e-6):
    """One root mean square is taken for all tokens together. Tokens then influence
    each other, and in generation each one would depend on the text after it: every
    token is normalised on its own."""
    return x / np.sqrt(np.mean(x * x) + eps) * weight


@mistake(rms_norm)
def mean_of_magnitudes(x, weight, eps=1e-6):
    """Tokens are divided by the mean of their absolute values. The root mean square is
    never smaller, and counts large features more."""
    return x / (np.abs(x).mean(axis=-1, keepdims=True) + eps) * weight


@mistake(rms_norm)
def root_of_the_squared_mean(x, weight, eps=1e-6):
    """The mean was taken before the square, so the divisor is the absolute value of the
    mean. A token whose features cancel each other is blown up; square first."""
    return x / np.sqrt(x.mean(axis=-1, keepdims=True) ** 2 + eps) * weight


@mistake(rms_norm)
def mean_of_a_sample(x, weight, eps=1e-6):
    """The sum of the squares is divided by D - 1. That is done for the variance of a
    sample around its own mean; a mean square divides by the number of features."""
    features = max(x.shape[-1] - 1, 1)
    squares = np.sum(x * x, axis=-1, keepdims=True) / features
    return x / np.sqrt(squares + eps) * weight


@mistake(rms_norm)
def weight_before_the_norm(x, weight, eps=1e-6):
    """The tokens are multiplied by the weights before they are normalised, so the norm
    takes part of that back. Normalise first, then scale each feature."""
    return x * weight / rms(x * weight, eps)


@mistake(rms_norm)
def larger_of_root_and_eps(x, weight, eps=1e-6):
    """The divisor is the larger one of the root mean square and eps. The docstring adds
    eps to the mean of the squares, under the root, which matters for small tokens."""
    root = np.sqrt(np.mean(x * x, axis=-1, keepdims=True))
    return x / np.maximum(root, eps) * weight


@mistake(rms_norm)
def along_tokens(x, weight, eps=1e-6):
    """The mean does not run along the features. The last axis holds the features of one
    token; the axis before it would mix different tokens."""
    axis = max(-2, -x.ndim)
    return x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + eps) * weight


@mistake(rms_norm)
def weight_ignored(x, weight, eps=1e-6):
    """The learned factors have no effect. Without them every feature of a token enters
    the next layer with the scale that the norm gives it."""
    return x / rms(x, eps)


@mistake(rms_norm)
def weight_plus_one(x, weight, eps=1e-6):
    """The result is scaled by one plus the weight. Some models store their factors that
    way, around zero; here the weight itself is the factor."""
    return x / rms(x, eps) * (1 + weight)


@mistake(rms_norm)
def eps_after_the_root(x, weight, eps=1e-6):
    """`eps` is added after the root. It then shrinks tokens more strongly when they
    are small: the square root of 1e-6 is a thousand times as large as 1e-6."""
    return x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + eps) * weight


@mistake(rms_norm)
def eps_ignored(x, weight, eps=1e-6):
    """`eps` has no effect. A token of zeros is then divided by zero, and weights
    trained with one eps do not give the same outputs with another."""
    return x / rms(x, 0.0) * weight


@mistake(rms_norm)
def normalised_in_place(x, weight, eps=1e-6):
    """The tokens that were passed in have changed. The residual connection still needs
    them as they were, so the norm has to return a new array."""
    x /= rms(x, eps)
    return x * weight


# swiglu


@mistake(swiglu)
def gate_and_features_swapped(x, W_gate, W_up, W_down):
    """The silu is applied to x W_up. Both products have one shape, so nothing fails,
    but weights trained the other way round give other outputs."""
    return (x @ W_gate * silu(x @ W_up)) @ W_down


@mistake(swiglu)
def sigmoid_gate(x, W_gate, W_up, W_down):
    """The gate is a sigmoid alone. That is the original gated linear unit; silu also
    multiplies by the gate's input, so a gate can be larger than one."""
    gate = x @ W_gate
    return (np.exp(-np.logaddexp(0, -gate)) * (x @ W_up)) @ W_down


@mistake(swiglu)
def relu_gate(x, W_gate, W_up, W_down):
    """Gates below zero are cut off. Silu lets a little of them through, with a
    gradient, which relu does not."""
    return (np.maximum(x @ W_gate, 0.0) * (x @ W_up)) @ W_down


@mistake(swiglu)
def gelu_gate(x, W_gate, W_up, W_down):
    """The gate looks like a GELU. That variant has a name of its own, GEGLU; silu is
    z times the sigmoid of z, and differs from it by up to 0.2."""
    gate = x @ W_gate
    inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
    return (0.5 * gate * (1 + np.tanh(inner)) * (x @ W_up)) @ W_down


@mistake(swiglu)
def quick_gelu_gate(x, W_gate, W_up, W_down):
    """The gate is z times the sigmoid of 1.702 z. That is a quick approximation of a
    GELU; in silu, z itself is the argument of the sigmoid."""
    gate = x @ W_gate
    return (silu(1.702 * gate) / 1.702 * (x @ W_up)) @ W_down


@mistake(swiglu)
def without_gate(x, W_gate, W_up, W_down):
    """The features x W_up have no effect. What remains is an ordinary feed-forward
    layer with silu: the gates have to multiply something."""
    return silu(x @ W_gate) @ W_down


@mistake(swiglu)
def without_silu(x, W_gate, W_up, W_down):
    """Gates and features are multiplied without a silu. The layer is then a quadratic
    function of its input, and its sign does not change when the input's does."""
    return (x @ W_gate * (x @ W_up)) @ W_down


@mistake(swiglu)
def added(x, W_gate, W_up, W_down):
    """Gates and features are added. A gate decides how much of a feature passes, so it
    has to multiply; a sum passes everything."""
    return (silu(x @ W_gate) + x @ W_up) @ W_down


@mistake(swiglu)
def silu_of_the_product(x, W_gate, W_up, W_down):
    """The silu is applied to the product of gates and features. It belongs to the gate
    alone, and the features are multiplied by what it gives."""
    return silu(x @ W_gate * (x @ W_up)) @ W_down


@mistake(swiglu)
def silu_of_both(x, W_gate, W_up, W_down):
    """The silu is applied to gates and features. One side has to stay linear, or
    features below zero hardly exist any more."""
    return (silu(x @ W_gate) * silu(x @ W_up)) @ W_down


@mistake(swiglu)
def overflowing(x, W_gate, W_up, W_down):
    """The values are right, but NumPy warned of an overflow: exp(10,000) is beyond all
    floating-point numbers. The exponential of a value that is never positive cannot
    overflow."""
    gate = x @ W_gate
    return (gate / (1 + np.exp(-gate)) * (x @ W_up)) @ W_down


# rotary_half


def turn_halves(
    x,
    positions,
    base=10000.0,
    *,
    exponent=lambda pairs: -np.arange(pairs) / pairs,
    sign=1,
):
    """The right rotation, unless its exponents or its sign are replaced."""
    half = x.shape[-1] // 2
    angles = sign * positions[:, None] * base ** exponent(half)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate(
        [first * cos - second * sin, first * sin + second * cos], axis=-1
    )


@mistake(rotary_half)
def neighbours(x, positions, base=10000.0):
    """Neighbouring features are paired, (0, 1), (2, 3) and so on. Scores of queries and
    keys still depend on the distance alone, but weights trained with the other pairing
    mean something else."""
    d = x.shape[-1]
    order = np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])
    return turn_halves(x[..., order], positions, base)[..., np.argsort(order)]


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


@mistake(rotary_half)
def neighbours_with_angles_of_halves(x, positions, base=10000.0):
    """Neighbouring features are combined, while the angles are laid out for pairs half
    a width apart (the whole list twice). So the two features of a pair get different
    angles, and nothing is rotated. Both have to follow one layout."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    angles = np.concatenate([angles, angles], axis=-1)
    other = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + other * np.sin(angles)


@mistake(rotary_half)
def backwards(x, positions, base=10000.0):
    """The pairs are turned the other way. Scores of turned queries and keys then change
    too: the distance enters with the other sign."""
    return turn_halves(x, positions, base, sign=-1)


@mistake(rotary_half)
def without_minus(x, positions, base=10000.0):
    """Both sines of the two-by-two matrix are added, so nothing is turned: two equal
    features stay equal at every position, and the norm changes. In a rotation one of
    the two sines has a minus sign."""
    half = x.shape[-1] // 2
    turned = turn_halves(x, positions, base)
    first, second = x[..., :half], x[..., half:]
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    turned[..., :half] = first * np.cos(angles) + second * np.sin(angles)
    return turned


@mistake(rotary_half)
def second_half_from_the_turned_first(x, positions, base=10000.0):
    """The second feature of each pair is computed from the first one after that was
    turned, as happens in an array whose first half is already overwritten. Both need
    the two features as they were."""
    turned = turn_halves(x, positions, base)
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    turned[..., half:] += (turned[..., :half] - x[..., :half]) * np.sin(angles)
    return turned


@mistake(rotary_half)
def minus_twice(x, positions, base=10000.0):
    """Both sines of the two-by-two matrix are subtracted, so nothing is turned: the
    norm of a pair changes. In a rotation one of the two sines has a minus sign."""
    turned = turn_halves(x, positions, base)
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    turned[..., half:] -= 2 * x[..., :half] * np.sin(angles)
    return turned


@mistake(rotary_half)
def reflected(x, positions, base=10000.0):
    """Each pair is reflected and not turned: its second feature has the wrong sign. At
    position 0 a token should stay as it is, and here half of its features change their
    sign."""
    turned = without_minus.implementation(x, positions, base)
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    turned[..., half:] -= 2 * x[..., half:] * np.cos(angles)
    return turned


@mistake(rotary_half)
def one_speed(x, positions, base=10000.0):
    """All pairs turn at one speed. Then two distances that differ by about 6.28
    positions cannot be told apart; slower pairs are there for long distances."""
    return turn_halves(x, positions, base, exponent=np.zeros)


@mistake(rotary_half)
def exponent_halved(x, positions, base=10000.0):
    """The speeds fall half as fast as they should: the exponent is -i/d, where i counts
    pairs. The slowest pair then turns a hundred times too fast for the default base."""
    return turn_halves(
        x, positions, base, exponent=lambda pairs: -np.arange(pairs) / pairs / 2
    )


@mistake(rotary_half)
def exponent_doubled(x, positions, base=10000.0):
    """The speeds fall twice as fast as they should, as if i in base^(-2i/d) counted
    features and not pairs."""
    return turn_halves(
        x, positions, base, exponent=lambda pairs: -2 * np.arange(pairs) / pairs
    )


@mistake(rotary_half)
def last_pair_reaches_the_base(x, positions, base=10000.0):
    """The exponents are spread so that the last pair's speed is one over the base, as
    from a linspace between 0 and 1. The formula divides the number of a pair by that of
    all pairs, and the last pair stays a step short of the base."""
    return turn_halves(
        x,
        positions,
        base,
        exponent=lambda pairs: -np.arange(pairs) / max(pairs - 1, 1),
    )


@mistake(rotary_half)
def base_ignored(x, positions, base=10000.0):
    """The argument `base` has no effect. Models for long contexts use larger bases,
    so that their slowest pairs do not come full circle."""
    return turn_halves(x, positions)


@mistake(rotary_half)
def counted_from_zero(x, positions, base=10000.0):
    """The given positions have no effect: tokens are numbered from zero. A token that
    is decoded with a cache arrives alone, and still has a position of its own."""
    return turn_halves(x, np.arange(x.shape[-2]), base)


@mistake(rotary_half)
def one_position_further(x, positions, base=10000.0):
    """Every token is turned as if its position were larger by one. Scores of queries
    and keys do not show it, since the distances are right, but the positions count from
    zero, and a token at position 0 stays as it is."""
    return turn_halves(x, positions + 1, base)


@mistake(rotary_half)
def turned_in_place(x, positions, base=10000.0):
    """The array that was passed in was changed in place. Keys that are turned twice are
    at the wrong position, so return a new array."""
    turned = turn_halves(x, positions, base)
    x[...] = turned
    return turned


# qk_norm_scores


@mistake(qk_norm_scores)
def without_norms(query, key, query_weight, key_weight, eps=1e-6):
    """The scores still grow with the norm of queries and keys. That is what the two
    norms are there to prevent: both come before the dot product."""
    d = query.shape[-1]
    return (query * query_weight) @ (key * key_weight).swapaxes(-1, -2) / np.sqrt(d)


@mistake(qk_norm_scores)
def keys_left_as_they_are(query, key, query_weight, key_weight, eps=1e-6):
    """The keys are not normalised. A few long keys can then still dominate all rows,
    so both sides need a norm."""
    d = query.shape[-1]
    query = query / rms(query, eps) * query_weight
    return query @ (key * key_weight).swapaxes(-1, -2) / np.sqrt(d)


@mistake(qk_norm_scores)
def queries_left_as_they_are(query, key, query_weight, key_weight, eps=1e-6):
    """The queries are not normalised. Long queries then still saturate the softmax, so
    both sides need a norm."""
    d = query.shape[-1]
    key = key / rms(key, eps) * key_weight
    return (query * query_weight) @ key.swapaxes(-1, -2) / np.sqrt(d)


@mistake(qk_norm_scores)
def cosines(query, key, query_weight, key_weight, eps=1e-6):
    """The scores are smaller by a factor of sqrt(d), like cosines times the weights.
    With weights of one no softmax of them can become sharp: a root mean square of one
    is a norm of sqrt(d)."""
    d = query.shape[-1]
    query = query / rms(query, eps) * query_weight
    key = key / rms(key, eps) * key_weight
    return query @ key.swapaxes(-1, -2) / d


@mistake(qk_norm_scores)
def scale_missing(query, key, query_weight, key_weight, eps=1e-6):
    """The scores are larger by a factor of sqrt(d). The norms do not replace the scale:
    a normalised query has norm sqrt(d), and so has a key."""
    query = query / rms(query, eps) * query_weight
    key = key / rms(key, eps) * key_weight
    return query @ key.swapaxes(-1, -2)


@mistake(qk_norm_scores)
def weights_left_out(query, key, query_weight, key_weight, eps=1e-6):
    """The learned weights have no effect. With both norms at a root mean square of one,
    no score could exceed sqrt(d); the weights let a head learn sharper ones."""
    query, key = query / rms(query, eps), key / rms(key, eps)
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


@mistake(qk_norm_scores)
def query_weight_for_both(query, key, query_weight, key_weight, eps=1e-6):
    """The weight of the keys has no effect: the queries' weight enters twice. The two
    norms are learned separately."""
    query = query / rms(query, eps) * query_weight
    key = key / rms(key, eps) * query_weight
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


@mistake(qk_norm_scores)
def eps_not_passed_on(query, key, query_weight, key_weight, eps=1e-6):
    """The argument `eps` has no effect. It belongs to both norms."""
    query = query / rms(query) * query_weight
    key = key / rms(key) * key_weight
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


@mistake(qk_norm_scores)
def centred_first(query, key, query_weight, key_weight, eps=1e-6):
    """Queries and keys are centred before they are scaled, which is layer norm. RMSNorm
    leaves the mean alone and divides by the root of the mean square."""
    query = query - query.mean(axis=-1, keepdims=True)
    key = key - key.mean(axis=-1, keepdims=True)
    query, key = query / rms(query, eps), key / rms(key, eps)
    d = query.shape[-1]
    return (query * query_weight) @ (key * key_weight).swapaxes(-1, -2) / np.sqrt(d)


@mistake(qk_norm_scores)
def scores_for_keys(query, key, query_weight, key_weight, eps=1e-6):
    """The result has a row for each key. A row belongs to a query, because the softmax
    that follows runs over the keys."""
    query = query / rms(query, eps) * query_weight
    key = key / rms(key, eps) * key_weight
    return key @ query.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


# grouped_query_attention


def attend(
    query, key, value, mask=None, *, spread=np.repeat, scale=None, weigh=softmax
):
    """Attention with repeated keys: right, unless a step is replaced."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    if spread is not None:
        key, value = spread(key, h // g, axis=1), spread(value, h // g, axis=1)
    scale = np.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.swapaxes(-1, -2) / scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return weigh(scores) @ value


@mistake(grouped_query_attention)
def heads_in_turn(query, key, value, mask=None):
    """Query heads take key-value heads in turn, 0, 1, 0, 1, where groups of consecutive
    heads should share one, 0, 0, 1, 1. Shapes do not show the difference; the weights
    of a published model do."""

    def tiled(x, times, axis):
        return np.concatenate([x] * times, axis=axis)

    return attend(query, key, value, mask, spread=tiled)


@mistake(grouped_query_attention)
def values_in_turn(query, key, value, mask=None):
    """Keys and values do not belong together: the keys of a head are those of its
    group, and its values those of heads in turn, 0, 1, 0, 1. Both are shared by groups
    of consecutive heads."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    value = np.concatenate([value] * (h // g), axis=1)
    return attend(query, np.repeat(key, h // g, axis=1), value, mask)


@mistake(grouped_query_attention)
def keys_in_turn(query, key, value, mask=None):
    """Keys and values do not belong together: the values of a head are those of its
    group, and its keys those of heads in turn, 0, 1, 0, 1. Both are shared by groups of
    consecutive heads."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    key = np.concatenate([key] * (h // g), axis=1)
    return attend(query, key, np.repeat(value, h // g, axis=1), mask)


@mistake(grouped_query_attention)
def always_the_first(query, key, value, mask=None):
    """All query heads use the first key-value head. That is multi-query attention, and
    right only if there is a single one."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    return attend(query, key[:, :1], value[:, :1], mask)


@mistake(grouped_query_attention)
def mean_of_keys(query, key, value, mask=None):
    """All query heads use the mean of the key-value heads. Averaging is how a trained
    model's heads are merged once; in attention each group keeps its own."""
    h, g = query.shape[1], key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    key, value = key.mean(axis=1, keepdims=True), value.mean(axis=1, keepdims=True)
    return attend(query, key, value, mask)


@mistake(grouped_query_attention)
def scores_unscaled(query, key, value, mask=None):
    """The scores are not divided by sqrt(d). Sharing keys changes nothing about the
    spread of a dot product."""
    return attend(query, key, value, mask, scale=1.0)


@mistake(grouped_query_attention)
def scaled_by_whole_width(query, key, value, mask=None):
    """The scores are too small: the scale seems to use the width of all heads together.
    A score is a dot product of d features, those of one head."""
    return attend(
        query, key, value, mask, scale=np.sqrt(query.shape[1] * query.shape[-1])
    )


@mistake(grouped_query_attention)
def scaled_by_width_of_a_group(query, key, value, mask=None):
    """The scores are too small: the scale seems to use the width of all the heads of a
    group together. A score is a dot product of d features, those of one head, however
    many heads share its key."""
    width = query.shape[1] * query.shape[-1] / key.shape[1]
    return attend(query, key, value, mask, scale=np.sqrt(width))


@mistake(grouped_query_attention)
def mask_of_hidden(query, key, value, mask=None):
    """The mask works the other way round: `True` hides a key. In this book `True`
    means that a query may attend."""
    return attend(query, key, value, None if mask is None else ~np.asarray(mask))


@mistake(grouped_query_attention)
def mask_ignored(query, key, value, mask=None):
    """The mask has no effect, so queries attend to keys that should be hidden from
    them."""
    return attend(query, key, value)


@mistake(grouped_query_attention)
def hidden_score_of_zero(query, key, value, mask=None):
    """A hidden key still gets weight: its score seems to be 0, which is an ordinary
    score. Only minus infinity gives a weight of zero."""

    def weigh(scores):
        return softmax(np.where(np.isfinite(scores), scores, 0.0))

    return attend(query, key, value, mask, weigh=weigh)


@mistake(grouped_query_attention)
def average_of_the_hidden(query, key, value, mask=None):
    """A query without any key averages all values. A large negative score hides a key
    among others, but in a row of equal scores the softmax is even; such a row gives
    zeros."""

    def weigh(scores):
        return softmax(np.where(np.isfinite(scores), scores, -1e9))

    return attend(query, key, value, mask, weigh=weigh)


@mistake(grouped_query_attention)
def not_a_number(query, key, value, mask=None):
    """A query without any key gives NaN: zero divided by zero, or infinity minus
    infinity. Such a row gives zeros."""

    def weigh(scores):
        with np.errstate(invalid="ignore"):
            exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return exponentials / exponentials.sum(axis=-1, keepdims=True)

    return attend(query, key, value, mask, weigh=weigh)


@mistake(grouped_query_attention)
def not_stable(query, key, value, mask=None):
    """Scores in the thousands overflow. Subtract the largest score of each row before
    the exponential, which leaves the weights unchanged."""

    def weigh(scores):
        with np.errstate(over="ignore", invalid="ignore"):
            exponentials = np.exp(scores)
            total = exponentials.sum(axis=-1, keepdims=True)
            return exponentials / np.where(total > 0, total, 1.0)

    return attend(query, key, value, mask, weigh=weigh)


@mistake(grouped_query_attention)
def remainder_unnoticed(query, key, value, mask=None):
    """Heads that cannot be divided evenly do not raise `ValueError`. The last group
    would be smaller than the others, and no model is built that way."""
    h, g = query.shape[1], key.shape[1]
    head = np.minimum(np.arange(h) // max(h // g, 1), g - 1)
    return attend(query, key[:, head], value[:, head], mask)


@mistake(grouped_query_attention)
def over_queries(query, key, value, mask=None):
    """The weights of each key sum to one, in place of those of each query. The softmax
    runs over the keys, the last axis of the scores."""

    def weigh(scores):
        return softmax(scores.swapaxes(-1, -2)).swapaxes(-1, -2)

    return attend(query, key, value, mask, weigh=weigh)


@mistake(grouped_query_attention)
def scaled_by_value_width(query, key, value, mask=None):
    """You divided by the square root of the width of the values. A score is a dot
    product of a query and a key, so it is their d that sets the scale."""
    return attend(query, key, value, mask, scale=np.sqrt(value.shape[-1]))


@mistake(grouped_query_attention)
def mean_of_queries(query, key, value, mask=None):
    """The queries of a group are averaged, so all of its heads give the same output.
    Heads share keys and values only: each query head attends on its own."""
    B, h, N, d = query.shape
    g = key.shape[1]
    if h % g:
        raise ValueError("the heads cannot be grouped")
    mean = query.reshape(B, g, h // g, N, d).mean(axis=2)
    return attend(np.repeat(mean, h // g, axis=1), key, value, mask)


# sliding_window_mask


@mistake(sliding_window_mask)
def one_too_many(n, window):
    """Each query sees one token too many. The window includes the token itself, so
    `window - 1` tokens before it remain."""
    distance = np.arange(n)[:, None] - np.arange(n)
    return (distance >= 0) & (distance <= window)


@mistake(sliding_window_mask)
def one_too_few(n, window):
    """Each query sees one token too few. Beside the token itself there are
    `window - 1` tokens before it."""
    distance = np.arange(n)[:, None] - np.arange(n)
    return (distance >= 0) & (distance < max(window - 1, 1))


@mistake(sliding_window_mask)
def without_itself(n, window):
    """A token does not see itself, and the first one sees nothing at all. The window
    begins with the token itself."""
    distance = np.arange(n)[:, None] - np.arange(n)
    return (distance > 0) & (distance < window)


@mistake(sliding_window_mask)
def both_sides(n, window):
    """Tokens see the future as far as the past. A model that generates text has to be
    causal within its window as well."""
    return np.abs(np.arange(n)[:, None] - np.arange(n)) < window


@mistake(sliding_window_mask)
def future_only(n, window):
    """The mask is transposed: each token sees itself and those after it. Rows are
    queries, and columns are keys."""
    distance = np.arange(n) - np.arange(n)[:, None]
    return (distance >= 0) & (distance < window)


@mistake(sliding_window_mask)
def no_limit(n, window):
    """The window has no effect: the mask is the causal one. Tokens that are `window`
    positions back, or more, have to be hidden."""
    return np.tri(n, dtype=bool)


@mistake(sliding_window_mask)
def blocks(n, window):
    """The text is cut into blocks, and tokens see only their own block. The window
    slides: each token sees as many tokens back as the one before it did."""
    block = np.arange(n) // window
    return np.tri(n, dtype=bool) & (block[:, None] == block)


@mistake(sliding_window_mask)
def true_hides(n, window):
    """The mask is inverted: `True` marks hidden keys. In this book `True` means
    that a query may attend."""
    distance = np.arange(n)[:, None] - np.arange(n)
    return (distance < 0) | (distance >= window)


@mistake(sliding_window_mask)
def start_counts_from_the_end(n, window):
    """The first rows are empty, or see too little: there, the window would begin before
    the first token, and a negative index counts from the end. Begin at 0 at the
    earliest."""
    mask = np.zeros((n, n), bool)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = True
    return mask


# softmax_with_sink


@mistake(softmax_with_sink)
def sink_ignored(scores, sink):
    """The sink has no effect: rows sum to one. The sink's weight belongs to the sum
    that is divided by, although it is dropped afterwards."""
    return softmax(scores)


@mistake(softmax_with_sink)
def sink_returned(scores, sink):
    """The result has one column too many. The weight of the sink is dropped: no value
    belongs to it."""
    return softmax(_with_column(scores, sink))


@mistake(softmax_with_sink)
def sink_column_mixed_up(scores, sink):
    """The weights are shifted by one key: the sink's weight is returned as that of the
    first key, and the last key's weight was dropped in its place. No shape shows it."""
    weights = softmax(_with_column(scores, sink))
    return np.concatenate([weights[..., -1:], weights[..., :-2]], axis=-1)


@mistake(softmax_with_sink)
def rescaled(scores, sink):
    """Rows sum to one again. Dividing by the sum that is left undoes what the sink
    does: a query with nothing to find should be able to return little."""
    weights = softmax(_with_column(scores, sink))[..., :-1]
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


@mistake(softmax_with_sink)
def rescaled_until_nan(scores, sink):
    """Rows sum to one again, and a row in which all scores are -inf becomes NaN.
    Dividing by the sum that is left undoes what the sink does: a query with nothing to
    find should be able to return little, or nothing at all."""
    weights = right.softmax_with_sink(scores, sink)
    with np.errstate(invalid="ignore"):
        return weights / weights.sum(axis=-1, keepdims=True)


@mistake(softmax_with_sink)
def sink_without_exponential(scores, sink):
    """The sink was added to the sum as it is. It is a score, so its exponential
    belongs there; a negative sink could even make the sum negative."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=0.0))
    lowered = np.exp(-scores.max(axis=-1, keepdims=True, initial=0.0))
    total = shifted.sum(axis=-1, keepdims=True)
    return shifted / (total + sink[:, None, None] * lowered)


@mistake(softmax_with_sink)
def sink_of_zero(scores, sink):
    """Every sink counts as a score of 0, so that 1 is added to the sum. Here each head
    has learned a sink of its own."""
    return softmax(_with_column(scores, np.zeros_like(sink)))[..., :-1]


@mistake(softmax_with_sink)
def sink_added_to_scores(scores, sink):
    """The sink was added to all scores of its head, which no softmax notices. It is a
    score of its own, beside the others."""
    shifted = scores + sink[:, None, None]
    return softmax(_with_column(shifted, np.zeros_like(sink)))[..., :-1]


@mistake(softmax_with_sink)
def sink_shift_forgotten(scores, sink):
    """The largest score was subtracted from the scores and not from the sink. The sink
    then counts for more or less than it should: all scores have to be shifted alike."""
    largest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
    total = exponentials.sum(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        return exponentials / (total + np.exp(sink[:, None, None]))


@mistake(softmax_with_sink)
def largest_of_scores_alone(scores, sink):
    """Rows without any score become NaN, or a large sink overflows. The sink is a score
    too: the number that is subtracted has to be the largest of all of them."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = scores.max(axis=-1, keepdims=True)
        exponentials = np.exp(scores - largest)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / (total + np.exp(sink[:, None, None] - largest))


@mistake(softmax_with_sink)
def sink_counted_twice(scores, sink):
    """The sink is in the sum of the exponentials twice, as when its column is among the
    scores and its exponential is added once more. It is one score beside the others."""
    return right.softmax_with_sink(scores, sink + np.log(2))


@mistake(softmax_with_sink)
def unstable(scores, sink):
    """Scores in the thousands overflow, or vanish all together. Subtract the largest
    score of a row, the sink included, before the exponentials."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        exponentials = np.exp(scores)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / (total + np.exp(sink[:, None, None]))


@mistake(softmax_with_sink)
def sink_for_each_query(scores, sink):
    """All heads use the first head's sink. Each head has its own, along the axis of the
    heads."""
    return softmax(_with_column(scores, np.full_like(sink, sink[0])))[..., :-1]


@mistake(softmax_with_sink)
def first_key_dropped(scores, sink):
    """The result begins with the weight of the second key and ends with that of the
    sink. What is dropped has to be the column where the sink was put."""
    return softmax(_with_column(scores, sink))[..., 1:]


@mistake(softmax_with_sink)
def mean_of_the_sinks(scores, sink):
    """All heads have the mean of the sinks. Each head has learned a sink of its own:
    give it the axes of the scores, as with sink[:, None, None]."""
    mean = np.full_like(sink, sink.mean())
    return softmax(_with_column(scores, mean))[..., :-1]


def _with_column(scores, sink):
    column = np.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


# latent_scores


def keys_of(latent, W_up):
    return latent @ W_up  # (h, T, d)


@mistake(latent_scores)
def makes_all_keys(query, latent, W_up):
    """The scores are right, but the keys of all heads were made on the way. For a long
    text they are the very memory that the latent vectors save: use another order of
    the products."""
    d = query.shape[-1]
    return query @ keys_of(latent, W_up).swapaxes(-1, -2) / np.sqrt(d)


@mistake(latent_scores)
def makes_keys_of_one_head(query, latent, W_up):
    """The scores are right, but keys were made on the way, one head after the other.
    At the peak that is still a key for each token; the latent vectors can be used as
    they are."""
    d = query.shape[-1]
    heads = zip(query, W_up, strict=True)
    return np.stack([q @ (latent @ W).T / np.sqrt(d) for q, W in heads])


@mistake(latent_scores)
def latent_unscaled(query, latent, W_up):
    """The scores are not divided by sqrt(d). Another order of the products changes
    neither the scores nor the spread that the scale is there for."""
    return query @ W_up.swapaxes(-1, -2) @ latent.T


@mistake(latent_scores)
def scaled_by_rank(query, latent, W_up):
    """The scores are divided by the root of the latent width. The dot product that is
    meant has d features, also when r of them are multiplied."""
    return query @ W_up.swapaxes(-1, -2) @ latent.T / np.sqrt(latent.shape[-1])


@mistake(latent_scores)
def first_projection_for_all(query, latent, W_up):
    """All heads use the first head's projection. The latent vector is shared; the keys
    that each head reads from it are not."""
    d = query.shape[-1]
    return query @ W_up[0].T @ latent.T / np.sqrt(d)


@mistake(latent_scores)
def queries_not_absorbed(query, latent, W_up):
    """The result has a row for each token and a column for each query. A row belongs to
    a query, because the softmax that follows runs over the tokens."""
    d = query.shape[-1]
    return latent @ (query @ W_up.swapaxes(-1, -2)).swapaxes(-1, -2) / np.sqrt(d)


@mistake(latent_scores)
def mean_projection(query, latent, W_up):
    """The heads share one projection, the mean of all. Then they can differ in their
    queries only, as in multi-query attention."""
    d = query.shape[-1]
    return query @ W_up.mean(axis=0).T @ latent.T / np.sqrt(d)


# delta_rule_step


@mistake(delta_rule_step)
def value_added(state, key, value, beta):
    """The value is added without subtracting what the key found before. The key then
    finds a sum of the old value and the new one, which is what the rule corrects."""
    return state + beta * np.outer(key, value)


@mistake(delta_rule_step)
def error_added(state, key, value, beta):
    """The error has the wrong sign: old and new value are added, where the old one has
    to go."""
    return state + beta * np.outer(key, value + key @ state)


@mistake(delta_rule_step)
def stepped_away(state, key, value, beta):
    """The step goes away from the value: the sign of the correction is wrong. The key
    should find something closer to the value than before."""
    return state - beta * np.outer(key, value - key @ state)


@mistake(delta_rule_step)
def beta_of_one(state, key, value, beta):
    """`beta` has no effect: the whole error is corrected every time. A smaller step
    keeps a part of what was stored."""
    return state + np.outer(key, value - key @ state)


@mistake(delta_rule_step)
def beta_on_the_value(state, key, value, beta):
    """`beta` multiplies the value and not the whole error. With beta = 0 the old
    value would be erased, where nothing should change."""
    return state + np.outer(key, beta * value - key @ state)


@mistake(delta_rule_step)
def everything_decays(state, key, value, beta):
    """The whole state fades. The rule takes away only what this key finds; keys
    orthogonal to it keep what they have."""
    return (1 - beta) * state + beta * np.outer(key, value)


@mistake(delta_rule_step)
def key_normalised(state, key, value, beta):
    """The key was divided by its norm. The caller decides about that: the key is used
    as it is."""
    key = key / np.linalg.norm(key)
    return state + beta * np.outer(key, value - key @ state)


@mistake(delta_rule_step)
def everything_decays_by_the_norm(state, key, value, beta):
    """The whole state fades, by beta times the squared norm of the key. The product of
    the key with itself is a matrix here, k as a column times k as a row; multiplied
    with the state it takes away only what this key finds."""
    return (1 - beta * (key @ key)) * state + beta * np.outer(key, value)


@mistake(delta_rule_step)
def key_normalised_in_the_update(state, key, value, beta):
    """The key was divided by its norm where the error is written, and not where the
    state is read. The key is used as it is in both places; only then is this a step of
    gradient descent on the error."""
    error = value - key @ state
    return state + beta * np.outer(key / np.linalg.norm(key), error)


@mistake(delta_rule_step)
def key_normalised_in_the_read(state, key, value, beta):
    """The key was divided by its norm where the state is read, and not where the error
    is written. The error is that of the key itself: what it finds, as it is, against
    the value."""
    error = value - key / np.linalg.norm(key) @ state
    return state + beta * np.outer(key, error)


@mistake(delta_rule_step)
def step_divided_by_the_squared_norm(state, key, value, beta):
    """The correction was divided by the squared norm of the key. A step of one would
    then correct the whole error for a key of any norm; here it does so for keys of norm
    one, and the key is used as it is."""
    return state + beta * np.outer(key, value - key @ state) / (key @ key)


@mistake(delta_rule_step)
def correction_only(state, key, value, beta):
    """The old state is missing from the result, which holds the correction alone.
    Everything stored under other keys would be lost."""
    return beta * np.outer(key, value - key @ state)


@mistake(delta_rule_step)
def state_in_place(state, key, value, beta):
    """The state that was passed in was changed in place. Whoever called may still
    compare the old state with the new one, so return a new array."""
    state += beta * np.outer(key, value - key @ state)
    return state


@mistake(delta_rule_step)
def beta_on_the_old_value(state, key, value, beta):
    """`beta` multiplies what is taken away and not what is written. With beta = 0 the
    value would be added in full, where nothing should change: the step has one size
    for the whole error."""
    return state + np.outer(key, value - beta * (key @ state))


@mistake(delta_rule_step)
def correction_reshaped(state, key, value, beta):
    """The correction has its factors exchanged, and was then brought to the shape of
    the state, where its numbers stand in wrong places. Row i belongs to feature i of
    the key: outer(key, error) has that shape by itself."""
    correction = np.outer(value - key @ state, key)
    return state + beta * correction.reshape(state.shape)


# break_grouped_query_attention --------------------------------------------------------

wrong_versions_of_grouped_query_attention = hide(
    break_grouped_query_attention,
    heads_in_turn,
    always_the_first,
    scaled_by_whole_width,
    not_stable,
    shown_by=[
        "take several groups of several heads each, such as h = 4 and g = 2, and let "
        "the keys or the values of the groups differ.",
        "take at least two groups, and let their keys or their values differ.",
        "take two query heads or more, and let a query match the keys differently "
        "well; a wrong scale shows only where scores differ.",
        "make a score so large that its exponential overflows, 1000, say.",
    ],
)


@mistake(break_grouped_query_attention)
def test_with_as_many_heads_of_both_kinds():
    """Where g = h, every query head has keys of its own, and the order in which groups
    are formed makes no difference. There have to be several groups with several heads
    each; and a large score is missing."""
    rng = np.random.default_rng(2)
    sizes = ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 2))
    return tuple(rng.standard_normal(size) for size in sizes)


@mistake(break_grouped_query_attention)
def test_with_one_group():
    """You found only the version whose scale is wrong. With one group, all heads share
    its keys and values, so none of them can be given to the wrong head."""
    rng = np.random.default_rng(2)
    sizes = ((1, 3, 3, 4), (1, 1, 5, 4), (1, 1, 5, 2))
    return tuple(rng.standard_normal(size) for size in sizes)


@mistake(break_grouped_query_attention)
def test_with_groups_and_small_scores():
    """Your groups find every version but one, which is right as long as no exponential
    overflows. Make a query so long that one of its scores is in the hundreds."""
    rng = np.random.default_rng(2)
    sizes = ((1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 2))
    return tuple(rng.standard_normal(size) for size in sizes)
