"""Cases for the chapter on images as sequences."""

from autograder.arrays import different
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import reals, whole

patchify = Exercise(
    "patchify",
    core=True,
    right="Patches run row by row, and each keeps its channels, rows and columns "
    "together.",
    hints=(
        "Draw one channel of 4 x 4 pixels with patches of 2 x 2. A row index is a row "
        "of patches and a row inside the patch: which axes are hidden in H and W?",
        "Split H into (H/p, p) and W into (W/p, p). Then the two axes that number the "
        "patches have to come first, and the three axes of a patch last.",
        "Begin with `cut = images.reshape(B, C, H // p, p, W // p, p)`.",
    ),
)
unpatchify = Exercise(
    "unpatchify",
    hints=(
        "Undo the steps of `patchify` in reverse order: split, permute, join.",
        "How many channels does a patch with C*p*p values have? And how many patches "
        "are in one row of the grid?",
        "`patches.reshape(B, height // p, width // p, C, p, p)` splits. Each axis of a "
        "patch then has to follow the axis of the grid that it continues.",
    ),
)
PatchEmbedding = Exercise(
    "PatchEmbedding",
    core=True,
    right="The class token comes first, then a projection of each patch; all get a "
    "position.",
    hints=(
        "Write the shape after each step: images, patches, projected patches, with "
        "the class token, with positions.",
        "The class token is (1, 1, E) and a batch needs (B, 1, E); `expand` repeats "
        "it. Positions broadcast by themselves, but they count N + 1 tokens.",
        "`F.unfold(images, p, stride=p).mT` gives the patches as a tensor, in the "
        "order of `patchify`.",
    ),
)
linear_to_conv = Exercise(
    "linear_to_conv",
    hints=(
        "A row of the weight is multiplied with a patch, entry by entry. In which "
        "order are the values of a patch?",
        "`nn.Conv2d` wants (E, C, p, p), and the columns are in the order (C, p, p). "
        "Does any value have to move?",
    ),
)
sinusoidal_encoding_2d = Exercise(
    "sinusoidal_encoding_2d",
    hints=(
        "Draw a 2 x 3 grid, number its cells row by row, and write the row and the "
        "column beside each number.",
        "Make one table of dim/2 features for the rows and one for the columns. Each "
        "row of the first is needed width times in succession; the second is needed "
        "as a whole, height times.",
        "np.repeat and np.tile differ in just this way. Join their results along the "
        "features.",
    ),
)
interpolate_positions = Exercise(
    "interpolate_positions",
    hints=(
        "`F.interpolate` resizes images, (B, C, H, W). What plays the channels here, "
        "and what has to be set aside before the rest is a grid?",
        "The features are the channels. They are the last axis of the positions and "
        "must not be mixed: transpose before you reshape, and again afterwards.",
        "Begin with `class_token, patches = positions[:, :1], positions[:, 1:]`.",
    ),
)


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


# patchify


@patchify.case(title="batch, channels, rows, columns and patch size differ", points=3)
def patchify_distinct(patchify, rng):
    B, C, rows, columns, p = different(rng, 5, 2, 6)
    return patchify(rng.standard_normal((B, C, rows * p, columns * p)), p)


@patchify.case(title="square in everything, so that only the order can tell", points=2)
def patchify_square(patchify, rng):
    return patchify(rng.standard_normal((3, 3, 9, 9)), 3)


@patchify.case(title="a height that p does not divide is a ValueError")
def patchify_height(patchify, rng):
    return patchify(rng.standard_normal((2, 3, 6, 16)), 4)  # 16 divides 6 * 16


@patchify.case(title="a width that p does not divide is a ValueError")
def patchify_width(patchify, rng):
    return patchify(rng.standard_normal((2, 3, 16, 6)), 4)


# unpatchify


@unpatchify.case(title="batch, channels, rows, columns and patch size differ", points=3)
def unpatchify_distinct(unpatchify, rng):
    B, C, rows, columns, p = different(rng, 5, 2, 6)
    patches = rng.standard_normal((B, rows * columns, C * p * p))
    return unpatchify(patches, p, rows * p, columns * p)


@unpatchify.case(
    title="square in everything, so that only the order can tell", points=2
)
def unpatchify_square(unpatchify, rng):
    return unpatchify(rng.standard_normal((3, 9, 27)), 3, 9, 9)


@unpatchify.case(title="one channel; patches of one pixel")
def unpatchify_small(unpatchify, rng):
    grey = unpatchify(rng.standard_normal((2, 6, 9)), 3, 6, 9)
    return grey, unpatchify(rng.standard_normal((2, 20, 3)), 1, 4, 5)


# PatchEmbedding


@PatchEmbedding.case(title="tokens of a batch of colour images", points=3)
def embedding_tokens(PatchEmbedding, rng):
    embedding = fill(PatchEmbedding(6, 2, 3, 5), rng)
    return embedding(tensor(rng, 4, 3, 6, 6))


@PatchEmbedding.case(title="names and shapes of the parameters", points=1)
def embedding_names(PatchEmbedding, rng):
    p, C, E = drawn(rng, 2, 4), drawn(rng, 2, 4), drawn(rng, 5, 9)
    embedding = PatchEmbedding(3 * p, p, C, E)
    return {name: list(value.shape) for name, value in embedding.named_parameters()}


@PatchEmbedding.case(title="a fresh class token is zero, and positions are small")
def embedding_initial_values(PatchEmbedding, rng):
    embedding = PatchEmbedding(16, 2, 3, 24)
    positions = embedding.positions.detach()
    size = positions.square().mean().sqrt()
    return {
        "the class token is zero": (embedding.class_token == 0).all(),
        "positions differ": positions.std() > 1e-4,
        "positions are small": size < 0.25,
    }


# linear_to_conv


@linear_to_conv.case(title="patch size, channels and width differ", points=2)
def conv_distinct(linear_to_conv, rng):
    E, C, p = different(rng, 3, 3, 5)
    return linear_to_conv(rng.standard_normal((E, C * p * p)), p, C)


@linear_to_conv.case(title="as many channels as pixels along a side", points=1)
def conv_square(linear_to_conv, rng):
    return linear_to_conv(rng.standard_normal((3, 27)), 3, 3)


@linear_to_conv.case(title="one channel; patches of one pixel", points=1)
def conv_extremes(linear_to_conv, rng):
    grey = linear_to_conv(rng.standard_normal((5, 9)), 3, 1)
    return grey, linear_to_conv(rng.standard_normal((5, 4)), 1, 4)


# sinusoidal_encoding_2d


@sinusoidal_encoding_2d.case(title="more columns than rows", points=2)
def grid_wide(sinusoidal_encoding_2d, rng):
    return sinusoidal_encoding_2d(drawn(rng, 3, 9), drawn(rng, 10, 40), 12)


@sinusoidal_encoding_2d.case(title="more rows than columns", points=1)
def grid_tall(sinusoidal_encoding_2d, rng):
    dim = 4 * drawn(rng, 2, 6)
    return sinusoidal_encoding_2d(drawn(rng, 10, 30), drawn(rng, 3, 9), dim)


@sinusoidal_encoding_2d.case(title="as many rows as columns", points=1)
def grid_square(sinusoidal_encoding_2d, rng):
    size = drawn(rng, 3, 20)
    return sinusoidal_encoding_2d(size, size, 4 * drawn(rng, 2, 9))


# interpolate_positions

# Sixteen products in single precision are a little less exact.
CUBIC = {"rtol": 1e-5, "atol": 1e-5}


def drawn_grid(rng, low, high):
    """Rows and columns, which differ."""
    rows, columns = rng.choice(range(low, high + 1), size=2, replace=False)
    return int(rows), int(columns)


def positions_for(rng, grid, width=4):
    return tensor(rng, 1, 1 + grid[0] * grid[1], width)


@interpolate_positions.case(title="to a larger grid", points=2, **CUBIC)
def positions_larger(interpolate_positions, rng):
    old, new = drawn_grid(rng, 3, 5), drawn_grid(rng, 6, 9)
    return interpolate_positions(positions_for(rng, old), old, new)


@interpolate_positions.case(title="to a smaller grid, without smoothing", **CUBIC)
def positions_smaller(interpolate_positions, rng):
    old, new = drawn_grid(rng, 7, 9), drawn_grid(rng, 3, 5)
    return interpolate_positions(positions_for(rng, old), old, new)


@interpolate_positions.case(
    title="more rows and fewer columns, as many patches as before", points=1, **CUBIC
)
def positions_reshaped(interpolate_positions, rng):
    return interpolate_positions(positions_for(rng, (3, 8)), (3, 8), (6, 4))


# break_patchify -----------------------------------------------------------------------


def remainder(images, patch_size):
    """Refuse images that cannot be cut into whole patches."""
    left = images.shape[2] % patch_size or images.shape[3] % patch_size
    return "`patch_size` has to divide H and W" if left else ""


break_patchify = BreakExercise(
    name="break_patchify",
    target=patchify,
    parameters=[reals("images", "B C H W"), whole("patch_size", 1, 16)],
    hints=(
        "A wrong version moves values to the wrong place. What must be true of the "
        "values, so that you would see it whichever two are exchanged?",
        "The titles say when each version gets away with it: in one row of patches, "
        "with one channel, with symmetric patches. Avoid all of that.",
        "Two channels, and 2 x 2 patches of 2 x 2 pixels: `np.arange(32.0)` has a "
        "value for each.",
    ),
    rule=remainder,
)
break_patchify.version("right where the patches form one row or one column")
break_patchify.version("right for images with a single channel")
break_patchify.version("right where every patch equals its transpose")
break_patchify.version("right for patches as large as the image")
break_patchify.small(most=33, points=2)
