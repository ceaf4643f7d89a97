"""Misconceptions about positions, as code that can be recognised."""

import torch
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.positional_encoding import (
    LearnedPositions,
    break_rotary_embedding,
    rotary_embedding,
    shift_matrix,
    sinusoidal_encoding,
    sinusoidal_encoding_2d,
)
from solutions import positional_encoding as right


def pair_frequencies(dim, base=10000.0):
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def table(angles):
    """Interleaved sine and cosine of (length, dim/2) angles."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


def steps(length):
    return torch.arange(length, dtype=torch.float64)[:, None]


def right_table(length, dim):
    return table(steps(length) * pair_frequencies(dim))


# sinusoidal_encoding


@mistake(sinusoidal_encoding)
def exponent_doubled(length, dim):
    """You put the number of the component where the number of the pair belongs, so the
    exponent is doubled and a sine and its cosine no longer share a frequency. The 2k of
    the formula is already the even component, so half of the table is frozen."""
    component = torch.arange(dim, dtype=torch.float64)
    angles = steps(length) * 10000.0 ** (-2 * component / dim)
    return torch.where(component % 2 == 0, angles.sin(), angles.cos()).float()


@mistake(sinusoidal_encoding)
def frequency_for_each_component(length, dim):
    """You gave every component a frequency of its own. The two entries of a pair have
    to share one, otherwise a shift of the position is no rotation and cannot be undone
    by one matrix."""
    component = torch.arange(dim, dtype=torch.float64)
    angles = steps(length) * 10000.0 ** (-component / dim)
    return torch.where(component % 2 == 0, angles.sin(), angles.cos()).float()


@mistake(sinusoidal_encoding)
def exponent_halved(length, dim):
    """You divided the number of the pair by dim and forgot the factor 2. Your slowest
    pair stops near a base of 100 and comes around again after some hundred positions,
    so distant positions look alike."""
    pair = torch.arange(dim // 2, dtype=torch.float64)
    return table(steps(length) * 10000.0 ** (-pair / dim))


@mistake(sinusoidal_encoding)
def exponent_doubled_within_pairs(length, dim):
    """The exponents of your frequencies are twice as large as they should be, so the
    wavelengths grow too fast. In the formula, k counts the pairs, and 2k is already the
    number of the even component: one of them was doubled once more."""
    return table(steps(length) * pair_frequencies(dim) ** 2)


@mistake(sinusoidal_encoding)
def last_pair_reaches_the_base(length, dim):
    """You spread the exponents so that the last pair reaches the base itself. The
    formula divides by dim, so the last exponent stays just below one; some libraries
    differ here, and their tables are not interchangeable."""
    pair = torch.arange(dim // 2, dtype=torch.float64)
    return table(steps(length) * 10000.0 ** (-pair / max(dim // 2 - 1, 1)))


@mistake(sinusoidal_encoding)
def base_of_a_thousand(length, dim):
    """You used a base of 1000. The base sets the longest wavelength, and everybody who
    reads your table expects 10000."""
    return table(steps(length) * pair_frequencies(dim, 1000.0))


@mistake(sinusoidal_encoding)
def positions_from_one(length, dim):
    """You counted the positions from 1. The first position is 0, whose sines are 0 and
    whose cosines are 1, so your table is the right one moved by a row."""
    return right.sinusoidal_encoding(length + 1, dim)[1:]


@mistake(sinusoidal_encoding)
def halves_side_by_side(length, dim):
    """You put all sines first and all cosines after them. Here the two stand side by
    side, sine in the even and cosine in the odd component, so that a pair is made of
    neighbours."""
    angles = steps(length) * pair_frequencies(dim)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


@mistake(sinusoidal_encoding)
def cosine_before_sine(length, dim):
    """You exchanged sine and cosine. The even components are sines, so the first row
    begins 0, 1, 0, 1."""
    angles = steps(length) * pair_frequencies(dim)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2).float()


@mistake(sinusoidal_encoding)
def one_frequency(length, dim):
    """You gave all pairs the same frequency. Each pair needs its own, from fast to
    slow, like the digits of a counter; one alone repeats after six positions."""
    return table(steps(length) * torch.ones(dim // 2, dtype=torch.float64))


@mistake(sinusoidal_encoding)
def multiplied_by_the_wavelength(length, dim):
    """You multiplied by the power of 10000 where you should divide, so the pairs turn
    faster and faster. Beyond the first pair neighbouring positions are then scattered
    at random."""
    return table(steps(length) / pair_frequencies(dim))


@mistake(sinusoidal_encoding)
def sines_only(length, dim):
    """You filled the odd components with sines as well. Without the cosine an angle
    cannot be told from its mirror image, and no matrix can shift the position."""
    angles = steps(length) * pair_frequencies(dim)
    return torch.stack([angles.sin(), angles.sin()], dim=-1).flatten(-2).float()


@mistake(sinusoidal_encoding)
def divided_by_the_length(length, dim):
    """You divided the positions by the length. The code of position 3 then depends on
    how long the sequence happens to be, and what was learned at one length is wrong at
    every other."""
    return table(steps(length) / length * pair_frequencies(dim))


@mistake(sinusoidal_encoding)
def angles_in_turns(length, dim):
    """You measured the angle in turns, with a factor of two pi. The formula takes the
    position itself as the angle in radians; with your factor the first pair is the same
    at every position."""
    return table(2 * torch.pi * steps(length) * pair_frequencies(dim))


@mistake(sinusoidal_encoding)
def frequencies_spread_evenly(length, dim):
    """You spread the frequencies evenly between fast and slow. They fall by a constant
    factor from pair to pair, which is how a few pairs cover lengths from six to sixty
    thousand."""
    pair = torch.arange(dim // 2, dtype=torch.float64)
    return table(steps(length) * (1 - 2 * pair / dim))


@mistake(sinusoidal_encoding)
def table_transposed(length, dim):
    """Your table has a column for each position. Rows are tokens in this book, so there
    is a row for each position."""
    return right_table(length, dim).T


# shift_matrix


def shift_by_blocks(offset, dim, block):
    """Block diagonal: ``block(sine, cosine)`` is a nested 2 x 2 list of (dim/2,)."""
    angles = offset * pair_frequencies(dim)
    rows = block(angles.sin(), angles.cos())
    blocks = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    return torch.block_diag(*blocks).float()


@mistake(shift_matrix)
def shifted_backwards(offset, dim):
    """Your matrix moves in the opposite direction: it leads from position i to position
    i - offset. Check the sign of the two sines against sin(a + b), with the sine of a
    pair standing first."""
    return shift_by_blocks(offset, dim, lambda s, c: [[c, -s], [s, c]])


@mistake(shift_matrix)
def reflected(offset, dim):
    """You gave both sines the same sign. That block is a reflection and not a rotation;
    cos(a + b) has a minus where sin(a + b) has a plus."""
    return shift_by_blocks(offset, dim, lambda s, c: [[c, s], [s, c]])


@mistake(shift_matrix)
def blocks_for_halves(offset, dim):
    """You ordered the blocks as if all sines came before all cosines. The encoding has
    each sine next to its cosine, so the matrix has small 2 x 2 blocks on its
    diagonal."""
    angles = offset * pair_frequencies(dim)
    sine, cosine = torch.diag(angles.sin()), torch.diag(angles.cos())
    top, bottom = torch.cat([cosine, sine], 1), torch.cat([-sine, cosine], 1)
    return torch.cat([top, bottom]).float()


@mistake(shift_matrix)
def one_angle_for_all(offset, dim):
    """You turned every pair by the same angle. A pair turns by the offset times its own
    frequency, the slow pairs hardly at all."""
    angle = torch.tensor(float(offset), dtype=torch.float64)
    block = torch.tensor([[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]])
    return torch.block_diag(*[block] * (dim // 2)).float()


@mistake(shift_matrix)
def features_rolled(offset, dim):
    """You built a matrix that moves the features along. What has to move is the
    position, which is written in the angles of the pairs, so each pair is turned within
    itself."""
    return torch.eye(dim).roll(offset, dims=0)


@mistake(shift_matrix)
def sign_ignored(offset, dim):
    """You ignored the sign of the offset. Moving back by three has to undo moving
    forward by three, so the two matrices must differ."""
    return shift_by_blocks(abs(offset), dim, lambda s, c: [[c, s], [-s, c]])


@mistake(shift_matrix)
def cosines_only(offset, dim):
    """You left the sines out. A pair that is only stretched stays on its line; to turn
    it, each of its two entries needs a part of the other."""
    return shift_by_blocks(offset, dim, lambda s, c: [[c, 0 * s], [0 * s, c]])


@mistake(shift_matrix)
def shift_exponent_doubled(offset, dim):
    """You doubled the exponent of the frequency. The matrix must use the frequencies of
    the encoding, otherwise it shifts a table that nobody has."""
    return shift_by_frequencies(offset, pair_frequencies(dim) ** 2)


@mistake(shift_matrix)
def shift_exponent_halved(offset, dim):
    """You forgot the factor 2 in the exponent of the frequency. The matrix must use the
    frequencies of the encoding, otherwise it shifts a table that nobody has."""
    return shift_by_frequencies(offset, pair_frequencies(dim) ** 0.5)


def shift_by_frequencies(offset, frequencies):
    s, c = (offset * frequencies).sin(), (offset * frequencies).cos()
    blocks = torch.stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], dim=-2)
    return torch.block_diag(*blocks).float()


@mistake(shift_matrix)
def encoding_on_the_diagonal(offset, dim):
    """You put the encoding of the offset on the diagonal. Multiplying each feature by a
    number of its own is no shift: sin(a) times sin(b) is not sin(a + b)."""
    return torch.diag(table(offset * pair_frequencies(dim)[None])[0])


# sinusoidal_encoding_2d


def grid_table(height, width, by_row, by_column):
    """Row-major join of (height, a) and (width, b)."""
    rows = by_row[:, None].expand(-1, width, -1)
    columns = by_column[None].expand(height, -1, -1)
    return torch.cat([rows, columns], dim=-1).flatten(0, 1)


@mistake(sinusoidal_encoding_2d)
def columns_in_the_first_half(height, width, dim):
    """You let the first half of the features encode the column. The first half is for
    the row and the second for the column; a table whose halves are exchanged does not
    fit weights that were trained with the other."""
    right = grid_table(
        height, width, right_table(height, dim // 2), right_table(width, dim // 2)
    )
    return right.roll(dim // 2, dims=-1)


@mistake(sinusoidal_encoding_2d)
def cells_column_by_column(height, width, dim):
    """You listed the cells column by column. Patches come row by row, so the column has
    to change fastest; your codes belong to other cells than the ones they are added
    to."""
    rows, columns = right_table(height, dim // 2), right_table(width, dim // 2)
    return torch.cat(
        [rows.repeat(width, 1), columns.repeat_interleave(height, dim=0)], dim=-1
    )


@mistake(sinusoidal_encoding_2d)
def cells_numbered(height, width, dim):
    """You numbered the cells from first to last and encoded that number. Two cells
    above one another are then far apart, and how far depends on the width of the
    image."""
    return right_table(height * width, dim)


@mistake(sinusoidal_encoding_2d)
def row_and_column_added(height, width, dim):
    """You added the code of the row to the code of the column. In a sum row 2, column 5
    cannot be told from row 5, column 2; each needs half of the features for itself."""
    rows, columns = right_table(height, dim), right_table(width, dim)
    return (rows[:, None] + columns).flatten(0, 1)


@mistake(sinusoidal_encoding_2d)
def halves_of_a_full_table(height, width, dim):
    """You cut each half out of a table of the full width, so the row has only fast
    frequencies. Each half is a complete encoding with dim/2 features of its own."""
    rows, columns = right_table(height, dim), right_table(width, dim)
    return grid_table(height, width, rows[:, : dim // 2], columns[:, dim // 2 :])


@mistake(sinusoidal_encoding_2d)
def frequencies_of_the_full_width(height, width, dim):
    """You took the frequencies of the full width for both halves. Each half is a
    complete encoding with dim/2 features, so its exponents run over its own width."""
    half = dim // 2
    rows, columns = right_table(height, dim), right_table(width, dim)
    return grid_table(height, width, rows[:, :half], columns[:, :half])


@mistake(sinusoidal_encoding_2d)
def grid_not_flattened(height, width, dim):
    """You left the grid as it is, with height and width as axes. Attention takes a list
    of tokens, so the two have to be joined to one axis, row by row."""
    rows, columns = right_table(height, dim // 2), right_table(width, dim // 2)
    return grid_table(height, width, rows, columns).unflatten(0, (height, width))


@mistake(sinusoidal_encoding_2d)
def row_and_column_alternate(height, width, dim):
    """You alternate the features of row and column. The row has the first half of the
    features for itself, the column the second."""
    rows, columns = right_table(height, dim // 2), right_table(width, dim // 2)
    joined = grid_table(height, width, rows, columns)
    return joined.unflatten(-1, (2, dim // 2)).mT.flatten(-2)


@mistake(sinusoidal_encoding_2d)
def height_and_width_exchanged(height, width, dim):
    """You exchanged height and width: your table describes a grid with as many rows as
    the image has columns. A square image hides it."""
    rows, columns = right_table(width, dim // 2), right_table(height, dim // 2)
    return grid_table(width, height, rows, columns)


@mistake(sinusoidal_encoding_2d)
def row_in_both_halves(height, width, dim):
    """You encoded only the row and repeated it in the second half. Cells of one row are
    then all alike, and attention cannot tell left from right."""
    rows = right_table(height, dim // 2).repeat_interleave(width, dim=0)
    return torch.cat([rows, rows], dim=-1)


# rotary_embedding


def rotate(x, angles, sign=1):
    sine, cosine = sign * angles.sin(), angles.cos()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2)


def rotary_angles(x, positions, base=10000.0):
    return positions[:, None] * pair_frequencies(x.shape[-1], base)


@mistake(rotary_embedding)
def turned_the_other_way(x, positions, base=10000.0):
    """You turned the pairs in the opposite direction. Scores among your own vectors are
    the same, but weights trained with the usual direction then see every distance with
    the wrong sign."""
    return rotate(x, rotary_angles(x, positions, base), sign=-1)


@mistake(rotary_embedding)
def second_from_the_turned_first(x, positions, base=10000.0):
    """The second feature of each pair is computed from the first one after that was
    turned, as happens in a tensor whose first features are already overwritten. Both
    need the two features as they were."""
    sine = rotary_angles(x, positions, base).sin()
    turned = rotate(x, rotary_angles(x, positions, base))
    first, second = turned[..., 0::2], turned[..., 1::2]
    second = second + (first - x[..., 0::2]) * sine
    return torch.stack([first, second], dim=-1).flatten(-2)


@mistake(rotary_embedding)
def pairs_half_a_width_apart(x, positions, base=10000.0):
    """You paired each feature with the one half a width away. Here neighbours are a
    pair, 2i and 2i + 1; both layouts are in use, and weights trained with one are wrong
    in the other."""
    angles = rotary_angles(x, positions, base)
    a, b = x.chunk(2, dim=-1)
    sine, cosine = angles.sin(), angles.cos()
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)


def turned_from_halves(x, cosine, sine):
    """The sum x cos + (-second half, first half) sin, with angles for every feature."""
    a, b = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-b, a], dim=-1) * sine


def turned_from_neighbours(x, cosine, sine):
    """The sum x cos + (-x1, x0, -x3, x2, ...) sin, with angles for every feature."""
    other = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * cosine + other * sine


@mistake(rotary_embedding)
def halves_with_angles_of_neighbours(x, positions, base=10000.0):
    """Each feature is combined with the one half a width away, while the angles are
    laid out for neighbours (each one twice in a row). So the two features of a pair get
    different angles, and nothing is rotated. Pairs and angles have to follow one
    layout, here that of neighbours."""
    angles = rotary_angles(x, positions, base).repeat_interleave(2, dim=-1)
    return turned_from_halves(x, angles.cos(), angles.sin())


@mistake(rotary_embedding)
def neighbours_with_angles_of_halves(x, positions, base=10000.0):
    """Neighbouring features are combined, while the angles are laid out for pairs half
    a width apart (the whole list twice). So the two features of a pair get different
    angles, and nothing is rotated. Pairs and angles have to follow one layout."""
    angles = rotary_angles(x, positions, base).repeat(1, 2)
    return turned_from_neighbours(x, angles.cos(), angles.sin())


@mistake(rotary_embedding)
def pairs_not_put_back(x, positions, base=10000.0):
    """You turned the right pairs and then listed all first entries before all second
    ones. The two numbers of a pair have to return to the places that they came from."""
    turned = rotate(x, rotary_angles(x, positions, base))
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


@mistake(rotary_embedding)
def nothing_turned(x, positions, base=10000.0):
    """You returned the vectors as they came. Every pair must be turned by its position,
    otherwise the scores know nothing of the order."""
    return x.clone()


@mistake(rotary_embedding)
def sinusoids_added(x, positions, base=10000.0):
    """You added a table of sines and cosines. Rotary embedding adds nothing: it turns
    the pairs, which keeps the length of each vector and makes scores depend on the
    distance only."""
    angles = rotary_angles(x, positions, base)
    return x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


@mistake(rotary_embedding)
def positions_ignored(x, positions, base=10000.0):
    """You counted the tokens from 0 and ignored the positions that you were given. With
    a cache of earlier keys the first new token is not at position 0, and every distance
    would be wrong."""
    return rotate(x, rotary_angles(x, torch.arange(x.shape[-2]), base))


@mistake(rotary_embedding)
def base_ignored(x, positions, base=10000.0):
    """You ignored the base that you were given. It sets how slowly the last pairs turn,
    and models for long texts use a larger one."""
    return rotate(x, rotary_angles(x, positions))


@mistake(rotary_embedding)
def rotary_exponent_halved(x, positions, base=10000.0):
    """You forgot the factor 2 in the exponent. The pair 2i turns with base^(-2i/d), so
    the pairs reach down to nearly 1/base; yours stop at its square root."""
    return rotate(x, rotary_angles(x, positions, base**0.5))


@mistake(rotary_embedding)
def rotary_exponent_doubled(x, positions, base=10000.0):
    """You doubled the exponent: the number of the component was multiplied by two once
    more. The pairs slow down much too fast, and half of them never move."""
    return rotate(x, rotary_angles(x, positions, base**2))


@mistake(rotary_embedding)
def rotary_exponent_positive(x, positions, base=10000.0):
    """The exponent lacks its minus sign, or you multiply by the power where you should
    divide: later pairs then turn faster and faster. The first pair is the fastest, and
    the last one turns slowest."""
    return rotate(x, rotary_angles(x, positions, 1 / base))


@mistake(rotary_embedding)
def rotary_last_pair_reaches_the_base(x, positions, base=10000.0):
    """The exponents are spread so that the last pair's speed is one over the base, as
    from a linspace between 0 and 1. The formula divides 2i by d, and the last pair
    stays a step short of the base."""
    pairs = x.shape[-1] // 2
    stretched = base ** (pairs / max(pairs - 1, 1))
    return rotate(x, rotary_angles(x, positions, stretched))


@mistake(rotary_embedding)
def one_speed(x, positions, base=10000.0):
    """You turned every pair at the same speed. Then the score repeats after six
    positions; each pair needs a frequency of its own, from fast to slow."""
    ones = torch.ones(x.shape[-1] // 2, dtype=torch.float64)
    return rotate(x, positions[:, None] * ones)


@mistake(rotary_embedding)
def only_cosines(x, positions, base=10000.0):
    """You only multiplied with cosines. A rotation also moves a part of each entry into
    the other one of its pair; without it lengths shrink and the direction is lost."""
    angles = rotary_angles(x, positions, base)
    return x * angles.cos().repeat_interleave(2, dim=-1)


@mistake(rotary_embedding)
def pairs_mirrored(x, positions, base=10000.0):
    """You gave both sines the same sign. That mirrors a pair and does not turn it, so
    lengths and scores are no longer kept."""
    angles = rotary_angles(x, positions, base)
    sine, cosine = angles.sin(), angles.cos()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cosine + b * sine, a * sine + b * cosine], -1).flatten(-2)


@mistake(rotary_embedding)
def positions_along_the_heads(x, positions, base=10000.0):
    """You let the positions run along the axis before the tokens. When there are as
    many heads as tokens no shape complains, and every head is turned as a whole."""
    angles = rotary_angles(x, positions, base)
    if x.ndim > 2 and x.shape[-3] == len(positions):
        angles = angles[:, None]
    return rotate(x, angles)


@mistake(rotary_embedding)
def turned_in_place(x, positions, base=10000.0):
    """You wrote the turned pairs into the tensor that you were given. Whoever still
    needs the queries or keys as they were finds them changed."""
    turned = rotate(x, rotary_angles(x, positions, base))
    x.copy_(turned)
    return x


@mistake(rotary_embedding)
def rotary_from_one(x, positions, base=10000.0):
    """You counted the positions from 1. Scores do not change, since they see
    differences only, but a token at position 0 has to stay as it is."""
    return rotate(x, rotary_angles(x, positions + 1, base))


@mistake(rotary_embedding)
def rotary_detached(x, positions, base=10000.0):
    """You cut the gradient, by a conversion or a copy outside of torch. The numbers are
    right, but the projections before the rotation could never learn."""
    return rotate(x.detach(), rotary_angles(x, positions, base))


# LearnedPositions


class RightPositions(nn.Module):
    """Right, so that each mistake changes one thing."""

    def __init__(self, max_length, dim):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_length, dim))

    def rows(self, x):
        return self.table[: x.shape[1]]

    def forward(self, x):
        return x + self.rows(x)


@mistake(LearnedPositions)
class TableNotLearned(RightPositions):
    """Your table is not a parameter, so it is missing from `parameters()` and no
    optimiser will ever change it. It has to be registered as one to be learned."""

    def __init__(self, max_length, dim):
        nn.Module.__init__(self)
        self.register_buffer("table", 0.02 * torch.randn(max_length, dim))


@mistake(LearnedPositions)
class LargeTableNotLearned(TableNotLearned.implementation):
    """Your table is not a parameter, so no optimiser will ever change it: register it
    as one. It also begins with numbers about as large as 1, where small ones leave a
    token what it is."""

    def __init__(self, max_length, dim):
        super().__init__(max_length, dim)
        self.table *= 50


@mistake(LearnedPositions)
class TableInAnEmbedding(RightPositions):
    """You wrapped the table in an embedding layer, so its parameter is called
    `table.weight`. The name `table` is part of the exercise, because saved weights are
    found by name."""

    def __init__(self, max_length, dim):
        nn.Module.__init__(self)
        self.table = nn.Embedding(max_length, dim)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


@mistake(LearnedPositions)
class Concatenated(RightPositions):
    """You joined the position vectors to the tokens side by side. They are added, so
    that the width stays what it was."""

    def forward(self, x):
        return torch.cat([x, self.rows(x).expand(len(x), -1, -1)], dim=-1)


@mistake(LearnedPositions)
class AlongTheBatch(RightPositions):
    """You gave each sequence of the batch a position and all its tokens the same one.
    Positions run along the tokens, the second axis; a sequence must not care about its
    place in the batch."""

    def rows(self, x):
        return self.table[: len(x), None]


@mistake(LearnedPositions)
class WholeTable(RightPositions):
    """You added the whole table. A sequence may be shorter than the table, and then it
    takes only the first rows."""

    def rows(self, x):
        return self.table


@mistake(LearnedPositions)
class LastRows(RightPositions):
    """You took the last rows of the table. A short sequence begins at position 0,
    otherwise its tokens carry other positions than in a long one."""

    def rows(self, x):
        return self.table[len(self.table) - x.shape[1] :]


@mistake(LearnedPositions)
class PositionsOnly(RightPositions):
    """You returned the positions and dropped the tokens. The layer gives back each
    token with its position added."""

    def forward(self, x):
        return 0 * x + self.rows(x)


@mistake(LearnedPositions)
class SameRowForAll(RightPositions):
    """You added the same vector to every token. Each position needs the row of its own,
    otherwise nothing tells the tokens apart."""

    def rows(self, x):
        return self.table[0]


@mistake(LearnedPositions)
class AddedInPlace(RightPositions):
    """You added the positions into the tensor that you were given. A second call would
    add them twice, and whoever still needs the bare tokens has lost them."""

    def forward(self, x):
        x += self.rows(x)
        return x


@mistake(LearnedPositions)
class Multiplied(RightPositions):
    """You multiplied the tokens by the positions. A table that starts near zero would
    erase every token; positions are added."""

    def forward(self, x):
        return x * self.rows(x)


@mistake(LearnedPositions)
class TableTransposed(RightPositions):
    """You stored the table with a column for each position. Its shape is (max_length,
    dim), a row for each position, as saved weights have it."""

    def __init__(self, max_length, dim):
        nn.Module.__init__(self)
        self.table = nn.Parameter(0.02 * torch.randn(dim, max_length))

    def rows(self, x):
        return self.table.T[: x.shape[1]]


@mistake(LearnedPositions)
class TokensScaled(RightPositions):
    """You scaled the tokens by the square root of their width before adding. Some
    models do that where they embed words; this layer only adds."""

    def forward(self, x):
        return x * x.shape[-1] ** 0.5 + self.rows(x)


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
    return torch.arange(12.0).reshape(3, 4), torch.arange(3), 10000.0


@mistake(break_rotary_embedding)
def test_with_a_single_pair():
    """With two features there is one pair, so it cannot be formed in the wrong way, and
    it turns at the same speed whatever the base is. Give your vectors more features."""
    return torch.tensor([[1.0, 2.0], [3.0, 1.0]]), torch.tensor([3, 5]), 10.0


@mistake(break_rotary_embedding)
def test_at_the_origin():
    """None of the wrong versions was found. A vector at position 0 is not turned at
    all, and neither is a vector of zeros: there, the direction, the pairs and the base
    make no difference."""
    return torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([0]), 100.0
