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
def over_all_axes(scores):
    """You divided by the sum over the whole array, so only all rows together sum to
    one. Each row is the distribution of one query and needs its own sum."""
    exponentials = np.exp(scores - scores.max())
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


@mistake(softmax)
def logarithm_of_the_weights(scores):
    """You returned the logarithm of the weights, which is never positive. Return the
    weights themselves, because they are to be multiplied with the inputs."""
    return np.log(right.softmax(scores) + 1e-300)


@mistake(softmax)
def winner_takes_all(scores):
    """You gave all the weight to the largest score and zero to the others. Softmax is a
    soft version of that choice: a score just below the best one gets nearly as much."""
    best = scores.argmax(axis=-1)[..., None]
    return (np.arange(scores.shape[-1]) == best).astype(float)


@mistake(softmax)
def sigmoid_of_each_score(scores):
    """You squashed each score on its own, so the weights of a row do not sum to one.
    The inputs must compete: dividing by the sum of the row makes one weight fall when
    another one rises."""
    return 0.5 * (1 + np.tanh(scores / 2))


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
def scores_in_a_row_matrix(q, X):
    """You returned a matrix with one row where a vector is expected. One query has one
    score per input: the shape is (N,), not (1, N)."""
    return right.alignment_scores(q, X)[None, :]


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
def sign_lost(q, X):
    """You took the absolute value of the scores, so an input that points away from the
    query looks like a match. The sign says whether the two agree or disagree."""
    return np.abs(right.alignment_scores(q, X))


@mistake(alignment_scores)
def query_scaled_in_place(q, X):
    """You scaled the query in place, so the caller's query is smaller after the call
    and a second call gives other scores. Divide the result, or a copy."""
    scores = right.alignment_scores(q, X)
    q /= np.sqrt(X.shape[1])
    return scores


@mistake(alignment_scores)
def inputs_changed_in_place(q, X):
    """You multiplied the inputs by the query in place, so the caller's inputs are lost.
    Inputs are read again in the weighted sum: put products into a new array."""
    scores = right.alignment_scores(q, X)
    X *= q
    return scores


@mistake(alignment_scores)
def first_feature_left_out(q, X):
    """The first feature of query and inputs takes no part in the scores. A dot product
    sums over all features, from index 0 on."""
    right.alignment_scores(q, X)
    return X[:, 1:] @ q[1:] / np.sqrt(len(q))


@mistake(alignment_scores)
def last_feature_left_out(q, X):
    """The last feature of query and inputs takes no part in the scores. A dot product
    sums over all features, and range(D) reaches up to D - 1 by itself."""
    right.alignment_scores(q, X)
    return X[:, :-1] @ q[:-1] / np.sqrt(len(q))


@mistake(alignment_scores)
def negative_squared_distance(q, X):
    """You compared by the squared distance, with a minus sign. The alignment scores are
    dot products, and no score is computed from a difference: a long input can have a
    large score, however far away it is."""
    right.alignment_scores(q, X)
    return -((X - q) ** 2).sum(axis=-1) / np.sqrt(len(q))


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
def weighted_inputs_not_summed(q, X):
    """You weighted each input but did not add them up, so there is still one row per
    input. The output is the sum of the weighted inputs: one vector of D numbers."""
    _, a = right.attend(q, X)
    return a[:, None] * X, a


@mistake(attend)
def scores_averaged(q, X):
    """You averaged the scores with the weights. What the query brings home are the
    inputs: the output has D features, like every row of X."""
    _, a = right.attend(q, X)
    return a @ right.alignment_scores(q, X), a


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
def plain_average(q, X):
    """You gave every input the same weight in the sum. Use the attention weights, so
    that the output depends on the query."""
    return X.mean(axis=0), right.attend(q, X)[1]


@mistake(attend)
def divided_by_inputs_again(q, X):
    """You divided the weighted sum by the number of inputs. The weights sum to one
    already, so the sum is the average."""
    y, a = right.attend(q, X)
    return y / len(X), a


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
def query_added(q, X):
    """You added the query to the output. That connection comes later, with the
    transformer; here the output is an average of the inputs and nothing else."""
    y, a = right.attend(q, X)
    return y + q, a


@mistake(attend)
def overflows_for_long_queries(q, X):
    """You took the exponential of the scores as they are, and a long query makes it
    overflow. Use a softmax that is safe for large scores."""
    exponentials = np.exp(right.alignment_scores(q, X))
    a = exponentials / exponentials.sum()
    return a @ X, a


@mistake(attend)
def inputs_weighted_in_place(q, X):
    """You multiplied the inputs by their weights in place, so the caller's inputs are
    changed. The next query has to see the same inputs: leave them as they are."""
    y, a = right.attend(q, X)
    X *= a[:, None]
    return y, a


@mistake(attend)
def one_row_matrices(q, X):
    """You returned the output as a matrix with one row. One query gives one vector of
    shape (D,) and weights of shape (N,)."""
    y, a = right.attend(q, X)
    return y[None, :], a[None, :]


@mistake(attend)
def query_summed(q, X):
    """Your output is a multiple of the query: the weights were multiplied with it. The
    query only decides how much each input counts; the inputs are averaged."""
    _, weights = right.attend(q, X)
    return weights.sum() * q, weights


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
def distance_for_a_score(query, keys, values, temperature=1.0):
    """You compared by the squared distance, with a minus sign. The alignment scores are
    dot products: a long key can have a large score, however far away it is."""
    scores = -((keys - query) ** 2).sum(axis=-1) / np.sqrt(len(query))
    scores = scores / temperature
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values


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
def mean_of_the_values(query, keys, values, temperature=1.0):
    """You averaged all values alike at every temperature. That is only the limit of a
    high temperature; below it the better keys count more."""
    return values.mean(axis=0)


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


@mistake(soft_lookup)
def query_cooled_in_place(query, keys, values, temperature=1.0):
    """You divided the query by the temperature in place, so the caller's query has
    changed. Divide the scores, which are yours."""
    y = _lookup(query, keys, values, temperature)
    query /= temperature
    return y


@mistake(soft_lookup)
def exact_lookup_when_cool(query, keys, values, temperature=1.0):
    """Below a temperature of 1 you returned the value of the best key. The softmax is
    used at every temperature: a low one only makes its weights more uneven."""
    result = _lookup(query, keys, values, temperature)
    if temperature < 1:
        return values[right.alignment_scores(query, keys).argmax()]
    return result


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
