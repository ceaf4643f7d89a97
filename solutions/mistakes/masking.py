"""Misconceptions about masks, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.masking import (
    break_masked_softmax,
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)


def softmax(scores, axis=-1):
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


# causal_mask --------------------------------------------------------------------------

TRIANGLE = "np.tri(n, dtype=bool)"


@edit(causal_mask, TRIANGLE, f"~{TRIANGLE}")
def causal_inverted():
    """Your mask is True where a key is hidden, so each token sees the future and
    nothing else. In this book True means: may attend."""


@edit(causal_mask, TRIANGLE, f"{TRIANGLE}.T")
def causal_upper_triangle():
    """You took the other triangle, so each token sees itself and what comes after it.
    Rows are queries and columns are keys: key j must not be later than query i."""


@edit(causal_mask, "np.tri(n,", "np.tri(n, k=-1,")
def causal_diagonal_hidden():
    """You hid each token from itself, which leaves the first token nothing to attend
    to. The output at a position predicts the next token, so its own token is known and
    the diagonal belongs to what is allowed."""


@edit(causal_mask, "np.tri(n,", "np.tri(n, k=1,")
def causal_one_ahead():
    """You allow one key too many: each token sees the one right after it. That is the
    very token it has to predict, so the model would learn to copy it."""


@edit(causal_mask, TRIANGLE, f"np.where({TRIANGLE}, 0.0, -np.inf)")
def causal_additive():
    """You returned zeros and minus infinities, which is the additive form of the mask.
    Here the mask says True or False, and becomes numbers only where it is needed."""


@edit(causal_mask, TRIANGLE, "np.ones((n, n), dtype=bool)")
def causal_nothing_hidden():
    """Your mask allows everything, the future too. Query i may attend to key j only if
    j is not larger than i."""


# padding_mask -------------------------------------------------------------------------


@edit(padding_mask, "<", ">=")
def padding_inverted():
    """Your mask is True at the padding. In this book True means: may attend, so it has
    to be True at the real tokens."""


@edit(padding_mask, "<", "<=")
def padding_one_too_many():
    """You allow one position too many in each sequence. Positions count from 0, so a
    sequence of three tokens has the positions 0, 1 and 2."""


@edit(padding_mask, "lengths[:, None]", "lengths[:, None] - 1")
def padding_one_too_few():
    """You hide the last real token of each sequence. Positions count from 0, so the
    last of three tokens is at position 2, which is less than 3."""


@edit(padding_mask, "< lengths[:, None]", ">= max_length - lengths[:, None]")
def padding_on_the_left():
    """You put the tokens at the end of each row, after the padding. Here the sequences
    begin at the left and are padded on the right."""


@edit(padding_mask, "np.arange(max_length)", "np.arange(lengths.max())")
def padding_to_the_longest():
    """Your mask is only as long as the longest sequence of the batch. It has to have
    max_length columns, or it does not fit the scores."""


@edit(padding_mask, "lengths[:, None]", "np.maximum(lengths, 1)[:, None]")
def padding_never_empty():
    """You gave empty sequences one token. A length of 0 is legal and its row is False
    throughout, or the padding would be read as if it were a word."""


@edit(padding_mask, "< lengths[:, None]", "== lengths[:, None] - 1")
def padding_last_token_only():
    """You marked only the last real token of each sequence. All tokens up to it are
    words, so all of them may be attended to."""


@mistake(padding_mask)
def padding_full_rows_empty(lengths, max_length):
    """A sequence that fills its row is hidden from beginning to end. A slice from -0 on
    is one from 0 on, the whole row, so hiding the last 0 positions hides all of them.
    Compare positions with the lengths."""
    mask = np.arange(max_length) < lengths[:, None]
    return mask & (lengths < max_length)[:, None]


# combine_masks ------------------------------------------------------------------------


@edit(combine_masks, "&", "|")
def combine_or():
    """You allow what one of the masks allows. A key has to pass both: it must be a real
    token and it must not lie in the future."""


@mistake(combine_masks)
def combine_heads_first(padding, causal):
    """You put the dimension for the heads in front of the batch. Scores are (B, h, N,
    T), batch first, then heads: the masks would go to the wrong sentences, or fail."""
    return (padding[:, None, :] & causal)[None]


@edit(combine_masks, "padding[:, None, None, :] & ", "~padding[:, None, None, :] & ~")
def combine_inverts_inputs():
    """You read the incoming masks as True for hidden. Both say True where attention is
    allowed, so neither has to be inverted."""


@edit(combine_masks, "[:, None, None, :]", "[:, None, :, None]")
def combine_padding_of_queries():
    """You put the padding along the queries. Padding is hidden as a key, so it belongs
    to the last dimension; the output of a padded query is simply not used."""


# masked_softmax -----------------------------------------------------------------------

HIDDEN = "np.where(mask, scores, -np.inf)"


@mistake(masked_softmax)
def mask_after_softmax(scores, mask):
    """You zeroed the weights after the softmax, so each row no longer sums to one. Hide
    the scores before they are normalised, and the hidden keys take no part of the
    weight."""
    return softmax(scores) * mask


@edit(masked_softmax, "hidden.max(", "scores.max(")
def renormalise_after_softmax():
    """Where scores are very large, nothing is left to divide by, and all weights of a
    row are zero. Either no maximum was subtracted, or that of a key which was hidden
    later. Hide keys first, then subtract the largest score that is left."""


@edit(masked_softmax, HIDDEN, "np.where(mask, -np.inf, scores)")
def softmax_inverted():
    """Your mask is the wrong way round: the hidden keys got all the weight. True means:
    may attend."""


@edit(masked_softmax, HIDDEN, "scores + mask")
def mask_added():
    """You added the mask to the scores, which raises the allowed ones by one and hides
    nothing. Only minus infinity, added or filled in, makes a weight 0."""


@edit(masked_softmax, HIDDEN, "scores * mask")
def mask_multiplied():
    """Hidden scores became 0, as when the scores are multiplied by the mask, or filled
    with -1e-9 where -1e9 was meant. A score of 0 is a score like any other, often above
    the allowed ones; hidden means minus infinity."""


@edit(masked_softmax, HIDDEN, "scores + ~mask * -np.inf")
def infinity_times_zero():
    """You multiplied minus infinity by 0 where attention is allowed, which is NaN. Fill
    in minus infinity where it belongs; do not compute it from 0 and 1."""


@edit(masked_softmax, "np.where(total > 0, total, 1.0)", "total")
def full_row_nan():
    """A row in which everything is hidden comes out as NaN: 0 divided by 0. Its weights
    have to be 0, or one empty sequence spoils every number after it."""


@edit(masked_softmax, HIDDEN, "np.where(mask, scores, -1e9)")
def large_negative_number():
    """You filled in a number such as -1e9 where minus infinity belongs. A fully masked
    row then looks like any other and gets equal weights."""


@edit(masked_softmax, HIDDEN, "scores")
def mask_unused():
    """You accepted the mask and never used it. All keys share the weight, hidden or
    not, so a token reads padding and its own future."""


@edit(masked_softmax, "raised.sum(axis=-1", "raised.sum(axis=-2")
def softmax_over_queries():
    """You normalised over the queries. Each query divides its own weight among the
    keys, so the last dimension is the one that sums to one."""


@mistake(masked_softmax)
def unstable(scores, mask):
    """You exponentiated the scores as they are, which overflows for large ones and
    loses very negative ones. Subtract the largest allowed score of each row first; the
    weights stay the same."""
    raised = np.exp(scores) * mask
    total = raised.sum(axis=-1, keepdims=True)
    return raised / np.where(total > 0, total, 1.0)


@edit(masked_softmax, "hidden = np", "hidden = scores[...] = np")
def scores_changed():
    """You wrote minus infinity into the scores that you were given. The caller's array
    is changed, and the next mask on it sees holes; work on a copy."""


# scaled_dot_product_attention ---------------------------------------------------------

WEIGHTS = "masked_softmax(scores, np.True_ if mask is None else mask)"


@edit(scaled_dot_product_attention, "np.True_ if mask is None else mask", "np.True_")
def attention_mask_unused():
    """You accepted the mask and never used it. Outputs with and without a mask are the
    same, so the future and the padding are read."""


@edit(scaled_dot_product_attention, "else mask", "else ~mask")
def attention_mask_inverted():
    """Your mask is the wrong way round: queries read only what should be hidden. True
    means: may attend."""


@edit(
    scaled_dot_product_attention,
    WEIGHTS,
    "masked_softmax(scores, np.True_) * (True if mask is None else mask)",
)
def attention_masked_after_softmax():
    """You zeroed the weights after the softmax, so the rows do not sum to one and the
    outputs shrink with every hidden key. Mask the scores, not the weights."""


@mistake(scaled_dot_product_attention)
def attention_full_row_nan(query, key, value, mask=None):
    """A query that may attend to nothing comes out as NaN. Its weights and its output
    have to be 0, or the NaN spreads to every token in the next layer."""
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    weights = softmax(np.where(True if mask is None else mask, scores, -np.inf))
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_large_negative_number(query, key, value, mask=None):
    """You filled in a number such as -1e9 where minus infinity belongs. A query that
    may attend to nothing then reads the mean of everything that is hidden from it."""
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    weights = softmax(np.where(True if mask is None else mask, scores, -1e9))
    return weights @ value, weights


@edit(scaled_dot_product_attention, "np.True_ if", "np.tri(*scores.shape[-2:]) > 0 if")
def attention_causal_by_default():
    """You took no mask to mean a causal one. Without a mask everything is allowed, the
    future included; the caller passes a mask to hide it."""


@edit(scaled_dot_product_attention, " / np.sqrt(query.shape[-1])", "")
def attention_unscaled():
    """You left out the scale. The scores are divided by sqrt(d_k), or they grow with
    the width and the softmax saturates."""


@edit(scaled_dot_product_attention, "np.sqrt(query.shape[-1])", "query.shape[-1]")
def attention_scaled_by_width():
    """You divided by d_k. The spread of a dot product grows with the square root of the
    width, so dividing by all of it makes the weights nearly equal."""


@edit(scaled_dot_product_attention, "query.shape[-1]", "value.shape[-1]")
def attention_scaled_by_value_width():
    """You scaled by the width of the values. Scores are made of queries and keys, so
    their width d_k is the one that counts."""


@edit(scaled_dot_product_attention, "query.shape[-1]", "query.shape[1]")
def attention_scaled_by_second_axis():
    """You scaled by the size of the second axis. That is the number of heads, or of
    queries, and the width only where there are no leading axes: count the features from
    the end, where they are axis -1."""


@mistake(scaled_dot_product_attention)
def attention_softmax_over_queries(query, key, value, mask=None):
    """You normalised over the queries. Each query divides its own weight among the
    keys: the last dimension of the weights sums to one."""
    mask = True if mask is None else mask
    scores = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
    weights = np.where(mask, softmax(np.where(mask, scores, -np.inf), axis=-2), 0.0)
    return weights @ value, weights


# break_masked_softmax -----------------------------------------------------------------

wrong_versions_of_masked_softmax = hide(
    break_masked_softmax,
    full_row_nan,
    mask_after_softmax,
    renormalise_after_softmax,
    unstable,
)


@mistake(break_masked_softmax)
def test_without_a_mask():
    """None of the wrong versions was found. As long as nothing is masked, there is
    little that can go wrong with a mask: hide some keys, hide all keys of one query,
    and try scores at which an exponential overflows or vanishes."""
    return np.zeros((2, 3)), np.ones((2, 3), dtype=bool)


@mistake(break_masked_softmax)
def test_with_a_causal_mask():
    """You found only the version that lets its rows sum to less than one. Under a
    causal mask with moderate scores, every query has a key, and no exponential leaves
    the range in which it can be trusted."""
    return np.array([[1.0, 2.0], [0.5, 1.5]]), np.tri(2, dtype=bool)


@mistake(break_masked_softmax)
def test_with_a_masked_row_and_small_scores():
    """Your mask does its part: a query without keys and a row that is masked in part
    both give wrong versions away. Two versions are left, which go wrong only because of
    the size of the scores: think of a masked score that is far above all others, and
    of the exponential of a large number."""
    return np.array([[1.0, 2.0], [0.5, 1.5]]), np.array([[True, False], [False, False]])
