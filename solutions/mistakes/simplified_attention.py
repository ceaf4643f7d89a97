"""Misconceptions about attention with one query."""

import numpy as np

from autograder.exercise import mistake
from autograder.exercises.simplified_attention import (
    alignment_scores,
    attend,
    soft_lookup,
    softmax,
)
from solutions import simplified_attention as right

# softmax ------------------------------------------------------------------------------


@mistake(
    softmax,
    "You took the exponential of the scores as they are, and exp(1000) is infinite, "
    "so large scores end as NaN. Weights depend only on differences between scores: "
    "take the same number from each score of a row first, so that no exponent is "
    "large.",
)
def exponential_overflows(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You normalised over the first axis, so the columns sum to one. The last axis "
    "holds the inputs that compete for one query, so it is the rows that must sum to "
    "one.",
)
def over_the_first_axis(scores):
    exponentials = np.exp(scores - scores.max(axis=0, keepdims=True))
    return exponentials / exponentials.sum(axis=0, keepdims=True)


@mistake(
    softmax,
    "You divided by the sum over the whole array, so only all rows together sum to "
    "one. Each row is the distribution of one query and needs its own sum.",
)
def over_all_axes(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


@mistake(
    softmax,
    "You subtracted the largest score of the whole array, so a row that lies far "
    "below it becomes 0/0. Subtract the largest score of each row: then every row has "
    "one exponential that equals 1.",
)
def one_maximum_for_all_rows(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You subtracted the mean, so a score far above the mean still overflows. Subtract "
    "the largest score of the row: then no exponent is positive.",
)
def mean_subtracted(scores):
    exponentials = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You subtracted the smallest score, so every other exponent is positive and a "
    "large one overflows. Subtract the largest score of the row: then no exponent is "
    "positive.",
)
def smallest_subtracted(scores):
    exponentials = np.exp(scores - scores.min(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You subtracted the largest score in place, so the caller's scores have changed. "
    "Compute the difference in a new array: somebody may still need the scores.",
)
def scores_changed_in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You returned the exponentials without dividing by their sum, so the weights do "
    "not sum to one. Divide each row by its sum: an average needs weights that share "
    "out exactly one unit.",
)
def never_normalised(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


@mistake(
    softmax,
    "You divided the scores themselves by their sum, so negative scores give negative "
    "weights and a sum near zero explodes. Take the exponential first: it is positive "
    "for every score.",
)
def exponential_forgotten(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


@mistake(
    softmax,
    "You returned the logarithm of the weights, which is never positive. Return the "
    "weights themselves, because they are to be multiplied with the inputs.",
)
def logarithm_of_the_weights(scores):
    return np.log(right.softmax(scores) + 1e-300)


@mistake(
    softmax,
    "You gave all the weight to the largest score and zero to the others. Softmax is "
    "a soft version of that choice: a score just below the best one gets nearly as "
    "much.",
)
def winner_takes_all(scores):
    best = scores.argmax(axis=-1)[..., None]
    return (np.arange(scores.shape[-1]) == best).astype(float)


@mistake(
    softmax,
    "You squashed each score on its own, so the weights of a row do not sum to one. "
    "The inputs must compete: dividing by the sum of the row makes one weight fall "
    "when another one rises.",
)
def sigmoid_of_each_score(scores):
    return 0.5 * (1 + np.tanh(scores / 2))


# alignment_scores ---------------------------------------------------------------------


@mistake(
    alignment_scores,
    "You returned the plain dot products. Divide by the square root of the number of "
    "features: without it the scores grow with D, and the softmax that follows "
    "saturates.",
)
def scale_missing(q, X):
    return right.alignment_scores(q, X) * np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You divided by D where its square root belongs, so scores of long vectors are "
    "nearly all zero. A dot product of D independent terms spreads like the square "
    "root of D, and that is what the scale has to undo.",
)
def scaled_by_features(q, X):
    return right.alignment_scores(q, X) / np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You multiplied by the square root of D where you should divide. The scale has to "
    "keep the scores of long vectors small; yours makes them larger still.",
)
def scale_upside_down(q, X):
    return right.alignment_scores(q, X) * X.shape[1]


@mistake(
    alignment_scores,
    "You scaled by the number of inputs N, but a score compares the query with one "
    "input only. Its size depends on how many features are summed, so D belongs under "
    "the root.",
)
def scaled_by_inputs(q, X):
    return right.alignment_scores(q, X) * np.sqrt(X.shape[1] / X.shape[0])


@mistake(
    alignment_scores,
    "You divided by the lengths of the vectors, which makes the score a cosine. The "
    "scaled dot product keeps the lengths: a longer query asks more decidedly.",
)
def cosine_in_place_of_dot(q, X):
    scores = right.alignment_scores(q, X) * np.sqrt(X.shape[1])
    return scores / (np.linalg.norm(q) * np.linalg.norm(X, axis=1))


@mistake(
    alignment_scores,
    "You returned a matrix with one row where a vector is expected. One query has one "
    "score per input: the shape is (N,), not (1, N).",
)
def scores_in_a_row_matrix(q, X):
    return right.alignment_scores(q, X)[None, :]


@mistake(
    alignment_scores,
    "You multiplied query and inputs without adding up over the features, so there is "
    "a number per feature. A score is the sum of these products: one number per "
    "input.",
)
def products_not_summed(q, X):
    right.alignment_scores(q, X)
    return X * q / np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You added up over the inputs where you should add up over the features, so there "
    "is one number per feature. Each input gets one score.",
)
def summed_over_inputs(q, X):
    right.alignment_scores(q, X)
    return (X * q).sum(axis=0) / np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You returned weights: the softmax is taken one step later. Scores may be "
    "negative and need not sum to one.",
)
def weights_in_place_of_scores(q, X):
    return right.softmax(right.alignment_scores(q, X))


@mistake(
    alignment_scores,
    "You took the absolute value of the scores, so an input that points away from the "
    "query looks like a match. The sign says whether the two agree or disagree.",
)
def sign_lost(q, X):
    return np.abs(right.alignment_scores(q, X))


@mistake(
    alignment_scores,
    "You did not compare the numbers of features, and NumPy quietly stretched a query "
    "of one feature to fit. Check that the widths match and raise a ValueError "
    "otherwise: a silent broadcast gives scores that mean nothing.",
)
def broadcast_in_silence(q, X):
    return (X * q).sum(axis=1) / np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You stopped at the shorter of the two vectors, so features were dropped without "
    "a word. Check that the widths match and raise a ValueError otherwise.",
)
def extra_features_dropped(q, X):
    pairs = [sum(a * b for a, b in zip(q, x, strict=False)) for x in X]
    return np.array(pairs) / np.sqrt(X.shape[1])


@mistake(
    alignment_scores,
    "You scaled the query in place, so the caller's query is smaller after the call "
    "and a second call gives other scores. Divide the result, or a copy.",
)
def query_scaled_in_place(q, X):
    scores = right.alignment_scores(q, X)
    q /= np.sqrt(X.shape[1])
    return scores


@mistake(
    alignment_scores,
    "You multiplied the inputs by the query in place, so the caller's inputs are "
    "lost. Inputs are read again in the weighted sum: put products into a new array.",
)
def inputs_changed_in_place(q, X):
    scores = right.alignment_scores(q, X)
    X *= q
    return scores


# attend -------------------------------------------------------------------------------


@mistake(
    attend,
    "You returned the weights first and the output second. The output comes first, "
    "because it is what the next layer reads; the weights are there to be looked at.",
)
def weights_first(q, X):
    y, a = right.attend(q, X)
    return a, y


@mistake(
    attend,
    "You returned the output alone. Return the weights as well: they show where the "
    "query looked.",
)
def weights_not_returned(q, X):
    return right.attend(q, X)[0]


@mistake(
    attend,
    "You weighted each input but did not add them up, so there is still one row per "
    "input. The output is the sum of the weighted inputs: one vector of D numbers.",
)
def weighted_inputs_not_summed(q, X):
    _, a = right.attend(q, X)
    return a[:, None] * X, a


@mistake(
    attend,
    "You averaged the scores with the weights. What the query brings home are the "
    "inputs: the output has D features, like every row of X.",
)
def scores_averaged(q, X):
    _, a = right.attend(q, X)
    return a @ right.alignment_scores(q, X), a


@mistake(
    attend,
    "You left out the square root of D when you computed the scores. The wider the "
    "vectors, the nearer your weights come to picking one single input.",
)
def attends_without_scale(q, X):
    return right.attend(q * np.sqrt(len(q)), X)


@mistake(
    attend,
    "You divided by D where its square root belongs. The wider the vectors, the "
    "nearer your weights come to a plain average.",
)
def attends_with_square_of_scale(q, X):
    return right.attend(q / np.sqrt(len(q)), X)


@mistake(
    attend,
    "You scaled the weights after the softmax, so they no longer sum to one and the "
    "output shrinks. The scale belongs to the scores, before the softmax.",
)
def scaled_after_softmax(q, X):
    y, a = right.attend(q * np.sqrt(len(q)), X)
    return y / np.sqrt(len(q)), a / np.sqrt(len(q))


@mistake(
    attend,
    "You summed the inputs with the scores, without the softmax. Scores can be "
    "negative and do not sum to one, so your output is no average of the inputs.",
)
def softmax_forgotten(q, X):
    scores = right.alignment_scores(q, X)
    return scores @ X, scores


@mistake(
    attend,
    "You returned the right output beside the scores. The second result is the "
    "weights, after the softmax.",
)
def scores_returned_as_weights(q, X):
    return right.attend(q, X)[0], right.alignment_scores(q, X)


@mistake(
    attend,
    "You picked the input with the largest score. Attention mixes all inputs by their "
    "weights: with one winner a small change of the query either does nothing or "
    "changes everything.",
)
def best_input_only(q, X):
    _, a = right.attend(q, X)
    return X[a.argmax()], a


@mistake(
    attend,
    "You gave every input the same weight in the sum. Use the attention weights, so "
    "that the output depends on the query.",
)
def plain_average(q, X):
    return X.mean(axis=0), right.attend(q, X)[1]


@mistake(
    attend,
    "You divided the weighted sum by the number of inputs. The weights sum to one "
    "already, so the sum is the average.",
)
def divided_by_inputs_again(q, X):
    y, a = right.attend(q, X)
    return y / len(X), a


@mistake(
    attend,
    "You summed over the features in place of the inputs, which goes unnoticed when "
    "there are as many of one as of the other. Each weight belongs to one row of X.",
)
def inputs_transposed(q, X):
    _, a = right.attend(q, X)
    return X @ a, a


@mistake(
    attend,
    "You added the query to the output. That connection comes later, with the "
    "transformer; here the output is an average of the inputs and nothing else.",
)
def query_added(q, X):
    y, a = right.attend(q, X)
    return y + q, a


@mistake(
    attend,
    "You took the exponential of the scores as they are, and a long query makes it "
    "overflow. Use a softmax that is safe for large scores.",
)
def overflows_for_long_queries(q, X):
    exponentials = np.exp(right.alignment_scores(q, X))
    a = exponentials / exponentials.sum()
    return a @ X, a


@mistake(
    attend,
    "You multiplied the inputs by their weights in place, so the caller's inputs are "
    "changed. The next query has to see the same inputs: leave them as they are.",
)
def inputs_weighted_in_place(q, X):
    y, a = right.attend(q, X)
    X *= a[:, None]
    return y, a


@mistake(
    attend,
    "You returned the output as a matrix with one row. One query gives one vector of "
    "shape (D,) and weights of shape (N,).",
)
def one_row_matrices(q, X):
    y, a = right.attend(q, X)
    return y[None, :], a[None, :]


# soft_lookup --------------------------------------------------------------------------


@mistake(
    soft_lookup,
    "You multiplied by the temperature where you should divide, so heat sharpens and "
    "cold blurs. A low temperature must make differences between scores larger.",
)
def temperature_upside_down(query, keys, values, temperature=1.0):
    return _lookup(query, keys, values, 1 / _positive(temperature))


@mistake(
    soft_lookup,
    "The temperature has no effect on your answer. Divide the scores by it, before "
    "the softmax, so that the reader can choose between looking up and averaging.",
)
def temperature_ignored(query, keys, values, temperature=1.0):
    _positive(temperature)
    return _lookup(query, keys, values, 1.0)


@mistake(
    soft_lookup,
    "You divided by the temperature after the softmax, which only makes the result "
    "larger or smaller. Divide the scores: the weights then change their shape and "
    "still sum to one.",
)
def temperature_after_softmax(query, keys, values, temperature=1.0):
    return _lookup(query, keys, values, 1.0) / _positive(temperature)


@mistake(
    soft_lookup,
    "You divided by the square root of the temperature, so it acts too weakly. The "
    "scores are divided by the temperature itself; the only root is that of D.",
)
def temperature_under_the_root(query, keys, values, temperature=1.0):
    return _lookup(query, keys, values, np.sqrt(_positive(temperature)))


@mistake(
    soft_lookup,
    "You mixed the keys. Keys are only compared with the query; what comes back is "
    "made of the values.",
)
def keys_returned(query, keys, values, temperature=1.0):
    _lookup(query, keys, values, temperature)
    return _lookup(query, keys, keys, temperature)


@mistake(
    soft_lookup,
    "You returned the weights. They say how much of each value to take: multiply them "
    "with the values and add up.",
)
def weights_returned(query, keys, values, temperature=1.0):
    _lookup(query, keys, values, temperature)
    return right.softmax(right.alignment_scores(query, keys) / temperature)


@mistake(
    soft_lookup,
    "You returned the output and the weights. A lookup gives back what was found and "
    "nothing else, like a dictionary: return the output alone.",
)
def weights_returned_too(query, keys, values, temperature=1.0):
    y = _lookup(query, keys, values, temperature)
    return y, right.softmax(right.alignment_scores(query, keys) / temperature)


@mistake(
    soft_lookup,
    "You returned the value of the best key at every temperature. That is only the "
    "limit of a low temperature; above it the other values count too.",
)
def exact_lookup(query, keys, values, temperature=1.0):
    _lookup(query, keys, values, temperature)
    return values[right.alignment_scores(query, keys).argmax()]


@mistake(
    soft_lookup,
    "You averaged all values alike at every temperature. That is only the limit of a "
    "high temperature; below it the better keys count more.",
)
def mean_of_the_values(query, keys, values, temperature=1.0):
    _lookup(query, keys, values, temperature)
    return values.mean(axis=0)


@mistake(
    soft_lookup,
    "You compared without the factor 1/sqrt(D). Divide the alignment scores, scaled "
    "as before, by the temperature: otherwise one temperature means something else "
    "for each number of features.",
)
def lookup_without_scale(query, keys, values, temperature=1.0):
    return _lookup(query, keys, values, temperature / np.sqrt(keys.shape[1]))


@mistake(
    soft_lookup,
    "You scaled by the number of features of the values. What is compared are query "
    "and keys, so their number of features belongs under the root.",
)
def scaled_by_value_features(query, keys, values, temperature=1.0):
    ratio = np.sqrt(values.shape[1] / keys.shape[1])
    return _lookup(query, keys, values, temperature * ratio)


@mistake(
    soft_lookup,
    "You took the exponential of the scores as they are, and a low temperature makes "
    "them huge. Use a softmax that is safe for large scores.",
)
def overflows_when_cold(query, keys, values, temperature=1.0):
    scores = right.alignment_scores(query, keys) / _positive(temperature)
    weights = np.exp(scores) / np.exp(scores).sum()
    return weights @ values


@mistake(
    soft_lookup,
    "You accepted a temperature of zero or below. Zero divides by zero and a negative "
    "one prefers the worst key, so raise a ValueError unless it is positive.",
)
def any_temperature(query, keys, values, temperature=1.0):
    scores = right.alignment_scores(query, keys) / temperature
    return right.softmax(scores) @ values


@mistake(
    soft_lookup,
    "You turned away a temperature of zero but not a negative one, which prefers the "
    "worst key. Raise a ValueError unless the temperature is greater than zero.",
)
def negative_temperature(query, keys, values, temperature=1.0):
    if temperature == 0:
        raise ValueError
    scores = right.alignment_scores(query, keys) / temperature
    return right.softmax(scores) @ values


@mistake(
    soft_lookup,
    "You turned away negative temperatures but not zero, which divides by zero. Raise "
    "a ValueError unless the temperature is greater than zero.",
)
def zero_temperature(query, keys, values, temperature=1.0):
    if temperature < 0:
        raise ValueError
    scores = right.alignment_scores(query, keys) / temperature
    return right.softmax(scores) @ values


@mistake(
    soft_lookup,
    "You allowed only temperatures up to one. Any positive temperature is meaningful: "
    "above one the values are mixed more evenly.",
)
def only_cool_temperatures(query, keys, values, temperature=1.0):
    if temperature > 1:
        raise ValueError
    return _lookup(query, keys, values, temperature)


@mistake(
    soft_lookup,
    "You divided the query by the temperature in place, so the caller's query has "
    "changed. Divide the scores, which are yours.",
)
def query_cooled_in_place(query, keys, values, temperature=1.0):
    y = _lookup(query, keys, values, temperature)
    query /= temperature
    return y


# what several mistakes share ----------------------------------------------------------


def _positive(temperature):
    if not temperature > 0:
        raise ValueError("temperature must be greater than 0")
    return temperature


def _lookup(query, keys, values, temperature):
    return right.soft_lookup(query, keys, values, temperature)
