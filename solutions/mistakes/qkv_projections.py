"""Misconceptions about queries, keys and values, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.qkv_projections import (
    attention,
    attention_layer,
    break_attention,
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


def overflowing(scores, axis=1):
    """A softmax that does not take the largest score away first."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def over_queries(scores):
    return softmax(scores, axis=0)


def read(queries, keys, values, *, divisor=None, weigh=softmax):
    """Outputs and weights: right, unless the divisor or the softmax is replaced."""
    if divisor is None:
        divisor = np.sqrt(keys.shape[1])
    weights = weigh(queries @ keys.T / divisor)
    return weights @ values, weights


# project


@mistake(project)
def weights_transposed(Q, X, W_Q, W_K, W_V):
    """You used the weights as (out, in), the layout of torch's nn.Linear. Here a weight
    is (in, out) and stands to the right of the tokens, so it needs no transpose."""
    return Q @ W_Q.T, X @ W_K.T, X @ W_V.T


@mistake(project)
def weights_from_the_left(Q, X, W_Q, W_K, W_V):
    """You applied the weights from the left, which mixes different tokens with one
    another. A projection mixes the features of one token, so it stands on the side of
    the features: on the right, where tokens are rows."""
    return W_Q @ Q, W_K @ X, W_V @ X


@mistake(project)
def queries_with_key_weights(Q, X, W_Q, W_K, W_V):
    """You projected the queries with W_K. What is asked and what is offered need their
    own projections, otherwise both sides look at the same features."""
    return Q @ W_K, X @ W_K, X @ W_V


@mistake(project)
def keys_with_query_weights(Q, X, W_Q, W_K, W_V):
    """You projected the keys with W_Q. What is asked and what is offered need their own
    projections, and here even the widths of the inputs differ."""
    return Q @ W_Q, X @ W_Q, X @ W_V


@mistake(project)
def query_and_key_weights_exchanged(Q, X, W_Q, W_K, W_V):
    """You exchanged W_Q and W_K: queries come from W_K and keys from W_Q. The shapes
    hide it when D_Q equals D_X, but the layer then asks what it should offer."""
    return Q @ W_K, X @ W_Q, X @ W_V


@mistake(project)
def queries_from_the_tokens(Q, X, W_Q, W_K, W_V):
    """You took the queries from X. The queries come from Q, the side that asks; only
    keys and values come from X."""
    return X @ W_Q, X @ W_K, X @ W_V


@mistake(project)
def keys_from_the_asking_side(Q, X, W_Q, W_K, W_V):
    """You took the keys from Q. Keys describe what is looked at, so they come from X,
    one for each of its tokens."""
    return Q @ W_Q, Q @ W_K, X @ W_V


@mistake(project)
def values_from_the_asking_side(Q, X, W_Q, W_K, W_V):
    """You took the values from Q. Values are what is read out of the tokens that were
    matched, so they come from X, one for each key."""
    return Q @ W_Q, X @ W_K, Q @ W_V


@mistake(project)
def values_with_key_weights(Q, X, W_Q, W_K, W_V):
    """You projected the values with W_K, so they repeat what the keys say. Matching and
    extracting are different jobs: the values have their own projection."""
    return Q @ W_Q, X @ W_K, X @ W_K


@mistake(project)
def values_from_keys(Q, X, W_Q, W_K, W_V):
    """You made the values out of the keys. What the keys left out for matching would be
    lost for good, so values are projected from the tokens themselves."""
    keys = X @ W_K
    return Q @ W_Q, keys, keys @ W_V


@mistake(project)
def values_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the values unprojected. W_V chooses what a token hands over when it is
    matched, and sets the width of the output."""
    return Q @ W_Q, X @ W_K, X.copy()


@mistake(project)
def queries_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the queries unprojected. Without W_Q the vectors that ask are compared
    with keys of another width and another meaning."""
    return Q.copy(), X @ W_K, X @ W_V


@mistake(project)
def keys_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the keys unprojected. Without W_K a token is matched by everything it
    holds, also by the content that has nothing to do with the request."""
    return Q @ W_Q, X.copy(), X @ W_V


@mistake(project)
def keys_and_values_exchanged(Q, X, W_Q, W_K, W_V):
    """You returned the values before the keys. The order is queries, keys, values, and
    whoever calls the function unpacks them in that order."""
    return Q @ W_Q, X @ W_V, X @ W_K


@mistake(project)
def keys_returned_first(Q, X, W_Q, W_K, W_V):
    """You returned the keys before the queries. The order is queries, keys, values, and
    whoever calls the function unpacks them in that order."""
    return X @ W_K, Q @ W_Q, X @ W_V


@mistake(project)
def queries_scaled(Q, X, W_Q, W_K, W_V):
    """You scaled the queries by 1/sqrt(d_k) here. The scale belongs to the scores; if
    similarity divides as well, it is applied twice."""
    return Q @ W_Q / np.sqrt(W_Q.shape[1]), X @ W_K, X @ W_V


@mistake(project)
def unit_length(Q, X, W_Q, W_K, W_V):
    """You divided queries and keys by their lengths. The length of a query says how
    decided it is and is part of what is learned; the dot product keeps it."""
    queries, keys = Q @ W_Q, X @ W_K
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return queries, keys / np.linalg.norm(keys, axis=1, keepdims=True), X @ W_V


@mistake(project)
def rectified(Q, X, W_Q, W_K, W_V):
    """You put a nonlinearity behind the projections. Queries, keys and values are
    linear maps of the tokens, and cutting off negative entries loses half of them."""
    return tuple(np.maximum(Z, 0.0) for Z in (Q @ W_Q, X @ W_K, X @ W_V))


@mistake(project)
def values_centred(Q, X, W_Q, W_K, W_V):
    """The mean over the tokens is subtracted from the values. A projection treats each
    token on its own, and nothing is centred: what a value holds does not depend on the
    tokens beside it."""
    values = X @ W_V
    return Q @ W_Q, X @ W_K, values - values.mean(axis=0)


# similarity


@mistake(similarity)
def scale_missing(queries, keys):
    """You left out the scale. The scores should be divided by sqrt(d_k), or they grow
    with the width and the softmax behind them saturates."""
    return queries @ keys.T


@mistake(similarity)
def scale_by_width(queries, keys):
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes all
    scores nearly equal."""
    return queries @ keys.T / keys.shape[1]


@mistake(similarity)
def scale_multiplied(queries, keys):
    """You multiplied by sqrt(d_k). The scale should undo the growth of the dot product
    with its width, so it has to make the scores smaller."""
    return queries @ keys.T * np.sqrt(keys.shape[1])


@mistake(similarity)
def scale_by_number_of_keys(queries, keys):
    """You scaled by the number of keys. It is the number of features that a dot product
    adds up, so the scale must not change when one more key arrives."""
    return queries @ keys.T / np.sqrt(len(keys))


@mistake(similarity)
def scale_by_number_of_queries(queries, keys):
    """You scaled by the number of queries. It is the number of features that a dot
    product adds up; one query's scores must not depend on the other queries."""
    return queries @ keys.T / np.sqrt(len(queries))


@mistake(similarity)
def scores_transposed(queries, keys):
    """Your scores have a row for each key. The queries belong to the rows and the keys
    to the columns, because the softmax that follows runs along a row."""
    return keys @ queries.T / np.sqrt(keys.shape[1])


@mistake(similarity)
def features_by_features(queries, keys):
    """You compared features with features: the sum runs over tokens. A score compares
    one query with one key, so the sum must run over their common features."""
    return queries.T @ keys / np.sqrt(keys.shape[1])


@mistake(similarity)
def matched_in_pairs(queries, keys):
    """Query i is compared with key i alone, so there is one score per query. Each query
    needs a score for every key, a row of the matrix."""
    both = min(len(queries), len(keys))
    products = queries[:both] * keys[:both]
    return products.sum(axis=1) / np.sqrt(keys.shape[1])


@mistake(similarity)
def matched_in_pairs_as_a_column(queries, keys):
    """Query i is compared with key i alone, so the matrix has a single column. Each
    query needs a score for every key: as many columns as there are keys."""
    return matched_in_pairs.implementation(queries, keys)[:, None]


@mistake(similarity)
def keys_not_transposed(queries, keys):
    """You multiplied the matrices without turning one of them. The features of a query
    must meet the features of a key, not the number of keys; in NumPy, transpose takes
    the axes in their new order, so that transpose(-2, -1) leaves a matrix as it is."""
    return queries @ keys / np.sqrt(keys.shape[1])


@mistake(similarity)
def same_index(queries, keys):
    """You compared query i with key i only. The score has two indices of their own:
    every query meets every key, whatever its place."""
    return np.sum(queries * keys, axis=1) / np.sqrt(keys.shape[1])


@mistake(similarity)
def softmax_included(queries, keys):
    """You normalised the scores already. These are still scores, of either sign; the
    softmax is the next step, and applying it twice flattens the weights."""
    return softmax(scaled(queries, keys))


@mistake(similarity)
def cosine(queries, keys):
    """You divided by the lengths of query and key. That is the cosine; the dot product
    is divided by sqrt(d_k) alone and keeps the lengths, which are learned."""
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(keys, axis=1)
    return queries @ keys.T / lengths


@mistake(similarity)
def negative_distance(queries, keys):
    """You measured distances. The score of this layer is the dot product, which also
    rewards long keys and can be computed for all pairs in one matrix product."""
    difference = queries[:, None] - keys
    return -np.sqrt((difference**2).sum(axis=2)) / np.sqrt(keys.shape[1])


@mistake(similarity)
def queries_scaled_in_place(queries, keys):
    """You scaled the queries in place, so the caller's array is smaller after each
    call. Work on a new array: inputs are never modified."""
    queries /= np.sqrt(keys.shape[1])
    return queries @ keys.T


@mistake(similarity)
def scale_rounded_down(queries, keys):
    """The scale is rounded down to a whole number, so that 2 takes the place of the
    square root of 6. Divide by the root itself: neither int() nor // belongs to it."""
    return queries @ keys.T / np.floor(np.sqrt(keys.shape[1]))


# attention


@mistake(attention)
def softmax_over_queries(queries, keys, values):
    """You normalised over the queries, so columns sum to one and the queries compete
    for a key. Each query shares out its own weight over the keys, so rows sum to
    one."""
    return read(queries, keys, values, weigh=over_queries)


@mistake(attention)
def softmax_over_everything(queries, keys, values):
    """You normalised over the whole matrix. Each query has its own softmax over the
    keys, otherwise the other queries take weight away from it."""
    return read(queries, keys, values, weigh=lambda scores: softmax(scores, axis=None))


@mistake(attention)
def no_maximum_subtracted(queries, keys, values):
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each row first; the weights stay the
    same."""
    return read(queries, keys, values, weigh=overflowing)


@mistake(attention)
def one_maximum_for_all_rows(queries, keys, values):
    """You subtracted one maximum of the whole matrix, so a row whose scores are all far
    below it becomes 0/0. Each row needs its own maximum."""

    def weigh(scores):
        return overflowing(scores - scores.max())

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def minimum_subtracted(queries, keys, values):
    """You subtracted the smallest score of each row, which keeps the exponential from
    becoming zero and not from overflowing. Subtract the largest, so that no exponent is
    above zero."""

    def weigh(scores):
        return overflowing(scores - scores.min(axis=1, keepdims=True))

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def scores_clipped(queries, keys, values):
    """You clipped the scores to keep the exponential finite, so all large scores count
    the same. Subtracting each row's maximum keeps their differences."""

    def weigh(scores):
        return overflowing(np.clip(scores, -50.0, 50.0))

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def attention_scale_missing(queries, keys, values):
    """You left out the scale. The scores should be divided by sqrt(d_k) before the
    softmax, or wide queries and keys give nearly one-hot weights."""
    return read(queries, keys, values, divisor=1.0)


@mistake(attention)
def attention_scale_by_width(queries, keys, values):
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes the
    weights nearly uniform."""
    return read(queries, keys, values, divisor=keys.shape[1])


@mistake(attention)
def attention_scale_by_value_width(queries, keys, values):
    """You scaled by the width of the values. The dot product adds up the features of
    queries and keys, so d_k sets the scale and d_v has no part in it."""
    return read(queries, keys, values, divisor=np.sqrt(values.shape[1]))


@mistake(attention)
def attention_scale_by_number_of_keys(queries, keys, values):
    """You scaled by the number of keys. The dot product adds up features, so the width
    of queries and keys sets the scale, however many keys there are."""
    return read(queries, keys, values, divisor=np.sqrt(len(keys)))


@mistake(attention)
def attention_scale_by_number_of_queries(queries, keys, values):
    """You scaled by the number of queries. The dot product adds up features, so the
    width of queries and keys sets the scale, however many of them there are."""
    return read(queries, keys, values, divisor=np.sqrt(len(queries)))


@mistake(attention)
def scale_after_softmax(queries, keys, values):
    """You scaled after the softmax, so the weights no longer sum to one. The scale
    belongs to the scores, where it keeps the softmax out of saturation."""
    weights = softmax(queries @ keys.T) / np.sqrt(keys.shape[1])
    return weights @ values, weights


@mistake(attention)
def softmax_twice(queries, keys, values):
    """You applied the softmax twice. The second one takes weights between 0 and 1 as
    scores and flattens them to nearly equal shares."""
    return read(queries, keys, values, weigh=lambda scores: softmax(softmax(scores)))


@mistake(attention)
def softmax_missing(queries, keys, values):
    """You weighted the values with the scores themselves. Without the softmax, the
    weights can be negative and the output is no mean of the values."""
    return read(queries, keys, values, weigh=lambda scores: scores)


@mistake(attention)
def normalised_without_exponential(queries, keys, values):
    """You divided the scores by their sum, without the exponential. Scores have either
    sign, so such shares can be negative or explode when the sum is near zero."""

    def weigh(scores):
        return scores / scores.sum(axis=1, keepdims=True)

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def best_key_only(queries, keys, values):
    """You took only the value of the best key. Attention is a weighted mean of all
    values; a hard choice has no gradient from which the projections could learn."""

    def weigh(scores):
        return np.eye(len(keys))[scores.argmax(axis=1)]

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def scores_returned(queries, keys, values):
    """Your outputs are right, but you returned the scores beside them. The second
    result is the weights after the softmax, whose rows sum to one."""
    outputs, _ = read(queries, keys, values)
    return outputs, scaled(queries, keys)


@mistake(attention)
def weights_returned_first(queries, keys, values):
    """You returned the weights first. The order is outputs, weights, and whoever calls
    the function unpacks them in that order."""
    outputs, weights = read(queries, keys, values)
    return weights, outputs


@mistake(attention)
def outputs_alone(queries, keys, values):
    """You returned the outputs alone. The weights are asked for as well: they show
    where each query looked."""
    return read(queries, keys, values)[0]


@mistake(attention)
def keys_averaged(queries, keys, values):
    """You averaged the keys. Keys are there to be matched and values to be read, so the
    weights apply to the values and the output is as wide as they are."""
    weights = softmax(scaled(queries, keys))
    return weights @ keys, weights


@mistake(attention)
def matched_against_values(queries, keys, values):
    """You matched the queries against the values. The keys are what a query is compared
    with; the values are only read once the weights are known."""
    weights = softmax(scaled(queries, values))
    return weights @ values, weights


@mistake(attention)
def attention_keys_not_turned(queries, keys, values):
    """You multiplied queries and keys without turning one of them. The features of a
    query must meet the features of a key; in NumPy, transpose takes the axes in their
    new order, so that transpose(-2, -1) leaves a matrix as it is."""
    weights = softmax(queries @ keys / np.sqrt(keys.shape[1]))
    return weights @ values, weights


@mistake(attention)
def weights_transposed_when_reading(queries, keys, values):
    """You turned the weights before averaging, so values are mixed by what queries gave
    to them. An output belongs to one query: it uses that query's row of weights."""
    weights = softmax(scaled(queries, keys))
    return weights.T @ values, weights


@mistake(attention)
def later_keys_hidden(queries, keys, values):
    """You hid the later keys from each query. That is a causal mask, which belongs to
    text generation; here every query may look at every key."""

    def weigh(scores):
        return softmax(np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf))

    return read(queries, keys, values, weigh=weigh)


@mistake(attention)
def attention_scales_in_place(queries, keys, values):
    """You scaled the queries in place, so the caller's array is smaller after each
    call. Work on a new array: inputs are never modified."""
    queries /= np.sqrt(keys.shape[1])
    weights = softmax(queries @ keys.T)
    return weights @ values, weights


@mistake(attention)
def attention_scale_rounded_down(queries, keys, values):
    """The scale is rounded down to a whole number, so that 2 takes the place of the
    square root of 6. Divide by the root itself: neither int() nor // belongs to it."""
    return read(queries, keys, values, divisor=np.floor(np.sqrt(keys.shape[1])))


@mistake(attention)
def weights_softmaxed_for_the_outputs(queries, keys, values):
    """The weights are right, and the outputs are read with their softmax, which is a
    second one. Weights that sum to one are used as they are: a softmax of them makes
    them nearly equal."""
    outputs, weights = read(queries, keys, values)
    return softmax(weights) @ values, weights


@mistake(attention)
def weights_transposed_when_square(queries, keys, values):
    """With as many queries as keys, the weights are transposed before the values are
    read, so each output belongs to a key. Row i of the weights belongs to query i,
    whatever the sizes are."""
    outputs, weights = read(queries, keys, values)
    return (weights.T @ values if len(queries) == len(keys) else outputs), weights


@mistake(attention)
def attention_unit_length(queries, keys, values):
    """Queries and keys were brought to unit norm, and their products not scaled: the
    weights compare directions only. Scaled dot-product attention keeps the norms, by
    which a query can be more or less certain, and divides by sqrt(d_k)."""
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    return read(queries, keys, values, divisor=1.0)


# attention_layer


@mistake(attention_layer)
def layer_queries_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the queries unprojected. Without W_Q, what is asked is not expressed in
    the features of the keys."""
    return read(Q, X @ W_K, X @ W_V)


@mistake(attention_layer)
def layer_values_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the values unprojected. W_V chooses what a token hands over when it is
    matched, and sets the width of the output."""
    return read(Q @ W_Q, X @ W_K, X)


@mistake(attention_layer)
def layer_keys_unprojected(Q, X, W_Q, W_K, W_V):
    """You left the keys unprojected. Without W_K a token is matched by everything it
    holds, also by the content that has nothing to do with the request."""
    return read(Q @ W_Q, X, X @ W_V)


@mistake(attention_layer)
def layer_weights_transposed(Q, X, W_Q, W_K, W_V):
    """You used the weights as (out, in), the layout of torch's nn.Linear. Here a weight
    is (in, out) and stands to the right of the tokens, so it needs no transpose."""
    return read(Q @ W_Q.T, X @ W_K.T, X @ W_V.T)


@mistake(attention_layer)
def layer_keys_and_values_exchanged(Q, X, W_Q, W_K, W_V):
    """You exchanged keys and values: the values were matched and the keys were read.
    Matching uses W_K, and what is read out comes from W_V."""
    return read(Q @ W_Q, X @ W_V, X @ W_K)


@mistake(attention_layer)
def layer_reads_keys(Q, X, W_Q, W_K, W_V):
    """You read the keys instead of the values, so W_V has no effect. Matching and
    extracting are different jobs with a projection each."""
    return read(Q @ W_Q, X @ W_K, X @ W_K)


@mistake(attention_layer)
def layer_query_and_key_weights_exchanged(Q, X, W_Q, W_K, W_V):
    """You exchanged W_Q and W_K. The shapes hide it when D_Q equals D_X, but the layer
    then asks what it should offer."""
    return read(Q @ W_K, X @ W_Q, X @ W_V)


@mistake(attention_layer)
def layer_shared_weight(Q, X, W_Q, W_K, W_V):
    """You projected queries and keys with the same weight. What is asked and what is
    offered need their own projections."""
    return read(Q @ W_K, X @ W_K, X @ W_V)


@mistake(attention_layer)
def layer_asks_itself(Q, X, W_Q, W_K, W_V):
    """You let X ask itself and never used Q. In cross-attention the queries come from
    Q, so there is one output for each of its rows."""
    return read(X @ W_Q, X @ W_K, X @ W_V)


@mistake(attention_layer)
def layer_looks_at_the_asking_side(Q, X, W_Q, W_K, W_V):
    """You took keys and values from Q. The side that asks is Q; the side that is looked
    at, and gives keys and values, is X."""
    return read(Q @ W_Q, Q @ W_K, Q @ W_V)


@mistake(attention_layer)
def layer_sides_exchanged(Q, X, W_Q, W_K, W_V):
    """You let X ask and Q answer. The rows of Q ask, so the result has one row for each
    of them, and keys and values come from X."""
    return read(X @ W_Q, Q @ W_K, Q @ W_V)


@mistake(attention_layer)
def layer_scale_missing(Q, X, W_Q, W_K, W_V):
    """You left out the scale. The scores should be divided by sqrt(d_k), or they grow
    with the width of the keys and the softmax saturates."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, divisor=1.0)


@mistake(attention_layer)
def layer_scale_by_key_width(Q, X, W_Q, W_K, W_V):
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes the
    weights nearly uniform."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, divisor=W_K.shape[1])


@mistake(attention_layer)
def layer_scale_by_token_width(Q, X, W_Q, W_K, W_V):
    """You scaled by the width of the tokens before the projection. The dot product adds
    up the features of a projected key, so d_k sets the scale."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(X.shape[1]))


@mistake(attention_layer)
def layer_scale_by_query_input_width(Q, X, W_Q, W_K, W_V):
    """You scaled by the width of Q before the projection. The dot product adds up the
    features of a projected query, so d_k sets the scale."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(Q.shape[1]))


@mistake(attention_layer)
def layer_scale_by_value_width(Q, X, W_Q, W_K, W_V):
    """You scaled by the width of the values. The dot product adds up the features of
    queries and keys, so d_k sets the scale and d_v has no part in it."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(W_V.shape[1]))


@mistake(attention_layer)
def layer_softmax_over_queries(Q, X, W_Q, W_K, W_V):
    """You normalised over the queries, so columns sum to one. Each query shares out its
    own weight over the keys, so rows sum to one."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, weigh=over_queries)


@mistake(attention_layer)
def layer_unstable(Q, X, W_Q, W_K, W_V):
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each row first; the weights stay the
    same."""
    return read(Q @ W_Q, X @ W_K, X @ W_V, weigh=overflowing)


@mistake(attention_layer)
def layer_with_residual(Q, X, W_Q, W_K, W_V):
    """You added the input to the output. That is a residual connection, which a
    transformer block adds around this layer; the layer itself returns A V."""
    outputs, weights = read(Q @ W_Q, X @ W_K, X @ W_V)
    return outputs + Q, weights


@mistake(attention_layer)
def layer_scores_returned(Q, X, W_Q, W_K, W_V):
    """Your outputs are right, but you returned the scores beside them. The second
    result is the weights after the softmax, whose rows sum to one."""
    queries, keys = Q @ W_Q, X @ W_K
    return read(queries, keys, X @ W_V)[0], scaled(queries, keys)


@mistake(attention_layer)
def layer_weights_first(Q, X, W_Q, W_K, W_V):
    """You returned the weights first. The order is outputs, weights, and whoever calls
    the function unpacks them in that order."""
    return read(Q @ W_Q, X @ W_K, X @ W_V)[::-1]


@mistake(attention_layer)
def layer_values_centred(Q, X, W_Q, W_K, W_V):
    """The mean over the tokens is subtracted from the values, so each output lacks it
    as well. Values are projections of single tokens, and nothing is centred."""
    values = X @ W_V
    return read(Q @ W_Q, X @ W_K, values - values.mean(axis=0))


@mistake(attention_layer)
def layer_unit_length(Q, X, W_Q, W_K, W_V):
    """Queries and keys were brought to unit norm, and their products not scaled: the
    weights compare directions only. Scaled dot-product attention keeps the norms, by
    which a query can be more or less certain, and divides by sqrt(d_k)."""
    return attention_unit_length.implementation(Q @ W_Q, X @ W_K, X @ W_V)


# self_attention


@mistake(self_attention)
def self_queries_unprojected(X, W_Q, W_K, W_V):
    """You left the queries unprojected. Every token plays three parts, and as a query
    it is seen through W_Q."""
    return read(X, X @ W_K, X @ W_V)


@mistake(self_attention)
def self_values_unprojected(X, W_Q, W_K, W_V):
    """You left the values unprojected. W_V chooses what a token hands over when it is
    matched, and sets the width of the output."""
    return read(X @ W_Q, X @ W_K, X)


@mistake(self_attention)
def self_without_projections(X, W_Q, W_K, W_V):
    """You did without all three projections. Then every token is most like itself, and
    what it looks for can never differ from what it is."""
    return read(X, X, X)


@mistake(self_attention)
def self_shared_weight(X, W_Q, W_K, W_V):
    """You used W_Q for queries and keys. The scores are then symmetric: i looks at j as
    much as j looks at i, which a request and an offer need not."""
    return read(X @ W_Q, X @ W_Q, X @ W_V)


@mistake(self_attention)
def self_query_and_key_weights_exchanged(X, W_Q, W_K, W_V):
    """You exchanged W_Q and W_K, which have the same shape, so nothing complains. Each
    token then asks for what it offers and offers what it asks for."""
    return read(X @ W_K, X @ W_Q, X @ W_V)


@mistake(self_attention)
def self_keys_and_values_exchanged(X, W_Q, W_K, W_V):
    """You exchanged keys and values: the values were matched and the keys were read.
    Matching uses W_K, and what is read out comes from W_V."""
    return read(X @ W_Q, X @ W_V, X @ W_K)


@mistake(self_attention)
def self_reads_keys(X, W_Q, W_K, W_V):
    """You read the keys instead of the values, so W_V has no effect. Matching and
    extracting are different jobs with a projection each."""
    return read(X @ W_Q, X @ W_K, X @ W_K)


@mistake(self_attention)
def self_weights_transposed(X, W_Q, W_K, W_V):
    """You used the weights as (out, in), the layout of torch's nn.Linear. Here a weight
    is (in, out) and stands to the right of the tokens, so it needs no transpose."""
    return read(X @ W_Q.T, X @ W_K.T, X @ W_V.T)


@mistake(self_attention)
def self_scale_missing(X, W_Q, W_K, W_V):
    """You left out the scale. The scores should be divided by sqrt(d_k), or they grow
    with the width of the keys and the softmax saturates."""
    return read(X @ W_Q, X @ W_K, X @ W_V, divisor=1.0)


@mistake(self_attention)
def self_scale_by_key_width(X, W_Q, W_K, W_V):
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes the
    weights nearly uniform."""
    return read(X @ W_Q, X @ W_K, X @ W_V, divisor=W_K.shape[1])


@mistake(self_attention)
def self_scale_by_token_width(X, W_Q, W_K, W_V):
    """You scaled by the width of the tokens. The dot product adds up the features of
    the projected queries and keys, so d_k sets the scale and D has no part in it."""
    return read(X @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(X.shape[1]))


@mistake(self_attention)
def self_scale_by_value_width(X, W_Q, W_K, W_V):
    """You scaled by the width of the values. Scores are dot products of queries and
    keys, so d_k, their width, belongs under the root."""
    return read(X @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(W_V.shape[1]))


@mistake(self_attention)
def self_scale_by_number_of_tokens(X, W_Q, W_K, W_V):
    """You scaled by the number of tokens. The dot product adds up features, so d_k sets
    the scale, however long the sequence is."""
    return read(X @ W_Q, X @ W_K, X @ W_V, divisor=np.sqrt(len(X)))


@mistake(self_attention)
def self_softmax_over_queries(X, W_Q, W_K, W_V):
    """You normalised over the queries, so columns sum to one. Tokens are rows here:
    each token shares out its own weight along its row."""
    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=over_queries)


@mistake(self_attention)
def self_unstable(X, W_Q, W_K, W_V):
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each row first; the weights stay the
    same."""
    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=overflowing)


@mistake(self_attention)
def self_weights_transposed_when_reading(X, W_Q, W_K, W_V):
    """You turned the weights before reading, so a token collects from those that looked
    at it. An output uses its own token's row: what that token gave to the others."""
    weights = softmax(scaled(X @ W_Q, X @ W_K))
    return weights.T @ (X @ W_V), weights


@mistake(self_attention)
def self_later_tokens_hidden(X, W_Q, W_K, W_V):
    """You hid the later tokens from each token. That is a causal mask, which belongs to
    text generation; here every token may look at every token."""

    def weigh(scores):
        return softmax(np.where(np.tri(len(X), dtype=bool), scores, -np.inf))

    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=weigh)


@mistake(self_attention)
def self_diagonal_hidden(X, W_Q, W_K, W_V):
    """You hid each token from itself. A token may look at itself too, and where there
    is a single token, it is all there is to read."""

    def weigh(scores):
        weights = softmax(np.where(np.eye(len(X), dtype=bool), -1e9, scores))
        return weights if len(X) > 1 else np.zeros_like(weights)

    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=weigh)


@mistake(self_attention)
def self_diagonal_hidden_until_nan(X, W_Q, W_K, W_V):
    """You hid each token from itself, and a single token, which then has nothing to
    look at, gives NaN. A token may look at itself too: the diagonal of the scores is
    like the rest of them."""

    def weigh(scores):
        with np.errstate(invalid="ignore"):
            return softmax(np.where(np.eye(len(X), dtype=bool), -np.inf, scores))

    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=weigh)


@mistake(self_attention)
def self_diagonal_hidden_among_others(X, W_Q, W_K, W_V):
    """You hid each token from itself wherever there are others. A token may look at
    itself too: the diagonal of the scores is like the rest of them."""

    def weigh(scores):
        if len(X) == 1:
            return softmax(scores)
        return softmax(np.where(np.eye(len(X), dtype=bool), -np.inf, scores))

    return read(X @ W_Q, X @ W_K, X @ W_V, weigh=weigh)


@mistake(self_attention)
def self_with_residual(X, W_Q, W_K, W_V):
    """You added the tokens to the output. That is a residual connection, which a
    transformer block adds around this layer; the layer itself returns A V."""
    outputs, weights = read(X @ W_Q, X @ W_K, X @ W_V)
    return outputs + X, weights


@mistake(self_attention)
def self_with_own_value(X, W_Q, W_K, W_V):
    """You added each token's own value to its output. That is a residual connection
    around the average; the layer itself returns A V, in which a token's own value
    counts with its weight."""
    outputs, weights = read(X @ W_Q, X @ W_K, X @ W_V)
    return outputs + X @ W_V, weights


@mistake(self_attention)
def self_scores_returned(X, W_Q, W_K, W_V):
    """Your outputs are right, but you returned the scores beside them. The second
    result is the weights after the softmax, whose rows sum to one."""
    queries, keys = X @ W_Q, X @ W_K
    return read(queries, keys, X @ W_V)[0], scaled(queries, keys)


@mistake(self_attention)
def self_unit_length(X, W_Q, W_K, W_V):
    """Queries and keys were brought to unit norm, and their products not scaled: the
    weights compare directions only. Scaled dot-product attention keeps the norms, by
    which a query can be more or less certain, and divides by sqrt(d_k)."""
    return attention_unit_length.implementation(X @ W_Q, X @ W_K, X @ W_V)


# self_attention_columns


def read_columns(queries, keys, values, *, divisor=None, axis=0, weigh=softmax):
    """The same for tokens that are columns."""
    if divisor is None:
        divisor = np.sqrt(len(keys))
    weights = weigh(keys.T @ queries / divisor, axis)
    return values @ weights, weights


@mistake(self_attention_columns)
def columns_softmax_along_rows(X, W_Q, W_K, W_V):
    """You normalised along the rows. In the column convention a query's weights stand
    in its column, so the columns sum to one."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, axis=1)


@mistake(self_attention_columns)
def columns_scores_of_rows(X, W_Q, W_K, W_V):
    """In each column of yours a key chooses among the queries: the scores have queries
    as rows, or W_Q and W_K are exchanged. A column belongs to one query, which chooses
    among the keys."""
    return read_columns(W_K @ X, W_Q @ X, W_V @ X)


@mistake(self_attention_columns)
def columns_weights_as_rows(X, W_Q, W_K, W_V):
    """Your outputs are right, but you returned the weights with a row for each query.
    In the column convention the weights are turned as well: columns sum to one."""
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs, weights.T


@mistake(self_attention_columns)
def columns_outputs_as_rows(X, W_Q, W_K, W_V):
    """You returned the outputs with a row for each token. In the column convention
    outputs are columns, as the tokens were."""
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs.T, weights


@mistake(self_attention_columns)
def columns_everything_as_rows(X, W_Q, W_K, W_V):
    """You computed with rows and returned rows. The numbers are right, but outputs and
    weights have to be turned back into columns."""
    outputs, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return outputs.T, weights.T


@mistake(self_attention_columns)
def columns_formula_of_rows(X, W_Q, W_K, W_V):
    """You used the formula for rows, X W, unchanged. With tokens as columns the weights
    stand on the left, where the features are."""
    return read(X @ W_Q, X @ W_K, X @ W_V)


@mistake(self_attention_columns)
def columns_weights_transposed(X, W_Q, W_K, W_V):
    """You turned the weights but not the tokens, or the tokens but not the weights. A
    weight is (d, D) here and already fits on the left of a token that is a column of D
    features."""
    return read_columns(W_Q.T @ X, W_K.T @ X, W_V.T @ X)


@mistake(self_attention_columns)
def columns_features_by_features(X, W_Q, W_K, W_V):
    """You multiplied queries and keys without regard to the convention and compared
    features with features. The scores must have a row and a column for each token."""
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    weights = softmax(queries @ keys.T / np.sqrt(len(keys)))
    return weights @ values, weights


@mistake(self_attention_columns)
def columns_scale_by_number_of_tokens(X, W_Q, W_K, W_V):
    """You scaled by the second dimension of the keys, which is the number of tokens
    here. Features are rows in this convention, and d_k is how many of them there
    are."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, divisor=np.sqrt(X.shape[1]))


@mistake(self_attention_columns)
def columns_scale_by_token_width(X, W_Q, W_K, W_V):
    """You scaled by the width of the tokens before the projection. The dot product adds
    up the features of the projected keys, so d_k sets the scale."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, divisor=np.sqrt(len(X)))


@mistake(self_attention_columns)
def columns_scale_by_key_width(X, W_Q, W_K, W_V):
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes the
    weights nearly uniform."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, divisor=len(W_K))


@mistake(self_attention_columns)
def columns_scale_missing(X, W_Q, W_K, W_V):
    """You left out the scale. The scores should be divided by sqrt(d_k), or they grow
    with the width of the keys and the softmax saturates."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, divisor=1.0)


@mistake(self_attention_columns)
def columns_weights_turned_when_reading(X, W_Q, W_K, W_V):
    """You turned the weights before reading. Output i adds up the values with column i
    of the weights, so values times weights is already in the right order."""
    _, weights = read_columns(W_Q @ X, W_K @ X, W_V @ X)
    return W_V @ X @ weights.T, weights


@mistake(self_attention_columns)
def columns_values_unprojected(X, W_Q, W_K, W_V):
    """You left the values unprojected. W_V chooses what a token hands over when it is
    matched, and sets the height of the output."""
    return read_columns(W_Q @ X, W_K @ X, X)


@mistake(self_attention_columns)
def columns_unstable(X, W_Q, W_K, W_V):
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each column first."""
    return read_columns(W_Q @ X, W_K @ X, W_V @ X, weigh=overflowing)


@mistake(self_attention_columns)
def columns_maximum_of_rows(X, W_Q, W_K, W_V):
    """You subtracted the largest score of each row, but the softmax runs down the
    columns. Within a column every score must be lowered by the same amount."""

    def weigh(scores, axis):
        return overflowing(scores - scores.max(axis=1, keepdims=True), axis)

    return read_columns(W_Q @ X, W_K @ X, W_V @ X, weigh=weigh)


# break_attention ----------------------------------------------------------------------

wrong_versions_of_attention = hide(
    break_attention,
    attention_scale_by_value_width,
    attention_scale_by_number_of_keys,
    keys_averaged,
    softmax_over_queries,
    one_maximum_for_all_rows,
    shown_by=[
        "give the values another width than the keys have, and let a query match the "
        "keys differently well; a wrong scale shows only where scores differ.",
        "take more keys than they have features, or fewer, and let a query match them "
        "differently well; a wrong scale shows only where scores differ.",
        "let the values be other numbers than the keys.",
        "take more keys than queries, or fewer, or let a query match the keys "
        "differently well.",
        "let all the scores of one query lie far below those of another, by a "
        "thousand, say.",
    ],
)


@mistake(break_attention)
def test_with_one_square_matrix():
    """Your arguments find one version, which normalises along the wrong axis. Where
    queries, keys and values have one shape, or are one matrix, the scale may be taken
    from any side and the keys may stand in for the values: make every size a different
    one."""
    X = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 1.0], [1.5, 0.5, 2.0]])
    return X, X, X


@mistake(break_attention)
def test_with_different_sizes():
    """Different sizes find every version but the one that is wrong about the size of
    scores: it subtracts a number that suits one row and not another. Make the scores of
    one query far larger than those of another."""
    rng = np.random.default_rng(3)
    sizes = ((2, 3), (4, 3), (4, 2))
    return tuple(rng.standard_normal(size) for size in sizes)


@mistake(break_attention)
def test_with_equal_scores():
    """Where all scores are equal, dividing them by anything changes nothing, so neither
    of the two wrong scales can be seen. Let the keys match your queries differently
    well."""
    return np.zeros((2, 3)), np.ones((4, 3)), np.arange(8.0).reshape(4, 2)
