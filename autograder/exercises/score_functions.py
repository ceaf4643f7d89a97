"""Cases for the chapter on score functions."""

import numpy as np

from autograder.arrays import different, peak_bytes
from autograder.exercise import Exercise

cosine_score = Exercise(
    "cosine_score",
    hints=(
        "The numerator is the table of dot products. Which shape does the table of "
        "products of norms have?",
        "Where a norm is zero, the dot product is zero, too. Which divisor would give "
        "the score that is asked for?",
        "Begin with `np.linalg.norm(S, axis=1)`, one norm per state.",
    ),
)
general_score = Exercise(
    "general_score",
    hints=(
        "For one pair it is s times W_a times h. Which side of W_a has s entries?",
        "Write the shapes in a row: (T_dec, s), (s, h) and then H, which has to offer "
        "h first.",
    ),
)
reduced_rank_score = Exercise(
    "reduced_rank_score",
    hints=(
        "Bring both states to the same k features before you compare them.",
        "With states in rows, the projected decoder states are (T_dec, k). Which "
        "transpose of U_a gives that?",
        "Watch the parentheses: which of the products would be (s, h)?",
    ),
)
additive_score = Exercise(
    "additive_score",
    hints=(
        "Project each kind of state first; both projections are tables with r columns.",
        "Every decoder state meets every encoder state: the hidden layer is (T_dec, "
        "T_enc, r). Where do the two projections need a new axis?",
        "Begin with `(S @ V_a.T)[:, None, :]`, which is (T_dec, 1, r).",
    ),
)
parameter_count = Exercise(
    "parameter_count",
    hints=(
        "Count what is learned, not the states: which letters of the formula carry the "
        "index a?",
        "A matrix of shape (k, s) has k times s entries. The additive score has two "
        "matrices and a vector.",
    ),
)


def states(rng, t_dec, t_enc, s, h):
    """S and H."""
    return rng.standard_normal((t_dec, s)), rng.standard_normal((t_enc, h))


def general_inputs(rng, t_dec, t_enc, s, h):
    """S, H and W_a."""
    return *states(rng, t_dec, t_enc, s, h), rng.standard_normal((s, h)) / np.sqrt(s)


def reduced_inputs(rng, t_dec, t_enc, s, h, k):
    """S, H, U_a and V_a."""
    return (
        *states(rng, t_dec, t_enc, s, h),
        rng.standard_normal((k, s)) / np.sqrt(s),
        rng.standard_normal((k, h)) / np.sqrt(h),
    )


def additive_inputs(rng, t_dec, t_enc, s, h, r):
    """S, H, W_a, V_a and v_a, with tanh neither linear nor saturated."""
    return (
        *states(rng, t_dec, t_enc, s, h),
        rng.standard_normal((r, h)) / np.sqrt(h),
        rng.standard_normal((r, s)) / np.sqrt(s),
        rng.standard_normal(r),
    )


# cosine_score


@cosine_score.case(title="fewer decoder states than encoder states", points=2)
def cosine_distinct(cosine_score, rng):
    return cosine_score(*states(rng, 3, 5, 4, 4))


@cosine_score.case(title="long and short states: only the direction counts", points=1)
def cosine_lengths(cosine_score, rng):
    S, H = states(rng, 4, 3, 6, 6)
    return cosine_score(S * [[0.1], [1], [10], [100]], H * [[10], [0.1], [1]])


@cosine_score.case(title="a zero decoder state scores 0", points=1)
def cosine_zero_decoder(cosine_score, rng):
    S, H = states(rng, 3, 5, 4, 4)
    S[1] = 0.0
    return cosine_score(S, H)


@cosine_score.case(title="a zero encoder state scores 0", points=1)
def cosine_zero_encoder(cosine_score, rng):
    S, H = states(rng, 3, 5, 4, 4)
    H[2] = 0.0
    return cosine_score(S, H)


# general_score


@general_score.case(title="all four sizes different", points=2)
def general_distinct(general_score, rng):
    return general_score(*general_inputs(rng, 3, 5, 4, 6))


@general_score.case(title="all sizes equal, so that only the values can tell", points=2)
def general_square(general_score, rng):
    return general_score(*general_inputs(rng, 4, 4, 4, 4))


@general_score.case(title="sizes drawn at random", points=1)
def general_drawn(general_score, rng):
    return general_score(*general_inputs(rng, *different(rng, 4, 2, 9)))


# reduced_rank_score


@reduced_rank_score.case(title="all five sizes different", points=2)
def reduced_distinct(reduced_rank_score, rng):
    return reduced_rank_score(*reduced_inputs(rng, 3, 5, 6, 7, 2))


@reduced_rank_score.case(title="all sizes equal: full rank", points=1)
def reduced_square(reduced_rank_score, rng):
    return reduced_rank_score(*reduced_inputs(rng, 4, 4, 4, 4, 4))


@reduced_rank_score.case(title="no (s, h) matrix is built on the way", points=1)
def reduced_memory(reduced_rank_score, rng):
    s, h = 600, 700
    inputs = reduced_inputs(rng, 1, 1, s, h, 2)
    reduced_rank_score(*inputs)  # what is loaded at the first call does not count
    _, peak = peak_bytes(reduced_rank_score, *inputs)
    return {"the memory it takes, in halves of an (s, h) matrix": peak // (s * h * 4)}


# additive_score


@additive_score.case(title="all five sizes different", points=2)
def additive_distinct(additive_score, rng):
    return additive_score(*additive_inputs(rng, 3, 5, 4, 6, 7))


@additive_score.case(
    title="all sizes equal, so that only the values can tell", points=2
)
def additive_square(additive_score, rng):
    return additive_score(*additive_inputs(rng, 4, 4, 4, 4, 4))


@additive_score.case(title="long states, where tanh is nearly 1", points=1)
def additive_saturated(additive_score, rng):
    S, H, *weights = additive_inputs(rng, 3, 5, 4, 6, 7)
    return additive_score(4 * S, 4 * H, *weights)


# parameter_count


@parameter_count.case(title="dot and cosine learn nothing", points=1)
def count_none(parameter_count, rng):
    width = int(rng.integers(2, 600))
    return [parameter_count(score, width, width) for score in ("dot", "cosine")]


@parameter_count.case(title="general, states of different width", points=1)
def count_general(parameter_count, rng):
    s, h = (int(size) for size in rng.integers(2, 600, 2))
    return parameter_count("general", s, h)


@parameter_count.case(title="reduced rank, with and without an r given", points=1)
def count_reduced(parameter_count, rng):
    s, h, k, r = (int(size) for size in rng.integers(2, 600, 4))
    return [
        parameter_count("reduced_rank", s, h, k),
        parameter_count("reduced_rank", s, h, k=k, r=r),
    ]


@parameter_count.case(title="additive, with and without a k given", points=1)
def count_additive(parameter_count, rng):
    s, h, k, r = (int(size) for size in rng.integers(2, 600, 4))
    return [
        parameter_count("additive", s, h, r=r),
        parameter_count("additive", s, h, k, r),
    ]
