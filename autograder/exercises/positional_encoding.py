"""Cases for the chapter on positions."""

import numpy as np

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.specification import integers, real, reals

sinusoidal_encoding = Exercise(
    "sinusoidal_encoding",
    core=True,
    right="Each pair of features turns at a speed of its own, so that every position "
    "is different.",
    hints=(
        "Write down the first two rows of the table for dim = 4 by hand: which angle "
        "does each entry have, and which two entries share one?",
        "Compute all angles first, as a table with one row per position and one column "
        "per pair: a column of positions times a row of frequencies.",
        "The numbers 2k are np.arange(0, dim, 2). Sines and cosines then have to "
        "alternate: stack them along a new last axis, and reshape.",
    ),
)
shift_matrix = Exercise(
    "shift_matrix",
    hints=(
        "Take dim = 2, so that there is one frequency. Expand sin(a + b) and "
        "cos(a + b): which numbers multiply the old sine and the old cosine?",
        "The two rows of that block give the new sine and the new cosine. For a larger "
        "dim, each pair has a block of its own on the diagonal.",
        "Start from np.zeros((dim, dim)), and fill the block at rows and columns 2k "
        "and 2k + 1 in a loop over the pairs.",
    ),
)
rotary_embedding = Exercise(
    "rotary_embedding",
    core=True,
    right="Each pair of features turns by its position, so that scores depend on "
    "distances alone.",
    hints=(
        "Rotate one pair on paper: where does a quarter turn take (1, 0), and where "
        "(0, 1)? These are the columns of the rotation.",
        "The angles form a table of shape (N, d/2): positions along the tokens, "
        "frequencies along the pairs. It broadcasts against every leading axis of x.",
        "The first entries of all pairs are x[..., 0::2], the second ones "
        "x[..., 1::2]. Compute both new entries from the old ones, then interleave.",
    ),
)


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def drawn_positions(rng, count):
    """Increasing positions with gaps, the first of which is not 0."""
    return np.sort(1 + rng.choice(40, size=count, replace=False))


# sinusoidal_encoding


@sinusoidal_encoding.case(title="50 to 90 positions, 6 to 20 features", points=3)
def encoding_drawn(sinusoidal_encoding, rng):
    return sinusoidal_encoding(drawn(rng, 50, 90), 2 * drawn(rng, 3, 10))


@sinusoidal_encoding.case(title="one pair: a sine and a cosine", points=1)
def encoding_one_pair(sinusoidal_encoding, rng):
    return sinusoidal_encoding(drawn(rng, 10, 900), 2)


@sinusoidal_encoding.case(title="a longer table begins with the shorter one", points=1)
def encoding_prefix(sinusoidal_encoding, rng):
    length, dim = drawn(rng, 4, 30), 2 * drawn(rng, 2, 10)
    longer = sinusoidal_encoding(length + drawn(rng, 1, 30), dim)
    shorter = sinusoidal_encoding(length, dim)
    return {"the beginning of the longer table": longer[:length], "shorter": shorter}


# shift_matrix


@shift_matrix.case(title="forward by 1 to 30 positions", points=2)
def shift_forward(shift_matrix, rng):
    return shift_matrix(drawn(rng, 1, 30), 2 * drawn(rng, 3, 8))


@shift_matrix.case(title="backward by 1 to 30 positions", points=2)
def shift_backward(shift_matrix, rng):
    return shift_matrix(-drawn(rng, 1, 30), 2 * drawn(rng, 3, 8))


@shift_matrix.case(title="there and back again, in two steps", points=1)
def shift_composed(shift_matrix, rng):
    dim, first, second = 2 * drawn(rng, 3, 8), drawn(rng, 1, 9), drawn(rng, 10, 30)
    moved = shift_matrix(first, dim) @ shift_matrix(-second, dim)
    return {
        "the product of both matrices": moved,
        "at once": shift_matrix(first - second, dim),
    }


# rotary_embedding


@rotary_embedding.case(title="positions with gaps", points=2)
def rotary_gaps(rotary_embedding, rng):
    return rotary_embedding(rng.standard_normal((3, 5, 8)), drawn_positions(rng, 5))


@rotary_embedding.case(
    title="several heads, as many as tokens: positions run along the tokens", points=1
)
def rotary_heads(rotary_embedding, rng):
    return rotary_embedding(rng.standard_normal((2, 4, 4, 6)), drawn_positions(rng, 4))


@rotary_embedding.case(title="another base", points=1)
def rotary_base(rotary_embedding, rng):
    x, base = rng.standard_normal((2, 5, 6)), float(rng.uniform(20, 500))
    return rotary_embedding(x, drawn_positions(rng, 5), base)


@rotary_embedding.case(title="no batch, positions in any order", points=1)
def rotary_unordered(rotary_embedding, rng):
    positions = rng.permutation(7)
    return rotary_embedding(rng.standard_normal((7, 4)), positions, base=100.0)


@rotary_embedding.case(
    title="scores of queries and keys, all moved by the same offset", points=2
)
def rotary_scores(rotary_embedding, rng):
    query, key = rng.standard_normal((2, 5, 8)), rng.standard_normal((2, 6, 8))
    moved = drawn(rng, 1, 20)
    q = rotary_embedding(query, np.arange(5))
    k = rotary_embedding(key, np.arange(6))
    q_moved = rotary_embedding(query, np.arange(5) + moved)
    k_moved = rotary_embedding(key, np.arange(6) + moved)
    return {
        "scores": q @ k.mT,
        "scores, both moved": q_moved @ k_moved.mT,
        "scores, only the queries moved": q_moved @ k.mT,
    }


# break_rotary_embedding ---------------------------------------------------------------


def odd_width(x, positions, base):
    """Refuse vectors that cannot be turned in pairs."""
    return "the number of features has to be even" if x.shape[-1] % 2 else ""


break_rotary_embedding = BreakExercise(
    name="break_rotary_embedding",
    target=rotary_embedding,
    parameters=[
        reals("x", "N d"),
        integers("positions", "N", 0, 1000),
        real("base", 2.0, 100_000.0),
    ],
    rule=odd_width,
    hints=(
        "A vector at position 0 is not rotated at all, so it shows nothing.",
        "Think of the calls that every program makes: positions 0, 1, 2, ..., and the "
        "default base. Two of the versions are right there.",
        "With two features there is a single pair, whose speed is the same under every "
        "base. Give one token four features.",
    ),
)
break_rotary_embedding.version("right where token n has position n")
break_rotary_embedding.version("right where all tokens have position 0")
break_rotary_embedding.version("right for vectors with two features")
break_rotary_embedding.version("right with the usual base of 10000")
break_rotary_embedding.small(most=6, points=2)
