"""Misconceptions about queries, keys and values, as code that can be recognised."""

import numpy as np

from autograder.exercise import mistake
from autograder.exercises.qkv_projections import (
    attention,
    attention_layer,
    project,
    self_attention,
    self_attention_columns,
    similarity,
)


def softmax(scores, axis=1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def scaled(queries, keys):
    return queries @ keys.T / np.sqrt(keys.shape[1])


def read(queries, keys, values):
    if len(keys) != len(values):
        raise ValueError("each key needs its value")
    weights = softmax(scaled(queries, keys))
    return weights @ values, weights


# project


@mistake(
    project,
    "You used the weights as (out, in), the layout of torch's nn.Linear. Here a "
    "weight is (in, out) and stands to the right of the tokens, so it needs no "
    "transpose.",
)
def weights_transposed(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q.T, X @ W_K.T, X @ W_V.T


@mistake(
    project,
    "You applied the weights from the left, which mixes different tokens with one "
    "another. A projection mixes the features of one token, so it stands on the side "
    "of the features: on the right, where tokens are rows.",
)
def weights_from_the_left(Q, X, W_Q, W_K, W_V):
    return W_Q @ Q, W_K @ X, W_V @ X


@mistake(
    project,
    "You projected the queries with W_K. What is asked and what is offered need their "
    "own projections, otherwise both sides look at the same features.",
)
def queries_with_key_weights(Q, X, W_Q, W_K, W_V):
    return Q @ W_K, X @ W_K, X @ W_V


@mistake(
    project,
    "You projected the keys with W_Q. What is asked and what is offered need their "
    "own projections, and here even the widths of the inputs differ.",
)
def keys_with_query_weights(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X @ W_Q, X @ W_V


@mistake(
    project,
    "You exchanged W_Q and W_K: queries come from W_K and keys from W_Q. The shapes "
    "hide it when D_Q equals D_X, but the layer then asks what it should offer.",
)
def query_and_key_weights_exchanged(Q, X, W_Q, W_K, W_V):
    return Q @ W_K, X @ W_Q, X @ W_V


@mistake(
    project,
    "You took the queries from X. The queries come from Q, the side that asks; only "
    "keys and values come from X.",
)
def queries_from_the_tokens(Q, X, W_Q, W_K, W_V):
    return X @ W_Q, X @ W_K, X @ W_V


@mistake(
    project,
    "You took the keys from Q. Keys describe what is looked at, so they come from X, "
    "one for each of its tokens.",
)
def keys_from_the_asking_side(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, Q @ W_K, X @ W_V


@mistake(
    project,
    "You took the values from Q. Values are what is read out of the tokens that were "
    "matched, so they come from X, one for each key.",
)
def values_from_the_asking_side(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X @ W_K, Q @ W_V


@mistake(
    project,
    "You projected the values with W_K, so they repeat what the keys say. Matching "
    "and extracting are different jobs: the values have their own projection.",
)
def values_with_key_weights(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X @ W_K, X @ W_K


@mistake(
    project,
    "You made the values out of the keys. What the keys left out for matching would "
    "be lost for good, so values are projected from the tokens themselves.",
)
def values_from_keys(Q, X, W_Q, W_K, W_V):
    keys = X @ W_K
    return Q @ W_Q, keys, keys @ W_V


@mistake(
    project,
    "You left the values unprojected. W_V chooses what a token hands over when it is "
    "matched, and sets the width of the output.",
)
def values_unprojected(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X @ W_K, X.copy()


@mistake(
    project,
    "You left the queries unprojected. Without W_Q the vectors that ask are compared "
    "with keys of another width and another meaning.",
)
def queries_unprojected(Q, X, W_Q, W_K, W_V):
    return Q.copy(), X @ W_K, X @ W_V


@mistake(
    project,
    "You left the keys unprojected. Without W_K a token is matched by everything it "
    "holds, also by the content that has nothing to do with the request.",
)
def keys_unprojected(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X.copy(), X @ W_V


@mistake(
    project,
    "You returned the values before the keys. The order is queries, keys, values, and "
    "whoever calls the function unpacks them in that order.",
)
def keys_and_values_exchanged(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q, X @ W_V, X @ W_K


@mistake(
    project,
    "You returned the keys before the queries. The order is queries, keys, values, "
    "and whoever calls the function unpacks them in that order.",
)
def keys_returned_first(Q, X, W_Q, W_K, W_V):
    return X @ W_K, Q @ W_Q, X @ W_V


@mistake(
    project,
    "You scaled the queries by 1/sqrt(d_k) here. The scale belongs to the scores; if "
    "similarity divides as well, it is applied twice.",
)
def queries_scaled(Q, X, W_Q, W_K, W_V):
    return Q @ W_Q / np.sqrt(W_Q.shape[1]), X @ W_K, X @ W_V


@mistake(
    project,
    "You divided queries and keys by their lengths. The length of a query says how "
    "decided it is and is part of what is learned; the dot product keeps it.",
)
def unit_length(Q, X, W_Q, W_K, W_V):
    queries, keys = Q @ W_Q, X @ W_K
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return queries, keys / np.linalg.norm(keys, axis=1, keepdims=True), X @ W_V


@mistake(
    project,
    "You put a nonlinearity behind the projections. Queries, keys and values are "
    "linear maps of the tokens, and cutting off negative entries loses half of them.",
)
def rectified(Q, X, W_Q, W_K, W_V):
    return tuple(np.maximum(Z, 0.0) for Z in (Q @ W_Q, X @ W_K, X @ W_V))


# similarity


@mistake(
    similarity,
    "You left out the scale. The scores should be divided by sqrt(d_k), or they grow "
    "with the width and the softmax behind them saturates.",
)
def scale_missing(queries, keys):
    return queries @ keys.T


@mistake(
    similarity,
    "You divided by d_k, or by its square root twice. The spread of a dot product "
    "grows with the square root of its width, so dividing by the whole width makes "
    "all scores nearly equal.",
)
def scale_by_width(queries, keys):
    return queries @ keys.T / keys.shape[1]


@mistake(
    similarity,
    "You multiplied by sqrt(d_k). The scale should undo the growth of the dot product "
    "with its width, so it has to make the scores smaller.",
)
def scale_multiplied(queries, keys):
    return queries @ keys.T * np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You scaled by the number of keys. It is the number of features that a dot "
    "product adds up, so the scale must not change when one more key arrives.",
)
def scale_by_number_of_keys(queries, keys):
    return queries @ keys.T / np.sqrt(len(keys))


@mistake(
    similarity,
    "You scaled by the number of queries. It is the number of features that a dot "
    "product adds up; one query's scores must not depend on the other queries.",
)
def scale_by_number_of_queries(queries, keys):
    return queries @ keys.T / np.sqrt(len(queries))


@mistake(
    similarity,
    "Your scores have a row for each key. The queries belong to the rows and the keys "
    "to the columns, because the softmax that follows runs along a row.",
)
def scores_transposed(queries, keys):
    return keys @ queries.T / np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You compared features with features: the sum runs over tokens. A score compares "
    "one query with one key, so the sum must run over their common features.",
)
def features_by_features(queries, keys):
    return queries.T @ keys / np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You multiplied the matrices without turning one of them. The features of a query "
    "must meet the features of a key, not the number of keys.",
)
def keys_not_transposed(queries, keys):
    return queries @ keys / np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You compared query i with key i only. The score has two indices of their own: "
    "every query meets every key, whatever its place.",
)
def same_index(queries, keys):
    return np.sum(queries * keys, axis=1) / np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You normalised the scores already. These are still scores, of either sign; the "
    "softmax is the next step, and applying it twice flattens the weights.",
)
def softmax_included(queries, keys):
    return softmax(scaled(queries, keys))


@mistake(
    similarity,
    "You divided by the lengths of query and key. That is the cosine; the dot product "
    "is divided by sqrt(d_k) alone and keeps the lengths, which are learned.",
)
def cosine(queries, keys):
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(keys, axis=1)
    return queries @ keys.T / lengths


@mistake(
    similarity,
    "You measured distances. The score of this layer is the dot product, which also "
    "rewards long keys and can be computed for all pairs in one matrix product.",
)
def negative_distance(queries, keys):
    difference = queries[:, None] - keys
    return -np.sqrt((difference**2).sum(axis=2)) / np.sqrt(keys.shape[1])


@mistake(
    similarity,
    "You scaled the queries in place, so the caller's array is smaller after each "
    "call. Work on a new array: inputs are never modified.",
)
def queries_scaled_in_place(queries, keys):
    if queries.shape[1] != keys.shape[1]:
        raise ValueError("queries and keys differ in width")
    queries /= np.sqrt(keys.shape[1])
    return queries @ keys.T


@mistake(
    similarity,
    "You cut queries and keys to the narrower of the two widths. Vectors of different "
    "width have no dot product, and a silent answer hides a wrong projection.",
)
def cut_to_the_narrower(queries, keys):
    width = min(queries.shape[1], keys.shape[1])
    return queries[:, :width] @ keys[:, :width].T / np.sqrt(width)


# attention


@mistake(
    attention,
    "You normalised over the queries, so columns sum to one and the queries compete "
    "for a key. Each query shares out its own weight over the keys, so rows sum to "
    "one.",
)
def softmax_over_queries(queries, keys, values):
    weights = softmax(scaled(queries, keys), axis=0)
    return weights @ values, weights


@mistake(
    attention,
    "You normalised over the whole matrix. Each query has its own softmax over the "
    "keys, otherwise the other queries take weight away from it.",
)
def softmax_over_everything(queries, keys, values):
    scores = scaled(queries, keys)
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    return weights @ values, weights


@mistake(
    attention,
    "You exponentiated the scores as they are, which overflows for large ones and "
    "gives NaN. Subtract the largest score of each row first; the weights stay the "
    "same.",
)
def no_maximum_subtracted(queries, keys, values):
    exponentials = np.exp(scaled(queries, keys))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ values, weights


@mistake(
    attention,
    "You subtracted one maximum of the whole matrix, so a row whose scores are all "
    "far below it becomes 0/0. Each row needs its own maximum.",
)
def one_maximum_for_all_rows(queries, keys, values):
    scores = scaled(queries, keys)
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ values, weights


@mistake(
    attention,
    "You subtracted the smallest score of each row, which keeps the exponential from "
    "becoming zero and not from overflowing. Subtract the largest, so that no "
    "exponent is above zero.",
)
def minimum_subtracted(queries, keys, values):
    if len(keys) != len(values):
        raise ValueError("each key needs its value")
    scores = scaled(queries, keys)
    exponentials = np.exp(scores - scores.min(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ values, weights


@mistake(
    attention,
    "You clipped the scores to keep the exponential finite, so all large scores count "
    "the same. Subtracting each row's maximum keeps their differences.",
)
def scores_clipped(queries, keys, values):
    exponentials = np.exp(np.clip(scaled(queries, keys), -50.0, 50.0))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ values, weights


@mistake(
    attention,
    "You left out the scale. The scores should be divided by sqrt(d_k) before the "
    "softmax, or wide queries and keys give nearly one-hot weights.",
)
def attention_scale_missing(queries, keys, values):
    weights = softmax(queries @ keys.T)
    return weights @ values, weights


@mistake(
    attention,
    "You divided by d_k, or by its square root twice. The spread of a dot product "
    "grows with the square root of its width, so dividing by the whole width makes "
    "the weights nearly uniform.",
)
def attention_scale_by_width(queries, keys, values):
    weights = softmax(queries @ keys.T / keys.shape[1])
    return weights @ values, weights


@mistake(
    attention,
    "You scaled by the width of the values. The dot product adds up the features of "
    "queries and keys, so d_k sets the scale and d_v has no part in it.",
)
def attention_scale_by_value_width(queries, keys, values):
    weights = softmax(queries @ keys.T / np.sqrt(values.shape[1]))
    return weights @ values, weights


@mistake(
    attention,
    "You scaled by the number of keys. The dot product adds up features, so the width "
    "of queries and keys sets the scale, however many keys there are.",
)
def attention_scale_by_number_of_keys(queries, keys, values):
    weights = softmax(queries @ keys.T / np.sqrt(len(keys)))
    return weights @ values, weights


@mistake(
    attention,
    "You scaled after the softmax, so the weights no longer sum to one. The scale "
    "belongs to the scores, where it keeps the softmax out of saturation.",
)
def scale_after_softmax(queries, keys, values):
    weights = softmax(queries @ keys.T) / np.sqrt(keys.shape[1])
    return weights @ values, weights


@mistake(
    attention,
    "You applied the softmax twice. The second one takes weights between 0 and 1 as "
    "scores and flattens them to nearly equal shares.",
)
def softmax_twice(queries, keys, values):
    weights = softmax(softmax(scaled(queries, keys)))
    return weights @ values, weights


@mistake(
    attention,
    "You weighted the values with the scores themselves. Without the softmax, the "
    "weights can be negative and the output is no mean of the values.",
)
def softmax_missing(queries, keys, values):
    scores = scaled(queries, keys)
    return scores @ values, scores


@mistake(
    attention,
    "You divided the scores by their sum, without the exponential. Scores have either "
    "sign, so such shares can be negative or explode when the sum is near zero.",
)
def normalised_without_exponential(queries, keys, values):
    scores = scaled(queries, keys)
    weights = scores / scores.sum(axis=1, keepdims=True)
    return weights @ values, weights


@mistake(
    attention,
    "You took only the value of the best key. Attention is a weighted mean of all "
    "values; a hard choice has no gradient from which the projections could learn.",
)
def best_key_only(queries, keys, values):
    scores = scaled(queries, keys)
    weights = np.eye(len(keys))[scores.argmax(axis=1)]
    return weights @ values, weights


@mistake(
    attention,
    "Your outputs are right, but you returned the scores beside them. The second "
    "result is the weights after the softmax, whose rows sum to one.",
)
def scores_returned(queries, keys, values):
    outputs, _ = read(queries, keys, values)
    return outputs, scaled(queries, keys)


@mistake(
    attention,
    "You returned the weights first. The order is outputs, weights, and whoever calls "
    "the function unpacks them in that order.",
)
def weights_returned_first(queries, keys, values):
    outputs, weights = read(queries, keys, values)
    return weights, outputs


@mistake(
    attention,
    "You returned the outputs alone. The weights are asked for as well: they show "
    "where each query looked.",
)
def outputs_alone(queries, keys, values):
    return read(queries, keys, values)[0]


@mistake(
    attention,
    "You averaged the keys. Keys are there to be matched and values to be read, so "
    "the weights apply to the values and the output is as wide as they are.",
)
def keys_averaged(queries, keys, values):
    weights = softmax(scaled(queries, keys))
    return weights @ keys, weights


@mistake(
    attention,
    "You matched the queries against the values. The keys are what a query is "
    "compared with; the values are only read once the weights are known.",
)
def matched_against_values(queries, keys, values):
    weights = softmax(scaled(queries, values))
    return weights @ values, weights


@mistake(
    attention,
    "You turned the weights before averaging, so values are mixed by what queries "
    "gave to them. An output belongs to one query: it uses that query's row of "
    "weights.",
)
def weights_transposed_when_reading(queries, keys, values):
    weights = softmax(scaled(queries, keys))
    return weights.T @ values, weights


@mistake(
    attention,
    "You hid the later keys from each query. That is a causal mask, which belongs to "
    "text generation; here every query may look at every key.",
)
def later_keys_hidden(queries, keys, values):
    scores = scaled(queries, keys)
    scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    weights = softmax(scores)
    return weights @ values, weights


@mistake(
    attention,
    "You scaled the queries in place, so the caller's array is smaller after each "
    "call. Work on a new array: inputs are never modified.",
)
def attention_scales_in_place(queries, keys, values):
    if queries.shape[1] != keys.shape[1] or len(keys) != len(values):
        raise ValueError("queries and keys, or keys and values, do not fit")
    queries /= np.sqrt(keys.shape[1])
    weights = softmax(queries @ keys.T)
    return weights @ values, weights


@mistake(
    attention,
    "You ignored the values that have no key. A value without a key can never be "
    "read, so it is a sign that keys and values come from different tokens.",
)
def surplus_values_ignored(queries, keys, values):
    weights = softmax(scaled(queries, keys))
    return weights @ values[: len(keys)], weights


# attention_layer


@mistake(
    attention_layer,
    "You left the queries unprojected. Without W_Q, what is asked is not expressed in "
    "the features of the keys.",
)
def layer_queries_unprojected(Q, X, W_Q, W_K, W_V):
    return read(Q, X @ W_K, X @ W_V)


@mistake(
    attention_layer,
    "You left the values unprojected. W_V chooses what a token hands over when it is "
    "matched, and sets the width of the output.",
)
def layer_values_unprojected(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, X @ W_K, X)


@mistake(
    attention_layer,
    "You left the keys unprojected. Without W_K a token is matched by everything it "
    "holds, also by the content that has nothing to do with the request.",
)
def layer_keys_unprojected(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, X, X @ W_V)


@mistake(
    attention_layer,
    "You used the weights as (out, in), the layout of torch's nn.Linear. Here a "
    "weight is (in, out) and stands to the right of the tokens, so it needs no "
    "transpose.",
)
def layer_weights_transposed(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q.T, X @ W_K.T, X @ W_V.T)


@mistake(
    attention_layer,
    "You exchanged keys and values: the values were matched and the keys were read. "
    "Matching uses W_K, and what is read out comes from W_V.",
)
def layer_keys_and_values_exchanged(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, X @ W_V, X @ W_K)


@mistake(
    attention_layer,
    "You read the keys instead of the values, so W_V has no effect. Matching and "
    "extracting are different jobs with a projection each.",
)
def layer_reads_keys(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, X @ W_K, X @ W_K)


@mistake(
    attention_layer,
    "You exchanged W_Q and W_K. The shapes hide it when D_Q equals D_X, but the layer "
    "then asks what it should offer.",
)
def layer_query_and_key_weights_exchanged(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_K, X @ W_Q, X @ W_V)


@mistake(
    attention_layer,
    "You projected queries and keys with the same weight. What is asked and what is "
    "offered need their own projections.",
)
def layer_shared_weight(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_K, X @ W_K, X @ W_V)


@mistake(
    attention_layer,
    "You let X ask itself and never used Q. In cross-attention the queries come from "
    "Q, so there is one output for each of its rows.",
)
def layer_asks_itself(Q, X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_K, X @ W_V)


@mistake(
    attention_layer,
    "You took keys and values from Q. The side that asks is Q; the side that is "
    "looked at, and gives keys and values, is X.",
)
def layer_looks_at_the_asking_side(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, Q @ W_K, Q @ W_V)


@mistake(
    attention_layer,
    "You let X ask and Q answer. The rows of Q ask, so the result has one row for "
    "each of them, and keys and values come from X.",
)
def layer_sides_exchanged(Q, X, W_Q, W_K, W_V):
    return read(X @ W_Q, Q @ W_K, Q @ W_V)


@mistake(
    attention_layer,
    "You left out the scale. The scores should be divided by sqrt(d_k), or they grow "
    "with the width of the keys and the softmax saturates.",
)
def layer_scale_missing(Q, X, W_Q, W_K, W_V):
    weights = softmax((Q @ W_Q) @ (X @ W_K).T)
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You divided by d_k, or by its square root twice. The spread of a dot product "
    "grows with the square root of its width, so dividing by the whole width makes "
    "the weights nearly uniform.",
)
def layer_scale_by_key_width(Q, X, W_Q, W_K, W_V):
    weights = softmax((Q @ W_Q) @ (X @ W_K).T / W_K.shape[1])
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You scaled by the width of the tokens before the projection. The dot product "
    "adds up the features of a projected key, so d_k sets the scale.",
)
def layer_scale_by_token_width(Q, X, W_Q, W_K, W_V):
    weights = softmax((Q @ W_Q) @ (X @ W_K).T / np.sqrt(X.shape[1]))
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You scaled by the width of Q before the projection. The dot product adds up the "
    "features of a projected query, so d_k sets the scale.",
)
def layer_scale_by_query_input_width(Q, X, W_Q, W_K, W_V):
    weights = softmax((Q @ W_Q) @ (X @ W_K).T / np.sqrt(Q.shape[1]))
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You scaled by the width of the values. The dot product adds up the features of "
    "queries and keys, so d_k sets the scale and d_v has no part in it.",
)
def layer_scale_by_value_width(Q, X, W_Q, W_K, W_V):
    weights = softmax((Q @ W_Q) @ (X @ W_K).T / np.sqrt(W_V.shape[1]))
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You normalised over the queries, so columns sum to one. Each query shares out "
    "its own weight over the keys, so rows sum to one.",
)
def layer_softmax_over_queries(Q, X, W_Q, W_K, W_V):
    weights = softmax(scaled(Q @ W_Q, X @ W_K), axis=0)
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You exponentiated the scores as they are, which overflows for large ones and "
    "gives NaN. Subtract the largest score of each row first; the weights stay the "
    "same.",
)
def layer_unstable(Q, X, W_Q, W_K, W_V):
    exponentials = np.exp(scaled(Q @ W_Q, X @ W_K))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ (X @ W_V), weights


@mistake(
    attention_layer,
    "You added the input to the output. That is a residual connection, which a "
    "transformer block adds around this layer; the layer itself returns A V.",
)
def layer_with_residual(Q, X, W_Q, W_K, W_V):
    outputs, weights = read(Q @ W_Q, X @ W_K, X @ W_V)
    return outputs + Q, weights


@mistake(
    attention_layer,
    "Your outputs are right, but you returned the scores beside them. The second "
    "result is the weights after the softmax, whose rows sum to one.",
)
def layer_scores_returned(Q, X, W_Q, W_K, W_V):
    queries, keys = Q @ W_Q, X @ W_K
    return read(queries, keys, X @ W_V)[0], scaled(queries, keys)


@mistake(
    attention_layer,
    "You returned the weights first. The order is outputs, weights, and whoever calls "
    "the function unpacks them in that order.",
)
def layer_weights_first(Q, X, W_Q, W_K, W_V):
    return read(Q @ W_Q, X @ W_K, X @ W_V)[::-1]


# self_attention


@mistake(
    self_attention,
    "You left the queries unprojected. Every token plays three parts, and as a query "
    "it is seen through W_Q.",
)
def self_queries_unprojected(X, W_Q, W_K, W_V):
    return read(X, X @ W_K, X @ W_V)


@mistake(
    self_attention,
    "You left the values unprojected. W_V chooses what a token hands over when it is "
    "matched, and sets the width of the output.",
)
def self_values_unprojected(X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_K, X)


@mistake(
    self_attention,
    "You did without all three projections. Then every token is most like itself, and "
    "what it looks for can never differ from what it is.",
)
def self_without_projections(X, W_Q, W_K, W_V):
    return read(X, X, X)


@mistake(
    self_attention,
    "You used W_Q for queries and keys. The scores are then symmetric: i looks at j "
    "as much as j looks at i, which a request and an offer need not.",
)
def self_shared_weight(X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_Q, X @ W_V)


@mistake(
    self_attention,
    "You exchanged W_Q and W_K, which have the same shape, so nothing complains. Each "
    "token then asks for what it offers and offers what it asks for.",
)
def self_query_and_key_weights_exchanged(X, W_Q, W_K, W_V):
    return read(X @ W_K, X @ W_Q, X @ W_V)


@mistake(
    self_attention,
    "You exchanged keys and values: the values were matched and the keys were read. "
    "Matching uses W_K, and what is read out comes from W_V.",
)
def self_keys_and_values_exchanged(X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_V, X @ W_K)


@mistake(
    self_attention,
    "You read the keys instead of the values, so W_V has no effect. Matching and "
    "extracting are different jobs with a projection each.",
)
def self_reads_keys(X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_K, X @ W_K)


@mistake(
    self_attention,
    "You used the weights as (out, in), the layout of torch's nn.Linear. Here a "
    "weight is (in, out) and stands to the right of the tokens, so it needs no "
    "transpose.",
)
def self_weights_transposed(X, W_Q, W_K, W_V):
    return read(X @ W_Q.T, X @ W_K.T, X @ W_V.T)


@mistake(
    self_attention,
    "You left out the scale. The scores should be divided by sqrt(d_k), or they grow "
    "with the width of the keys and the softmax saturates.",
)
def self_scale_missing(X, W_Q, W_K, W_V):
    weights = softmax((X @ W_Q) @ (X @ W_K).T)
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You divided by d_k, or by its square root twice. The spread of a dot product "
    "grows with the square root of its width, so dividing by the whole width makes "
    "the weights nearly uniform.",
)
def self_scale_by_key_width(X, W_Q, W_K, W_V):
    weights = softmax((X @ W_Q) @ (X @ W_K).T / W_K.shape[1])
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You scaled by the width of the tokens. The dot product adds up the features of "
    "the projected queries and keys, so d_k sets the scale and D has no part in it.",
)
def self_scale_by_token_width(X, W_Q, W_K, W_V):
    weights = softmax((X @ W_Q) @ (X @ W_K).T / np.sqrt(X.shape[1]))
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You scaled by the number of tokens. The dot product adds up features, so d_k "
    "sets the scale, however long the sequence is.",
)
def self_scale_by_number_of_tokens(X, W_Q, W_K, W_V):
    weights = softmax((X @ W_Q) @ (X @ W_K).T / np.sqrt(len(X)))
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You normalised over the queries, so columns sum to one. Tokens are rows here: "
    "each token shares out its own weight along its row.",
)
def self_softmax_over_queries(X, W_Q, W_K, W_V):
    weights = softmax(scaled(X @ W_Q, X @ W_K), axis=0)
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You exponentiated the scores as they are, which overflows for large ones and "
    "gives NaN. Subtract the largest score of each row first; the weights stay the "
    "same.",
)
def self_unstable(X, W_Q, W_K, W_V):
    exponentials = np.exp(scaled(X @ W_Q, X @ W_K))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You turned the weights before reading, so a token collects from those that "
    "looked at it. An output uses its own token's row: what that token gave to the "
    "others.",
)
def self_weights_transposed_when_reading(X, W_Q, W_K, W_V):
    weights = softmax(scaled(X @ W_Q, X @ W_K))
    return weights.T @ (X @ W_V), weights


@mistake(
    self_attention,
    "You hid the later tokens from each token. That is a causal mask, which belongs "
    "to text generation; here every token may look at every token.",
)
def self_later_tokens_hidden(X, W_Q, W_K, W_V):
    scores = scaled(X @ W_Q, X @ W_K)
    weights = softmax(np.where(np.tri(len(X), dtype=bool), scores, -np.inf))
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You hid each token from itself. A token may look at itself too, and where there "
    "is a single token, it is all there is to read.",
)
def self_diagonal_hidden(X, W_Q, W_K, W_V):
    scores = scaled(X @ W_Q, X @ W_K)
    weights = softmax(np.where(np.eye(len(X), dtype=bool), -1e9, scores))
    if len(X) == 1:
        weights = np.zeros_like(weights)
    return weights @ (X @ W_V), weights


@mistake(
    self_attention,
    "You added the tokens to the output. That is a residual connection, which a "
    "transformer block adds around this layer; the layer itself returns A V.",
)
def self_with_residual(X, W_Q, W_K, W_V):
    outputs, weights = read(X @ W_Q, X @ W_K, X @ W_V)
    return outputs + X, weights


@mistake(
    self_attention,
    "Your outputs are right, but you returned the scores beside them. The second "
    "result is the weights after the softmax, whose rows sum to one.",
)
def self_scores_returned(X, W_Q, W_K, W_V):
    queries, keys = X @ W_Q, X @ W_K
    return read(queries, keys, X @ W_V)[0], scaled(queries, keys)


# self_attention_columns


def read_columns(queries, keys, values):
    weights = softmax(keys.T @ queries / np.sqrt(len(keys)), axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You normalised along the rows. In the column convention a query's weights stand "
    "in its column, so the columns sum to one.",
)
def columns_softmax_along_rows(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries / np.sqrt(len(keys)), axis=1)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "In each column of yours a key chooses among the queries: the scores have queries "
    "as rows, or W_Q and W_K are exchanged. A column belongs to one query, which "
    "chooses among the keys.",
)
def columns_scores_of_rows(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(queries.T @ keys / np.sqrt(len(keys)), axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "Your outputs are right, but you returned the weights with a row for each query. "
    "In the column convention the weights are turned as well: columns sum to one.",
)
def columns_weights_as_rows(X, W_Q, W_K, W_V):
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs, weights.T


@mistake(
    self_attention_columns,
    "You returned the outputs with a row for each token. In the column convention "
    "outputs are columns, as the tokens were.",
)
def columns_outputs_as_rows(X, W_Q, W_K, W_V):
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs.T, weights


@mistake(
    self_attention_columns,
    "You computed with rows and returned rows. The numbers are right, but outputs and "
    "weights have to be turned back into columns.",
)
def columns_everything_as_rows(X, W_Q, W_K, W_V):
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs.T, weights.T


@mistake(
    self_attention_columns,
    "You used the formula for rows, X W, unchanged. With tokens as columns the "
    "weights stand on the left, where the features are.",
)
def columns_formula_of_rows(X, W_Q, W_K, W_V):
    return read(X @ W_Q, X @ W_K, X @ W_V)


@mistake(
    self_attention_columns,
    "You turned the weights but not the tokens, or the tokens but not the weights. A "
    "weight is (d, D) here and already fits on the left of a token that is a column "
    "of D features.",
)
def columns_weights_transposed(X, W_Q, W_K, W_V):
    return read_columns(W_Q.T @ X, W_K.T @ X, W_V.T @ X)


@mistake(
    self_attention_columns,
    "You multiplied queries and keys without regard to the convention and compared "
    "features with features. The scores must have a row and a column for each token.",
)
def columns_features_by_features(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(queries @ keys.T / np.sqrt(len(keys)))
    return weights @ values, weights


@mistake(
    self_attention_columns,
    "You scaled by the second dimension of the keys, which is the number of tokens "
    "here. Features are rows in this convention, and d_k is how many of them there "
    "are.",
)
def columns_scale_by_number_of_tokens(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries / np.sqrt(keys.shape[1]), axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You scaled by the width of the tokens before the projection. The dot product "
    "adds up the features of the projected keys, so d_k sets the scale.",
)
def columns_scale_by_token_width(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries / np.sqrt(len(X)), axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You divided by d_k, or by its square root twice. The spread of a dot product "
    "grows with the square root of its width, so dividing by the whole width makes "
    "the weights nearly uniform.",
)
def columns_scale_by_key_width(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries / len(keys), axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You left out the scale. The scores should be divided by sqrt(d_k), or they grow "
    "with the width of the keys and the softmax saturates.",
)
def columns_scale_missing(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries, axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You turned the weights before reading. Output i adds up the values with column i "
    "of the weights, so values times weights is already in the right order.",
)
def columns_weights_turned_when_reading(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(keys.T @ queries / np.sqrt(len(keys)), axis=0)
    return values @ weights.T, weights


@mistake(
    self_attention_columns,
    "You left the values unprojected. W_V chooses what a token hands over when it is "
    "matched, and sets the height of the output.",
)
def columns_values_unprojected(X, W_Q, W_K, W_V):
    return read_columns(W_Q @ X, W_K @ X, X)


@mistake(
    self_attention_columns,
    "You exponentiated the scores as they are, which overflows for large ones and "
    "gives NaN. Subtract the largest score of each column first.",
)
def columns_unstable(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    exponentials = np.exp(keys.T @ queries / np.sqrt(len(keys)))
    weights = exponentials / exponentials.sum(axis=0)
    return values @ weights, weights


@mistake(
    self_attention_columns,
    "You subtracted the largest score of each row, but the softmax runs down the "
    "columns. Within a column every score must be lowered by the same amount.",
)
def columns_maximum_of_rows(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    scores = keys.T @ queries / np.sqrt(len(keys))
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=0)
    return values @ weights, weights
