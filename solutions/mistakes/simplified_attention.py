"""Misconceptions about attention with one query."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.simplified_attention import (
    alignment_scores,
    attend,
    break_softmax,
    soft_lookup,
    softmax,
)
from solutions import simplified_attention as right

# softmax ------------------------------------------------------------------------------


@mistake(softmax)
def exponential_overflows(scores):
    """You took the exponential of the scores as they are, and exp(1000) is infinite, so
    large scores end as NaN. Weights depend only on differences between scores: take the
    same number from each score of a row first, so that no exponent is large."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def over_the_first_axis(scores):
    """You normalised over the first axis, so the columns sum to one. The last axis
    holds the inputs that compete for one query, so it is the rows that must sum to
    one."""
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


@mistake(softmax)
def divided_by_the_sum_of_all_rows(scores):
    """You divided by the sum of all exponentials of the array, so all rows share one
    sum of 1. Each row has a sum of its own: only the last axis is summed, and kept, so
    that the division fits."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum()


@mistake(softmax)
def one_maximum_for_all_rows(scores):
    """You subtracted the largest score of the whole array, so a row that lies far below
    it becomes 0/0. Subtract the largest score of each row: then every row has one
    exponential that equals 1."""
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def divided_by_the_largest(scores):
    """You divided the scores of a row by the largest of them. That keeps exponents
    small, but it changes the weights, and turns the order round where the largest score
    is negative. Weights depend on differences, which only subtracting leaves alone."""
    with np.errstate(all="ignore"):
        e = np.exp(scores / scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


@mistake(softmax)
def shifted_in_the_numerator_alone(scores):
    """You subtracted the largest score above the fraction bar and not below it. The
    factor cancels only if it stands in both, so your weights do not sum to one, and the
    sum below may still overflow."""
    with np.errstate(all="ignore"):
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / np.exp(scores).sum(axis=-1, keepdims=True)


@mistake(softmax)
def mean_subtracted(scores):
    """You subtracted the mean, so a score far above the mean still overflows. Subtract
    the largest score of the row: then no exponent is positive."""
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def smallest_subtracted(scores):
    """You subtracted the smallest score, so every other exponent is positive and a
    large one overflows. Subtract the largest score of the row: then no exponent is
    positive."""
    exponentials = np.exp(scores - scores.min(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def scores_clipped(scores):
    """You cut the scores off at a limit, so all scores beyond it get equal weights. No
    score has to be changed for the exponential not to overflow: weights depend on
    differences, so take the largest score of a row away from all of its scores."""
    exponentials = np.exp(np.clip(scores, -30, 30))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def scores_changed_in_place(scores):
    """You subtracted the largest score in place, so the caller's scores have changed.
    Compute the difference in a new array: somebody may still need the scores."""
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(softmax)
def never_normalised(scores):
    """You returned the exponentials without dividing by their sum, so the weights do
    not sum to one. Divide each row by its sum: an average needs weights that share out
    exactly one unit."""
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


@mistake(softmax)
def exponential_forgotten(scores):
    """You divided the scores themselves by their sum, so negative scores give negative
    weights and a sum near zero explodes. Take the exponential first: it is positive for
    every score."""
    return scores / scores.sum(axis=-1, keepdims=True)


# alignment_scores ---------------------------------------------------------------------


@mistake(alignment_scores)
def scale_missing(q, X):
    """You returned the plain dot products. Divide by the square root of the number of
    features: without it the scores grow with D, and the softmax that follows
    saturates."""
    return right.alignment_scores(q, X) * np.sqrt(X.shape[1])


@mistake(alignment_scores)
def scaled_by_features(q, X):
    """You divided by D where its square root belongs, so scores of long vectors are
    nearly all zero. A dot product of D independent terms spreads like the square root
    of D, and that is what the scale has to undo."""
    return right.alignment_scores(q, X) / np.sqrt(X.shape[1])


@mistake(alignment_scores)
def scale_upside_down(q, X):
    """You multiplied by the square root of D where you should divide. The scale has to
    keep the scores of long vectors small; yours makes them larger still."""
    return right.alignment_scores(q, X) * X.shape[1]


@mistake(alignment_scores)
def scaled_by_inputs(q, X):
    """You scaled by the number of inputs N, but a score compares the query with one
    input only. Its size depends on how many features are summed, so D belongs under the
    root."""
    return right.alignment_scores(q, X) * np.sqrt(X.shape[1] / X.shape[0])


@mistake(alignment_scores)
def cosine_in_place_of_dot(q, X):
    """You divided by the lengths of the vectors, which makes the score a cosine. The
    scaled dot product keeps the lengths: a longer query asks more decidedly."""
    scores = right.alignment_scores(q, X) * np.sqrt(X.shape[1])
    return scores / (np.linalg.norm(q) * np.linalg.norm(X, axis=1))


@mistake(alignment_scores)
def products_not_summed(q, X):
    """You multiplied query and inputs without adding up over the features, so there is
    a number per feature. A score is the sum of these products: one number per input."""
    right.alignment_scores(q, X)
    return X * q / np.sqrt(X.shape[1])


@mistake(alignment_scores)
def summed_over_inputs(q, X):
    """You added up over the inputs where you should add up over the features, so there
    is one number per feature. Each input gets one score."""
    right.alignment_scores(q, X)
    return (X * q).sum(axis=0) / np.sqrt(X.shape[1])


@mistake(alignment_scores)
def weights_in_place_of_scores(q, X):
    """You returned weights: the softmax is taken one step later. Scores may be negative
    and need not sum to one."""
    return right.softmax(right.alignment_scores(q, X))


@mistake(alignment_scores)
def query_scaled_in_place(q, X):
    """You scaled the query in place, so the caller's query is smaller after the call
    and a second call gives other scores. Divide the result, or a copy."""
    scores = right.alignment_scores(q, X)
    q /= np.sqrt(X.shape[1])
    return scores


@mistake(alignment_scores)
def first_feature_left_out(q, X):
    """The first feature of query and inputs takes no part in the scores. A dot product
    sums over all features, from index 0 on."""
    right.alignment_scores(q, X)
    return X[:, 1:] @ q[1:] / np.sqrt(len(q))


# attend -------------------------------------------------------------------------------


@mistake(attend)
def weights_first(q, X):
    """You returned the weights first and the output second. The output comes first,
    because it is what the next layer reads; the weights are there to be looked at."""
    y, a = right.attend(q, X)
    return a, y


@mistake(attend)
def weights_not_returned(q, X):
    """You returned the output alone. Return the weights as well: they show where the
    query looked."""
    return right.attend(q, X)[0]


@mistake(attend)
def inputs_weighted_with_scores(q, X):
    """Your weights are right, and the output was made with the scores: they can be
    negative and do not sum to one. The output is the inputs averaged with the very
    weights that you return."""
    _, a = right.attend(q, X)
    return right.alignment_scores(q, X) @ X, a


@mistake(attend)
def attends_without_scale(q, X):
    """You left out the square root of D when you computed the scores. The wider the
    vectors, the nearer your weights come to picking one single input."""
    return right.attend(q * np.sqrt(len(q)), X)


@mistake(attend)
def attends_with_square_of_scale(q, X):
    """You divided by D where its square root belongs. The wider the vectors, the nearer
    your weights come to a plain average."""
    return right.attend(q / np.sqrt(len(q)), X)


@mistake(attend)
def scaled_after_softmax(q, X):
    """You scaled the weights after the softmax, so they no longer sum to one and the
    output shrinks. The scale belongs to the scores, before the softmax."""
    y, a = right.attend(q * np.sqrt(len(q)), X)
    return y / np.sqrt(len(q)), a / np.sqrt(len(q))


@mistake(attend)
def softmax_forgotten(q, X):
    """You summed the inputs with the scores, without the softmax. Scores can be
    negative and do not sum to one, so your output is no average of the inputs."""
    scores = right.alignment_scores(q, X)
    return scores @ X, scores


@mistake(attend)
def scores_returned_as_weights(q, X):
    """You returned the right output beside the scores. The second result is the
    weights, after the softmax."""
    return right.attend(q, X)[0], right.alignment_scores(q, X)


@mistake(attend)
def best_input_only(q, X):
    """You picked the input with the largest score. Attention mixes all inputs by their
    weights: with one winner a small change of the query either does nothing or changes
    everything."""
    _, a = right.attend(q, X)
    return X[a.argmax()], a


@mistake(attend)
def attends_with_scale_by_inputs(q, X):
    """You scaled the scores by the number of inputs. A score compares the query with
    one input, and its size depends on how many features are summed: D belongs under
    the root."""
    scores = right.alignment_scores(q, X) * np.sqrt(X.shape[1] / X.shape[0])
    a = right.softmax(scores)
    return a @ X, a


@mistake(attend)
def inputs_transposed(q, X):
    """You summed over the features in place of the inputs, which goes unnoticed when
    there are as many of one as of the other. Each weight belongs to one row of X."""
    _, a = right.attend(q, X)
    return X @ a, a


@mistake(attend)
def overflows_for_long_queries(q, X):
    """You took the exponential of the scores as they are, and a long query makes it
    overflow. Use a softmax that is safe for large scores."""
    exponentials = np.exp(right.alignment_scores(q, X))
    a = exponentials / exponentials.sum()
    return a @ X, a


# soft_lookup --------------------------------------------------------------------------


@mistake(soft_lookup)
def temperature_upside_down(query, keys, values, temperature=1.0):
    """You multiplied by the temperature where you should divide, so heat sharpens and
    cold blurs. A low temperature must make differences between scores larger."""
    return _lookup(query, keys, values, 1 / temperature)


@mistake(soft_lookup)
def temperature_ignored(query, keys, values, temperature=1.0):
    """The temperature has no effect on your answer. Divide the scores by it, before the
    softmax, so that the reader can choose between looking up and averaging."""
    return _lookup(query, keys, values, 1.0)


@mistake(soft_lookup)
def temperature_after_softmax(query, keys, values, temperature=1.0):
    """You divided by the temperature after the softmax, which only makes the result
    larger or smaller. Divide the scores: the weights then change their shape and still
    sum to one."""
    return _lookup(query, keys, values, 1.0) / temperature


@mistake(soft_lookup)
def temperature_under_the_root(query, keys, values, temperature=1.0):
    """You divided by the square root of the temperature, so it acts too weakly. The
    scores are divided by the temperature itself; the only root is that of D."""
    return _lookup(query, keys, values, np.sqrt(temperature))


@mistake(soft_lookup)
def scaled_by_the_entries(query, keys, values, temperature=1.0):
    """You scaled the scores by the square root of the number of entries. What makes dot
    products large is the number of features, so D is what the scale depends on."""
    entries, features = keys.shape
    ratio = np.sqrt(entries / features)
    return _lookup(query, keys, values, temperature * ratio)


@mistake(soft_lookup)
def keys_returned(query, keys, values, temperature=1.0):
    """You mixed the keys. Keys are only compared with the query; what comes back is
    made of the values."""
    return _lookup(query, keys, keys, temperature)


@mistake(soft_lookup)
def weights_returned(query, keys, values, temperature=1.0):
    """You returned the weights. They say how much of each value to take: multiply them
    with the values and add up."""
    return right.softmax(right.alignment_scores(query, keys) / temperature)


@mistake(soft_lookup)
def weights_returned_too(query, keys, values, temperature=1.0):
    """You returned the output and the weights. A lookup gives back what was found and
    nothing else, like a dictionary: return the output alone."""
    y = _lookup(query, keys, values, temperature)
    return y, right.softmax(right.alignment_scores(query, keys) / temperature)


@mistake(soft_lookup)
def exact_lookup(query, keys, values, temperature=1.0):
    """You returned the value of the best key at every temperature. That is only the
    limit of a low temperature; above it the other values count too."""
    return values[right.alignment_scores(query, keys).argmax()]


@mistake(soft_lookup)
def lookup_without_scale(query, keys, values, temperature=1.0):
    """You compared without the factor 1/sqrt(D). Divide the alignment scores, scaled as
    before, by the temperature: otherwise one temperature means something else for each
    number of features."""
    return _lookup(query, keys, values, temperature / np.sqrt(keys.shape[1]))


@mistake(soft_lookup)
def scaled_by_value_features(query, keys, values, temperature=1.0):
    """You scaled by the number of features of the values. What is compared are query
    and keys, so their number of features belongs under the root."""
    ratio = np.sqrt(values.shape[1] / keys.shape[1])
    return _lookup(query, keys, values, temperature * ratio)


@mistake(soft_lookup)
def overflows_when_cold(query, keys, values, temperature=1.0):
    """You took the exponential of the scores as they are, and a low temperature makes
    them huge. Use a softmax that is safe for large scores."""
    scores = right.alignment_scores(query, keys) / temperature
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ values


# what several mistakes share ----------------------------------------------------------


def _lookup(query, keys, values, temperature):
    return right.soft_lookup(query, keys, values, temperature)


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
    """Your scores show which axis is normalised and that weights sum to one. What is
    left goes wrong at extreme scores only: compare scores of one row that are far
    apart, and rows that are far from each other."""
    return (np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]),)


@mistake(break_softmax)
def one_row_far_apart():
    """Your scores make an exponential overflow, and nothing else happens. Where one
    score is far above all others, its weight is 1 in any case: add a second row whose
    scores are alike, far away from the first."""
    return (np.array([1000.0, -1000.0]),)


@mistake(break_softmax)
def rows_far_apart():
    """Your rows are far from each other, and within each row the scores stay close to
    their mean. A version that subtracts something else than the largest score of the
    row still survives: spread the scores of one row."""
    return (np.array([[1000.0, 999.0], [-1000.0, -998.0]]),)
