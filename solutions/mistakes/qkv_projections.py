"""Misconceptions about queries, keys and values, as code that can be recognised."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.qkv_projections import (
    attention,
    attention_layer,
    choose_projections,
    self_attention_columns,
)

# attention ----------------------------------------------------------------------------


@edit(attention, " / np.sqrt(keys.shape[1])", "")
def attention_scale_missing():
    """You left out the scale. The scores should be divided by sqrt(d_k) before the
    softmax; without it, wide queries and keys give nearly one-hot weights."""


@edit(attention, "np.sqrt(keys.shape[1])", "keys.shape[1]")
def attention_scale_by_width():
    """You divided by d_k, or by its square root twice. The spread of a dot product
    grows with the square root of its width, so dividing by the whole width makes the
    weights nearly uniform."""


@edit(attention, "keys.shape[1]", "values.shape[1]")
def attention_scale_by_value_width():
    """You scaled by the width of the values. The dot product adds up the features of
    queries and keys, so d_k sets the scale and d_v has no part in it."""


@edit(attention, "keys.shape[1]", "len(keys)")
def attention_scale_by_number_of_keys():
    """You scaled by the number of keys. The dot product adds up features, so the width
    of queries and keys sets the scale, however many keys there are."""


@edit(
    attention,
    "A = np.exp(E - E.max(axis=1, keepdims=True))  # no overflow, same ratios\n"
    "    A = A / A.sum(axis=1, keepdims=True)",
    "A = np.exp(E - E.max(axis=0))\n    A = A / A.sum(axis=0)",
)
def softmax_over_queries():
    """You normalised over the queries, so columns sum to one and the queries compete
    for a key. Each query divides its own weight among the keys, so rows must sum to
    one."""


@edit(attention, " - E.max(axis=1, keepdims=True)", "")
def no_maximum_subtracted():
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each row first; the weights stay the
    same."""


@edit(attention, "E.max(axis=1, keepdims=True)", "E.max()")
def one_maximum_for_all_rows():
    """You subtracted one maximum of the whole matrix, so a row whose scores are all far
    below it becomes 0/0. Each row needs its own maximum."""


@edit(attention, "return A @ values, A", "return A @ values, E")
def scores_returned():
    """Your outputs are right, but you returned the scores beside them. The second
    result is the weights after the softmax, whose rows sum to one."""


@edit(attention, "return A @ values, A", "return A, A @ values")
def weights_returned_first():
    """You returned the weights first. The order is outputs, weights, and the calling
    code unpacks them in that order."""


@edit(attention, "A @ values", "A @ keys")
def keys_averaged():
    """You averaged the keys. Keys are there to be matched and values to be passed on,
    so the weights apply to the values and the output is as wide as they are."""


@edit(attention, "A @ values", "A.T @ values")
def weights_transposed_when_reading():
    """You transposed the weights before averaging, so values are mixed by what the
    queries gave to them. An output belongs to one query: it uses that query's row of
    weights."""


@mistake(attention)
def best_key_only(queries, keys, values):
    """You took only the value of the best key. Attention is a weighted mean of all
    values; a hard choice has no gradient from which the projections could learn."""
    weights = np.eye(len(keys))[(queries @ keys.T).argmax(axis=1)]
    return weights @ values, weights


# attention_layer ----------------------------------------------------------------------


@edit(attention_layer, "Q @ W_Q, X @ W_K, X @ W_V", "Q @ W_Q.T, X @ W_K.T, X @ W_V.T")
def layer_weights_transposed():
    """You used the weights as (out, in), the layout of torch's nn.Linear. Here a weight
    is (in, out) and stands on the right of the tokens, so it needs no transpose."""


@edit(attention_layer, "X @ W_K, X @ W_V", "X @ W_V, X @ W_K")
def layer_keys_and_values_swapped():
    """You swapped keys and values: the values were matched and the keys averaged.
    Matching uses W_K, and what is passed on comes from W_V."""


@edit(attention_layer, "X @ W_V", "X @ W_K")
def layer_averages_keys():
    """You averaged the keys instead of the values, so W_V has no effect. Matching and
    extracting are different jobs, with a projection each."""


@edit(attention_layer, "X @ W_V", "X")
def layer_values_unprojected():
    """You left the values unprojected. W_V chooses what a token passes on when it is
    matched, and sets the width of the output."""


@mistake(attention_layer)
def layer_scale_by_token_width(Q, X, W_Q, W_K, W_V):
    """You scaled by the width of the tokens before the projection. The dot product adds
    up the features of a projected key, so d_k sets the scale."""
    E = Q @ W_Q @ (X @ W_K).T / np.sqrt(X.shape[1])
    A = np.exp(E - E.max(axis=1, keepdims=True))
    A = A / A.sum(axis=1, keepdims=True)
    return A @ X @ W_V, A


# choose_projections -------------------------------------------------------------------


@edit(choose_projections, "20 * W_Q", "W_Q")
def request_not_firm():
    """Every reader finds the right book, but its weight stays below 0.9. A match scores
    only 1/sqrt(d_k) when all features are zeros and ones, next to scores of 0. Longer
    queries or keys stretch the differences between scores."""


@edit(choose_projections, "20 * W_Q, W_K", "20 * W_K, W_K")
def everybody_finds_their_own():
    """Both queries and keys use the subject brought, so every reader matches their own
    book best. A query has to say what is wanted."""


@edit(choose_projections, "20 * W_Q, W_K", "20 * W_K, W_Q")
def found_by_what_one_wants():
    """The queries hold the subject brought and the keys the subject wanted, so each
    reader finds the one who wants their book. Swap the two roles."""


@edit(choose_projections, "20 * W_Q, W_K", "20 * np.eye(13), np.eye(13)")
def no_choice_of_features():
    """Queries and keys keep all thirteen features, so every vector is compared with
    itself and content takes part in the matching. Select what is searched for and what
    can be found."""


@edit(choose_projections, "20 * W_Q, W_K", "20 * (W_Q - W_V), W_K + W_V")
def content_in_the_match():
    """The book's own number takes part in the scores, so a book that is a large number
    attracts or repels every reader. Leave the last column out of queries and keys."""


@edit(choose_projections, "W_K, W_V\n", "W_K, 20 * W_V\n")
def firmness_in_the_values():
    """The values are multiplied, so readers get a multiple of the book. How firm a
    request is depends on queries and keys; a value is passed on as it is."""


@edit(choose_projections, "W_K, W_V\n", "W_K, np.eye(13)\n")
def whole_token_as_value():
    """The values are whole tokens, so readers also get the wishes of the person who
    brought the book. W_V should select the one column that is the book."""


# self_attention_columns ---------------------------------------------------------------


@edit(
    self_attention_columns,
    "A = np.exp(E - E.max(axis=0))\n    A = A / A.sum(axis=0)",
    "A = np.exp(E - E.max(axis=1, keepdims=True))\n"
    "    A = A / A.sum(axis=1, keepdims=True)",
)
def columns_softmax_along_rows():
    """You normalised along the rows. In the column convention a query's weights are its
    column, so the columns sum to one."""


@edit(self_attention_columns, "keys.T @ queries", "queries.T @ keys")
def columns_scores_of_rows():
    """In each of your columns a key chooses among the queries: the scores have queries
    as rows, or W_Q and W_K are swapped. A column belongs to one query, which chooses
    among the keys."""


@edit(self_attention_columns, "values @ A, A", "values @ A.T, A")
def columns_weights_turned_when_reading():
    """You transposed the weights before averaging. Output i adds up the values with
    column i of the weights, so values times weights is already in the right order."""


@edit(self_attention_columns, "np.sqrt(len(keys))", "np.sqrt(keys.shape[1])")
def columns_scale_by_number_of_tokens():
    """You scaled by the second dimension of the keys, which is the number of tokens
    here. Features are rows in this convention, and d_k is the number of rows."""


@edit(self_attention_columns, " / np.sqrt(len(keys))", "")
def columns_scale_missing():
    """You left out the scale. The scores should be divided by sqrt(d_k), or they grow
    with the width of the keys and the softmax saturates."""


@edit(self_attention_columns, " - E.max(axis=0)", "")
def columns_unstable():
    """You exponentiated the scores as they are, which overflows for large ones and
    gives NaN. Subtract the largest score of each column first."""


@mistake(self_attention_columns)
def columns_formula_of_rows(X, W_Q, W_K, W_V):
    """You used the formula for rows, X W, unchanged. With tokens as columns the weights
    stand on the left, where the features are."""
    E = X @ W_Q @ (X @ W_K).T / np.sqrt(W_K.shape[1])
    A = np.exp(E - E.max(axis=1, keepdims=True))
    A = A / A.sum(axis=1, keepdims=True)
    return A @ X @ W_V, A


@mistake(self_attention_columns)
def columns_features_by_features(X, W_Q, W_K, W_V):
    """You multiplied queries and keys without regard to the convention and compared
    features with features. The scores must have a row and a column for each token."""
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    E = queries @ keys.T / np.sqrt(len(keys))
    A = np.exp(E - E.max(axis=1, keepdims=True))
    A = A / A.sum(axis=1, keepdims=True)
    return A @ values, A
