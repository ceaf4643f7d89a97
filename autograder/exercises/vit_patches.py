"""Cases for the chapter on images as sequences."""

import torch
import torch.nn.functional as F

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.inputs import fill, tensor
from autograder.specification import reals, whole

patchify = Exercise("patchify")
unpatchify = Exercise("unpatchify")
PatchEmbedding = Exercise("PatchEmbedding")
linear_to_conv = Exercise("linear_to_conv")
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
interpolate_positions = Exercise("interpolate_positions")


def drawn(rng, low, high):
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def drawn_sizes(rng):
    """B, C, rows, columns, p: all different, so that none can be confused."""
    return [int(size) for size in rng.permutation([2, 3, 4, 5, 6])]


def channels_last(images):
    """The same values, stored with the channels last; not contiguous."""
    return images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


# patchify


@patchify.case(title="batch, channels, rows, columns and patch size differ", points=3)
def patchify_distinct(patchify, rng):
    B, C, rows, columns, p = drawn_sizes(rng)
    return patchify(tensor(rng, B, C, rows * p, columns * p), p)


@patchify.case(title="32 x 48 pixels: more columns than rows", points=1)
def patchify_wide(patchify, rng):
    return patchify(tensor(rng, 2, 3, 32, 48), 16)


@patchify.case(title="square in everything, so that only the order can tell", points=2)
def patchify_square(patchify, rng):
    return patchify(tensor(rng, 3, 3, 9, 9), 3)


@patchify.case(title="patches of one pixel, and one patch as large as the image")
def patchify_extremes(patchify, rng):
    images = tensor(rng, 2, 3, 4, 4)
    return patchify(images, 1), patchify(images, 4)


@patchify.case(
    title="images stored with the channels last are read correctly and left unchanged"
)
def patchify_unchanged(patchify, rng):
    images = channels_last(tensor(rng, 2, 3, 4, 6))
    return patchify(images, 2), images


@patchify.case(title="a gradient comes back to every pixel")
def patchify_gradient(patchify, rng):
    images = tensor(rng, 2, 3, 4, 6).requires_grad_()
    patches = patchify(images, 2)
    (patches * tensor(rng, 2, 6, 12)).sum().backward()
    return images.grad


@patchify.case(title="a height that p does not divide is a ValueError")
def patchify_height(patchify, rng):
    return patchify(tensor(rng, 2, 3, 6, 16), 4)  # 16 divides 6 * 16


@patchify.case(title="a width that p does not divide is a ValueError")
def patchify_width(patchify, rng):
    return patchify(tensor(rng, 2, 3, 16, 6), 4)


# unpatchify


@unpatchify.case(title="batch, channels, rows, columns and patch size differ", points=3)
def unpatchify_distinct(unpatchify, rng):
    B, C, rows, columns, p = drawn_sizes(rng)
    patches = tensor(rng, B, rows * columns, C * p * p)
    return unpatchify(patches, p, rows * p, columns * p)


@unpatchify.case(title="32 x 48 pixels: more columns than rows", points=1)
def unpatchify_wide(unpatchify, rng):
    return unpatchify(tensor(rng, 2, 6, 3 * 16 * 16), 16, 32, 48)


@unpatchify.case(
    title="square in everything, so that only the order can tell", points=2
)
def unpatchify_square(unpatchify, rng):
    return unpatchify(tensor(rng, 3, 9, 27), 3, 9, 9)


@unpatchify.case(title="one channel; patches of one pixel")
def unpatchify_small(unpatchify, rng):
    grey = unpatchify(tensor(rng, 2, 6, 9), 3, 6, 9)
    return grey, unpatchify(tensor(rng, 2, 20, 3), 1, 4, 5)


@unpatchify.case(title="transposed patches are read correctly and left unchanged")
def unpatchify_unchanged(unpatchify, rng):
    patches = tensor(rng, 2, 12, 6).mT
    return unpatchify(patches, 2, 4, 6), patches


# PatchEmbedding


@PatchEmbedding.case(title="tokens of a batch of colour images", points=3)
def embedding_tokens(PatchEmbedding, rng):
    embedding = fill(PatchEmbedding(6, 2, 3, 5), rng)
    return embedding(tensor(rng, 4, 3, 6, 6))


@PatchEmbedding.case(title="one channel, sizes drawn at random", points=1)
def embedding_drawn(PatchEmbedding, rng):
    p, patches, E = drawn(rng, 2, 4), drawn(rng, 2, 3), drawn(rng, 5, 9)
    embedding = fill(PatchEmbedding(p * patches, p, 1, E), rng)
    return embedding(tensor(rng, 2, 1, p * patches, p * patches))


@PatchEmbedding.case(
    title="a single patch; the same in eval mode; patches of one pixel", points=1
)
def embedding_single(PatchEmbedding, rng):
    embedding = fill(PatchEmbedding(3, 3, 2, 5), rng)
    images = tensor(rng, 4, 2, 3, 3)
    pixels = fill(PatchEmbedding(3, 1, 2, 5), rng)
    return embedding(images), embedding.eval()(images), pixels(images)


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


@PatchEmbedding.case(title="gradients reach all parameters and the images", points=1)
def embedding_gradient(PatchEmbedding, rng):
    embedding = fill(PatchEmbedding(4, 2, 3, 5), rng)
    images = tensor(rng, 2, 3, 4, 4).requires_grad_()
    (embedding(images) * tensor(rng, 2, 5, 5)).sum().backward()
    return {name: p.grad for name, p in embedding.named_parameters()}, images.grad


@PatchEmbedding.case(title="images stored otherwise are left unchanged", points=1)
def embedding_unchanged(PatchEmbedding, rng):
    embedding = fill(PatchEmbedding(4, 2, 3, 6), rng)
    images = channels_last(tensor(rng, 2, 3, 4, 4))
    with torch.no_grad():
        return embedding(images), images


# linear_to_conv


@linear_to_conv.case(title="patch size, channels and width differ", points=2)
def conv_distinct(linear_to_conv, rng):
    E, C, p = (int(size) for size in rng.permutation([3, 4, 5]))
    return linear_to_conv(tensor(rng, E, C * p * p), p, C)


@linear_to_conv.case(title="as many channels as pixels a side", points=1)
def conv_square(linear_to_conv, rng):
    return linear_to_conv(tensor(rng, 3, 27), 3, 3)


@linear_to_conv.case(title="the convolution gives the embedded patches", points=2)
def conv_used(linear_to_conv, rng):
    kernel = linear_to_conv(tensor(rng, 5, 3 * 4), 2, 3)
    images = tensor(rng, 2, 3, 4, 6)
    return F.conv2d(images, kernel.double(), tensor(rng, 5), stride=2)


@linear_to_conv.case(title="one channel; patches of one pixel", points=1)
def conv_extremes(linear_to_conv, rng):
    return linear_to_conv(tensor(rng, 5, 9), 3, 1), linear_to_conv(
        tensor(rng, 5, 4), 1, 4
    )


@linear_to_conv.case(
    title="a transposed weight is read correctly, left unchanged, and gets a gradient",
    points=1,
)
def conv_unchanged(linear_to_conv, rng):
    leaf = tensor(rng, 12, 5).requires_grad_()
    kernel = linear_to_conv(leaf.mT, 2, 3)
    (kernel * tensor(rng, 5, 3, 2, 2)).sum().backward()
    found = {"result": kernel, "`weight` after the call": leaf}
    return {**found, "the gradient of `weight`": leaf.grad}


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


@sinusoidal_encoding_2d.case(title="a single row", points=1)
def grid_row(sinusoidal_encoding_2d, rng):
    return sinusoidal_encoding_2d(1, drawn(rng, 3, 300), 8)


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


@interpolate_positions.case(title="square grids, from 4 x 4 to 6 x 6", **CUBIC)
def positions_square(interpolate_positions, rng):
    return interpolate_positions(positions_for(rng, (4, 4), 3), (4, 4), (6, 6))


@interpolate_positions.case(
    title="the same grid changes nothing; then its double", **CUBIC
)
def positions_same(interpolate_positions, rng):
    grid = drawn_grid(rng, 3, 6)
    positions, double = positions_for(rng, grid), tuple(2 * n for n in grid)
    same = interpolate_positions(positions, grid, grid)
    return same, interpolate_positions(positions, grid, double)


@interpolate_positions.case(
    title="transposed positions are read correctly, left unchanged, and get a gradient",
    **CUBIC,
)
def positions_unchanged(interpolate_positions, rng):
    leaf = tensor(rng, 1, 5, 7).requires_grad_()
    new = interpolate_positions(leaf.mT, (2, 3), (4, 5))
    (new * tensor(rng, 1, 21, 5)).sum().backward()
    found = {"result": new, "`positions` after the call": leaf}
    return {**found, "the gradient of `positions`": leaf.grad}


# break_patchify -----------------------------------------------------------------------


def remainder(images, patch_size):
    """Refuse images that cannot be cut into whole patches."""
    left = images.shape[2] % patch_size or images.shape[3] % patch_size
    return "`patch_size` has to divide H and W" if left else ""


break_patchify = BreakExercise(
    name="break_patchify",
    target=patchify,
    parameters=[reals("images", "B C H W"), whole("patch_size", 1, 16)],
    make=torch.tensor,
    rule=remainder,
)
break_patchify.version("right where the patches form one row or one column")
break_patchify.version("right for images with a single channel")
break_patchify.version("right where every patch equals its transpose")
break_patchify.version("right for patches as large as the image")
break_patchify.small(most=33, points=2)
