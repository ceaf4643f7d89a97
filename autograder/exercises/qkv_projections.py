"""Cases for the chapter on queries, keys and values."""

import numpy as np

from autograder.arrays import different
from autograder.exercise import Exercise

attention = Exercise(
    "attention",
    core=True,
    right="Each query has weights of its own, which sum to one, and averages the "
    "values with them.",
    results=("outputs", "weights"),
    hints=(
        "Draw the shapes for two queries and three keys. One score for each pair: "
        "which of the two matrices has to be transposed?",
        "The keys are the alternatives between which a query chooses. Along which axis "
        "of the scores do they lie? That axis has to sum to one, row by row, so the "
        "sum needs keepdims=True.",
        "Start with E = queries @ keys.T / np.sqrt(keys.shape[1]).",
    ),
)
attention_layer = Exercise(
    "attention_layer",
    core=True,
    right="Three projections decide what is searched for, what is found and what is "
    "passed on.",
    results=("outputs", "weights"),
    hints=(
        "Each projection is one matrix product. Which of the two inputs do the "
        "queries come from, and which do keys and values come from?",
        "Tokens are rows, so a weight matrix stands on the right of them, as it is. "
        "Once you have queries, keys and values, you have already written the rest.",
        "Start with queries = Q @ W_Q.",
    ),
)
choose_projections = Exercise(
    "choose_projections",
    hints=(
        "Say it in words first: which columns of a reader's vector hold the request, "
        "which hold what others can find the reader by, and which hold the book?",
        "Selecting columns is a product with some columns of the identity: X @ "
        "np.eye(13)[:, :6] is the subject wanted. The order of the six subjects has to "
        "be the same on both sides.",
        "The right book wins, but not clearly? Work out the weight from its score: a "
        "match of s against eleven scores of 0 gives exp(s) / (exp(s) + 11). What do "
        "you multiply to make s larger?",
    ),
)
self_attention_columns = Exercise(
    "self_attention_columns",
    results=("outputs", "weights"),
    hints=(
        "Transpose the formula for rows on paper: a product turns round, (A B)^T = "
        "B^T A^T.",
        "Draw the case D = 4, N = 3, d_k = 2. The scores have to be (3, 3): which "
        "order of queries and keys gives that shape, and which axis holds the keys?",
        "Start with queries, keys, values = W_Q @ X, W_K @ X, W_V @ X. The number of "
        "features of a key is now its number of rows.",
    ),
)


def layer_inputs(rng, n_queries, n_tokens, d_query, d_token, d_k, d_v):
    """Q, X, W_Q, W_K, W_V with queries, keys and values of about unit variance."""
    return (
        rng.standard_normal((n_queries, d_query)),
        rng.standard_normal((n_tokens, d_token)),
        rng.standard_normal((d_query, d_k)) / np.sqrt(d_query),
        rng.standard_normal((d_token, d_k)) / np.sqrt(d_token),
        rng.standard_normal((d_token, d_v)) / np.sqrt(d_token),
    )


def self_inputs(rng, n, d, d_k, d_v):
    """X, W_Q, W_K, W_V of one self-attention."""
    _, X, W_Q, W_K, W_V = layer_inputs(rng, 1, n, d, d, d_k, d_v)
    return X, W_Q, W_K, W_V


def columns(*arrays):
    """The same numbers with rows and columns exchanged."""
    return tuple(array.T for array in arrays)


def shift_scores(queries, keys, size=60.0):
    """Shift all scores of a query up or down together, which no softmax notices.

    The second half of the keys is far below the first, and gets no weight: even the
    mean of the scores is far below the largest.
    """
    queries[:, 0] = np.where(np.arange(len(queries)) % 2 == 0, size, -size)
    keys[:, 0] = size
    queries[:, 1] = size
    keys[:, 1] = 0.0
    keys[len(keys) // 2 :, 1] = -size


def shift_layer(Q, X, W_Q, W_K, size=60.0):
    """The same through the projections; Q may be X."""
    X[:, 2] = 0.0
    X[len(X) // 2 :, 2] = -1.0
    X[:, 1] = Q[:, 1] = 1.0
    Q[:, 0] = np.where(np.arange(len(Q)) % 2 == 0, 1.0, -1.0)
    W_Q[:, :2] = W_K[:, :2] = 0.0
    W_Q[0, 0] = W_K[1, 0] = size
    W_Q[1, 1] = W_K[2, 1] = size


# attention ----------------------------------------------------------------------------


@attention.case(title="weights and outputs, all sizes different", points=2)
def attention_distinct(attention, rng):
    return attention(
        rng.standard_normal((3, 4)),
        rng.standard_normal((5, 4)),
        rng.standard_normal((5, 2)),
    )


@attention.case(title="all sizes equal, so that only the values can tell", points=1)
def attention_square(attention, rng):
    return attention(*(rng.standard_normal((5, 5)) for _ in range(3)))


@attention.case(
    title="scores beyond 1000 and below -1000", points=2, rtol=1e-3, atol=1e-3
)
def attention_large(attention, rng):
    queries, keys = rng.standard_normal((4, 5)), rng.standard_normal((6, 5))
    shift_scores(queries, keys)
    return attention(queries, keys, rng.standard_normal((6, 2)))


@attention.case(title="a single key gets all the weight", points=1)
def attention_one_key(attention, rng):
    return attention(
        rng.standard_normal((3, 2)),
        rng.standard_normal((1, 2)),
        rng.standard_normal((1, 4)),
    )


@attention.case(title="queries, keys and values are unchanged", points=1)
def attention_unchanged(attention, rng):
    n_queries, n_keys, d_k, d_v = different(rng, 4, 2, 7)
    inputs = [
        rng.standard_normal(shape)
        for shape in ((n_queries, d_k), (n_keys, d_k), (n_keys, d_v))
    ]
    return attention(*inputs), inputs


# attention_layer ----------------------------------------------------------------------


@attention_layer.case(title="cross-attention, all six sizes different", points=2)
def attention_layer_distinct(attention_layer, rng):
    return attention_layer(*layer_inputs(rng, 3, 5, 4, 6, 2, 7))


@attention_layer.case(
    title="all sizes equal, so that only the values can tell", points=1
)
def attention_layer_square(attention_layer, rng):
    return attention_layer(*layer_inputs(rng, 4, 4, 4, 4, 4, 4))


@attention_layer.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def attention_layer_large(attention_layer, rng):
    Q, X, W_Q, W_K, W_V = layer_inputs(rng, 3, 5, 6, 7, 4, 2)
    shift_layer(Q, X, W_Q, W_K)
    return attention_layer(Q, X, W_Q, W_K, W_V)


# choose_projections -------------------------------------------------------------------


def swap(wants, brings, books):
    """Tokens (N, 13) of readers; a subject of -1 is none."""
    subjects = np.vstack([np.eye(6), np.zeros(6)])
    return np.column_stack([subjects[wants], subjects[brings], books])


def who_gets_what(chosen, tokens, wants, brings):
    """What each reader gets, from whom, and whether the weight on it is 0.9 or more."""
    W_Q, W_K, W_V = (np.asarray(matrix, dtype=float) for matrix in chosen)
    keys = tokens @ W_K
    scores = (tokens @ W_Q) @ keys.T / keys.shape[1] ** 0.5
    found = scores.argmax(axis=1)
    right = [list(brings).index(subject) for subject in wants]
    with np.errstate(over="ignore"):  # one over the weight of the right book
        odds = np.exp(scores - scores[range(len(right)), right][:, None]).sum(axis=1)
    return {
        "the reader that each one reads most": found,
        "the value that comes from there": (tokens @ W_V)[found],
        "a weight of 0.9 or more": odds <= 1 / 0.9,
    }


@choose_projections.case(title="six readers, each of whom wants another book", points=2)
def choose_for_six(choose_projections, rng):
    wants, brings = rng.permutation(6), rng.permutation(6)
    tokens = swap(wants, brings, rng.standard_normal(6))
    return who_gets_what(choose_projections(), tokens, wants, brings)


@choose_projections.case(title="books that are large numbers, such as years", points=1)
def choose_with_years(choose_projections, rng):
    wants, brings = rng.permutation(6), rng.permutation(6)
    years = rng.choice(np.arange(1700, 2000.0), 6, replace=False)
    return who_gets_what(
        choose_projections(), swap(wants, brings, years), wants, brings
    )


@choose_projections.case(title="twelve readers, six of whom bring no book", points=2)
def choose_in_a_crowd(choose_projections, rng):
    wants = rng.permutation(np.tile(np.arange(6), 2))
    brings = rng.permutation(np.concatenate([np.arange(6), np.full(6, -1)]))
    books = np.where(brings < 0, 0.0, rng.standard_normal(12))
    return who_gets_what(
        choose_projections(), swap(wants, brings, books), wants, brings
    )


# self_attention_columns ---------------------------------------------------------------


@self_attention_columns.case(title="all four sizes different", points=2)
def columns_distinct(self_attention_columns, rng):
    return self_attention_columns(*columns(*self_inputs(rng, 5, 6, 3, 4)))


@self_attention_columns.case(
    title="all sizes equal, so that only the values can tell", points=1
)
def columns_square(self_attention_columns, rng):
    return self_attention_columns(*columns(*self_inputs(rng, 4, 4, 4, 4)))


@self_attention_columns.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def columns_large(self_attention_columns, rng):
    X, W_Q, W_K, W_V = self_inputs(rng, 6, 7, 4, 2)
    shift_layer(X, X, W_Q, W_K)
    return self_attention_columns(*columns(X, W_Q, W_K, W_V))
