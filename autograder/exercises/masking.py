"""Cases for chapter 4: masking."""

import numpy as np

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.specification import reals, truths

causal_mask = Exercise(
    "causal_mask",
    core=True,
    right="Query i may attend to the keys 0 to i, itself included.",
    hints=(
        "Draw the 3 x 3 table with a row for each query. Which keys may query 0 attend "
        "to, which query 1, which query 2?",
        "The diagonal is True: a token may attend to itself. Which of the two "
        "triangles is True as well?",
        "`np.tri` and `np.tril` make lower triangles; comparing "
        "`np.arange(n)[:, None]` with `np.arange(n)` makes the same table.",
    ),
)
padding_mask = Exercise(
    "padding_mask",
    core=True,
    right="Each row is true at the real tokens, however many a sentence has.",
    hints=(
        "Write down the two rows for the lengths 2 and 3 and `max_length` 4.",
        "Position `j` is real if `j` is below the length of its sequence. Positions "
        "vary along the columns, lengths along the rows.",
        "`lengths[:, None]` is a column. Compare it with a row of positions.",
    ),
)
combine_masks = Exercise(
    "combine_masks",
    hints=(
        "A key has to pass both masks. Which operator says so for arrays of booleans?",
        "Broadcasting aligns the last axes. Both masks end in T, so which axes does "
        "each of them lack in (B, 1, N, T)?",
        "`padding[:, None, None, :]` has the shape (B, 1, 1, T).",
    ),
)
masked_softmax = Exercise(
    "masked_softmax",
    core=True,
    right="Hidden keys take no part in maximum and sum, and a row without keys is "
    "zero.",
    hints=(
        "A hidden key must not take part in any step: not in the maximum, not in the "
        "sum. At which step do you have to exclude it?",
        "A hidden score becomes minus infinity, and `exp(-inf)` is 0. What is the "
        "largest score of a row in which everything is hidden, and what happens when "
        "you subtract it?",
        "Begin with `hidden = np.where(mask, scores, -np.inf)`. For a row without "
        "keys, replace the maximum by 0 and the sum by 1.",
    ),
)
scaled_dot_product_attention = Exercise(
    "scaled_dot_product_attention",
    results=("output", "weights"),
    core=True,
    right="All leading axes are carried along, and a hidden key contributes nothing.",
    hints=(
        "Three steps: scores, weights, output. You have written the second one.",
        "Only the last two axes of `key` change places, however many there are in "
        "front of them; `key.T` would reverse all of them.",
        "Without a mask, a mask of a single True allows everything: it broadcasts.",
    ),
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
    return mask


def lengths_of(rng, max_length, count):
    """Different lengths: none, all, and some in between, in random order."""
    between = rng.choice(np.arange(1, max_length), count - 2, replace=False)
    return rng.permutation([0, max_length, *between])


# causal_mask


@causal_mask.case(title="the number of tokens is drawn", points=2)
def causal_drawn(causal_mask, rng):
    return causal_mask(int(rng.integers(4, 160)))


@causal_mask.case(title="one token may attend to itself", points=1)
def causal_one(causal_mask, rng):
    return causal_mask(1)


@causal_mask.case(title="two tokens", points=1)
def causal_two(causal_mask, rng):
    return causal_mask(2)


# padding_mask


@padding_mask.case(title="lengths from nothing to all", points=2)
def padding_drawn(padding_mask, rng):
    return padding_mask(lengths_of(rng, 7, 5), 7)


@padding_mask.case(title="positions that no sequence reaches", points=1)
def padding_room(padding_mask, rng):
    return padding_mask(rng.integers(1, 5, 4), 9)


@padding_mask.case(title="as many sequences as tokens", points=1)
def padding_square(padding_mask, rng):
    return padding_mask(lengths_of(rng, 6, 6), 6)


# combine_masks


@combine_masks.case(title="more queries than keys, and fewer sequences", points=2)
def combine_distinct(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 2, 4), drawn_mask(rng, 5, 4))


@combine_masks.case(title="as many queries as keys as sequences", points=2)
def combine_square(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 5, 5), drawn_mask(rng, 5, 5))


@combine_masks.case(title="a single query looks back at all keys", points=1)
def combine_one_query(combine_masks, rng):
    return combine_masks(drawn_mask(rng, 3, 6), np.ones((1, 6), dtype=bool))


# masked_softmax


@masked_softmax.case(
    title="two sequences, three heads, one mask per sequence", points=2
)
def softmax_heads(masked_softmax, rng):
    scores = rng.standard_normal((2, 3, 4, 5))
    weights = masked_softmax(scores, drawn_mask(rng, 2, 1, 4, 5))
    return {"weights": weights, "`scores` after the call": scores}


@masked_softmax.case(title="a fully masked row gives zeros, not NaN", points=2)
def softmax_full_row(masked_softmax, rng):
    scores = rng.standard_normal((2, 3, 5))
    everything_hidden = np.zeros((3, 5), dtype=bool)
    return (
        masked_softmax(scores, drawn_mask(rng, 3, 5, hidden=[1])),
        masked_softmax(scores, everything_hidden),
    )


@masked_softmax.case(title="masks that broadcast, and a single key", points=1)
def softmax_broadcast(masked_softmax, rng):
    scores, one = rng.standard_normal((4, 6)), np.ones((1, 1), dtype=bool)
    queries = np.array([[True], [False], [True], [True]])
    return (
        masked_softmax(scores, drawn_mask(rng, 1, 6)[0]),
        masked_softmax(scores, queries),
        masked_softmax(scores, one),
        masked_softmax(rng.standard_normal((1, 1)), one),
    )


@masked_softmax.case(
    title="scores beyond a million, and a larger one that is hidden", points=2
)
def softmax_large(masked_softmax, rng):
    scores = rng.integers(-8, 9, (3, 4, 5)) / 4
    # Around -2000, a hidden score of 0 takes all, while one of -1e4 still hides.
    scores += 2e6 * np.array([[1.0], [-1.0], [-1e-3], [-1.0]])
    mask = drawn_mask(rng, 3, 4, 5)
    np.put_along_axis(scores, mask.argmin(-1)[..., None], 4e6, axis=-1)
    return masked_softmax(scores, mask)


# scaled_dot_product_attention


def attention_inputs(rng, *leading, N=4, T=5, d_k=6, d_v=7):
    """Query, key and value; all sizes are different unless asked for."""
    sizes = (N, d_k), (T, d_k), (T, d_v)
    return [rng.standard_normal((*leading, *size)) for size in sizes]


@scaled_dot_product_attention.case(title="no mask, all sizes different", points=2)
def attention_unmasked(scaled_dot_product_attention, rng):
    return scaled_dot_product_attention(*attention_inputs(rng, 2, 3))


@scaled_dot_product_attention.case(title="one mask per sequence, all heads", points=2)
def attention_masked(scaled_dot_product_attention, rng):
    inputs = attention_inputs(rng, 2, 3)
    return scaled_dot_product_attention(*inputs, drawn_mask(rng, 2, 1, 4, 5))


@scaled_dot_product_attention.case(title="a query without keys gets zeros", points=2)
def attention_full_row(scaled_dot_product_attention, rng):
    inputs = attention_inputs(rng, 2, 3)
    mask = drawn_mask(rng, 2, 1, 4, 5, hidden=[1])
    return scaled_dot_product_attention(*inputs, mask)


@scaled_dot_product_attention.case(
    title="large scores, and a larger one that is hidden", points=1
)
def attention_large(scaled_dot_product_attention, rng):
    query = rng.integers(-1, 2, (2, 3, 16)).astype(float)
    key = rng.integers(-1, 2, (2, 5, 16)).astype(float)
    query[..., 0] = [1024.0, -1024.0, 0.0]
    key[..., 0] = 1024.0
    hidden = int(rng.integers(5))
    key[..., hidden, 0] = 4096.0
    mask = np.arange(5) != hidden
    value = rng.standard_normal((2, 5, 3))
    return scaled_dot_product_attention(query, key, value, mask)


@scaled_dot_product_attention.case(
    title="one sequence, all sizes equal; one query with one key", points=1
)
def attention_square(scaled_dot_product_attention, rng):
    square = attention_inputs(rng, N=4, T=4, d_k=4, d_v=4)
    single = attention_inputs(rng, N=1, T=1, d_k=3, d_v=2)
    return (
        scaled_dot_product_attention(*square, drawn_mask(rng, 4, 4)),
        scaled_dot_product_attention(*single),
    )


# break_masked_softmax -----------------------------------------------------------------


break_masked_softmax = BreakExercise(
    name="break_masked_softmax",
    target=masked_softmax,
    parameters=[reals("scores", "N T"), truths("mask", "N T")],
    hints=(
        "Run the check on any scores and any mask. The titles of the cases say when "
        "each wrong version gets away with it.",
        "One row can be for the versions that mishandle a query without keys. What "
        "does the other row need, for the versions that mishandle large scores?",
        "Let the hidden score of the other row be about 1600 above the allowed one.",
    ),
)
break_masked_softmax.version("right where every query may attend to some key")
break_masked_softmax.version("right where nothing is masked")
break_masked_softmax.version("right while masked scores are close to the allowed ones")
break_masked_softmax.version("right while no score is large")
break_masked_softmax.small(most=8, points=2)
