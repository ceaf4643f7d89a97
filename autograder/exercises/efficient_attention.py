"""Cases for the chapter on attention for long sequences.

How much memory an implementation needs is an answer like any other: the case counts
the numbers that its tensors and arrays hold at the same time, and says whether there
were fewer than N * T.
"""

import torch

from autograder.arrays import different, peak_bytes
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import strided, tensor
from autograder.specification import reals
from toolkit.memory import LiveTensors

attention_flops = Exercise("attention_flops")
attention_bytes = Exercise("attention_bytes")
linear_attention = Exercise("linear_attention")
causal_linear_attention = Exercise("causal_linear_attention")
online_softmax_sum = Exercise("online_softmax_sum")
blockwise_attention = Exercise(
    "blockwise_attention",
    forbidden=(
        "scaled_dot_product_attention",
        *("MultiheadAttention", "multi_head_attention_forward"),
    ),
)

LARGE = {"rtol": 1e-3, "atol": 1e-3}  # float32 keeps few digits of thousands


def attention_inputs(rng, *leading, N=4, T=5, d=6, d_v=7):
    """Query, key and value; all sizes are different unless asked for."""
    sizes = (N, d), (T, d), (T, d_v)
    return [tensor(rng, *leading, *size) for size in sizes]


SINGLE = 4  # bytes of a number in single precision


def few_numbers(function, bound, *inputs):
    """The result, and whether the tensors of ``function`` held fewer than ``bound``.

    What counts is how many numbers are alive at the same time, at the most.
    """
    with torch.no_grad(), LiveTensors() as live:
        result = function(*inputs)
    return {"result": result, "memory stays small": live.peak_numbers < bound}


def few_bytes(function, bound, *inputs):
    """The same for NumPy's arrays and all else that Python holds, in any thread.

    Of these only bytes are known; the bound is that of numbers in single precision.
    """
    with torch.no_grad():
        result, held = peak_bytes(function, *inputs)
    return {"result": result, "arrays stay small": held < SINGLE * bound}


# attention_flops


@attention_flops.case(title="lengths and widths are drawn", points=2)
def flops_drawn(attention_flops, rng):
    pairs = zip(different(rng, 4, 5, 59), different(rng, 4, 60, 119), strict=True)
    return [attention_flops(n, d) for n, d in pairs]


@attention_flops.case(title="many tokens of few features", points=1)
def flops_long(attention_flops, rng):
    return attention_flops(int(rng.integers(20_000, 50_000)), int(rng.integers(3, 9)))


@attention_flops.case(title="twice and three times as many tokens", points=1)
def flops_longer(attention_flops, rng):
    n, d = different(rng, 2, 5, 29)
    return [attention_flops(factor * n, d) for factor in (1, 2, 3)]


@attention_flops.case(title="a single token", points=1)
def flops_single(attention_flops, rng):
    return attention_flops(1, int(rng.integers(2, 900)))


# attention_bytes


@attention_bytes.case(title="lengths, heads and precisions are drawn", points=2)
def bytes_drawn(attention_bytes, rng):
    sizes = zip(
        different(rng, 4, 20, 89), different(rng, 4, 3, 16), [2, 4, 8, 1], strict=True
    )
    return [attention_bytes(n, heads, width) for n, heads, width in sizes]


@attention_bytes.case(title="one head in float32", points=1)
def bytes_one_head(attention_bytes, rng):
    return attention_bytes(int(rng.integers(20, 900)), 1, 4)


@attention_bytes.case(title="more than fits into any memory", points=1)
def bytes_large(attention_bytes, rng):
    return attention_bytes(int(rng.integers(10**5, 10**6)), 12, 2)


@attention_bytes.case(title="twice and three times as many tokens", points=1)
def bytes_longer(attention_bytes, rng):
    n, heads = different(rng, 2, 5, 29)
    return [attention_bytes(factor * n, heads, 4) for factor in (1, 2, 3)]


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


@linear_attention.case(title="strided inputs are read and left unchanged", points=1)
def linear_unchanged(linear_attention, rng):
    inputs = [strided(x) for x in attention_inputs(rng, 2, N=3, T=6, d=4, d_v=5)]
    return linear_attention(*inputs), inputs


@linear_attention.case(title="never as many numbers as queries times keys", points=2)
def linear_memory(linear_attention, rng):
    tensors = attention_inputs(rng, N=300, T=280, d=3, d_v=2)
    arrays = attention_inputs(rng, N=310, T=290, d=3, d_v=2)
    return (
        few_numbers(linear_attention, 300 * 280, *tensors),
        few_bytes(linear_attention, 310 * 290, *arrays),
    )


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


@causal_linear_attention.case(title="a later token changes nothing before it", points=1)
def causal_future(causal_linear_attention, rng):
    inputs = attention_inputs(rng, 2, N=6, T=6, d=3, d_v=4)
    before = causal_linear_attention(*inputs)
    for x in inputs:
        x[:, 4] = tensor(rng, 2, x.shape[-1])
    after = causal_linear_attention(*inputs)
    early = after[:, :4] - before[:, :4]
    return {"before": before, "after": after, "the change of earlier tokens": early}


@causal_linear_attention.case(
    title="strided inputs are read and left unchanged", points=1
)
def causal_unchanged(causal_linear_attention, rng):
    inputs = [strided(x) for x in attention_inputs(rng, 2, N=6, T=6, d=4, d_v=5)]
    return causal_linear_attention(*inputs), inputs


# online_softmax_sum


def blocks_of(sizes, scores, values):
    """Scores cut by columns and values cut by rows, as two lists."""
    return list(scores.split(sizes, dim=-1)), list(values.split(sizes, dim=-2))


def stream(blocks):
    """Blocks that can be had only once, one at a time."""
    yield from blocks


@online_softmax_sum.case(title="blocks of different sizes, each seen once", points=2)
def online_stream(online_softmax_sum, rng):
    scores, values = tensor(rng, 2, 3, 4, 9), tensor(rng, 2, 3, 9, 5)
    sizes = rng.permutation([2, 3, 4]).tolist()
    score_blocks, value_blocks = blocks_of(sizes, scores, values)
    return online_softmax_sum(stream(score_blocks), stream(value_blocks))


@online_softmax_sum.case(title="the largest score comes late, or early", points=1)
def online_rising(online_softmax_sum, rng):
    scores, values = 0.7 * tensor(rng, 2, 4, 12), tensor(rng, 2, 12, 3)
    steps = torch.arange(12) / 4
    scores[:, 0] += steps
    scores[:, 1] -= steps
    return online_softmax_sum(*blocks_of(4, scores, values))


@online_softmax_sum.case(title="scores of thousands, of either sign", points=2, **LARGE)
def online_large(online_softmax_sum, rng):
    scores = torch.from_numpy(rng.integers(-8, 9, (2, 5, 9)) / 4)
    scores += 4096 * torch.tensor([[1.0], [-1.0], [0.0], [0.0], [0.0]])
    scores[:, 3, 3:] -= 4096  # the first block counts alone
    scores[:, 4, :6] -= 4096  # the last block counts alone
    return online_softmax_sum(*blocks_of(3, scores, tensor(rng, 2, 9, 4)))


@online_softmax_sum.case(title="keys hidden in some blocks, and in all", points=2)
def online_hidden(online_softmax_sum, rng):
    scores = tensor(rng, 2, 5, 7)
    scores[0, 0, :3] = -torch.inf  # the whole first block
    scores[0, 1, 5:] = -torch.inf  # the whole last block
    scores[1, 2, 3:5] = -torch.inf  # the whole block between
    scores[1, 3, ::2] = -torch.inf
    scores[0, 4] = -torch.inf
    scores[1, 0] = -torch.inf
    values = tensor(rng, 2, 7, 3)
    hidden = torch.full((2, 3, 4), -torch.inf, dtype=torch.float64)
    return (
        online_softmax_sum(*blocks_of([3, 2, 2], scores, values)),
        online_softmax_sum(*blocks_of(2, hidden, tensor(rng, 2, 4, 5))),
    )


@online_softmax_sum.case(title="one block of all keys, blocks of one key", points=1)
def online_sizes(online_softmax_sum, rng):
    scores, values = tensor(rng, 4, 4), tensor(rng, 4, 4)
    return [
        online_softmax_sum(*blocks_of(4, scores, values)),
        online_softmax_sum(*blocks_of(1, scores, values)),
        online_softmax_sum(*blocks_of(1, scores[:1, :1], values[:1])),
    ]


@online_softmax_sum.case(title="the blocks are left unchanged", points=1)
def online_unchanged(online_softmax_sum, rng):
    scores, values = strided(tensor(rng, 2, 3, 6)), strided(tensor(rng, 2, 6, 4))
    score_blocks, value_blocks = blocks_of([4, 2], scores, values)
    result = online_softmax_sum(score_blocks, value_blocks)
    return result, score_blocks, value_blocks


@online_softmax_sum.case(title="no more than a few blocks are kept", points=1)
def online_memory(online_softmax_sum, rng):
    scores, values = tensor(rng, 8, 120), tensor(rng, 120, 2)
    streams = (
        (block.clone() for block in blocks) for blocks in blocks_of(3, scores, values)
    )
    return few_numbers(online_softmax_sum, 8 * 120, *streams)


# blockwise_attention


@blockwise_attention.case(
    title="two sequences, three heads, a last block that is not full", points=2
)
def blockwise_heads(blockwise_attention, rng):
    inputs = attention_inputs(rng, 2, 3, N=5, T=11)
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
    query = torch.from_numpy(rng.integers(-1, 2, (2, 9, 16)).astype(float))
    key = torch.from_numpy(rng.integers(-1, 2, (2, 9, 16)).astype(float))
    query[..., 0] = torch.tensor([64.0, -64.0, 1.0]).repeat(3)
    key[..., 0] = 256.0
    query[..., 1], key[..., 1] = 1.0, torch.arange(9.0)
    value = tensor(rng, 2, 9, 3)
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


@blockwise_attention.case(title="strided inputs are read and left unchanged", points=1)
def blockwise_unchanged(blockwise_attention, rng):
    inputs = [strided(x) for x in attention_inputs(rng, 2, N=3, T=6, d=4, d_v=5)]
    return blockwise_attention(*inputs, 4), inputs


@blockwise_attention.case(title="never as many numbers as queries times keys", points=2)
def blockwise_memory(blockwise_attention, rng):
    tensors = attention_inputs(rng, N=96, T=96, d=3, d_v=2)
    arrays = attention_inputs(rng, N=200, T=200, d=3, d_v=2)
    return (
        few_numbers(blockwise_attention, 96 * 96, *tensors, 6, True),
        few_bytes(blockwise_attention, 200 * 200, *arrays, 25, True),
    )


# break_linear_attention ---------------------------------------------------------------


break_linear_attention = BreakExercise(
    name="break_linear_attention",
    target=linear_attention,
    parameters=[reals("query", "N d"), reals("key", "T d"), reals("value", "T d_v")],
    make=torch.tensor,
)
break_linear_attention.version("right while no feature is negative")
break_linear_attention.version("right while no feature is positive")
break_linear_attention.version("right for a single key")
break_linear_attention.version("right for queries and keys with a single feature")
break_linear_attention.small(most=8, points=2)
