"""Misconceptions about attention with one query."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.simplified_attention import (
    alignment_scores,
    attend,
    break_softmax,
    soft_lookup,
    softmax,
)
from solutions import simplified_attention as right

# softmax ------------------------------------------------------------------------------


@edit(softmax, " - scores.max(axis=-1, keepdims=True)", "")
def exponential_overflows():
    """You took the exponential of the scores as they are, and exp(1000) is infinite, so
    large scores end as NaN. Weights depend only on differences between scores: subtract
    one number from all scores of a row first, so that no exponent is large."""


@mistake(softmax)
def over_the_first_axis(scores):
    """You normalised over the first axis, so the columns sum to one. The last axis
    holds the inputs that compete for one query, so it is the rows that must sum to
    one."""
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


@edit(softmax, ".sum(axis=-1, keepdims=True)", ".sum()")
def divided_by_the_sum_of_all_rows():
    """You divided by the sum of all exponentials of the array, so all rows together sum
    to one. Each row needs a sum of its own: sum over the last axis only, and keep that
    axis, so that the division fits."""


@edit(softmax, ".max(axis=-1, keepdims=True)", ".max()")
def one_maximum_for_all_rows():
    """You subtracted the largest score of the whole array, so a row that lies far below
    it becomes 0/0. Subtract the largest score of each row: then every row has one
    exponential that equals 1."""


@edit(softmax, "scores - scores.max", "scores / scores.max")
def divided_by_the_largest():
    """You divided the scores of a row by the largest of them. That keeps exponents
    small, but it changes the weights, and reverses their order where the largest score
    is negative. Weights depend on differences, and only subtracting preserves those."""


@edit(softmax, "exponentials.sum", "np.exp(scores).sum")
def shifted_in_the_numerator_alone():
    """You subtracted the largest score in the numerator but not in the denominator. The
    factor cancels only if it is in both, so your weights do not sum to one, and the
    denominator may still overflow."""


@edit(softmax, "scores.max", "scores.mean")
def mean_subtracted():
    """You subtracted the mean, so a score far above the mean still overflows. Subtract
    the largest score of the row: then no exponent is positive."""


@edit(
    softmax, "scores - scores.max(axis=-1, keepdims=True)", "np.clip(scores, -30, 30)"
)
def scores_clipped():
    """You clipped the scores at a limit, so all scores beyond it get equal weights. The
    exponential need not overflow: weights depend on differences, so subtract the
    largest score of a row from all of its scores."""


@edit(
    softmax,
    "shifted = scores - scores.max(axis=-1, keepdims=True)",
    "shifted = scores\n    shifted -= scores.max(axis=-1, keepdims=True)",
)
def scores_changed_in_place():
    """You subtracted the largest score in place, so the caller's scores have changed.
    Compute the difference in a new array: the calling code may still need the
    scores."""


@edit(
    softmax, "exponentials / exponentials.sum(axis=-1, keepdims=True)", "exponentials"
)
def never_normalised():
    """You returned the exponentials without dividing by their sum, so the weights do
    not sum to one. Divide each row by its sum: an average needs weights that sum to
    one."""


@edit(softmax, "np.exp(shifted)", "scores")
def exponential_forgotten():
    """You divided the scores themselves by their sum, so negative scores give negative
    weights and a sum near zero explodes. Take the exponential first: it is positive for
    every score."""


# alignment_scores ---------------------------------------------------------------------


@edit(alignment_scores, " / np.sqrt(q.shape[-1])", "")
def scale_missing():
    """You returned the plain dot products. Divide by the square root of the number of
    features: without it the scores grow with D, until one input gets nearly all the
    weight."""


@edit(alignment_scores, "np.sqrt(q.shape[-1])", "q.shape[-1]")
def scaled_by_features():
    """You divided by D where its square root belongs, so scores of long vectors are
    nearly all zero. A dot product of D independent terms spreads like the square root
    of D, and that is what the scale has to undo."""


@edit(alignment_scores, "q.shape[-1]", "len(X)")
def scaled_by_inputs():
    """You scaled by the number of inputs N, but a score compares the query with one
    input only. Its size depends on how many features are summed, so D belongs under the
    square root."""


@edit(
    alignment_scores,
    "np.sqrt(q.shape[-1])",
    "(np.linalg.norm(q) * np.linalg.norm(X, axis=1))",
)
def cosine_in_place_of_dot():
    """You divided by the norms of the vectors, which makes the score a cosine. The
    scaled dot product keeps the norms: a longer query asks more firmly."""


@edit(alignment_scores, "X @ q", "X * q")
def products_not_summed():
    """You multiplied query and inputs without summing over the features, so there is
    one number per feature. A score is the sum of these products: one number per
    input."""


@mistake(alignment_scores)
def summed_over_inputs(q, X):
    """You summed over the inputs instead of the features, so there is one number per
    feature. Each input gets one score."""
    right.alignment_scores(q, X)
    return (X * q).sum(axis=0) / np.sqrt(X.shape[1])


@edit(
    alignment_scores,
    "X @ q / np.sqrt(q.shape[-1])",
    "softmax(X @ q / np.sqrt(q.shape[-1]))",
)
def weights_in_place_of_scores():
    """You returned weights: the softmax is taken one step later. Scores may be negative
    and need not sum to one."""


@edit(alignment_scores, "X @ q", "X[:, 1:] @ q[1:]")
def first_feature_left_out():
    """The first feature of query and inputs takes no part in the scores. A dot product
    sums over all features, from index 0 on."""


# attend -------------------------------------------------------------------------------


@edit(attend, "return y, a", "return a, y")
def weights_first():
    """You returned the weights first and the output second. The output comes first,
    because it is the input of the next layer; the weights are there for inspection."""


@edit(attend, "return y, a", "return y")
def weights_not_returned():
    """You returned the output alone. Return the weights as well: they show where the
    query attended."""


@edit(attend, "a @ X", "alignment_scores(q, X) @ X")
def inputs_weighted_with_scores():
    """Your weights are right, but the output is a sum weighted with the scores, which
    can be negative and do not sum to one. Average the inputs with the weights that you
    return."""


@edit(attend, "alignment_scores(q, X)", "X @ q")
def attends_without_scale():
    """You left out the square root of D when you computed the scores. The wider the
    vectors, the closer your weights come to picking a single input."""


@mistake(attend)
def scaled_after_softmax(q, X):
    """You scaled the weights after the softmax, so they no longer sum to one and the
    output shrinks. The scale belongs to the scores, before the softmax."""
    y, a = right.attend(q * np.sqrt(len(q)), X)
    return y / np.sqrt(len(q)), a / np.sqrt(len(q))


@edit(attend, "softmax(alignment_scores(q, X))", "alignment_scores(q, X)")
def softmax_forgotten():
    """You summed the inputs with the scores, without the softmax. Scores can be
    negative and do not sum to one, so your output is not an average of the inputs."""


@edit(attend, "return y, a", "return y, alignment_scores(q, X)")
def scores_returned_as_weights():
    """Your output is right, but you returned the scores with it. The second result is
    the weights, after the softmax: they sum to one, and show what was read."""


@edit(attend, "return y, a", "k = a.argmax(); return X[k], np.eye(len(X))[k]")
def best_input_only_with_its_weight():
    """All the weight went to the input with the largest score. A softmax gives every
    input a part of it: with one winner a small change of the query either does nothing
    or changes everything."""


@edit(attend, "a @ X", "X[a.argmax()]")
def best_input_only():
    """You picked the input with the largest score. Attention mixes all inputs by their
    weights: with one winner a small change of the query either does nothing or changes
    everything."""


@edit(attend, "alignment_scores(q, X)", "X @ q / np.sqrt(len(X))")
def attends_with_scale_by_inputs():
    """You scaled the scores by the number of inputs. A score compares the query with
    one input, and its size depends on how many features are summed: D belongs under the
    square root."""


@mistake(attend)
def overflows_for_long_queries(q, X):
    """You took the exponential of the scores as they are, and a long query makes it
    overflow. Use a softmax that is safe for large scores."""
    exponentials = np.exp(right.alignment_scores(q, X))
    a = exponentials / exponentials.sum()
    return a @ X, a


# soft_lookup --------------------------------------------------------------------------


@edit(soft_lookup, "/ temperature", "* temperature")
def temperature_upside_down():
    """You multiplied by the temperature where you should divide, so heat sharpens and
    cold blurs. A low temperature must make differences between scores larger."""


@edit(soft_lookup, " / temperature", "")
def temperature_ignored():
    """The temperature has no effect on your answer. Divide the scores by it, before the
    softmax, so that it decides between looking up and averaging."""


@edit(
    soft_lookup,
    "alignment_scores(query, keys) / temperature)",
    "alignment_scores(query, keys)) / temperature",
)
def temperature_after_softmax():
    """You divided by the temperature after the softmax, which only makes the result
    larger or smaller. Divide the scores: the weights then become more or less equal and
    still sum to one."""


@edit(soft_lookup, "alignment_scores(query, keys)", "keys @ query / np.sqrt(len(keys))")
def scaled_by_the_entries():
    """You scaled the scores by the square root of the number of entries. Dot products
    grow with the number of features, so the scale depends on D."""


@edit(soft_lookup, "weights @ values", "weights @ keys")
def keys_returned():
    """You averaged the keys. Keys are only compared with the query; the result is an
    average of the values."""


@edit(soft_lookup, "weights @ values", "weights")
def weights_returned():
    """You returned the weights. They say how much each value counts: multiply them with
    the values and sum."""


@edit(soft_lookup, "weights @ values", "values[weights.argmax()]")
def exact_lookup():
    """You returned the value of the best key at every temperature. That is only the
    limit of a low temperature; above it the other values count as well."""


@edit(soft_lookup, "alignment_scores(query, keys)", "keys @ query")
def lookup_without_scale():
    """You compared without the factor 1/sqrt(D). Divide the scaled alignment scores by
    the temperature: otherwise a temperature means something different for each number
    of features."""


@mistake(soft_lookup)
def overflows_when_cold(query, keys, values, temperature=1.0):
    """You took the exponential of the scores as they are, and a low temperature makes
    them huge. Use a softmax that is safe for large scores."""
    scores = right.alignment_scores(query, keys) / temperature
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ values


# break_softmax ------------------------------------------------------------------------

wrong_versions_of_softmax = hide(
    break_softmax,
    over_the_first_axis,
    one_maximum_for_all_rows,
    mean_subtracted,
    never_normalised,
)


@mistake(break_softmax)
def one_row_of_everyday_scores():
    """Your scores find only the version that is right where one score is far above the
    others. A vector cannot show which axis is normalised, and neither can a square
    table of equal scores; and no exponential overflows while scores are small."""
    return (np.array([1.0, 2.0, 3.0]),)


@mistake(break_softmax)
def table_of_everyday_scores():
    """Your scores show which axis is normalised and that weights sum to one. The
    remaining versions go wrong at extreme scores only: let the scores of one row be far
    apart, and the rows far from each other."""
    return (np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]),)


@mistake(break_softmax)
def one_row_far_apart():
    """Your scores make an exponential overflow, and nothing else happens. Where one
    score is far above all others, its weight is 1 in any case: add a second row with
    equal scores, far away from the first."""
    return (np.array([1000.0, -1000.0]),)


@mistake(break_softmax)
def rows_far_apart():
    """Your rows are far from each other, but within each row the scores stay close to
    their mean. A version that subtracts something other than the largest score of the
    row still survives: spread the scores of one row."""
    return (np.array([[1000.0, 999.0], [-1000.0, -998.0]]),)
