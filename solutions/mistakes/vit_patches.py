"""Misconceptions about images as sequences, as code that can be recognised."""

import numpy as np
import torch
from torch import nn

from autograder.break_exercise import hide
from autograder.exercise import edit, mistake
from autograder.exercises.vit_patches import (
    PatchEmbedding,
    break_patchify,
    interpolate_positions,
    linear_to_conv,
    patchify,
    sinusoidal_encoding_2d,
    unpatchify,
)
from solutions import vit_patches as right

# patchify

ORDER = "(0, 2, 4, 1, 3, 5)"


@edit(patchify, f".transpose{ORDER}", "")
def reshaped_only():
    """You only gave the numbers a new shape. That cuts the memory, row of pixels by row
    of pixels, and not the image into squares: split height and width first, then bring
    the axes that belong to one patch together."""


@edit(
    patchify,
    f"H // p, p, W // p, p)\n    cut = cut.transpose{ORDER}",
    "p, H // p, p, W // p)\n    cut = cut.transpose(0, 3, 5, 1, 2, 4)",
)
def patch_axis_outside():
    """You brought the axes into the right order for batch, rows and columns, but split
    height and width as (p, H/p) and not as (H/p, p). Your patches are made of pixels
    that lie far apart, one from each region of the image."""


@edit(patchify, ORDER, "(0, 4, 2, 1, 3, 5)")
def patches_by_columns():
    """You numbered the patches column by column. They go row by row, as one reads, and
    the positions that are learned for them count on it."""


@edit(patchify, ORDER, "(0, 2, 4, 1, 5, 3)")
def patch_transposed():
    """Each of your patches lies on its side: you put the columns of a patch before its
    rows. Within a patch the order is channel, row, column."""


@edit(patchify, ORDER, "(0, 4, 2, 1, 5, 3)")
def height_and_width_exchanged():
    """You exchanged height and width of the whole image, so both the order of the
    patches and the pixels in them are mirrored at the diagonal. Images are (B, C, H, W)
    with the height first."""


@edit(patchify, ORDER, "(0, 2, 4, 3, 5, 1)")
def channels_behind():
    """You put the channel last, as (p, p, C), which is the layout of image files. Here
    the numbers of a patch go (C, p, p), or no published weight and no convolution will
    fit."""


@edit(patchify, ORDER, "(0, 2, 3, 4, 1, 5)")
def strips():
    """You left the axes in the order rows, height inside the patch, columns, width
    inside, so each of your rows holds a strip of neighbouring patches. The two axes
    inside a patch have to move behind the two that number the patches."""


@edit(patchify, "(H // p) * (W // p)", "H // p, W // p")
def grid_not_flattened():
    """You kept rows and columns of patches as two axes. A transformer reads a sequence,
    so the grid is flattened into one axis of N patches."""


@edit(patchify, "C * p * p)", "C, p, p)")
def patches_not_flattened():
    """You kept the axes of the patch, (C, p, p). Each token is a vector, so a patch is
    flattened to C*p*p numbers."""


@edit(
    patchify,
    "    if H % p != 0 or W % p != 0:\n",
    "    H, W = H // p * p, W // p * p\n    images = images[..., :H, :W]\n    if 0:\n",
)
def remainder_dropped():
    """You cut off the pixels that do not fill a patch. Part of the image is then never
    seen, and no error says so; a size that p does not divide is a ValueError."""


# unpatchify

BACK = "(0, 3, 1, 4, 2, 5)"


@edit(unpatchify, f".transpose{BACK}", "")
def put_back_by_reshape():
    """You only gave the numbers a new shape. The rows of a patch have to be interleaved
    with those of its neighbours, so the axes must change places before the last
    reshape."""


@edit(
    unpatchify,
    f"rows, columns, C, p, p)\n    cut = cut.transpose{BACK}",
    "columns, rows, C, p, p)\n    cut = cut.transpose(0, 3, 2, 4, 1, 5)",
)
def laid_by_columns():
    """You laid the patches down column by column. They come row by row, so the first
    W/p of them make the top of the image."""


@edit(unpatchify, "height // p, width // p", "width // p, height // p")
def grid_with_sides_exchanged():
    """You took the patches for a grid of W/p rows and H/p columns. Square images come
    out right, and in all others most patches are out of place: there are H/p rows of
    W/p patches."""


@edit(unpatchify, BACK, "(0, 3, 1, 5, 2, 4)")
def patches_turned():
    """Each patch lies on its side in your image: its columns were taken for its rows.
    The numbers of a patch go channel, row, column."""


@edit(
    unpatchify,
    f"C, p, p)\n    cut = cut.transpose{BACK}",
    "p, p, C)\n    cut = cut.transpose(0, 5, 1, 3, 2, 4)",
)
def read_as_channels_last():
    """You read the numbers of a patch as (p, p, C), the layout of image files. They go
    (C, p, p), so your colours are mixed up with neighbouring pixels."""


@edit(unpatchify, "values // p**2", "3")
def three_channels():
    """You count on three channels. Their number follows from the width of a patch, C =
    values / p^2, and a grey image has one."""


# PatchEmbedding

UNFOLDED = "F.unfold(images, self.patch_size, stride=self.patch_size).mT"


@edit(PatchEmbedding, "[class_token, tokens]", "[tokens, class_token]")
def ClassTokenLast():
    """You put the class token at the end. It stands first, in front of the patches, and
    the head of the model, the positions and published weights look for it there."""


@edit(PatchEmbedding, " + self.positions", "")
def NoPositions():
    """You forgot the positions. Without them the tokens are a set, and a shuffled image
    is the same image to every layer that follows."""


@edit(
    PatchEmbedding, "+ self.positions", "+ F.pad(self.positions[:, 1:], (0, 0, 1, 0))"
)
def ClassTokenWithoutPosition():
    """You add positions to the patches only. The class token has a position of its own,
    the first of the N + 1, and published weights have a row for it."""


@edit(PatchEmbedding, "num_patches + 1", "num_patches")
def OnePositionTooFew():
    """You made N positions, one for each patch. There are N + 1 tokens, and the class
    token needs a position too, or published weights do not fit."""


@edit(
    PatchEmbedding,
    "torch.cat([class_token, tokens], dim=1) + self.positions",
    "tokens + self.positions[:, 1:]",
)
def NoClassToken():
    """You left out the class token. Without it there is no token that can gather what
    the whole image says."""


@edit(
    PatchEmbedding,
    UNFOLDED,
    "images.reshape(len(images), -1, self.projection.in_features)",
)
def ReshapedTokens():
    """You cut the images by a plain reshape. Your tokens are made of strips of pixels
    from the whole width of the image: split height and width first, as in patchify."""


@edit(
    PatchEmbedding,
    UNFOLDED,
    f"{UNFOLDED}.unflatten(2, (images.shape[1], -1)).mT.flatten(2)",
)
def ChannelsLastTokens():
    """You project patches whose numbers go (p, p, C). The weight expects (C, p, p), the
    order of the first exercise."""


@edit(PatchEmbedding, "torch.zeros(1,", "0.02 * torch.randn(1,")
def ClassTokenDrawn():
    """Your class token does not begin as zeros. The docstring asks for zeros, so that
    the token begins with nothing but its position."""


@edit(
    PatchEmbedding,
    "nn.init.trunc_normal_(positions, std=0.02)",
    "torch.zeros_like(positions)",
)
def PositionsOfZero():
    """Your positions begin as zeros, or all equal. The docstring asks for small random
    numbers there, and for zeros in the class token only."""


@edit(PatchEmbedding, "std=0.02", "std=1.0")
def LargePositions():
    """Your positions begin too large. The docstring asks for small random numbers: when
    positions are as large as the projected patches, tokens tell at first where they are
    rather than what they show."""


@mistake(PatchEmbedding)
class ProjectionIsAConvolution(right.PatchEmbedding):
    """Your projection is a convolution, which gives the right tokens, and its weight is
    (E, C, p, p). Asked for is an nn.Linear on the values of a patch, whose weight is
    (E, C*p*p): saved weights fit by name and shape."""

    def __init__(self, image_size, patch_size, channels, embed_dim):
        super().__init__(image_size, patch_size, channels, embed_dim)
        self.projection = nn.Conv2d(channels, embed_dim, patch_size, patch_size)

    def forward(self, images):
        tokens = self.projection(images).flatten(2).mT
        class_token = self.class_token.expand(len(images), -1, -1)
        return torch.cat([class_token, tokens], dim=1) + self.positions


# linear_to_conv

KERNEL = "channels, patch_size, patch_size)"


@edit(linear_to_conv, KERNEL, "patch_size, patch_size, channels).transpose(0, 3, 1, 2)")
def columns_as_channels_last():
    """You read the columns as (p, p, C). The numbers of a patch go (C, p, p), so the
    result has the right shape, while every colour sits at the wrong pixel."""


@edit(linear_to_conv, KERNEL, f"{KERNEL}.swapaxes(2, 3)")
def kernel_transposed():
    """You turned each kernel on its side, with columns before rows. A kernel is
    (height, width), in the same order as the patch."""


@edit(linear_to_conv, KERNEL, f"{KERNEL}[..., ::-1, ::-1]")
def kernel_flipped():
    """You flipped the kernels, as the mathematics of a convolution does. Torch's
    convolution does not flip: it multiplies kernel and patch number by number, so
    nothing must be turned around."""


@edit(linear_to_conv, KERNEL, f"{KERNEL}.swapaxes(0, 1)")
def inputs_before_outputs():
    """You reshaped to (C, E, p, p) or (p, p, C, E). A convolution stores its weight as
    (outputs, inputs, height, width): E comes first."""


@edit(linear_to_conv, KERNEL, f"{KERNEL}.transpose(0, 2, 3, 1)")
def kernel_with_channels_last():
    """You gave the kernel its channels last, (E, p, p, C). Torch's convolution wants
    (E, C, p, p), and where C equals p no shape would tell you."""


@edit(linear_to_conv, KERNEL, f"{KERNEL}[:, ::-1]")
def channels_reversed():
    """You reversed the order of the channels. Blue, green, red is the habit of some
    image libraries; weight and convolution here keep the order of the image."""


# sinusoidal_encoding_2d


def sines(length, dim):
    """(length, dim) sinusoids along a line."""
    doubled = np.arange(0, dim, 2)
    angles = np.arange(length)[:, None] * 10000.0 ** (-doubled / dim)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, dim)


HALVES = "[rows, columns]"


@edit(sinusoidal_encoding_2d, HALVES, "[columns, rows]")
def columns_in_the_first_half():
    """You let the first half of the features encode the column. The first half is for
    the row and the second for the column; a table whose halves are exchanged does not
    fit weights that were trained with the other."""


@edit(sinusoidal_encoding_2d, HALVES, "[rows, rows]")
def row_in_both_halves():
    """You encoded only the row and repeated it in the second half. Cells of one row are
    then all alike, and attention cannot tell left from right."""


@edit(
    sinusoidal_encoding_2d,
    "np.concatenate([rows, columns], axis=-1)",
    "np.stack([rows, columns], axis=-1).reshape(len(rows), dim)",
)
def row_and_column_alternate():
    """You alternate the features of row and column. The row has the first half of the
    features for itself, the column the second."""


@mistake(sinusoidal_encoding_2d)
def cells_column_by_column(height, width, dim):
    """You listed the cells column by column. Patches come row by row, so the column has
    to change fastest; your codes belong to other cells than the ones they are added
    to."""
    rows = np.tile(sines(height, dim // 2), (width, 1))
    columns = np.repeat(sines(width, dim // 2), height, axis=0)
    return np.concatenate([rows, columns], axis=-1)


@mistake(sinusoidal_encoding_2d)
def cells_numbered(height, width, dim):
    """You numbered the cells from first to last and encoded that number. Two cells
    above one another are then far apart, and how far depends on the width of the
    image."""
    return sines(height * width, dim)


@mistake(sinusoidal_encoding_2d)
def row_and_column_added(height, width, dim):
    """You added the code of the row to the code of the column. In a sum row 2, column 5
    cannot be told from row 5, column 2; each needs half of the features for itself."""
    total = sines(height, dim)[:, None] + sines(width, dim)
    return total.reshape(height * width, dim)


@edit(sinusoidal_encoding_2d, "(-doubled / (dim // 2))", "(-doubled / dim)")
def frequencies_of_the_full_width():
    """You took the frequencies of the full width for both halves. Each half is a
    complete encoding with dim/2 features, so its exponents run over its own width."""


@mistake(sinusoidal_encoding_2d)
def sides_of_the_grid_exchanged(height, width, dim):
    """You exchanged height and width: your table describes a grid with as many rows as
    the image has columns. A square image hides it."""
    rows = np.repeat(sines(width, dim // 2), height, axis=0)
    columns = np.tile(sines(height, dim // 2), (width, 1))
    return np.concatenate([rows, columns], axis=-1)


# interpolate_positions

GRID = "E, h, w)"
SIZE = "size=new_grid"


@edit(interpolate_positions, "align_corners=False", "align_corners=True")
def corners_aligned():
    """You aligned the corners of the grids. Patches are areas with a centre, so the
    outermost centres of a finer grid lie further out; with aligned corners every
    position but the corners is off."""


@edit(interpolate_positions, "align_corners=False", "antialias=True")
def antialiased():
    """You smoothed before shrinking (antialias). That is right for photographs and not
    asked for here: positions fitted to one grid would be blurred on a smaller one."""


@edit(interpolate_positions, '"bicubic"', '"bilinear"')
def bilinear():
    """You interpolated linearly between two neighbours. Bicubic looks at four in each
    direction, and published models were fine-tuned with that."""


@edit(
    interpolate_positions,
    f"{GRID}\n    grid = F.interpolate(grid, {SIZE}",
    f"E, w, h)\n    grid = F.interpolate(grid, {SIZE}[::-1]",
)
def rows_and_columns_exchanged():
    """You exchanged rows and columns of the grids. The positions are laid out row by
    row, and old_grid begins with the number of rows."""


@edit(interpolate_positions, GRID, "E, w, h)")
def old_grid_exchanged():
    """You read the old grid with rows and columns exchanged. As many vectors fit either
    way, but each position ends up at a different patch."""


@edit(interpolate_positions, GRID, "E, w, h).mT")
def read_by_columns():
    """You read the old positions column by column. They are laid out row by row, so
    neighbours in the list stand beside each other: the columns change fastest."""


@edit(interpolate_positions, "patches.mT.reshape", "patches.reshape")
def reshaped_without_transpose():
    """You reshaped (N, E) to (E, h, w) without a transpose first. That mixes the
    features of different positions; the features have to come first before the
    reshape."""


@edit(
    interpolate_positions,
    f"{GRID}\n    grid = F.interpolate(grid, {SIZE}",
    "E, 1, h * w)\n    grid = F.interpolate(grid, size=(1, new_grid[0] * new_grid[1])",
)
def along_the_sequence():
    """You interpolated along the sequence, as if the patches stood in one long row. The
    last patch of a row then flows into the first of the next; they are neighbours in
    the list and far apart in the image."""


@edit(
    interpolate_positions,
    "torch.cat([class_token, grid.flatten(2).mT], dim=1)",
    "grid.flatten(2).mT",
)
def class_token_dropped():
    """You dropped the class token's position. It belongs to no place in the image, so
    it is carried over as it is, in front of the new positions."""


@edit(interpolate_positions, "[class_token, grid", "[0 * class_token, grid")
def class_position_zero():
    """You replaced the class token's position by zeros or by a mean. It is no patch:
    carry it over untouched."""


# break_patchify -----------------------------------------------------------------------

wrong_versions_of_patchify = hide(
    break_patchify,
    patches_by_columns,
    channels_behind,
    patch_transposed,
    reshaped_only,
)


@mistake(break_patchify)
def test_with_a_grey_image():
    """All versions are found but the one that puts the channels in a wrong place. With
    a single channel, or with patches of one pixel, every place is right."""
    return np.arange(16.0).reshape(1, 1, 4, 4), 2


@mistake(break_patchify)
def test_with_a_single_patch():
    """You found what goes wrong inside of a patch. The order of the patches, and which
    pixels belong to one, can be seen only where there are several patches both above
    and beside each other."""
    return np.arange(8.0).reshape(1, 2, 2, 2), 2


@mistake(break_patchify)
def test_with_an_empty_image():
    """None of the wrong versions was found. They all move values to a wrong place, and
    nobody can tell one zero from another: give each pixel a value of its own."""
    return np.zeros((2, 3, 4, 4)), 2
