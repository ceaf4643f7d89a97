"""Misconceptions about positions, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.positional_encoding import (
    break_rotary_embedding,
    rotary_embedding,
    shift_matrix,
    sinusoidal_encoding,
)

# sinusoidal_encoding


@mistake(sinusoidal_encoding)
def exponent_doubled(length, dim):
    """You put the number of the component where the number of the pair belongs, so the
    exponent is doubled and a sine and its cosine no longer share a frequency. The 2k of
    the formula is already the even component, so half of the table is frozen."""
    j = np.arange(dim)
    angles = np.arange(length)[:, None] * 10000.0 ** (-2 * j / dim)
    return np.where(j % 2 == 0, np.sin(angles), np.cos(angles))


@mistake(sinusoidal_encoding)
def frequency_for_each_component(length, dim):
    """You gave every component a frequency of its own. The two entries of a pair have
    to share one, otherwise a shift of the position is no rotation and cannot be undone
    by one matrix."""
    j = np.arange(dim)
    angles = np.arange(length)[:, None] * 10000.0 ** (-j / dim)
    return np.where(j % 2 == 0, np.sin(angles), np.cos(angles))


@edit(sinusoidal_encoding, "np.arange(0, dim, 2)", "np.arange(dim // 2)")
def exponent_halved():
    """You divided the number of the pair by dim and forgot the factor 2. Your slowest
    pair stops near a base of 100 and comes around again after some hundred positions,
    so distant positions look alike."""


@edit(sinusoidal_encoding, "(-doubled / dim)", "(-2 * doubled / dim)")
def exponent_doubled_within_pairs():
    """The exponents of your frequencies are twice as large as they should be, so the
    wavelengths grow too fast. In the formula, k counts the pairs, and 2k is already the
    number of the even component: one of them was doubled once more."""


@edit(sinusoidal_encoding, "(-doubled / dim)", "(-doubled / max(dim - 2, 1))")
def last_pair_reaches_the_base():
    """You spread the exponents so that the last pair reaches the base itself. The
    formula divides by dim, so the last exponent stays just below one; some libraries
    differ here, and their tables are not interchangeable."""


@edit(sinusoidal_encoding, "np.arange(length)", "np.arange(1, length + 1)")
def positions_from_one():
    """You counted the positions from 1. The first position is 0, whose sines are 0 and
    whose cosines are 1, so your table is the right one moved by a row."""


@edit(sinusoidal_encoding, "np.stack", "np.concatenate")
def halves_side_by_side():
    """You put all sines first and all cosines after them. Here the two stand side by
    side, sine in the even and cosine in the odd component, so that a pair is made of
    neighbours."""


@edit(
    sinusoidal_encoding,
    "[np.sin(angles), np.cos(angles)]",
    "[np.cos(angles), np.sin(angles)]",
)
def cosine_before_sine():
    """You exchanged sine and cosine. The even components are sines, so the first row
    begins 0, 1, 0, 1."""


@edit(sinusoidal_encoding, "(-doubled / dim)", "(doubled / dim)")
def multiplied_by_the_wavelength():
    """You multiplied by the power of 10000 where you should divide, so the pairs turn
    faster and faster. Beyond the first pair neighbouring positions are then scattered
    at random."""


@edit(sinusoidal_encoding, "[:, None]", "[:, None] / length")
def divided_by_the_length():
    """You divided the positions by the length. The code of position 3 then depends on
    how long the sequence happens to be, and what was learned at one length is wrong at
    every other."""


# shift_matrix

BLOCK = "[[cosine, sine], [-sine, cosine]]"


@edit(shift_matrix, BLOCK, "[[cosine, -sine], [sine, cosine]]")
def shifted_backwards():
    """Your matrix moves in the opposite direction: it leads from position i to position
    i - offset. Check the sign of the two sines against sin(a + b), with the sine of a
    pair standing first."""


@edit(shift_matrix, BLOCK, "[[cosine, 0], [0, cosine]]")
def cosines_only():
    """You left the sines out. A pair that is only stretched stays on its line; to turn
    it, each of its two entries needs a part of the other."""


@mistake(shift_matrix)
def blocks_for_halves(offset, dim):
    """You ordered the blocks as if all sines came before all cosines. The encoding has
    each sine next to its cosine, so the matrix has small 2 x 2 blocks on its
    diagonal."""
    angles = offset * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    sine, cosine = np.diag(np.sin(angles)), np.diag(np.cos(angles))
    return np.block([[cosine, sine], [-sine, cosine]])


@edit(shift_matrix, "offset * 10000.0 ** (-even / dim)", "offset")
def one_angle_for_all():
    """You turned every pair by the same angle. A pair turns by the offset times its own
    frequency, the slow pairs hardly at all."""


@edit(shift_matrix, "offset * 10000.0", "abs(offset) * 10000.0")
def sign_ignored():
    """You ignored the sign of the offset. Moving back by three has to undo moving
    forward by three, so the two matrices must differ."""


@edit(shift_matrix, "(-even / dim)", "(-2 * even / dim)")
def shift_exponent_doubled():
    """You doubled the exponent of the frequency. The matrix must use the frequencies of
    the encoding, otherwise it shifts a table that nobody has."""


@edit(shift_matrix, "(-even / dim)", "(-even / 2 / dim)")
def shift_exponent_halved():
    """You forgot the factor 2 in the exponent of the frequency. The matrix must use the
    frequencies of the encoding, otherwise it shifts a table that nobody has."""


# rotary_embedding


@edit(rotary_embedding, "np.sin(angles)", "-np.sin(angles)")
def turned_the_other_way():
    """You turned the pairs in the opposite direction. Scores among your own vectors are
    the same, but weights trained with the usual direction then see every distance with
    the wrong sign."""


@edit(
    rotary_embedding,
    "turned = [first * cosine - second * sine, first",
    "first = first * cosine - second * sine\n    turned = [first, first",
)
def second_from_the_turned_first():
    """The second feature of each pair is computed from the first one after that was
    turned, as happens in an array whose first features are already overwritten. Both
    need the two features as they were."""


@mistake(rotary_embedding)
def pairs_half_a_width_apart(x, positions, base=10000.0):
    """You paired each feature with the one half a width away. Here neighbours are a
    pair, 2i and 2i + 1; both layouts are in use, and weights trained with one are wrong
    in the other."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    sine, cosine = np.sin(angles), np.cos(angles)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=-1)


@mistake(rotary_embedding)
def halves_with_angles_of_neighbours(x, positions, base=10000.0):
    """Each feature is combined with the one half a width away, while the angles are
    laid out for neighbours (each one twice in a row). So the two features of a pair get
    different angles, and nothing is rotated. Pairs and angles have to follow one
    layout, here that of neighbours."""
    half = x.shape[-1] // 2
    angles = np.repeat(positions[:, None] * base ** (-np.arange(half) / half), 2, -1)
    other = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * np.cos(angles) + other * np.sin(angles)


@edit(
    rotary_embedding,
    "np.stack(turned, axis=-1).reshape(x.shape)",
    "np.concatenate(turned, axis=-1)",
)
def pairs_not_put_back():
    """You turned the right pairs and then listed all first entries before all second
    ones. The two numbers of a pair have to return to the places that they came from."""


@edit(rotary_embedding, "positions[:, None]", "np.arange(x.shape[-2])[:, None]")
def positions_ignored():
    """You counted the tokens from 0 and ignored the positions that you were given. With
    a cache of earlier keys the first new token is not at position 0, and every distance
    would be wrong."""


@edit(rotary_embedding, "base **", "10000.0 **")
def base_ignored():
    """You ignored the base that you were given. It sets how slowly the last pairs turn,
    and models for long texts use a larger one."""


@edit(rotary_embedding, "(-doubled / d)", "(-doubled / 2 / d)")
def rotary_exponent_halved():
    """You forgot the factor 2 in the exponent. The pair 2i turns with base^(-2i/d), so
    the pairs reach down to nearly 1/base; yours stop at its square root."""


@edit(rotary_embedding, "base ** (-doubled / d)", "np.ones(d // 2)")
def one_speed():
    """You turned every pair at the same speed. Then the score repeats after six
    positions; each pair needs a frequency of its own, from fast to slow."""


@edit(
    rotary_embedding,
    "    sine, cosine =",
    "    if x.ndim > 2 and x.shape[-3] == len(positions):\n"
    "        angles = angles[:, None]\n"
    "    sine, cosine =",
)
def positions_along_the_heads():
    """You let the positions run along the axis before the tokens. When there are as
    many heads as tokens no shape complains, and every head is turned as a whole."""


# break_rotary_embedding ---------------------------------------------------------------

wrong_versions_of_rotary_embedding = hide(
    break_rotary_embedding,
    positions_ignored,
    turned_the_other_way,
    pairs_half_a_width_apart,
    base_ignored,
)


@mistake(break_rotary_embedding)
def test_with_the_usual_positions():
    """Two versions are found. The two others ignore an argument and use what it nearly
    always is: positions that count up from 0, and the base that everybody takes. Give
    other values."""
    return np.arange(12.0).reshape(3, 4), np.arange(3), 10000.0


@mistake(break_rotary_embedding)
def test_with_a_single_pair():
    """With two features there is one pair, so it cannot be formed in the wrong way, and
    it turns at the same speed whatever the base is. Give your vectors more features."""
    return np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([3, 5]), 10.0


@mistake(break_rotary_embedding)
def test_at_the_origin():
    """None of the wrong versions was found. A vector at position 0 is not turned at
    all, and neither is a vector of zeros: there, the direction, the pairs and the base
    make no difference."""
    return np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([0]), 100.0
