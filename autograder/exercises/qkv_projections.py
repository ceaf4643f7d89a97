"""Cases for the chapter on queries, keys and values."""

import numpy as np

from autograder.arrays import different, strided
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.specification import reals

project = Exercise("project", results=("queries", "keys", "values"))
similarity = Exercise("similarity")
attention = Exercise("attention", results=("outputs", "weights"))
attention_layer = Exercise("attention_layer", results=("outputs", "weights"))
self_attention = Exercise("self_attention", results=("outputs", "weights"))
self_attention_columns = Exercise(
    "self_attention_columns", results=("outputs", "weights")
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
    """The same numbers with rows and columns exchanged; not C-contiguous."""
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


# project


@project.case(title="all five widths and counts differ", points=2)
def project_distinct(project, rng):
    return project(*layer_inputs(rng, 3, 5, 4, 6, 2, 7))


@project.case(title="all sizes equal, so that only the values can tell", points=1)
def project_square(project, rng):
    return project(*layer_inputs(rng, 4, 4, 4, 4, 4, 4))


@project.case(title="sizes drawn at random", points=1)
def project_drawn(project, rng):
    return project(*layer_inputs(rng, *different(rng, 6, 2, 9)))


@project.case(title="one query, one token, one feature", points=1)
def project_single(project, rng):
    return project(*layer_inputs(rng, 1, 1, 1, 1, 1, 1))


@project.case(title="strided inputs are read correctly and left unchanged", points=1)
def project_unchanged(project, rng):
    inputs = [strided(array) for array in layer_inputs(rng, 2, 3, 5, 4, 6, 7)]
    return project(*inputs), inputs


# similarity


@similarity.case(title="more keys than queries", points=2)
def similarity_distinct(similarity, rng):
    return similarity(rng.standard_normal((3, 7)), rng.standard_normal((5, 7)))


@similarity.case(title="as many queries as keys as features", points=1)
def similarity_square(similarity, rng):
    return similarity(rng.standard_normal((6, 6)), rng.standard_normal((6, 6)))


@similarity.case(title="sizes drawn at random", points=1)
def similarity_drawn(similarity, rng):
    n_queries, n_keys, d_k = different(rng, 3, 2, 9)
    return similarity(
        rng.standard_normal((n_queries, d_k)), rng.standard_normal((n_keys, d_k))
    )


@similarity.case(title="one feature: nothing to scale", points=1)
def similarity_one_feature(similarity, rng):
    return similarity(rng.standard_normal((4, 1)), rng.standard_normal((2, 1)))


@similarity.case(
    title="transposed inputs are read correctly and left unchanged", points=1
)
def similarity_unchanged(similarity, rng):
    queries, keys = columns(rng.standard_normal((3, 2)), rng.standard_normal((3, 5)))
    return similarity(queries, keys), queries, keys


# attention


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


@attention.case(
    title="transposed inputs are read correctly and left unchanged", points=1
)
def attention_unchanged(attention, rng):
    inputs = columns(
        rng.standard_normal((6, 2)),
        rng.standard_normal((6, 3)),
        rng.standard_normal((4, 3)),
    )
    return attention(*inputs), inputs


# attention_layer


@attention_layer.case(title="all six sizes different", points=2)
def attention_layer_distinct(attention_layer, rng):
    return attention_layer(*layer_inputs(rng, 3, 5, 4, 6, 2, 7))


@attention_layer.case(
    title="all sizes equal, so that only the values can tell", points=1
)
def attention_layer_square(attention_layer, rng):
    return attention_layer(*layer_inputs(rng, 4, 4, 4, 4, 4, 4))


@attention_layer.case(title="sizes drawn at random", points=1)
def attention_layer_drawn(attention_layer, rng):
    return attention_layer(*layer_inputs(rng, *different(rng, 6, 2, 9)))


@attention_layer.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def attention_layer_large(attention_layer, rng):
    Q, X, W_Q, W_K, W_V = layer_inputs(rng, 3, 5, 6, 7, 4, 2)
    shift_layer(Q, X, W_Q, W_K)
    return attention_layer(Q, X, W_Q, W_K, W_V)


@attention_layer.case(
    title="strided inputs are read correctly and left unchanged", points=1
)
def attention_layer_unchanged(attention_layer, rng):
    inputs = [strided(array) for array in layer_inputs(rng, 2, 3, 5, 4, 6, 7)]
    return attention_layer(*inputs), inputs


# self_attention


@self_attention.case(title="all four sizes different", points=2)
def self_attention_distinct(self_attention, rng):
    return self_attention(*self_inputs(rng, 5, 6, 3, 4))


@self_attention.case(
    title="all sizes equal, so that only the values can tell", points=1
)
def self_attention_square(self_attention, rng):
    return self_attention(*self_inputs(rng, 4, 4, 4, 4))


@self_attention.case(title="sizes drawn at random", points=1)
def self_attention_drawn(self_attention, rng):
    return self_attention(*self_inputs(rng, *different(rng, 4, 2, 9)))


@self_attention.case(title="a single token reads its own value", points=1)
def self_attention_one_token(self_attention, rng):
    return self_attention(*self_inputs(rng, 1, 3, 2, 4))


@self_attention.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def self_attention_large(self_attention, rng):
    X, W_Q, W_K, W_V = self_inputs(rng, 6, 7, 4, 2)
    shift_layer(X, X, W_Q, W_K)
    return self_attention(X, W_Q, W_K, W_V)


@self_attention.case(
    title="transposed inputs are read correctly and left unchanged", points=1
)
def self_attention_unchanged(self_attention, rng):
    X, *weights = self_inputs(rng, 3, 5, 2, 4)
    inputs = columns(*(np.ascontiguousarray(array.T) for array in (X, *weights)))
    return self_attention(*inputs), inputs


# self_attention_columns


@self_attention_columns.case(title="all four sizes different", points=2)
def columns_distinct(self_attention_columns, rng):
    inputs = columns(*self_inputs(rng, 5, 6, 3, 4))
    return self_attention_columns(*(np.ascontiguousarray(array) for array in inputs))


@self_attention_columns.case(
    title="all sizes equal, so that only the values can tell", points=1
)
def columns_square(self_attention_columns, rng):
    return self_attention_columns(*columns(*self_inputs(rng, 4, 4, 4, 4)))


@self_attention_columns.case(title="sizes drawn at random", points=1)
def columns_drawn(self_attention_columns, rng):
    return self_attention_columns(*columns(*self_inputs(rng, *different(rng, 4, 2, 9))))


@self_attention_columns.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def columns_large(self_attention_columns, rng):
    X, W_Q, W_K, W_V = self_inputs(rng, 6, 7, 4, 2)
    shift_layer(X, X, W_Q, W_K)
    return self_attention_columns(*columns(X, W_Q, W_K, W_V))


@self_attention_columns.case(title="the inputs are left unchanged", points=1)
def columns_unchanged(self_attention_columns, rng):
    inputs = columns(*self_inputs(rng, 3, 5, 2, 4))
    return self_attention_columns(*inputs), inputs


# break_attention ----------------------------------------------------------------------


break_attention = BreakExercise(
    name="break_attention",
    target=attention,
    parameters=[
        reals("queries", "N_Q d_k"),
        reals("keys", "N_X d_k"),
        reals("values", "N_X d_v"),
    ],
)
break_attention.version("right where values are as wide as keys")
break_attention.version("right where there are as many keys as features")
break_attention.version("right where the values are the keys")
break_attention.version("right where all scores are equal and N_Q = N_X")
break_attention.version("right while all scores are close to each other")
break_attention.small(most=8, points=2)
