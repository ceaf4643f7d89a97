"""Cases for chapter 19: attention for long sequences.

How much memory an implementation needs is an answer like any other: the case measures
the most bytes that arrays hold at the same time, and says whether they were fewer than
the N * T scores would take.
"""

import numpy as np

from autograder.arrays import different, peak_bytes
from autograder.exercise import Exercise

attention_flops = Exercise(
    "attention_flops",
    hints=(
        "One entry of the scores is a dot product of `d` features. How many "
        "multiplications and additions does it take, and how many entries are there?",
        "A product of an (a, b) and a (b, c) matrix takes 2abc operations. Write down "
        "a, b and c for both products.",
    ),
)
linear_attention = Exercise(
    "linear_attention",
    hints=(
        "The query stands in front of both sums and does not depend on j. What is left "
        "inside each sum, and which shape does it have?",
        "`phi(key).T @ value` is (d, d_v): no axis of it is N or T. The divisor is a "
        "product of the queries' features with a sum over the keys.",
        "elu(x) + 1 is `np.maximum(x, 0) + np.exp(np.minimum(x, 0))`.",
    ),
)
causal_linear_attention = Exercise(
    "causal_linear_attention",
    hints=(
        "Two sums grow from token to token. What does token i add to each of them?",
        "Add the token's own key and value first, then apply its query.",
        "One token adds `k[..., :, None] * v[..., None, :]` to the (d, d_v) state and "
        "`k` to the sum of the keys.",
    ),
)
online_softmax_sum = Exercise(
    "online_softmax_sum",
    hints=(
        "Keep three things per query: the largest score so far, the sum of the "
        "exponentials, and the weighted sum of the values.",
        "Both sums were divided by exp(m). To divide them by exp(m') instead, multiply "
        "them by exp(m - m').",
        "While every key is hidden the maximum is -inf, and -inf minus -inf is NaN. "
        "Subtract 0 in that case.",
    ),
)
blockwise_attention = Exercise(
    "blockwise_attention",
    hints=(
        "The outer loop runs over blocks of queries. For one such block, "
        "`online_softmax_sum` needs the tiles of scores and the blocks of values.",
        "A generator that computes a tile when it is asked for keeps only one tile in "
        "memory.",
        "Inside tile (i, j), row r is query i + r and column c is key j + c. Compare "
        "these numbers for the causal mask.",
    ),
)

LARGE = {"rtol": 1e-3, "atol": 1e-3}  # float32 keeps few digits of thousands


def attention_inputs(rng, *leading, N=4, T=5, d=6, d_v=7):
    """Query, key and value; all sizes are different unless asked for."""
    sizes = (N, d), (T, d), (T, d_v)
    return [rng.standard_normal((*leading, *size)) for size in sizes]


def in_few_bytes(function, bound, *inputs):
    """The result, and whether arrays held fewer than ``bound`` numbers at once.

    They may be in single precision, of four bytes each.
    """
    result, held = peak_bytes(function, *inputs)
    return {"result": result, "memory stays small": held < 4 * bound}


# attention_flops


@attention_flops.case(title="lengths and widths are drawn", points=2)
def flops_drawn(attention_flops, rng):
    pairs = zip(different(rng, 4, 5, 59), different(rng, 4, 60, 119), strict=True)
    return [attention_flops(n, d) for n, d in pairs]


@attention_flops.case(title="many tokens of few features", points=1)
def flops_long(attention_flops, rng):
    return attention_flops(int(rng.integers(20_000, 50_000)), int(rng.integers(3, 9)))


@attention_flops.case(title="a single token", points=1)
def flops_single(attention_flops, rng):
    return attention_flops(1, int(rng.integers(2, 900)))


# linear_attention


@linear_attention.case(
    title="two sequences, three heads, all sizes different", points=2
)
def linear_heads(linear_attention, rng):
    return linear_attention(*attention_inputs(rng, 2, 3))


@linear_attention.case(title="features far below and far above zero", points=1)
def linear_wide_range(linear_attention, rng):
    query, key, value = attention_inputs(rng, 2, N=5, T=7, d=3, d_v=2)
    return linear_attention(2 * query, 2 * key - 0.5, value)


@linear_attention.case(title="one sequence, all sizes equal", points=1)
def linear_square(linear_attention, rng):
    return linear_attention(*attention_inputs(rng, N=4, T=4, d=4, d_v=4))


@linear_attention.case(title="one query, one key, one feature", points=1)
def linear_small(linear_attention, rng):
    return (
        linear_attention(*attention_inputs(rng, 2, N=1, T=6, d=3, d_v=2)),
        linear_attention(*attention_inputs(rng, 3, N=4, T=1, d=2, d_v=5)),
        linear_attention(*attention_inputs(rng, 2, N=3, T=4, d=1, d_v=1)),
    )


@linear_attention.case(title="never as many numbers as queries times keys", points=2)
def linear_memory(linear_attention, rng):
    inputs = attention_inputs(rng, N=310, T=290, d=3, d_v=2)
    return in_few_bytes(linear_attention, 310 * 290, *inputs)


# causal_linear_attention


@causal_linear_attention.case(title="two sequences, three heads", points=2)
def causal_heads(causal_linear_attention, rng):
    return causal_linear_attention(*attention_inputs(rng, 2, 3, N=5, T=5))


@causal_linear_attention.case(title="one sequence, all sizes equal", points=1)
def causal_square(causal_linear_attention, rng):
    return causal_linear_attention(*attention_inputs(rng, N=4, T=4, d=4, d_v=4))


@causal_linear_attention.case(title="a longer sequence", points=1)
def causal_long(causal_linear_attention, rng):
    n = int(rng.integers(40, 60))
    return causal_linear_attention(*attention_inputs(rng, 2, N=n, T=n, d=3, d_v=2))


@causal_linear_attention.case(title="one token, one feature", points=1)
def causal_small(causal_linear_attention, rng):
    return (
        causal_linear_attention(*attention_inputs(rng, 2, N=1, T=1, d=3, d_v=5)),
        causal_linear_attention(*attention_inputs(rng, 2, N=4, T=4, d=1, d_v=1)),
    )


# online_softmax_sum


def blocks_of(sizes, scores, values):
    """Scores cut by columns and values cut by rows, as two lists."""
    stops = np.cumsum(sizes)[:-1]
    return np.split(scores, stops, axis=-1), np.split(values, stops, axis=-2)


@online_softmax_sum.case(title="blocks of different sizes, each seen once", points=2)
def online_stream(online_softmax_sum, rng):
    scores, values = (
        rng.standard_normal((2, 3, 4, 9)),
        rng.standard_normal((2, 3, 9, 5)),
    )
    blocks = blocks_of(rng.permutation([2, 3, 4]), scores, values)
    return online_softmax_sum(*(iter(each) for each in blocks))


@online_softmax_sum.case(title="the largest score comes late, or early", points=1)
def online_rising(online_softmax_sum, rng):
    scores, values = (
        0.7 * rng.standard_normal((2, 4, 12)),
        rng.standard_normal((2, 12, 3)),
    )
    steps = np.arange(12) / 4
    scores[:, 0] += steps
    scores[:, 1] -= steps
    return online_softmax_sum(*blocks_of([4, 4, 4], scores, values))


@online_softmax_sum.case(title="scores of thousands, of either sign", points=2, **LARGE)
def online_large(online_softmax_sum, rng):
    scores = rng.integers(-8, 9, (2, 5, 9)) / 4
    scores += 4096 * np.array([[1.0], [-1.0], [0.0], [0.0], [0.0]])
    scores[:, 3, 3:] -= 4096  # the first block counts alone
    scores[:, 4, :6] -= 4096  # the last block counts alone
    values = rng.standard_normal((2, 9, 4))
    return online_softmax_sum(*blocks_of([3, 3, 3], scores, values))


@online_softmax_sum.case(title="keys hidden in some blocks, and in all", points=2)
def online_hidden(online_softmax_sum, rng):
    scores = rng.standard_normal((2, 5, 7))
    scores[0, 0, :3] = -np.inf  # the whole first block
    scores[0, 1, 5:] = -np.inf  # the whole last block
    scores[1, 2, 3:5] = -np.inf  # the whole block between
    scores[1, 3, ::2] = -np.inf
    scores[0, 4] = scores[1, 0] = -np.inf
    values = rng.standard_normal((2, 7, 3))
    hidden = np.full((2, 3, 4), -np.inf)
    return (
        online_softmax_sum(*blocks_of([3, 2, 2], scores, values)),
        online_softmax_sum(*blocks_of([2, 2], hidden, rng.standard_normal((2, 4, 5)))),
    )


@online_softmax_sum.case(title="one block of all keys, blocks of one key", points=1)
def online_sizes(online_softmax_sum, rng):
    scores, values = rng.standard_normal((4, 4)), rng.standard_normal((4, 4))
    return [
        online_softmax_sum(*blocks_of([4], scores, values)),
        online_softmax_sum(*blocks_of([1] * 4, scores, values)),
        online_softmax_sum(*blocks_of([1], scores[:1, :1], values[:1])),
    ]


@online_softmax_sum.case(title="no more than a few blocks are kept", points=1)
def online_memory(online_softmax_sum, rng):
    scores, values = rng.standard_normal((64, 600)), rng.standard_normal((600, 2))
    blocks = blocks_of([20] * 30, scores, values)
    return in_few_bytes(online_softmax_sum, 64 * 600, *(iter(each) for each in blocks))


# blockwise_attention


@blockwise_attention.case(
    title="two sequences, three heads, a last block that is not full", points=2
)
def blockwise_heads(blockwise_attention, rng):
    inputs = attention_inputs(rng, 2, 3, N=13, T=15)
    return blockwise_attention(*inputs, 4)


@blockwise_attention.case(
    title="causal, also with more keys than queries, or fewer", points=2
)
def blockwise_causal(blockwise_attention, rng):
    square = attention_inputs(rng, 2, 3, N=11, T=11)
    wide = attention_inputs(rng, 2, N=6, T=9, d=4, d_v=3)
    tall = attention_inputs(rng, 2, N=9, T=6, d=4, d_v=3)
    return [
        blockwise_attention(*inputs, 4, causal=True) for inputs in (square, wide, tall)
    ]


@blockwise_attention.case(title="blocks of 1 up to more than there are", points=2)
def blockwise_sizes(blockwise_attention, rng):
    inputs = attention_inputs(rng, 2, N=7, T=7, d=3, d_v=2)
    return [
        [blockwise_attention(*inputs, size, causal) for causal in (False, True)]
        for size in (1, 2, 5, 7, 30)
    ]


@blockwise_attention.case(
    title="scores of thousands, the largest late", points=1, **LARGE
)
def blockwise_large(blockwise_attention, rng):
    query = rng.integers(-1, 2, (2, 9, 16)).astype(float)
    key = rng.integers(-1, 2, (2, 9, 16)).astype(float)
    query[..., 0] = np.tile([64.0, -64.0, 1.0], 3)
    key[..., 0] = 256.0
    query[..., 1], key[..., 1] = 1.0, np.arange(9.0)
    value = rng.standard_normal((2, 9, 3))
    return [
        blockwise_attention(query, key, value, 4, causal) for causal in (False, True)
    ]


@blockwise_attention.case(title="one sequence, all sizes equal, one token", points=1)
def blockwise_square(blockwise_attention, rng):
    square = attention_inputs(rng, N=4, T=4, d=4, d_v=4)
    single = attention_inputs(rng, 2, N=1, T=1, d=3, d_v=2)
    return (
        blockwise_attention(*square, 2),
        blockwise_attention(*square, 2, True),
        blockwise_attention(*single, 3, True),
    )


@blockwise_attention.case(title="never as many numbers as queries times keys", points=2)
def blockwise_memory(blockwise_attention, rng):
    inputs = attention_inputs(rng, N=200, T=200, d=3, d_v=2)
    return in_few_bytes(blockwise_attention, 200 * 200, *inputs, 10, True)
