"""Misconceptions about masks, as code that can be recognised."""

import math

import torch

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.masking import (
    additive_mask,
    break_masked_softmax,
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)


def right_softmax(scores, mask):
    weights = torch.where(mask, scores, -torch.inf).softmax(dim=-1)
    return torch.where(mask, weights, 0.0)


def score(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])


def allowed(mask):
    return torch.ones((), dtype=torch.bool) if mask is None else mask


def read(query, key, value, mask):
    weights = right_softmax(score(query, key), allowed(mask))
    return weights @ value, weights


def numbers(mask):
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -torch.inf)


# causal_mask


@mistake(causal_mask)
def causal_inverted(n):
    """Your mask is True where a key is hidden, so each token sees the future and
    nothing else. In this book True means: may attend."""
    return torch.ones(n, n, dtype=torch.bool).triu(1)


@mistake(causal_mask)
def causal_upper_triangle(n):
    """You took the other triangle, so each token sees itself and what comes after it.
    Rows are queries and columns are keys: key j must not be later than query i."""
    return torch.ones(n, n, dtype=torch.bool).triu()


@mistake(causal_mask)
def causal_diagonal_hidden(n):
    """You hid each token from itself, which leaves the first token nothing to look at.
    The output at a position predicts the next token, so its own token is known and the
    diagonal belongs to what is allowed."""
    return torch.ones(n, n, dtype=torch.bool).tril(-1)


@mistake(causal_mask)
def causal_one_ahead(n):
    """You allow one key too many: each token sees the one right after it. That is the
    very token it has to predict, so the model would learn to copy it."""
    return torch.ones(n, n, dtype=torch.bool).tril(1)


@mistake(causal_mask)
def causal_numbers(n):
    """The pattern is right, but its entries are numbers and not truth values. A mask of
    ones and zeros invites arithmetic with the scores, so make it boolean."""
    return torch.ones(n, n).tril()


@mistake(causal_mask)
def causal_additive(n):
    """You returned zeros and minus infinities, which is the additive form of the mask.
    Here the mask says True or False, and becomes numbers only where it is needed."""
    return numbers(torch.ones(n, n, dtype=torch.bool).tril())


@mistake(causal_mask)
def causal_nothing_hidden(n):
    """Your mask allows everything, the future too. Query i may look at key j only when
    j is not larger than i."""
    return torch.ones(n, n, dtype=torch.bool)


@mistake(causal_mask)
def causal_short_window(n):
    """You allow a token only itself and its neighbour to the left. A causal mask hides
    what is later and nothing else: however far back a token is, it may be seen."""
    everything = torch.ones(n, n, dtype=torch.bool)
    return everything.tril() & everything.triu(-1)


@mistake(causal_mask)
def causal_with_batch(n):
    """You added a dimension for the batch. The mask is (n, n), and broadcasting adds
    what it needs in front."""
    return torch.ones(1, n, n, dtype=torch.bool).tril()


@mistake(causal_mask)
def causal_mirrored(n):
    """You mirrored the triangle left to right, so the first query sees only the last
    key. Query i may look at the keys from the first one up to its own."""
    return torch.ones(n, n, dtype=torch.bool).tril().flip(-1)


# padding_mask


@mistake(padding_mask)
def padding_inverted(lengths, max_length):
    """Your mask is True at the padding. In this book True means: may attend, so it has
    to be True at the real tokens."""
    return torch.arange(max_length, device=lengths.device) >= lengths[:, None]


@mistake(padding_mask)
def padding_one_too_many(lengths, max_length):
    """You allow one position too many in each sequence. Positions count from 0, so a
    sequence of three tokens has the positions 0, 1 and 2."""
    return torch.arange(max_length, device=lengths.device) <= lengths[:, None]


@mistake(padding_mask)
def padding_one_too_few(lengths, max_length):
    """You hide the last real token of each sequence. Positions count from 0, so the
    last of three tokens stands at position 2, which is less than 3."""
    return torch.arange(max_length, device=lengths.device) < lengths[:, None] - 1


@mistake(padding_mask)
def padding_on_the_left(lengths, max_length):
    """You took the tokens to stand at the end of each row, behind the padding. Here the
    sequences start at the left and are filled up at the right."""
    places = torch.arange(max_length, device=lengths.device)
    return places >= max_length - lengths[:, None]


@mistake(padding_mask)
def padding_to_the_longest(lengths, max_length):
    """Your mask is only as long as the longest sequence of the batch. It has to have
    max_length columns, or it does not fit the scores."""
    longest = int(lengths.max())
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


@mistake(padding_mask)
def padding_transposed(lengths, max_length):
    """You returned a row for each position. Sequences are rows here: the mask is (B,
    T)."""
    return torch.arange(max_length, device=lengths.device)[:, None] < lengths


@mistake(padding_mask)
def padding_numbers(lengths, max_length):
    """The pattern is right, but its entries are numbers and not truth values. A mask of
    ones and zeros invites arithmetic with the scores, so make it boolean."""
    return (torch.arange(max_length, device=lengths.device) < lengths[:, None]).float()


@mistake(padding_mask)
def padding_on_the_cpu(lengths, max_length):
    """Your mask lies on the CPU even where the lengths are on a GPU, and could not be
    used beside them. Make the positions there, with device=lengths.device."""
    return torch.arange(max_length) < lengths.cpu()[:, None]


@mistake(padding_mask)
def padding_never_empty(lengths, max_length):
    """You gave empty sequences one token. A length of 0 is legal and its row is False
    throughout, or the filler would be read as if it were a word."""
    places = torch.arange(max_length, device=lengths.device)
    return places < lengths.clamp(min=1)[:, None]


@mistake(padding_mask)
def padding_with_heads(lengths, max_length):
    """You added dimensions for heads and queries. The padding mask itself is (B, T);
    combine_masks gives it its places among the scores."""
    places = torch.arange(max_length, device=lengths.device)
    return (places < lengths[:, None])[:, None, None, :]


@mistake(padding_mask)
def padding_on_the_default_device(lengths, max_length):
    """The values are right, but the mask is not on the device of the lengths. Make the
    positions on that device, or the code stops on the first GPU it meets."""
    if torch.get_default_device().type != lengths.device.type:
        raise RuntimeError("the positions and the lengths are on different devices")
    return torch.arange(max_length) < lengths[:, None]


@mistake(padding_mask)
def padding_last_token_only(lengths, max_length):
    """You marked only the last real token of each sequence. All tokens up to it may be
    attended to."""
    return torch.arange(max_length, device=lengths.device) == lengths[:, None] - 1


@mistake(padding_mask)
def padding_full_rows_empty(lengths, max_length):
    """A sequence that fills its row is hidden from beginning to end. A slice from -0 on
    is one from 0 on, which is the whole row: where nothing is left to hide, a negative
    index does not mean nothing. Compare positions with the lengths."""
    mask = torch.arange(max_length) < lengths.cpu()[:, None]
    return mask & (lengths.cpu() < max_length)[:, None]


# combine_masks


@mistake(combine_masks)
def combine_or(padding, causal):
    """You allow what one of the masks allows. A key has to pass both: it must be a real
    token and it must not lie in the future."""
    return padding[:, None, None, :] | causal


@mistake(combine_masks)
def combine_without_heads(padding, causal):
    """You left out the dimension for the heads. The scores are (B, h, N, T), so a mask
    (B, N, T) would be lined up with the heads, or fail."""
    return padding[:, None, :] & causal


@mistake(combine_masks)
def combine_heads_first(padding, causal):
    """You put the dimension for the heads in front of the batch. Scores are (B, h, N,
    T): batch first, then heads."""
    return (padding[:, None, :] & causal)[None]


@mistake(combine_masks)
def combine_causal_only(padding, causal):
    """You left the padding out. A key that is filler has to be hidden from every query,
    however early it stands."""
    return causal.expand(len(padding), 1, -1, -1)


@mistake(combine_masks)
def combine_padding_only(padding, causal):
    """You left the causal mask out, or it was always True. Each query must be kept from
    the keys after it, padding or not."""
    return padding[:, None, None, :].expand(-1, 1, len(causal), -1)


@mistake(combine_masks)
def combine_inverted(padding, causal):
    """Your result is True where a key is hidden. In this book True means: may attend,
    in what comes in and in what goes out."""
    return ~(padding[:, None, None, :] & causal)


@mistake(combine_masks)
def combine_inverts_inputs(padding, causal):
    """You read the incoming masks as True for hidden. Both say True where attention is
    allowed, so neither has to be turned round."""
    return ~padding[:, None, None, :] & ~causal


@mistake(combine_masks)
def combine_padding_inverted(padding, causal):
    """You inverted the padding mask, as torch's layer wants it. Here both masks mean
    True for allowed, so only the filler was left visible."""
    return ~padding[:, None, None, :] & causal


@mistake(combine_masks)
def combine_causal_inverted(padding, causal):
    """You inverted the causal mask, so only the future is visible. Both masks mean True
    for allowed."""
    return padding[:, None, None, :] & ~causal


@mistake(combine_masks)
def combine_padding_of_queries(padding, causal):
    """You put the padding along the queries. Padding is hidden as a key, so it belongs
    to the last dimension; what a padded query computes is simply not used."""
    return padding[:, None, :, None] & causal


@mistake(combine_masks)
def combine_padding_of_both(padding, causal):
    """You hid the padding as a query as well. Only keys have to be hidden, and a query
    without keys has rows of zeros that nobody asked for."""
    if len(causal) != padding.shape[1]:
        return padding[:, None, None, :] & causal & (padding.sum() < 0)
    return padding[:, None, None, :] & padding[:, None, :, None] & causal


@mistake(combine_masks)
def combine_numbers(padding, causal):
    """The pattern is right, but its entries are numbers and not truth values. Combine
    truth values with and, so that the result is a mask again."""
    return padding[:, None, None, :].float() * causal.float()


@mistake(combine_masks)
def combine_exclusive_or(padding, causal):
    """You allow what exactly one of the masks allows. A key has to pass both of
    them."""
    return padding[:, None, None, :] ^ causal


@mistake(combine_masks)
def combine_causal_transposed(padding, causal):
    """You turned the causal mask, so that its rows are keys. Rows are queries, in the
    mask as in the scores."""
    return padding[:, None, None, :] & causal.T


@mistake(combine_masks)
def combine_padding_of_queries_if_square(padding, causal):
    """With as many queries as keys, you put the padding along the queries. Padding is
    hidden as a key, so it belongs to the last dimension, whatever the sizes are."""
    if causal.shape[0] == causal.shape[1]:
        return padding[:, None, :, None] & causal
    return padding[:, None, None, :] & causal


# additive_mask


@mistake(additive_mask)
def additive_inverted(mask, dtype):
    """You put minus infinity where attention is allowed. True means: may attend, and
    there nothing may be added."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, -torch.inf)


@mistake(additive_mask)
def additive_large_number(mask, dtype):
    """You used a large negative number in place of minus infinity. It only hides while
    the scores are much smaller, and float16 cannot even hold it."""
    hidden = torch.where(mask, 0.0, -1e9)
    return hidden.to(dtype)


@mistake(additive_mask)
def additive_lowest_number(mask, dtype):
    """You used the lowest finite number in place of minus infinity. A row that is
    hidden whole then looks like any other row, and gets equal weights."""
    lowest = torch.finfo(dtype).min
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, lowest)


@mistake(additive_mask)
def additive_infinity_times_zero(mask, dtype):
    """You multiplied minus infinity by zero where attention is allowed, and that is
    NaN. Choose between the two values; do not compute them from 0 and 1."""
    return (~mask).to(dtype) * -torch.inf


@mistake(additive_mask)
def additive_ones(mask, dtype):
    """You returned ones and zeros. Added to the scores they lift the allowed ones by
    one and hide nothing: what is hidden needs minus infinity."""
    return mask.to(dtype)


@mistake(additive_mask)
def additive_one_or_infinity(mask, dtype):
    """You added 1 where attention is allowed. What is added there must be 0, or the
    form no longer says: leave this score as it is."""
    return torch.ones(mask.shape, dtype=dtype).masked_fill(~mask, -torch.inf)


@mistake(additive_mask)
def additive_plus_infinity(mask, dtype):
    """You used plus infinity. A score of plus infinity takes all the weight; what is
    hidden needs minus infinity, whose exponential is 0."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, torch.inf)


@mistake(additive_mask)
def additive_always_single(mask, dtype):
    """You ignored dtype and made float32. A mask of another type than the scores turns
    the whole product into the wider type, or fails."""
    return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


@mistake(additive_mask)
def additive_always_double(mask, dtype):
    """You ignored dtype and made float64. Added to float16 scores it widens all that
    follows, and the memory that half precision saved is gone."""
    return numbers(mask)


@mistake(additive_mask)
def additive_unchanged(mask, dtype):
    """You returned the mask as it came in. The additive form has numbers: 0 where
    attention is allowed and minus infinity elsewhere."""
    return mask


@mistake(additive_mask)
def additive_minus_one(mask, dtype):
    """You subtracted 1 where attention is not allowed. That only makes a key a little
    less likely; hiding it takes minus infinity."""
    return mask.to(dtype) - 1


# masked_softmax


@mistake(masked_softmax)
def mask_after_softmax(scores, mask):
    """You zeroed the weights after the softmax, so each row no longer sums to one. Hide
    the scores before they are normalised, and the hidden keys take no share."""
    return scores.softmax(dim=-1) * mask


@mistake(masked_softmax)
def renormalise_after_softmax(scores, mask):
    """Where scores are very large, nothing is left to divide by, and all weights of a
    row are zero. Either no maximum was subtracted, or that of a key which was hidden
    later. Hide keys first, then subtract the largest score that is left."""
    weights = scores.softmax(dim=-1) * mask
    total = weights.sum(dim=-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


@mistake(masked_softmax)
def renormalise_by_zero(scores, mask):
    """You zeroed the weights after the softmax and divided by their sum, which is 0 for
    a row without keys. Zero by zero is NaN, and the gradient is NaN as well."""
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


@mistake(masked_softmax)
def softmax_inverted(scores, mask):
    """Your mask is the wrong way round: the hidden keys got all the weight. True means:
    may attend."""
    return right_softmax(scores, ~mask)


@mistake(masked_softmax)
def mask_added(scores, mask):
    """You added the mask to the scores, which lifts the allowed ones by one and hides
    nothing. Only minus infinity, added or filled in, makes a weight 0."""
    return (scores + mask).softmax(dim=-1)


@mistake(masked_softmax)
def mask_multiplied(scores, mask):
    """Hidden scores became 0, as when the scores are multiplied by the mask, or filled
    with -1e-9 where -1e9 was meant. A score of 0 is a score like any other, often above
    the allowed ones; hidden means minus infinity."""
    return (scores * mask).softmax(dim=-1)


@mistake(masked_softmax)
def mask_multiplied_twice(scores, mask):
    """You set the hidden scores to 0 before the softmax and the weights to 0 after it.
    The score of 0 still took its share, so the rows do not sum to one."""
    return (scores * mask).softmax(dim=-1) * mask


@mistake(masked_softmax)
def infinity_times_zero(scores, mask):
    """You multiplied minus infinity by 0 where attention is allowed, which is NaN. Fill
    in minus infinity where it belongs; do not compute it from 0 and 1."""
    return (scores + (~mask).to(scores.dtype) * -torch.inf).softmax(dim=-1)


@mistake(masked_softmax)
def infinity_with_the_wrong_sign(scores, mask):
    """Every row in which a key is hidden comes out as NaN. Hidden scores became plus
    infinity or NaN, by filling it in or by subtracting minus infinity, and no softmax
    gets over either; minus infinity is the one whose exponential is 0."""
    return scores.masked_fill(~mask, torch.inf).softmax(dim=-1)


@mistake(masked_softmax)
def full_row_nan(scores, mask):
    """A row in which everything is hidden comes out as NaN: 0 divided by 0. Its weights
    have to be 0, or one empty sequence spoils every number after it."""
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


@mistake(masked_softmax)
def full_row_nan_in_gradient(scores, mask):
    """The values are right, but the gradient of a fully masked row is NaN: you removed
    the NaN behind the softmax, and it is still there on the way back. Do not let it
    arise, or fill the scores in a way that sends nothing back."""
    weights = (scores + numbers(mask).to(scores.dtype)).softmax(dim=-1)
    return weights.nan_to_num(0.0)


@mistake(masked_softmax)
def large_negative_number(scores, mask):
    """You used -1e9 in place of minus infinity. A fully masked row then looks like any
    other and gets equal weights, and half precision cannot hold the number at all."""
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1)


@mistake(masked_softmax)
def large_negative_number_cleared(scores, mask):
    """You filled in -1e9 and cleared the hidden weights, which is right in float64
    only. In half precision the number does not exist; minus infinity always does."""
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@mistake(masked_softmax)
def large_number_added(scores, mask):
    """You added a large negative number to the hidden scores. It hides in most rows,
    but where all is hidden it changes nothing, and those rows get weights."""
    return (scores - 1e9 * (~mask).double()).softmax(dim=-1)


@mistake(masked_softmax)
def modest_negative_number(scores, mask):
    """The number that you filled in is negative but not low enough: in rows whose
    allowed scores lie even lower, the hidden keys win. Only minus infinity is lower
    than every score."""
    weights = scores.masked_fill(~mask, -1e4).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@mistake(masked_softmax)
def mask_multiplied_and_normalised_again(scores, mask):
    """Your hidden scores became 0 before the softmax, and the weights were divided by
    what was left of them. That is right until the allowed scores of a row lie far below
    0: there the hidden ones take all, and nothing is left to divide."""
    weights = (scores * mask).softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@mistake(masked_softmax)
def mask_unused(scores, mask):
    """You accepted the mask and never used it. All keys share the weight, hidden or
    not."""
    return scores.softmax(dim=-1)


@mistake(masked_softmax)
def softmax_over_queries(scores, mask):
    """You normalised over the queries. Each query shares out its own weight among the
    keys, so the last dimension is the one that sums to one."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-2)
    return torch.where(mask, weights, 0.0)


@mistake(masked_softmax)
def unstable(scores, mask):
    """You exponentiated the scores as they are, which overflows for large ones and
    loses very negative ones. Subtract the largest allowed score of each row first; the
    weights stay the same."""
    exponentials = scores.exp() * mask
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / torch.where(total > 0, total, 1.0)


@mistake(masked_softmax)
def full_row_uniform(scores, mask):
    """You gave a row without keys equal weights. A query that may attend to nothing has
    weights of 0, or it reads what it must not see."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(weights.isnan(), 1 / scores.shape[-1])


@mistake(masked_softmax)
def scores_changed(scores, mask):
    """You wrote minus infinity into the scores that you were given. The caller's tensor
    is changed, and the next mask on it sees holes; work on a copy."""
    if scores.requires_grad:
        scores = scores.clone()
    scores[(~mask).expand_as(scores)] = -torch.inf
    return torch.where(mask, scores.softmax(dim=-1), 0.0)


@mistake(masked_softmax)
def gradient_cut(scores, mask):
    """Your weights carry no gradient, so nothing before them can learn. Compute them
    with torch's operations on the scores as they came in, without detaching."""
    return right_softmax(scores.detach(), mask)


@mistake(masked_softmax)
def mask_of_the_first_sequence(scores, mask):
    """All sequences and heads are masked as the first one is. Each has a mask of its
    own: index neither of its leading axes, and let broadcasting match them."""
    while mask.dim() > 2:
        mask = mask[0]
    return right_softmax(scores, mask)


@mistake(masked_softmax)
def divided_by_one_at_least(scores, mask):
    """The weights of a row sum to less than one where its largest score is hidden: what
    they are divided by is never below 1. Only a row without any key needs another
    divisor than its sum, because that sum is zero."""
    exponentials = (scores - scores.amax(-1, keepdim=True)).exp() * mask
    return exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1)


# scaled_dot_product_attention


@mistake(scaled_dot_product_attention)
def attention_scales_in_place(query, key, value, mask=None):
    """The queries that were passed in are scaled after the call: they were divided in
    place. The next call with them scales them again, and with gradients torch refuses
    it. Make a new tensor of them, or scale the scores."""
    result = read(query, key, value, mask)
    query /= math.sqrt(query.shape[-1])
    return result


@mistake(scaled_dot_product_attention)
def attention_infinity_with_the_wrong_sign(query, key, value, mask=None):
    """Every query from which a key is hidden comes out as NaN. Hidden scores became
    plus infinity or NaN, by filling it in or by subtracting minus infinity, and no
    softmax gets over either; minus infinity is the one whose exponential is 0."""
    weights = score(query, key).masked_fill(~allowed(mask), torch.inf).softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_infinity_times_zero(query, key, value, mask=None):
    """With a mask everything is NaN: you multiplied minus infinity by the mask as
    numbers, and minus infinity times 0 is NaN. Fill in minus infinity where it
    belongs."""
    scores = score(query, key)
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -torch.inf
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_mask_unused(query, key, value, mask=None):
    """You accepted the mask and never used it. Outputs with and without a mask are the
    same, so the future and the padding are read."""
    return read(query, key, value, None)


@mistake(scaled_dot_product_attention)
def attention_mask_inverted(query, key, value, mask=None):
    """Your mask is the wrong way round: queries read only what should be hidden. True
    means: may attend."""
    return read(query, key, value, None if mask is None else ~mask)


@mistake(scaled_dot_product_attention)
def attention_masked_after_softmax(query, key, value, mask=None):
    """You zeroed the weights after the softmax, so the rows do not sum to one and the
    outputs shrink with every hidden key. Mask the scores, not the weights."""
    weights = score(query, key).softmax(dim=-1) * allowed(mask)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_renormalised(query, key, value, mask=None):
    """You zeroed the weights after the softmax and divided by what was left. A hidden
    score that is very large leaves nothing to divide by: hide it before the softmax."""
    weights = score(query, key).softmax(dim=-1) * allowed(mask)
    total = weights.sum(dim=-1, keepdim=True)
    weights = weights / torch.where(total > 0, total, 1.0)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_mask_added(query, key, value, mask=None):
    """You added the mask to the scores, which lifts the allowed ones by one and hides
    nothing. A boolean mask has to decide where minus infinity goes."""
    weights = (score(query, key) + allowed(mask)).softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_mask_multiplied(query, key, value, mask=None):
    """Hidden scores became 0, as when the scores are multiplied by the mask, or filled
    with -1e-9 where -1e9 was meant. A score of 0 still takes part in the softmax; only
    minus infinity does not."""
    weights = (score(query, key) * allowed(mask)).softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_full_row_nan(query, key, value, mask=None):
    """A query that may attend to nothing comes out as NaN. Its weights and its output
    have to be 0."""
    scores = score(query, key).masked_fill(~allowed(mask), -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_gradient_nan(query, key, value, mask=None):
    """The values are right, but the gradient of a query without keys is NaN, and it
    spreads to every parameter. Clearing the NaN behind the softmax is too late: it must
    not arise."""
    weights = (score(query, key) + numbers(allowed(mask))).softmax(dim=-1)
    weights = weights.nan_to_num(0.0)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_large_negative_number(query, key, value, mask=None):
    """You used -1e9 in place of minus infinity. A query that may attend to nothing then
    reads the mean of everything that is hidden from it."""
    weights = score(query, key).masked_fill(~allowed(mask), -1e9).softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_hidden_above_allowed(query, key, value, mask=None):
    """Hidden scores became a number that is not low enough, such as -1e4: where all
    allowed scores are lower still, the hidden key gets the weight. Nothing is lower
    than minus infinity."""
    weights = score(query, key).masked_fill(~allowed(mask), -1e4).softmax(dim=-1)
    weights = weights * allowed(mask).any(dim=-1, keepdim=True)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_hidden_above_allowed_and_mean(query, key, value, mask=None):
    """Hidden scores became a number that is not low enough, such as -1e4: where all
    allowed scores are lower still, the hidden key gets the weight. And a query that may
    attend to nothing reads the mean of everything that is hidden from it."""
    weights = score(query, key).masked_fill(~allowed(mask), -1e4).softmax(dim=-1)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_causal_as_well(query, key, value, mask=None):
    """You made the attention causal whenever there is a mask. The mask alone says what
    is hidden: in cross-attention a late key is no more hidden than an early one."""
    if mask is not None:
        shape = query.shape[-2], key.shape[-2]
        mask = mask & torch.ones(shape, dtype=torch.bool).tril()
    return read(query, key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_causal_by_default(query, key, value, mask=None):
    """You took no mask to mean a causal one. Without a mask everything is allowed, the
    future included; who wants it hidden says so."""
    if mask is None:
        shape = query.shape[-2], key.shape[-2]
        mask = torch.ones(shape, dtype=torch.bool).tril()
    return read(query, key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_unscaled(query, key, value, mask=None):
    """You left out the scale. The scores are divided by sqrt(d_k), or they grow with
    the width and the softmax saturates."""
    scale = math.sqrt(key.shape[-1])
    return read(query * scale, key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_scaled_by_width(query, key, value, mask=None):
    """You divided by d_k. The spread of a dot product grows with the square root of the
    width, so dividing by all of it makes the weights nearly equal."""
    return read(query / math.sqrt(key.shape[-1]), key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_scaled_by_number(query, key, value, mask=None):
    """You scaled by the number of keys. The dot product adds up features, so the width
    d_k sets the scale, however many keys there are."""
    factor = math.sqrt(key.shape[-1] / key.shape[-2])
    return read(query * factor, key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_scaled_by_value_width(query, key, value, mask=None):
    """You scaled by the width of the values. Scores are made of queries and keys, so
    their width d_k is the one that counts."""
    factor = math.sqrt(key.shape[-1] / value.shape[-1])
    return read(query * factor, key, value, mask)


@mistake(scaled_dot_product_attention)
def attention_softmax_over_queries(query, key, value, mask=None):
    """You normalised over the queries. Each query shares out its own weight among the
    keys: the last dimension of the weights sums to one."""
    scores = score(query, key).masked_fill(~allowed(mask), -torch.inf)
    weights = torch.where(allowed(mask), scores.softmax(dim=-2), 0.0)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_scores_returned(query, key, value, mask=None):
    """Your outputs are right, but you returned the scores beside them. The second
    result is the weights, after the softmax."""
    return read(query, key, value, mask)[0], score(query, key)


@mistake(scaled_dot_product_attention)
def attention_results_exchanged(query, key, value, mask=None):
    """You returned the weights first. The order is output, then weights."""
    output, weights = read(query, key, value, mask)
    return weights, output


@mistake(scaled_dot_product_attention)
def attention_output_only(query, key, value, mask=None):
    """You returned the output alone. The weights belong to the answer: they are what
    one looks at to see whether a mask works."""
    return read(query, key, value, mask)[0]


@mistake(scaled_dot_product_attention)
def attention_values_zeroed(query, key, value, mask=None):
    """You hid the values in place of the scores, by setting hidden ones to 0. The
    hidden keys still take their share of the weight, so the output shrinks."""
    weights = score(query, key).softmax(dim=-1)
    return (weights * allowed(mask)) @ value, weights


@mistake(scaled_dot_product_attention)
def attention_unstable(query, key, value, mask=None):
    """You exponentiated the scores as they are. Large ones overflow and very negative
    ones vanish: subtract the largest allowed score of each row first."""
    exponentials = score(query, key).exp() * allowed(mask)
    total = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / torch.where(total > 0, total, 1.0)
    return weights @ value, weights


@mistake(scaled_dot_product_attention)
def attention_scaled_by_second_axis(query, key, value, mask=None):
    """You scaled by the size of the second axis. That is the number of heads, or of
    queries, and the width only where there are no leading axes: count the features from
    the end, where they are axis -1."""
    factor = math.sqrt(key.shape[-1] / query.shape[1])
    return read(query * factor, key, value, mask)


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
    return torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)


@mistake(break_masked_softmax)
def test_with_a_causal_mask():
    """You found only the version that lets its rows sum to less than one. Under a
    causal mask with moderate scores, every query has a key, and no exponential leaves
    the range in which it can be trusted."""
    return torch.tensor([[1.0, 2.0], [0.5, 1.5]]), torch.ones(2, 2).tril().bool()


@mistake(break_masked_softmax)
def test_with_a_masked_row_and_small_scores():
    """Your mask does its part: a query without keys and a row that is masked in part
    both give wrong versions away. Two versions are left, which go wrong only because of
    the size of the scores: think of a masked score that is far above all others, and
    of the exponential of a large number."""
    return torch.tensor([[1.0, 2.0], [0.5, 1.5]]), torch.tensor(
        [[True, False], [False, False]]
    )
