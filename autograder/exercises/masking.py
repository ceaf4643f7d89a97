"""Cases for the chapter on masking."""

import numpy as np
import torch

from autograder.another_device import on_another_device
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import strided, tensor
from autograder.specification import reals, truths

causal_mask = Exercise("causal_mask")
padding_mask = Exercise("padding_mask")
combine_masks = Exercise("combine_masks")
additive_mask = Exercise("additive_mask")
masked_softmax = Exercise("masked_softmax")
scaled_dot_product_attention = Exercise(
    "scaled_dot_product_attention",
    forbidden=(
        "scaled_dot_product_attention",
        *("MultiheadAttention", "multi_head_attention_forward"),
    ),
    results=("output", "weights"),
)


def drawn_mask(rng, *shape, hidden=()):
    """A random mask that leaves each row a key, and hides one too if it can.

    Rows of the last two dimensions that are listed in ``hidden`` are hidden whole.
    """
    mask = rng.random(shape) < 0.6
    allowed = rng.integers(shape[-1], size=shape[:-1])
    np.put_along_axis(mask, (allowed[..., None] + 1) % shape[-1], False, axis=-1)
    np.put_along_axis(mask, allowed[..., None], True, axis=-1)
    for row in hidden:
        mask[..., row, :] = False
    return torch.from_numpy(mask)


def lengths_of(rng, max_length, count):
    """Different lengths: none, all, and some in between, in random order."""
    between = rng.choice(np.arange(1, max_length), count - 2, replace=False)
    return torch.from_numpy(rng.permutation([0, max_length, *between]))


def whole_numbers(rng, *shape):
    """-1, 0 and 1: sums and products of few of them are exact in any precision."""
    return torch.from_numpy(rng.integers(-1, 2, shape).astype(float))


def column_by_column(mask):
    """The same values, stored in the other order."""
    return mask.T.contiguous().T


def gradients(rng, result, *inputs):
    """Gradients of a random combination of ``result``; 0 where nothing flows."""
    if not result.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    loss = (tensor(rng, *result.shape) * result).sum()
    found = torch.autograd.grad(loss, inputs, allow_unused=True)
    return [
        torch.zeros_like(x) if gradient is None else gradient
        for x, gradient in zip(inputs, found, strict=True)
    ]


# causal_mask


@causal_mask.case(title="the number of tokens is drawn", points=2)
def causal_drawn(causal_mask, rng):
    return causal_mask(int(rng.integers(4, 160)))


@causal_mask.case(title="more tokens than fit on a page", points=1)
def causal_long(causal_mask, rng):
    return causal_mask(int(rng.integers(160, 500)))


@causal_mask.case(title="one token may look at itself", points=1)
def causal_one(causal_mask, rng):
    return causal_mask(1)


@causal_mask.case(title="two tokens", points=1)
def causal_two(causal_mask, rng):
    return causal_mask(2)


# padding_mask


@padding_mask.case(title="lengths from nothing to all", points=2)
def padding_drawn(padding_mask, rng):
    return padding_mask(lengths_of(rng, 7, 5), 7)


@padding_mask.case(title="room left behind the longest", points=1)
def padding_room(padding_mask, rng):
    return padding_mask(torch.from_numpy(rng.integers(1, 5, 4)), 9)


@padding_mask.case(title="as many sequences as tokens", points=1)
def padding_square(padding_mask, rng):
    return padding_mask(lengths_of(rng, 6, 6), 6)


@padding_mask.case(title="one sequence, and the lengths are left unchanged", points=1)
def padding_unchanged(padding_mask, rng):
    lengths = torch.from_numpy(rng.integers(1, 400, 1))
    return padding_mask(lengths, 400), lengths


@padding_mask.case(title="the mask is on the device of the lengths", points=1)
def padding_device(padding_mask, rng):
    lengths = torch.from_numpy(rng.integers(1, 6, 4))
    with on_another_device(lengths) as lengths:
        return str(padding_mask(lengths, 6).device)


# combine_masks


@combine_masks.case(title="more queries than keys, and fewer sequences", points=2)
def combine_distinct(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 2, 4), drawn_mask(rng, 5, 4))


@combine_masks.case(title="as many queries as keys as sequences", points=2)
def combine_square(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 5, 5), drawn_mask(rng, 5, 5))


@combine_masks.case(title="a single query looks back at all keys", points=1)
def combine_one_query(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 3, 6), torch.ones(1, 6, dtype=torch.bool))


@combine_masks.case(title="strided masks are read and left unchanged", points=1)
def combine_unchanged(combine_masks, rng):
    padding = strided(drawn_mask(rng, 3, 7, hidden=[1]))
    causal = drawn_mask(rng, 7, 4).T
    return combine_masks(padding, causal), padding, causal


# additive_mask


def with_dtype(result):
    return {"mask": result, "the dtype": str(result.dtype)}


@additive_mask.case(title="zeros and minus infinities, in float64", points=2)
def additive_double(additive_mask, rng):
    return with_dtype(additive_mask(drawn_mask(rng, 4, 6), torch.float64))


@additive_mask.case(title="in float32, float16 and bfloat16", points=2)
def additive_other_types(additive_mask, rng):
    mask = drawn_mask(rng, 3, 5)
    types = torch.float32, torch.float16, torch.bfloat16
    return [with_dtype(additive_mask(mask, dtype)) for dtype in types]


@additive_mask.case(title="a mask for heads, with rows hidden whole", points=1)
def additive_heads(additive_mask, rng):
    mask = drawn_mask(rng, 2, 1, 3, 4, hidden=[1])
    return with_dtype(additive_mask(mask, torch.float64))


@additive_mask.case(title="a strided mask is read and left unchanged", points=1)
def additive_unchanged(additive_mask, rng):
    mask = strided(drawn_mask(rng, 3, 5))
    return with_dtype(additive_mask(mask, torch.float32)), mask


# masked_softmax


@masked_softmax.case(title="two sequences, three heads, one mask a sequence", points=2)
def softmax_heads(masked_softmax, rng):
    return masked_softmax(tensor(rng, 2, 3, 4, 5), drawn_mask(rng, 2, 1, 4, 5))


@masked_softmax.case(title="a fully masked row gives zeros, not NaN", points=2)
def softmax_full_row(masked_softmax, rng):
    scores = tensor(rng, 2, 3, 5)
    everything_hidden = torch.zeros(3, 5, dtype=torch.bool)
    return (
        masked_softmax(scores, drawn_mask(rng, 3, 5, hidden=[1])),
        masked_softmax(scores, everything_hidden),
    )


@masked_softmax.case(title="masks that stretch, and a single key", points=1)
def softmax_broadcast(masked_softmax, rng):
    scores, one = tensor(rng, 4, 6), torch.ones(1, 1, dtype=torch.bool)
    queries = torch.tensor([[True], [False], [True], [True]])
    return (
        masked_softmax(scores, drawn_mask(rng, 1, 6)[0]),
        masked_softmax(scores, queries),
        masked_softmax(scores, one),
        masked_softmax(tensor(rng, 1, 1), one),
    )


@masked_softmax.case(
    title="the gradient, with rows masked in part and in full", points=2
)
def softmax_gradient(masked_softmax, rng):
    scores = tensor(rng, 2, 4, 5).requires_grad_()
    weights = masked_softmax(scores, drawn_mask(rng, 2, 4, 5, hidden=[2]))
    nothing = masked_softmax(scores, torch.zeros(4, 5, dtype=torch.bool))
    return gradients(rng, weights, scores), gradients(rng, nothing, scores)


@masked_softmax.case(
    title="scores beyond a million, and a larger one that is hidden", points=2
)
def softmax_large(masked_softmax, rng):
    scores = torch.from_numpy(rng.integers(-8, 9, (3, 4, 5)) / 4)
    # Around -2000, a hidden score of 0 takes all, while one of -1e4 still hides.
    scores += 2e6 * torch.tensor([[1.0], [-1.0], [-1e-3], [-1.0]], dtype=scores.dtype)
    mask = drawn_mask(rng, 3, 4, 5)
    first_hidden = mask.int().argmin(-1, keepdim=True)
    return masked_softmax(scores.scatter(-1, first_hidden, 4e6), mask)


@masked_softmax.case(title="half precision", points=1, rtol=5e-3, atol=5e-3)
def softmax_half(masked_softmax, rng):
    return masked_softmax(tensor(rng, 3, 6).half(), drawn_mask(rng, 3, 6))


@masked_softmax.case(title="strided inputs are read and left unchanged", points=1)
def softmax_unchanged(masked_softmax, rng):
    scores = tensor(rng, 6, 3, 2).permute(2, 1, 0)
    mask = column_by_column(drawn_mask(rng, 3, 6))
    return masked_softmax(scores, mask), scores, mask


# scaled_dot_product_attention


def attention_inputs(rng, *leading, N=4, T=5, d_k=6, d_v=7):
    """Query, key and value; all sizes are different unless asked for."""
    sizes = (N, d_k), (T, d_k), (T, d_v)
    return [tensor(rng, *leading, *size) for size in sizes]


@scaled_dot_product_attention.case(title="no mask, all sizes different", points=2)
def attention_unmasked(scaled_dot_product_attention, rng):
    return scaled_dot_product_attention(*attention_inputs(rng, 2, 3))


@scaled_dot_product_attention.case(title="one mask a sequence, all heads", points=2)
def attention_masked(scaled_dot_product_attention, rng):
    inputs = attention_inputs(rng, 2, 3)
    return scaled_dot_product_attention(*inputs, drawn_mask(rng, 2, 1, 4, 5))


@scaled_dot_product_attention.case(
    title="cross-attention to padded keys: no query is early or late", points=1
)
def attention_cross(scaled_dot_product_attention, rng):
    inputs = attention_inputs(rng, 3, N=4, T=6, d_k=5, d_v=2)
    seen = torch.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1] * 6])
    mask = seen[torch.from_numpy(rng.permutation(3)), None].bool()  # (B, 1, T)
    return scaled_dot_product_attention(*inputs, mask=mask)


@scaled_dot_product_attention.case(
    title="one query without keys: zeros, and a clean gradient", points=2
)
def attention_full_row(scaled_dot_product_attention, rng):
    inputs = [x.requires_grad_() for x in attention_inputs(rng, 2, 3)]
    output, weights = scaled_dot_product_attention(
        *inputs, drawn_mask(rng, 2, 1, 4, 5, hidden=[1])
    )
    nothing = torch.zeros(4, 5, dtype=torch.bool)
    empty, _ = scaled_dot_product_attention(*inputs, nothing)
    return (
        output,
        weights,
        gradients(rng, output, *inputs),
        gradients(rng, empty, *inputs),
    )


@scaled_dot_product_attention.case(
    title="large scores, and a larger one that is hidden", points=1
)
def attention_large(scaled_dot_product_attention, rng):
    query = whole_numbers(rng, 2, 3, 16)
    key = whole_numbers(rng, 2, 5, 16)
    query[..., 0] = torch.tensor([1024.0, -1024.0, 0.0])
    key[..., 0] = 1024.0
    hidden = int(rng.integers(5))
    key[..., hidden, 0] = 4096.0
    mask = torch.arange(5) != hidden
    return scaled_dot_product_attention(query, key, tensor(rng, 2, 5, 3), mask)


@scaled_dot_product_attention.case(
    title="one sequence, all sizes equal; one query with one key", points=1
)
def attention_square(scaled_dot_product_attention, rng):
    mask = drawn_mask(rng, 4, 4)
    square = attention_inputs(rng, N=4, T=4, d_k=4, d_v=4)
    single = attention_inputs(rng, N=1, T=1, d_k=3, d_v=2)
    return (
        scaled_dot_product_attention(*square, mask),
        scaled_dot_product_attention(*single),
    )


@scaled_dot_product_attention.case(
    title="strided inputs are read and left unchanged", points=1
)
def attention_unchanged(scaled_dot_product_attention, rng):
    inputs = [strided(x) for x in attention_inputs(rng, 2, N=3, T=6, d_k=4, d_v=5)]
    mask = column_by_column(drawn_mask(rng, 3, 6))
    return scaled_dot_product_attention(*inputs, mask), inputs, mask


# break_masked_softmax -----------------------------------------------------------------


break_masked_softmax = BreakExercise(
    name="break_masked_softmax",
    target=masked_softmax,
    parameters=[reals("scores", "N T"), truths("mask", "N T")],
    make=torch.tensor,
)
break_masked_softmax.version("right where every query may attend to some key")
break_masked_softmax.version("right where nothing is masked")
break_masked_softmax.version("right while masked scores are close to the allowed ones")
break_masked_softmax.version("right while no score is large")
break_masked_softmax.small(most=8, points=2)
