"""Cases for the chapter on multi-head attention."""

import numpy as np
import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import reals, whole

split_heads = Exercise(
    "split_heads",
    core=True,
    right="A head has its slice of the features of every token; no token is lost.",
    hints=(
        "Which axis do the heads cut: tokens or features? Split that axis into two, "
        "and leave the tokens alone.",
        "Draw one sequence of 3 tokens with 4 features, for 2 heads. After the cut its "
        "shape is (3, 2, 2): tokens, heads, features of a head. Which two axes have to "
        "trade places?",
        "Two steps: a reshape to (B, N, h, E / h), then a swap of axes 1 and 2.",
    ),
)
merge_heads = Exercise(
    "merge_heads",
    core=True,
    right="The slices of each token lie side by side again, in the order of the heads.",
    hints=(
        "Undo split_heads: the same two steps, the other way round.",
        "Before any reshape, the features of one token have to lie next to each other: "
        "heads and features of a head must be the last two axes, in this order.",
        "Begin with `x.swapaxes(1, 2)`, which is (B, N, h, d).",
    ),
)
multi_head_attention = Exercise(
    "multi_head_attention",
    core=True,
    right="Each head has a softmax of its own, and is scaled by the root of its own "
    "width.",
    results=("output", "weights"),
    hints=(
        "Follow the shapes: (B, N, E) is projected, split to (B, h, N, d), attended, "
        "merged to (B, N, E) and projected again. A matrix product of arrays with four "
        "axes repeats over the first two.",
        "Project first, then split: `x @ W_Q` has all heads side by side. Which width "
        "belongs under the square root, E or that of a head?",
        "Hide with `np.where(mask, scores, -np.inf)` before the softmax. A row without "
        "a key has no largest score and a total of 0: where would that give NaN?",
    ),
)
projection_parameter_count = Exercise(
    "projection_parameter_count",
    hints=(
        "Count one projection first: a matrix from E to E features and a bias.",
        "With heads: each of h heads maps E features to E / h. Write down the total "
        "for all heads, and h cancels.",
        "The output projection maps h times E / h features back to E, with one bias.",
    ),
)
MultiHeadAttention = Exercise(
    "MultiHeadAttention",
    core=True,
    right="Queries, keys and values are projected, split, attended to, merged and "
    "projected again.",
    forbidden=(
        "MultiheadAttention",
        "multi_head_attention_forward",
        "scaled_dot_product_attention",
    ),
    results=("output", "weights"),
    hints=(
        "It is your NumPy function with four `nn.Linear` in place of the matrices, and "
        "with keys and values made from their own inputs.",
        "Queries have N tokens, keys and values T. Let each keep its own number of "
        "tokens when you split the heads.",
        "`masked_fill(~mask, -torch.inf)` before the softmax hides keys; a second "
        "`masked_fill` after it turns the NaN of a row without keys into 0.",
    ),
)


# split_heads


@split_heads.case(title="two sequences of five tokens, three heads of four", points=2)
def split_distinct(split_heads, rng):
    return split_heads(rng.standard_normal((2, 5, 12)), 3)


@split_heads.case(title="as many heads as tokens as sequences")
def split_equal(split_heads, rng):
    return split_heads(rng.standard_normal((4, 4, 16)), 4)


@split_heads.case(title="one head, and one feature for each head")
def split_extremes(split_heads, rng):
    x = rng.standard_normal((3, 2, 6))
    return split_heads(x, 1), split_heads(x, 6)


@split_heads.case(title="ten features in three heads: ValueError")
def split_mismatch(split_heads, rng):
    return split_heads(rng.standard_normal((2, 3, 10)), 3)


# merge_heads


@merge_heads.case(title="two sequences, three heads, five tokens", points=2)
def merge_distinct(merge_heads, rng):
    return merge_heads(rng.standard_normal((2, 3, 5, 4)))


@merge_heads.case(title="as many heads as tokens as features")
def merge_equal(merge_heads, rng):
    return merge_heads(rng.standard_normal((3, 3, 3, 3)))


@merge_heads.case(title="one head, one token, one feature")
def merge_extremes(merge_heads, rng):
    shapes = (2, 1, 4, 3), (2, 5, 1, 3), (2, 3, 4, 1)
    return [merge_heads(rng.standard_normal(shape)) for shape in shapes]


# multi_head_attention

B, N, T, HEADS, E = 2, 4, 5, 3, 12


def tokens_and_weights(rng, batch=B, tokens=N, width=E):
    """Tokens and four projections, scaled so that attention is not saturated."""
    matrices = rng.standard_normal((4, width, width)) / np.sqrt(width)
    return rng.standard_normal((batch, tokens, width)), *matrices


def allowed(rng, *shape):
    """A mask that hides about a third, and never the first key."""
    mask = rng.random(shape) > 0.35
    mask[..., -1] = False
    mask[..., 0] = True
    return mask


@multi_head_attention.case(title="two sequences, three heads", points=2)
def attention_distinct(multi_head_attention, rng):
    return multi_head_attention(*tokens_and_weights(rng), HEADS)


@multi_head_attention.case(title="one head, and one feature for each head")
def attention_extremes(multi_head_attention, rng):
    given = tokens_and_weights(rng)
    return multi_head_attention(*given, 1), multi_head_attention(*given, E)


@multi_head_attention.case(title="one mask for all heads of all sequences", points=2)
def attention_shared_mask(multi_head_attention, rng):
    return multi_head_attention(*tokens_and_weights(rng), HEADS, allowed(rng, N, N))


@multi_head_attention.case(title="a mask for each sequence, and one for each head")
def attention_masks(multi_head_attention, rng):
    given = tokens_and_weights(rng)
    masks = allowed(rng, B, 1, 1, N), allowed(rng, B, HEADS, N, N)
    return [multi_head_attention(*given, HEADS, mask) for mask in masks]


@multi_head_attention.case(title="a query without any key has weights 0 and output 0")
def attention_without_keys(multi_head_attention, rng):
    mask = allowed(rng, B, 1, N, N)
    mask[0, :, 2] = False
    return multi_head_attention(*tokens_and_weights(rng), HEADS, mask)


@multi_head_attention.case(title="scores in the thousands")
def attention_large_scores(multi_head_attention, rng):
    x, W_Q, *others = tokens_and_weights(rng)
    return multi_head_attention(x, 3000 * W_Q, *others, HEADS)


# MultiHeadAttention

LOOSE = {"rtol": 1e-4, "atol": 1e-5}  # room for steps in single precision


def layer(MultiHeadAttention, rng, width=E, heads=HEADS):
    """A layer with known parameters, scaled so that attention is not saturated."""
    return fill(MultiHeadAttention(width, heads), rng, scale=0.35)


def three(rng):
    """Query, key and value, all different."""
    return tensor(rng, B, N, E), tensor(rng, B, T, E), tensor(rng, B, T, E)


@MultiHeadAttention.case(title="self-attention in three heads", points=2, **LOOSE)
def layer_self(MultiHeadAttention, rng):
    x = tensor(rng, B, N, E)
    return layer(MultiHeadAttention, rng)(x, x, x)


@MultiHeadAttention.case(title="query, key and value differ", points=2, **LOOSE)
def layer_cross(MultiHeadAttention, rng):
    return layer(MultiHeadAttention, rng)(*three(rng))


@MultiHeadAttention.case(title="sequences, queries, keys and heads equal in number")
def layer_equal(MultiHeadAttention, rng):
    inputs = (tensor(rng, 3, 3, 9) for _ in range(3))
    return layer(MultiHeadAttention, rng, width=9, heads=3)(*inputs)


@MultiHeadAttention.case(
    title="masks for all heads, for each sequence, for each head", points=2, **LOOSE
)
def layer_masks(MultiHeadAttention, rng):
    made, inputs = layer(MultiHeadAttention, rng), three(rng)
    shapes = (N, T), (B, 1, 1, T), (B, HEADS, N, T)
    masks = [torch.from_numpy(allowed(rng, *shape)) for shape in shapes]
    return [made(*inputs, mask) for mask in masks]


@MultiHeadAttention.case(title="a query without any key has weights 0", **LOOSE)
def layer_without_keys(MultiHeadAttention, rng):
    mask = torch.from_numpy(allowed(rng, B, 1, N, T))
    mask[0, :, 2] = False
    return layer(MultiHeadAttention, rng)(*three(rng), mask)


@MultiHeadAttention.case(title="gradients reach all parameters and inputs", **LOOSE)
def layer_gradients(MultiHeadAttention, rng):
    made = layer(MultiHeadAttention, rng)
    inputs = [x.requires_grad_() for x in three(rng)]
    made(*inputs)[0].square().sum().backward()
    names = "query", "key", "value"
    found = {
        f"the gradient of `{name}`": x.grad
        for name, x in zip(names, inputs, strict=True)
    }
    return found | {name: p.grad for name, p in sorted(made.named_parameters())}


@MultiHeadAttention.case(title="twelve features in five heads: ValueError")
def layer_mismatch(MultiHeadAttention, rng):
    MultiHeadAttention(E, 5)


# projection_parameter_count


@projection_parameter_count.case(title="a width and a number of heads at random")
def count_drawn(projection_parameter_count, rng):
    heads, head_dim = (int(size) for size in rng.integers(2, 40, 2))
    return projection_parameter_count(heads * head_dim, heads)


@projection_parameter_count.case(title="one width, every number of heads")
def count_every_number_of_heads(projection_parameter_count, rng):
    width = 12 * int(rng.integers(2, 300))
    return [projection_parameter_count(width, heads) for heads in (1, 2, 3, 4, 6, 12)]


@projection_parameter_count.case(title="the widths of well-known models")
def count_known(projection_parameter_count, rng):
    known = [(512, 8), (768, 12), (1024, 16), (4096, 32)]
    return [projection_parameter_count(*sizes) for sizes in known]


# break_split_heads


def no_equal_heads(x, num_heads):
    """Refuse features that cannot be cut into heads."""
    return "`num_heads` has to divide E" if x.shape[-1] % num_heads else ""


break_split_heads = BreakExercise(
    name="break_split_heads",
    target=split_heads,
    parameters=[reals("x", "B N E"), whole("num_heads", 1, 16)],
    rule=no_equal_heads,
    hints=(
        "A wrong version moves values to wrong places. Which tokens let you see where "
        "each value went?",
        "Draw two tokens of four features for two heads, and split them by hand in all "
        "wrong ways that you can think of. Where two ways agree, change a size.",
        "`np.arange` gives values that all differ. Choose more than one token and more "
        "than one head, and a head width that differs from the number of heads.",
    ),
)
break_split_heads.version("right for a single token, or a single head")
break_split_heads.version("right for heads with a single feature, or a single head")
break_split_heads.version("right where a head has as many features as there are heads")
break_split_heads.version("right for a single head and a batch of one")
break_split_heads.small(most=13, points=2)
