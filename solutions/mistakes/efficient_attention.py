"""Misconceptions about the cost of attention, and about making it smaller, as code."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.efficient_attention import (
    attention_flops,
    blockwise_attention,
    causal_linear_attention,
    linear_attention,
    online_softmax_sum,
)
from solutions import efficient_attention as right


def phi(x):
    return np.maximum(x, 0) + np.exp(np.minimum(x, 0))


def attend(query, key, value, mask=True):
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    scores = np.where(mask, scores, -np.inf)
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True) @ value


# attention_flops ----------------------------------------------------------------------

BOTH = "scores + outputs"


@edit(attention_flops, BOTH, "scores")
def flops_one_product():
    """Your count is half of the right one. Either one of the two matrix products is
    missing, scores and outputs take one each; or a multiplication and the addition
    after it count as one operation, where they are two."""


@edit(attention_flops, BOTH, "4 * n * d * d")
def flops_exchanged():
    """You exchanged tokens and features: the work grows with the square of the length
    and not of the width. Each of n queries meets each of n keys."""


@edit(attention_flops, BOTH, "4 * n * d")
def flops_one_query():
    """You counted a product of n rows and d columns, without the n keys that each query
    meets. That is the work of one query with all keys."""


@edit(attention_flops, BOTH, "4 * n * n * d + 8 * n * d * d")
def flops_with_projections():
    """You added the four projections of an attention layer. They are worth counting,
    but the task asks only for the two products that involve pairs of tokens."""


@edit(attention_flops, BOTH, "4 * n * n * d + 3 * n * n")
def flops_with_softmax():
    """You added the softmax to the count. It is left out here, because it does not grow
    with the width and because an exponential is not one operation."""


@edit(attention_flops, BOTH, "2 * n * (n + 1) * d")
def flops_causal():
    """You counted only pairs in which the key is not later than the query. The plain
    products compute all pairs, and hide half of them only afterwards."""


# linear_attention ---------------------------------------------------------------------

PHI = "np.maximum(x, 0) + np.exp(np.minimum(x, 0))"
RATIO = "(query @ state) / (query @ total)"


@edit(linear_attention, RATIO, "query @ state")
def linear_without_normaliser():
    """You did not divide by the sum of the weights. Without it the weights of a query
    do not sum to one, and outputs grow with the number of keys."""


@edit(linear_attention, "/ (query @ total)", "/ key.shape[-2]")
def linear_divided_by_count():
    """You divided by the number of keys in place of the sum of the weights. The weights
    of a query then do not sum to one, so the output is no average of the values."""


@edit(linear_attention, PHI, f"{PHI} - 1")
def linear_elu_alone():
    """Your feature map is elu without the 1, which can be negative. Weights must be
    positive, or the sum that you divide by can be zero."""


@edit(linear_attention, PHI, "np.maximum(x, 0)")
def linear_relu():
    """You used relu as the feature map. It is zero for all negative features, so whole
    queries and keys can vanish, and with them the sum that you divide by."""


@edit(linear_attention, PHI, "np.exp(x)")
def linear_exponential():
    """You used the exponential as the feature map. It is positive, but the exercise
    asks for elu + 1, which does not explode for large features."""


@edit(linear_attention, PHI, "x")
def linear_no_features():
    """You left out the feature map. Plain dot products can be negative, so the sum that
    you divide by can be zero and the result is no average."""


@edit(linear_attention, "(query, key))", "(query / len(query.T) ** 0.25, key))")
def linear_scaled():
    """You scaled the queries, as in softmax attention. Here no exponential can
    saturate, and the features are made of the queries as they are given."""


@mistake(linear_attention)
def linear_softmax(query, key, value):
    """This is softmax attention. Its exponential does not split into a factor for the
    query and one for the key, so the order of the products cannot be changed."""
    return attend(query, key, value)


@mistake(linear_attention)
def linear_all_pairs(query, key, value):
    """The numbers are right, but you multiplied queries with keys first, and so made
    the table of all pairs that this attention is meant to avoid. Change the order of
    the products, and the cost no longer grows with the square of the length."""
    weights = phi(query) @ phi(key).swapaxes(-2, -1)
    return weights @ value / weights.sum(axis=-1, keepdims=True)


# causal_linear_attention --------------------------------------------------------------

DIVISOR = " / (q * total).sum(axis=-1, keepdims=True)"


@mistake(causal_linear_attention)
def causal_all(query, key, value):
    """Each token reads all tokens, later ones too. The sums have to grow with the
    position, and be read before the later tokens are added."""
    return right.linear_attention(query, key, value)


@mistake(causal_linear_attention)
def causal_without_itself(query, key, value):
    """You read the sums before adding the token's own key and value. A token may attend
    to itself, and the first one has nothing else."""
    weights = np.tril(phi(query) @ phi(key).swapaxes(-2, -1), -1)
    return weights @ value / weights.sum(axis=-1, keepdims=True)


@edit(causal_linear_attention, DIVISOR, "")
def causal_without_normaliser():
    """You did not divide by the sum of the weights. The outputs grow with the position,
    because later tokens read more values."""


@edit(causal_linear_attention, DIVISOR, " / (i + 1)")
def causal_divided_by_position():
    """You divided by the number of tokens so far in place of the sum of their weights.
    The weights of a query then do not sum to one."""


@mistake(causal_linear_attention)
def causal_divided_by_all(query, key, value):
    """You divided by the sum over all tokens, later ones too. The weights of a token
    that attends to the first few then sum to less than one: the divisor has to grow
    with the position as the state does."""
    weights = phi(query) @ phi(key).swapaxes(-2, -1)
    return np.tril(weights) @ value / weights.sum(axis=-1, keepdims=True)


@edit(causal_linear_attention, "state = state + k", "state = k")
def causal_state_forgotten():
    """The state holds only the current token: you replaced it in place of adding to it.
    Every token adds its product of key and value to the sum so far."""


@edit(causal_linear_attention, "total = total + k", "total = k")
def causal_total_forgotten():
    """The sum in the divisor holds only the current key. It has to grow together with
    the state, or the weights do not sum to one."""


@mistake(causal_linear_attention)
def causal_along_the_second_axis(query, key, value):
    """The running sums run along the second axis. Tokens are there only if there is one
    leading axis: with heads, each head adds to the sums of the heads before it, and
    later tokens add nothing. Count the axis of the tokens from the end."""
    q, k = phi(query), phi(key)
    state = (k[..., :, None] * value[..., None, :]).cumsum(axis=1)
    read = (q[..., None, :] @ state)[..., 0, :]
    return read / (q * k.cumsum(axis=1)).sum(axis=-1, keepdims=True)


@mistake(causal_linear_attention)
def causal_softmax(query, key, value):
    """This is softmax attention with a causal mask. Its exponential does not split into
    a factor for the query and one for the key, so no state of fixed size can carry it
    on."""
    return attend(query, key, value, np.tri(query.shape[-2], dtype=bool))


# online_softmax_sum -------------------------------------------------------------------

CORRECTION = "np.exp(largest - shift)"


@edit(online_softmax_sum, CORRECTION, "1.0")
def online_without_correction():
    """You did not correct the sums when the maximum rose. Terms from earlier blocks
    keep the weight that they had when they were the largest."""


@edit(online_softmax_sum, "total = correction * total", "total = total")
def online_total_not_corrected():
    """You corrected the weighted sum of the values and not the sum of the weights. Both
    were computed with the old maximum, so both are multiplied by the same factor."""


@edit(online_softmax_sum, "output = correction * output", "output = output")
def online_output_not_corrected():
    """You corrected the sum of the weights and not the weighted sum of the values. Both
    were computed with the old maximum, so both are multiplied by the same factor."""


@edit(
    online_softmax_sum,
    "np.where(new_largest == -np.inf, 0.0, new_largest)",
    "new_largest",
)
def online_nan_while_hidden():
    """A query whose keys have all been hidden so far comes out as NaN, because minus
    infinity minus minus infinity is NaN. Subtract 0 while there is no maximum."""


@edit(online_softmax_sum, "np.where(total == 0, 1.0, total)", "total")
def online_nan_if_hidden():
    """A query whose keys are hidden to the end comes out as NaN: 0 divided by 0. Its
    output has to be 0, or one empty sequence spoils every number after it."""


@edit(online_softmax_sum, " / np.where(total == 0, 1.0, total)", "")
def online_without_division():
    """You did not divide by the sum of the weights at the end. Without it the weights
    do not sum to one."""


@edit(online_softmax_sum, "np.maximum(largest, scores.max(axis=-1, keepdims=True))",
      "scores.max(axis=-1, keepdims=True)")  # fmt: skip
def online_maximum_of_the_block():
    """You subtract the maximum of the block even where an earlier block had a larger
    one. The correction then overflows. Keep the largest score of all blocks so far."""


@edit(online_softmax_sum, "scores.max(axis=-1, keepdims=True)", "scores.max()")
def online_one_maximum():
    """You subtract the same maximum from all queries. Where one query has scores far
    above another's, all weights of the other become 0. Each query has its own maximum.
    """


@edit(online_softmax_sum, "weights.sum(axis=-1, keepdims=True)", "weights.shape[-1]")
def online_counted():
    """You divide by the number of keys, corrected as if it were the sum of their
    weights. Add the weights of each block, not its keys."""


@mistake(online_softmax_sum)
def online_without_maximum(score_blocks, value_blocks):
    """You took the exponential of the scores as they are, which overflows, or leaves
    nothing to divide by. Subtract the largest score so far, and correct the sums when
    it rises."""
    total, output = 0.0, 0.0
    for scores, values in zip(score_blocks, value_blocks, strict=True):
        weights = np.exp(scores)
        total = total + weights.sum(axis=-1, keepdims=True)
        output = output + weights @ values
    return output / np.where(total == 0, 1.0, total)


@mistake(online_softmax_sum)
def online_mean_of_blocks(score_blocks, value_blocks):
    """You took the softmax of each block on its own and averaged the results. The
    softmax runs over all keys, and a block with large scores counts more."""
    parts = [
        right.online_softmax_sum([scores], [values])
        for scores, values in zip(score_blocks, value_blocks, strict=True)
    ]
    return np.mean(parts, axis=0)


@mistake(online_softmax_sum)
def online_all_kept(score_blocks, value_blocks):
    """The numbers are right, but you collected all blocks before you began, so the
    memory grows with the number of keys. Keep sums over the keys and let each block go.
    """
    scores = np.concatenate([*score_blocks], axis=-1)
    values = np.concatenate([*value_blocks], axis=-2)
    return right.online_softmax_sum([scores], [values])


# blockwise_attention ------------------------------------------------------------------

SCALE = "query.shape[-1] ** -0.5"
LATER = "(j + column > i + row)"


@edit(blockwise_attention, SCALE, "1.0")
def blockwise_unscaled():
    """You left out the scale. The scores are divided by sqrt(d), block by block or
    before."""


@edit(blockwise_attention, SCALE, "block_size ** -0.5")
def blockwise_scaled_by_block():
    """You divided the scores by the square root of the size of a block. How large a
    score is depends on the number of features that it sums over, so the scale is the
    square root of d, the last axis of the queries."""


@edit(blockwise_attention, f"causal & {LATER}", "False")
def blockwise_diagonal_not_masked():
    """You decided for whole blocks what is visible, so a query sees later keys of its
    own block. On the diagonal the mask has to look at each key."""


@edit(blockwise_attention, LATER, "(column > row)")
def blockwise_positions_in_the_block():
    """You compared positions inside the tile, so keys of earlier blocks are hidden as
    well. Row r of tile (i, j) is query i + r, and column c is key j + c."""


@edit(blockwise_attention, LATER, "(j + column >= i + row)")
def blockwise_without_itself():
    """You hid each token from itself. With causal=True, query i attends to the keys up
    to and including i."""


@edit(blockwise_attention, LATER, "(j + column - T > i + row - N)")
def blockwise_causal_from_the_end():
    """With causal, the last query is lined up with the last key, as if the queries came
    after earlier keys of a cache. Here query i may attend to the keys j <= i, both
    counted from the first one, also where there are more keys than queries."""


@mistake(blockwise_attention)
def blockwise_own_block(query, key, value, block_size, causal=False):
    """Each block of queries attends only to the block of keys at its own place. Blocks
    are a way to compute, and must not change which keys a query sees."""
    row, column = np.arange(query.shape[-2])[:, None], np.arange(key.shape[-2])
    own = row // block_size == column // block_size
    with np.errstate(invalid="ignore"):
        return attend(query, key, value, own & ((column <= row) | (not causal)))


@mistake(blockwise_attention)
def blockwise_last_dropped(query, key, value, block_size, causal=False):
    """You dropped the last block of keys when it is not full. Its keys belong to the
    softmax as much as all others: step through the keys with a range up to T, and let
    the last slice be shorter."""
    full = max(key.shape[-2] // block_size * block_size, 1)
    key, value = key[..., :full, :], value[..., :full, :]
    return right.blockwise_attention(query, key, value, block_size, causal)


@mistake(blockwise_attention)
def blockwise_all_pairs(query, key, value, block_size, causal=False):
    """The numbers are right, but the scores of all pairs were in memory at once. Let
    the online softmax take one tile after the other, and free each of them."""
    mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool) | (not causal)
    return attend(query, key, value, mask)
