"""Cases for the chapter on positions.

Angles may be computed in single precision by a right answer, so the tolerance is wider
here, and positions stay small.
"""

import torch

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import integers, real, reals

sinusoidal_encoding = Exercise("sinusoidal_encoding")
shift_matrix = Exercise("shift_matrix")
sinusoidal_encoding_2d = Exercise("sinusoidal_encoding_2d")
rotary_embedding = Exercise("rotary_embedding")
LearnedPositions = Exercise("LearnedPositions")

LOOSE = {"rtol": 1e-5, "atol": 1e-4}


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def drawn_positions(rng, count):
    """Increasing positions with gaps, the first of which is not 0."""
    return torch.from_numpy(1 + rng.choice(40, size=count, replace=False)).sort().values


# sinusoidal_encoding


@sinusoidal_encoding.case(
    title="50 to 90 positions, 6 to 20 features", points=3, **LOOSE
)
def encoding_drawn(sinusoidal_encoding, rng):
    return sinusoidal_encoding(drawn(rng, 50, 90), 2 * drawn(rng, 3, 10))


@sinusoidal_encoding.case(title="more features than positions", points=1, **LOOSE)
def encoding_wide(sinusoidal_encoding, rng):
    return sinusoidal_encoding(drawn(rng, 5, 30), 2 * drawn(rng, 40, 64))


@sinusoidal_encoding.case(title="one pair: a sine and a cosine", points=1, **LOOSE)
def encoding_one_pair(sinusoidal_encoding, rng):
    return sinusoidal_encoding(drawn(rng, 10, 900), 2)


@sinusoidal_encoding.case(
    title="a longer table begins with the shorter one", points=1, **LOOSE
)
def encoding_prefix(sinusoidal_encoding, rng):
    length, dim = drawn(rng, 4, 30), 2 * drawn(rng, 2, 10)
    longer = sinusoidal_encoding(length + drawn(rng, 1, 30), dim)
    shorter = sinusoidal_encoding(length, dim)
    return {"the beginning of the longer table": longer[:length], "shorter": shorter}


@sinusoidal_encoding.case(title="a single position", points=1, **LOOSE)
def encoding_single(sinusoidal_encoding, rng):
    return sinusoidal_encoding(1, 2 * drawn(rng, 2, 500))


# shift_matrix


@shift_matrix.case(title="forward by 1 to 30 positions", points=2, **LOOSE)
def shift_forward(shift_matrix, rng):
    return shift_matrix(drawn(rng, 1, 30), 2 * drawn(rng, 3, 8))


@shift_matrix.case(title="backward by 1 to 30 positions", points=2, **LOOSE)
def shift_backward(shift_matrix, rng):
    return shift_matrix(-drawn(rng, 1, 30), 2 * drawn(rng, 3, 8))


@shift_matrix.case(title="one pair", points=1, **LOOSE)
def shift_one_pair(shift_matrix, rng):
    return shift_matrix(drawn(rng, 2, 900), 2)


@shift_matrix.case(title="by nothing", points=1, **LOOSE)
def shift_by_nothing(shift_matrix, rng):
    return shift_matrix(0, 2 * drawn(rng, 2, 80))


@shift_matrix.case(title="there and back again, in two steps", points=1, **LOOSE)
def shift_composed(shift_matrix, rng):
    dim, first, second = 2 * drawn(rng, 3, 8), drawn(rng, 1, 9), drawn(rng, 10, 30)
    moved = shift_matrix(first, dim) @ shift_matrix(-second, dim)
    return {
        "the product of both matrices": moved,
        "at once": shift_matrix(first - second, dim),
    }


# sinusoidal_encoding_2d


@sinusoidal_encoding_2d.case(title="more columns than rows", points=2, **LOOSE)
def grid_wide(sinusoidal_encoding_2d, rng):
    return sinusoidal_encoding_2d(drawn(rng, 3, 9), drawn(rng, 10, 40), 12)


@sinusoidal_encoding_2d.case(title="more rows than columns", points=1, **LOOSE)
def grid_tall(sinusoidal_encoding_2d, rng):
    dim = 4 * drawn(rng, 2, 6)
    return sinusoidal_encoding_2d(drawn(rng, 10, 30), drawn(rng, 3, 9), dim)


@sinusoidal_encoding_2d.case(title="as many rows as columns", points=1, **LOOSE)
def grid_square(sinusoidal_encoding_2d, rng):
    size = drawn(rng, 3, 20)
    return sinusoidal_encoding_2d(size, size, 4 * drawn(rng, 2, 9))


@sinusoidal_encoding_2d.case(title="a single row", points=1, **LOOSE)
def grid_row(sinusoidal_encoding_2d, rng):
    return sinusoidal_encoding_2d(1, drawn(rng, 3, 300), 8)


# rotary_embedding

# In float32, as models are, so that tables of that dtype are right; one case is about
# the dtype.


@rotary_embedding.case(title="positions with gaps", points=2, **LOOSE)
def rotary_gaps(rotary_embedding, rng):
    return rotary_embedding(tensor(rng, 3, 5, 8).float(), drawn_positions(rng, 5))


@rotary_embedding.case(
    title="several heads, as many as tokens: positions run along the tokens",
    points=1,
    **LOOSE,
)
def rotary_heads(rotary_embedding, rng):
    return rotary_embedding(tensor(rng, 2, 4, 4, 6).float(), drawn_positions(rng, 4))


@rotary_embedding.case(title="another base, in float64", points=1, **LOOSE)
def rotary_base(rotary_embedding, rng):
    x, base = tensor(rng, 2, 5, 6), float(rng.uniform(20, 500))
    return rotary_embedding(x, drawn_positions(rng, 5), base)


@rotary_embedding.case(title="no batch, any order of positions", points=1, **LOOSE)
def rotary_unordered(rotary_embedding, rng):
    positions = torch.from_numpy(rng.permutation(7))
    return rotary_embedding(tensor(rng, 7, 4).float(), positions, base=100.0)


@rotary_embedding.case(
    title="scores of queries and keys, all moved by the same offset", points=2, **LOOSE
)
def rotary_scores(rotary_embedding, rng):
    query, key = tensor(rng, 2, 5, 8).float(), tensor(rng, 2, 6, 8).float()
    moved = drawn(rng, 1, 20)
    q = rotary_embedding(query, torch.arange(5))
    k = rotary_embedding(key, torch.arange(6))
    q_moved = rotary_embedding(query, torch.arange(5) + moved)
    k_moved = rotary_embedding(key, torch.arange(6) + moved)
    return {
        "scores": q @ k.mT,
        "scores, both moved": q_moved @ k_moved.mT,
        "scores, only the queries moved": q_moved @ k.mT,
    }


@rotary_embedding.case(
    title="a transposed input is read correctly, left unchanged, and gets a gradient",
    points=1,
    **LOOSE,
)
def rotary_unchanged(rotary_embedding, rng):
    leaf = tensor(rng, 2, 6, 5).float().requires_grad_()
    x, positions = leaf.mT, drawn_positions(rng, 5)
    turned = rotary_embedding(x, positions)
    (turned * tensor(rng, 2, 5, 6).float()).sum().backward()
    found = {"turned": turned, "x": x, "positions": positions}
    return {**found, "the gradient of `x`": leaf.grad}


# LearnedPositions


@LearnedPositions.case(title="fewer tokens than positions", points=2)
def learned_short(LearnedPositions, rng):
    module = fill(LearnedPositions(9, 6), rng)
    return module(tensor(rng, 3, 5, 6))


@LearnedPositions.case(title="as many sequences as tokens", points=1)
def learned_square(LearnedPositions, rng):
    module = fill(LearnedPositions(7, 6), rng)
    return module(tensor(rng, 4, 4, 6))


@LearnedPositions.case(title="as many tokens as positions, in eval mode", points=1)
def learned_full(LearnedPositions, rng):
    module = fill(LearnedPositions(5, 4), rng).eval()
    return module(tensor(rng, 2, 5, 4))


@LearnedPositions.case(title="table is the only parameter, and its shape", points=1)
def learned_names(LearnedPositions, rng):
    module = LearnedPositions(drawn(rng, 5, 20), drawn(rng, 3, 9))
    return {name: list(p.shape) for name, p in module.named_parameters()}


@LearnedPositions.case(title="gradients reach the table and the tokens", points=1)
def learned_gradient(LearnedPositions, rng):
    module = fill(LearnedPositions(6, 4), rng)
    x = tensor(rng, 3, 5, 4).requires_grad_()
    (module(x) * tensor(rng, 3, 5, 4)).sum().backward()
    return module.table.grad, x.grad


@LearnedPositions.case(title="the tokens given are left unchanged", points=1)
def learned_unchanged(LearnedPositions, rng):
    module, x = fill(LearnedPositions(6, 4), rng), tensor(rng, 2, 4, 5).mT
    with torch.no_grad():
        return module(x), x


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
    make=torch.tensor,
    rule=odd_width,
)
break_rotary_embedding.version("right where token n has position n")
break_rotary_embedding.version("right where all tokens have position 0")
break_rotary_embedding.version("right for vectors with two features")
break_rotary_embedding.version("right with the usual base of 10000")
break_rotary_embedding.small(most=6, points=2)
