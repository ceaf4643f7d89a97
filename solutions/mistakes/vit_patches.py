"""Misconceptions about images as sequences, as code that can be recognised."""

import numpy as np
import torch
import torch.nn.functional as F
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


def need_whole_patches(size, p):
    if p < 1 or any(side % p for side in size):
        raise ValueError(f"patches of {p} x {p} do not fill {tuple(size)}")


def cut(images, p):
    """(B, H/p, W/p, C, p, p)."""
    need_whole_patches(images.shape[2:], p)
    B, C, H, W = images.shape
    return images.reshape(B, C, H // p, p, W // p, p).permute(0, 2, 4, 1, 3, 5)


def flat(grid):
    """(B, N, numbers) from (B, rows, columns, ...)."""
    return grid.flatten(3).flatten(1, 2)


# patchify


@mistake(patchify)
def reshaped_only(images, patch_size):
    """You only gave the numbers a new shape. That cuts the memory, row of pixels by row
    of pixels, and not the image into squares: split height and width first, then bring
    the axes that belong to one patch together."""
    need_whole_patches(images.shape[2:], patch_size)
    B, C, H, W = images.shape
    N = (H // patch_size) * (W // patch_size)
    return images.reshape(B, N, C * patch_size**2)


@mistake(patchify)
def patch_axis_outside(images, patch_size):
    """You brought the axes into the right order for batch, rows and columns, but split
    height and width as (p, H/p) and not as (H/p, p). Your patches are made of pixels
    that lie far apart, one from each region of the image."""
    p = patch_size
    need_whole_patches(images.shape[2:], p)
    B, C, H, W = images.shape
    split = images.reshape(B, C, p, H // p, p, W // p)
    return flat(split.permute(0, 3, 5, 1, 2, 4))


@mistake(patchify)
def patches_by_columns(images, patch_size):
    """You numbered the patches column by column. They go row by row, as one reads, and
    the positions that are learned for them count on it."""
    return flat(cut(images, patch_size).transpose(1, 2))


@mistake(patchify)
def patch_transposed(images, patch_size):
    """Each of your patches lies on its side: you put the columns of a patch before its
    rows. Within a patch the order is channel, row, column."""
    return flat(cut(images, patch_size).mT)


@mistake(patchify)
def height_and_width_exchanged(images, patch_size):
    """You exchanged height and width of the whole image, so both the order of the
    patches and the pixels in them are mirrored at the diagonal. Images are (B, C, H, W)
    with the height first."""
    return flat(cut(images.mT, patch_size))


@mistake(patchify)
def channels_behind(images, patch_size):
    """You put the channel last, as (p, p, C), which is the layout of image files. Here
    the numbers of a patch go (C, p, p), or no published weight and no convolution will
    fit."""
    return flat(cut(images, patch_size).movedim(3, -1))


@mistake(patchify)
def strips(images, patch_size):
    """You left the axes in the order rows, height inside the patch, columns, width
    inside, so each of your rows holds a strip of neighbouring patches. The two axes
    inside a patch have to move behind the two that number the patches."""
    p = patch_size
    need_whole_patches(images.shape[2:], p)
    B, C, H, W = images.shape
    split = images.reshape(B, C, H // p, p, W // p, p)
    split = split.permute(0, 2, 3, 4, 1, 5)
    return split.reshape(B, (H // p) * (W // p), C * p * p)


@mistake(patchify)
def one_channel_at_a_time(images, patch_size):
    """You made patches of one colour each: the channels number patches in your result.
    All the channels of a square belong to one patch."""
    need_whole_patches(images.shape[2:], patch_size)
    B, C, H, W = images.shape
    p = patch_size
    split = images.reshape(B, C, H // p, p, W // p, p).permute(0, 1, 2, 4, 3, 5)
    return split.reshape(B, (H // p) * (W // p), C * p * p)


@mistake(patchify)
def grid_not_flattened(images, patch_size):
    """You kept rows and columns of patches as two axes. A transformer reads a sequence,
    so the grid is flattened into one axis of N patches."""
    return cut(images, patch_size).flatten(3)


@mistake(patchify)
def patches_not_flattened(images, patch_size):
    """You kept the axes of the patch, (C, p, p). Each token is a vector, so a patch is
    flattened to C*p*p numbers."""
    return cut(images, patch_size).flatten(1, 2)


@mistake(patchify)
def remainder_dropped(images, patch_size):
    """You cut off what does not fill a patch. Part of the image is then never seen and
    nobody is told; a size that p does not divide is a ValueError."""
    p = patch_size
    H, W = (side - side % p for side in images.shape[2:])
    return flat(cut(images[:, :, :H, :W], p))


@mistake(patchify)
def remainder_padded(images, patch_size):
    """You filled the rest of the image up with zeros where p does not divide its size.
    The exercise asks for a ValueError, because an invented border changes the number of
    tokens without a word."""
    p = patch_size
    H, W = images.shape[2:]
    return flat(cut(F.pad(images, (0, -W % p, 0, -H % p)), p))


@mistake(patchify)
def width_not_checked(images, patch_size):
    """You check the height and not the width. Patches are square and have to fill the
    image in both directions, or the last column of patches is cut."""
    p = patch_size
    need_whole_patches(images.shape[2:3], p)
    return flat(cut(images[..., : images.shape[3] // p * p], p))


@mistake(patchify)
def overlapping(images, patch_size):
    """Your patches overlap: the window moves on by one pixel where it should move on by
    a whole patch. You get many more tokens than H/p * W/p, and each pixel several
    times."""
    need_whole_patches(images.shape[2:], patch_size)
    return F.unfold(images, patch_size).mT


@mistake(patchify)
def numbers_before_patches(images, patch_size):
    """You returned one patch for each column, (B, C*p*p, N), as torch's unfold does.
    Tokens are rows in this book, so patches come before their numbers."""
    need_whole_patches(images.shape[2:], patch_size)
    return F.unfold(images, patch_size, stride=patch_size)


@mistake(patchify)
def batch_and_patches_joined(images, patch_size):
    """You lost the image that a patch belongs to: batch and patches share an axis in
    your result. Attention would then look from one picture into another."""
    return flat(cut(images, patch_size)).flatten(0, 1)


# unpatchify


def pieces(patches, p, height, width):
    """(B, H/p, W/p, C, p, p)."""
    B, N, numbers = patches.shape
    return patches.reshape(B, height // p, width // p, -1, p, p)


def join(pieces):
    """(B, C, H, W) from (B, rows, columns, C, p, p)."""
    return pieces.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


@mistake(unpatchify)
def put_back_by_reshape(patches, patch_size, height, width):
    """You only gave the numbers a new shape. The rows of a patch have to be interleaved
    with those of its neighbours, so the axes must change places before the last
    reshape."""
    whole = pieces(patches, patch_size, height, width)
    return whole.reshape(len(patches), -1, height, width)


@mistake(unpatchify)
def laid_by_columns(patches, patch_size, height, width):
    """You laid the patches down column by column. They come row by row, so the first
    W/p of them make the top of the image."""
    whole = pieces(patches, patch_size, width, height)
    return join(whole.transpose(1, 2))


@mistake(unpatchify)
def sides_exchanged(patches, patch_size, height, width):
    """You exchanged height and width. The image comes out lying on its side whenever it
    is not square, with its patches in the wrong places."""
    return join(pieces(patches, patch_size, width, height))


@mistake(unpatchify)
def grid_with_sides_exchanged(patches, patch_size, height, width):
    """You took the patches for a grid of W/p rows and H/p columns. Square images come
    out right, and in all others most patches are out of place: there are H/p rows of
    W/p patches."""
    whole = join(pieces(patches, patch_size, width, height))
    return whole.reshape(*whole.shape[:2], height, width)


@mistake(unpatchify)
def patches_turned(patches, patch_size, height, width):
    """Each patch lies on its side in your image: its columns were taken for its rows.
    The numbers of a patch go channel, row, column."""
    return join(pieces(patches, patch_size, height, width).mT)


@mistake(unpatchify)
def read_as_channels_last(patches, patch_size, height, width):
    """You read the numbers of a patch as (p, p, C), the layout of image files. They go
    (C, p, p), so your colours are mixed up with neighbouring pixels."""
    whole = pieces(patches, patch_size, height, width)
    B, rows, columns, C, p, _ = whole.shape
    return join(whole.reshape(B, rows, columns, p, p, C).movedim(-1, 3))


@mistake(unpatchify)
def image_with_channels_last(patches, patch_size, height, width):
    """Your image has its channels last. Torch's images are (B, C, H, W), and so is the
    result that undoes patchify."""
    return join(pieces(patches, patch_size, height, width)).movedim(1, -1)


@mistake(unpatchify)
def grid_inside_the_patch(patches, patch_size, height, width):
    """You set the axes of the patch before those of the grid, (p, H/p) in place of
    (H/p, p). Neighbouring pixels of your image then come from different patches."""
    whole = pieces(patches, patch_size, height, width)
    whole = whole.permute(0, 3, 4, 1, 5, 2)
    return whole.flatten(4, 5).flatten(2, 3)


@mistake(unpatchify)
def three_channels(patches, patch_size, height, width):
    """You count on three channels. The number of channels follows from the numbers in a
    patch, C = numbers / p^2, and a grey image has one."""
    B, p = len(patches), patch_size
    return join(patches.reshape(B, height // p, width // p, 3, p, p))


# PatchEmbedding


class RightEmbedding(nn.Module):
    """A right patch embedding whose steps can be replaced one at a time."""

    extra = 1

    def __init__(self, image_size, patch_size, channels, embed_dim):
        super().__init__()
        self.patch_size = patch_size
        N = (image_size // patch_size) ** 2
        self.projection = nn.Linear(channels * patch_size**2, embed_dim)
        self.class_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        shape = (1, N + self.extra, embed_dim)
        self.positions = nn.Parameter(0.02 * torch.randn(shape))

    def patches(self, images):
        return flat(cut(images, self.patch_size))

    def with_class_token(self, tokens):
        return torch.cat([self.class_token.expand(len(tokens), -1, -1), tokens], 1)

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        return self.with_class_token(tokens) + self.positions


@mistake(PatchEmbedding)
class ClassTokenLast(RightEmbedding):
    """You put the class token at the end. It stands first, in front of the patches, and
    the head of the model, the positions and published weights look for it there."""

    def with_class_token(self, tokens):
        return torch.cat([tokens, self.class_token.expand(len(tokens), -1, -1)], 1)


@mistake(PatchEmbedding)
class TokensNormalised(RightEmbedding):
    """You normalised the tokens, as a layer norm does, before you added the positions.
    There is no norm in the embedding: the first one belongs to the layers behind it."""

    def with_class_token(self, tokens):
        tokens = super().with_class_token(tokens)
        return F.layer_norm(tokens, tokens.shape[-1:])


@mistake(PatchEmbedding)
class ProjectionIsAConvolution(RightEmbedding):
    """Your projection is a convolution, which gives the right tokens, and its weight is
    (E, C, p, p). Asked for is an nn.Linear on the numbers of a patch, whose weight is
    (E, C*p*p): saved weights fit by name and shape."""

    def __init__(self, image_size, patch_size, channels, embed_dim):
        super().__init__(image_size, patch_size, channels, embed_dim)
        self.projection = nn.Conv2d(channels, embed_dim, patch_size, patch_size)

    def forward(self, images):
        self.patches(images)  # refuses images of another size
        tokens = self.projection(images).flatten(2).mT
        return self.with_class_token(tokens) + self.positions


@mistake(PatchEmbedding)
class NoPositions(RightEmbedding):
    """You forgot the positions. Without them the tokens are a set, and a shuffled image
    is the same image to every layer that follows."""

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        return self.with_class_token(tokens) + 0 * self.positions


@mistake(PatchEmbedding)
class ClassTokenWithoutPosition(RightEmbedding):
    """You add positions to the patches only. The class token has a position of its own,
    the first of the N + 1."""

    def forward(self, images):
        tokens = self.projection(self.patches(images)) + self.positions[:, 1:]
        return self.with_class_token(tokens)


@mistake(PatchEmbedding)
class PositionsOneTooEarly(RightEmbedding):
    """The patches have the positions 0 to N - 1, and the class token has none. Position
    0 is the class token's: put it in front of the patches first, and then add the N + 1
    positions."""

    def forward(self, images):
        tokens = self.projection(self.patches(images)) + self.positions[:, :-1]
        return self.with_class_token(tokens)


@mistake(PatchEmbedding)
class OnePositionTooFew(RightEmbedding):
    """You made N positions, one for each patch. There are N + 1 tokens, and the class
    token needs a position too, or published weights do not fit."""

    extra = 0

    def forward(self, images):
        return self.with_class_token(
            self.projection(self.patches(images)) + self.positions
        )


@mistake(PatchEmbedding)
class NoClassToken(RightEmbedding):
    """You left out the class token. Without it there is no token that can gather what
    the whole image says."""

    def forward(self, images):
        return self.projection(self.patches(images)) + self.positions[:, 1:]


@mistake(PatchEmbedding)
class ClassTokenWithBias(RightEmbedding):
    """You added the projection's bias to the class token as well. It is no patch and is
    not projected; it enters as it was learned."""

    def forward(self, images):
        tokens = self.with_class_token(self.projection(self.patches(images)))
        first = torch.zeros_like(tokens)
        first[:, 0] = self.projection.bias
        return tokens + first + self.positions


@mistake(PatchEmbedding)
class ClassTokenAdded(RightEmbedding):
    """You added the class token to every patch. It is a token of its own, one more in
    the sequence, so that attention can fill it."""

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        zero = torch.zeros_like(tokens[:, :1])
        return torch.cat([zero, tokens], 1) + self.class_token + self.positions


@mistake(PatchEmbedding)
class ReshapedTokens(RightEmbedding):
    """You cut the image by a plain reshape. Your tokens are made of strips of pixels
    from the whole width of the image; use the patches of the first exercise."""

    def patches(self, images):
        right = super().patches(images)
        return images.reshape(right.shape)


@mistake(PatchEmbedding)
class ChannelsLastTokens(RightEmbedding):
    """You project patches whose numbers go (p, p, C). The weight expects (C, p, p), the
    order of the first exercise."""

    def patches(self, images):
        super().patches(images)
        return flat(cut(images, self.patch_size).movedim(3, -1))


@mistake(PatchEmbedding)
class TokensByColumns(RightEmbedding):
    """You numbered the patches column by column, so each learned position belongs to
    the patch mirrored at the diagonal. Patches go row by row."""

    def patches(self, images):
        super().patches(images)
        return flat(cut(images, self.patch_size).transpose(1, 2))


@mistake(PatchEmbedding)
class NoBias(RightEmbedding):
    """Your projection has no bias. The patch embedding is an ordinary linear layer with
    a bias, and published weights hold one."""

    def __init__(self, image_size, patch_size, channels, embed_dim):
        super().__init__(image_size, patch_size, channels, embed_dim)
        self.projection = nn.Linear(channels * patch_size**2, embed_dim, bias=False)


@mistake(PatchEmbedding)
class FrozenClassToken(RightEmbedding):
    """You cut class token and positions off from the gradient: a plain tensor, or a
    detached one, never learns. Make them parameters and use them as they are."""

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        first = self.class_token.detach().expand(len(tokens), -1, -1)
        return torch.cat([first, tokens], 1) + self.positions.detach()


@mistake(PatchEmbedding)
class ClassTokenDrawn(RightEmbedding):
    """Your class token does not begin as zeros. The docstring asks for zeros, so that
    the token begins with nothing but its position."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.class_token, std=0.02)


@mistake(PatchEmbedding)
class AllDrawnLarge(RightEmbedding):
    """Your class token does not begin as zeros, and your positions begin too large, as
    torch.randn draws both. The docstring asks for zeros in the token, and for small
    random numbers in the positions."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.class_token)
        nn.init.normal_(self.positions)


@mistake(PatchEmbedding)
class PositionsOfZero(RightEmbedding):
    """Your positions begin as zeros, or all equal. The docstring asks for small random
    numbers there, and for zeros in the class token only."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.zeros_(self.positions)


@mistake(PatchEmbedding)
class DrawnAndZeroExchanged(RightEmbedding):
    """Your class token does not begin as zeros, and your positions are all equal. It
    is the other way round: the class token begins as zeros, and the positions as
    small random numbers."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.class_token, std=0.02)
        nn.init.zeros_(self.positions)


@mistake(PatchEmbedding)
class LargePositions(RightEmbedding):
    """Your positions begin too large. The docstring asks for small random numbers: when
    positions are as large as the projected patches, tokens tell at first where they are
    rather than what they show."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.normal_(self.positions)


@mistake(PatchEmbedding)
class ClassTokenOfZeros(RightEmbedding):
    """You put zeros where the class token belongs. It only begins as zeros; it is a
    learned vector, the same for all images."""

    def with_class_token(self, tokens):
        return torch.cat([torch.zeros_like(tokens[:, :1]), tokens], 1)


@mistake(PatchEmbedding)
class DroppedOut(RightEmbedding):
    """You let dropout act on the tokens. Nothing in this book drops out unless it is
    asked for, so two calls with the same image must agree."""

    def forward(self, images):
        return F.dropout(super().forward(images), 0.2, self.training)


@mistake(PatchEmbedding)
class Normalised(RightEmbedding):
    """You normalised the tokens. The embedding is a projection, a class token and
    positions, nothing else; the first norm belongs to the first layer."""

    def forward(self, images):
        tokens = super().forward(images)
        return F.layer_norm(tokens, tokens.shape[-1:])


@mistake(PatchEmbedding)
class ScaledTokens(RightEmbedding):
    """You scaled the tokens by the square root of the width, as the first transformer
    did with its words. The vision transformer does not."""

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        tokens = tokens * self.positions.shape[-1] ** 0.5
        return self.with_class_token(tokens) + self.positions


@mistake(PatchEmbedding)
class PositionsOneTooLate(RightEmbedding):
    """Every patch gets the position of the token before it, and the class token gets
    the last one, as with row -1. Row 0 of the positions belongs to the class token, and
    row i to patch i."""

    def forward(self, images):
        tokens = self.projection(self.patches(images))
        return self.with_class_token(tokens) + self.positions.roll(1, dims=1)


# linear_to_conv


@mistake(linear_to_conv)
def columns_as_channels_last(weight, patch_size, channels):
    """You read the columns as (p, p, C). The numbers of a patch go (C, p, p), so the
    result has the right shape, while every colour sits at the wrong pixel."""
    p = patch_size
    return weight.reshape(len(weight), p, p, channels).permute(0, 3, 1, 2)


@mistake(linear_to_conv)
def kernel_transposed(weight, patch_size, channels):
    """You turned each kernel on its side, with columns before rows. A kernel is
    (height, width), in the same order as the patch."""
    return weight.reshape(len(weight), channels, patch_size, patch_size).mT


@mistake(linear_to_conv)
def kernel_flipped(weight, patch_size, channels):
    """You flipped the kernels, as the mathematics of a convolution does. Torch's
    convolution does not flip: it multiplies kernel and patch number by number, so
    nothing must be turned around."""
    kernel = weight.reshape(len(weight), channels, patch_size, patch_size)
    return kernel.flip(-1, -2)


@mistake(linear_to_conv)
def inputs_before_outputs(weight, patch_size, channels):
    """You reshaped to (C, E, p, p) or (p, p, C, E). A convolution stores its weight as
    (outputs, inputs, height, width): E comes first."""
    kernel = weight.reshape(len(weight), channels, patch_size, patch_size)
    return kernel.transpose(0, 1)


@mistake(linear_to_conv)
def weight_transposed_first(weight, patch_size, channels):
    """You reshaped the transposed weight. A linear layer stores (outputs, inputs), so
    each row already is one kernel."""
    p = patch_size
    return weight.T.reshape(len(weight), channels, p, p)


@mistake(linear_to_conv)
def kernel_with_channels_last(weight, patch_size, channels):
    """You gave the kernel its channels last, (E, p, p, C). Torch's convolution wants
    (E, C, p, p)."""
    kernel = weight.reshape(len(weight), channels, patch_size, patch_size)
    return kernel.movedim(1, -1)


@mistake(linear_to_conv)
def kernel_averaged(weight, patch_size, channels):
    """You divided by the number of pixels in a patch. Both layers add up all products;
    neither takes a mean."""
    kernel = weight.reshape(len(weight), channels, patch_size, patch_size)
    return kernel / patch_size**2


@mistake(linear_to_conv)
def channels_reversed(weight, patch_size, channels):
    """You reversed the order of the channels. Blue, green, red is the habit of some
    image libraries; weight and convolution here keep the order of the image."""
    kernel = weight.reshape(len(weight), channels, patch_size, patch_size)
    return kernel.flip(1)


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
def cells_not_listed(height, width, dim):
    """You left the grid as it is, with height and width as axes. Attention takes a list
    of tokens, so the two have to be joined to one axis, row by row."""
    rows = np.repeat(sines(height, dim // 2)[:, None], width, axis=1)
    columns = np.repeat(sines(width, dim // 2)[None], height, axis=0)
    return np.concatenate([rows, columns], axis=-1)


@mistake(sinusoidal_encoding_2d)
def sides_of_the_grid_exchanged(height, width, dim):
    """You exchanged height and width: your table describes a grid with as many rows as
    the image has columns. A square image hides it."""
    rows = np.repeat(sines(width, dim // 2), height, axis=0)
    columns = np.tile(sines(height, dim // 2), (width, 1))
    return np.concatenate([rows, columns], axis=-1)


# interpolate_positions


def bicubic(grid, size):
    """The interpolation as it should be."""
    return F.interpolate(grid, size=size, mode="bicubic", align_corners=False)


def resized(positions, old_grid, new_grid, interpolate=None):
    """Class token and positions, which are interpolated as they should be or not."""
    grid = positions[:, 1:].mT.unflatten(2, tuple(old_grid))
    grid = (interpolate or bicubic)(grid, tuple(new_grid))
    return torch.cat([positions[:, :1], grid.flatten(2).mT], dim=1)


@mistake(interpolate_positions)
def corners_aligned(positions, old_grid, new_grid):
    """You aligned the corners of the grids. Patches are areas with a centre, so the
    outermost centres of a finer grid lie further out; with aligned corners every
    position but the corners is off."""

    def interpolate(grid, size):
        return F.interpolate(grid, size=size, mode="bicubic", align_corners=True)

    return resized(positions, old_grid, new_grid, interpolate)


@mistake(interpolate_positions)
def antialiased(positions, old_grid, new_grid):
    """You smoothed before shrinking (antialias). That is right for photographs and not
    asked for here: positions fitted to one grid would be blurred on a smaller one."""

    def interpolate(grid, size):
        return F.interpolate(grid, size=size, mode="bicubic", antialias=True)

    return resized(positions, old_grid, new_grid, interpolate)


@mistake(interpolate_positions)
def bilinear(positions, old_grid, new_grid):
    """You interpolated linearly between two neighbours. Bicubic looks at four in each
    direction, and published models were fine-tuned with that."""

    def interpolate(grid, size):
        return F.interpolate(grid, size=size, mode="bilinear", align_corners=False)

    return resized(positions, old_grid, new_grid, interpolate)


@mistake(interpolate_positions)
def nearest(positions, old_grid, new_grid):
    """You copied the nearest position. Several patches of a finer grid then share one
    and cannot be told apart."""

    def interpolate(grid, size):
        return F.interpolate(grid, size=size, mode="nearest")

    return resized(positions, old_grid, new_grid, interpolate)


@mistake(interpolate_positions)
def rows_and_columns_exchanged(positions, old_grid, new_grid):
    """You exchanged rows and columns of the grids. The positions are laid out row by
    row, and old_grid begins with the number of rows."""
    return resized(positions, old_grid[::-1], new_grid[::-1])


@mistake(interpolate_positions)
def old_grid_exchanged(positions, old_grid, new_grid):
    """You read the old grid with rows and columns exchanged. As many numbers fit either
    way, but each position lands at another place."""
    return resized(positions, old_grid[::-1], new_grid)


@mistake(interpolate_positions)
def returned_by_columns(positions, old_grid, new_grid):
    """You returned the new positions column by column. Patches go row by row, so the
    columns of the grid have to change fastest."""
    new = resized(positions, old_grid, new_grid)
    grid = new[:, 1:].unflatten(1, tuple(new_grid)).transpose(1, 2).flatten(1, 2)
    return torch.cat([new[:, :1], grid], dim=1)


@mistake(interpolate_positions)
def read_by_columns(positions, old_grid, new_grid):
    """You read the old positions column by column. They are laid out row by row, so
    neighbours in the list stand beside each other: the columns change fastest."""
    grid = positions[:, 1:].unflatten(1, tuple(old_grid)[::-1])
    by_rows = grid.transpose(1, 2).flatten(1, 2)
    return resized(torch.cat([positions[:, :1], by_rows], 1), old_grid, new_grid)


@mistake(interpolate_positions)
def reshaped_without_transpose(positions, old_grid, new_grid):
    """You reshaped (N, E) to (E, h, w) without a transpose first. That mixes the
    features of different positions; the features have to come first before the
    reshape."""
    E = positions.shape[-1]
    grid = positions[:, 1:].reshape(1, E, *old_grid)
    grid = bicubic(grid, tuple(new_grid))
    return torch.cat([positions[:, :1], grid.flatten(2).mT], dim=1)


@mistake(interpolate_positions)
def reshaped_both_ways(positions, old_grid, new_grid):
    """You reshaped (N, E) to (E, h, w) and back without a transpose, so every map holds
    features of different positions. The axis of the features has to be moved to the
    front before interpolating, and to the end afterwards."""
    E = positions.shape[-1]
    grid = positions[:, 1:].reshape(1, E, *old_grid)
    grid = bicubic(grid, tuple(new_grid))
    return torch.cat([positions[:, :1], grid.reshape(1, -1, E)], dim=1)


@mistake(interpolate_positions)
def along_the_sequence(positions, old_grid, new_grid):
    """You interpolated along the sequence, as if the patches stood in one long row. The
    last patch of a row then flows into the first of the next; they are neighbours in
    the list and far apart in the image."""
    line = positions[:, 1:].mT[:, :, None]  # (1, E, 1, N)
    size = (1, new_grid[0] * new_grid[1])
    line = F.interpolate(line, size=size, mode="bicubic")[:, :, 0]
    return torch.cat([positions[:, :1], line.mT], dim=1)


@mistake(interpolate_positions)
def class_token_dropped(positions, old_grid, new_grid):
    """You dropped the class token's position. It belongs to no place in the image, so
    it is carried over as it is, in front of the new positions."""
    return resized(positions, old_grid, new_grid)[:, 1:]


@mistake(interpolate_positions)
def class_position_last(positions, old_grid, new_grid):
    """You put the class token's position last. It is the first of the positions, before
    and after."""
    return resized(positions, old_grid, new_grid).roll(-1, dims=1)


@mistake(interpolate_positions)
def last_taken_for_class(positions, old_grid, new_grid):
    """You took the last position for the class token's. It is the first one; your grid
    starts one patch too early."""
    return resized(positions.roll(1, dims=1), old_grid, new_grid)


@mistake(interpolate_positions)
def class_position_zero(positions, old_grid, new_grid):
    """You replaced the class token's position by zeros or by a mean. It is no patch:
    carry it over untouched."""
    new = resized(positions, old_grid, new_grid)
    return torch.cat([torch.zeros_like(new[:, :1]), new[:, 1:]], dim=1)


@mistake(interpolate_positions)
def list_cut_or_padded(positions, old_grid, new_grid):
    """You cut or padded the list of positions to the new length. Positions describe
    places in a grid; a finer grid has new places between the old ones."""
    missing = 1 + new_grid[0] * new_grid[1] - positions.shape[1]
    return F.pad(positions, (0, 0, 0, missing))


@mistake(interpolate_positions)
def new_grid_exchanged(positions, old_grid, new_grid):
    """The new grid has its sides exchanged: the result is for columns by rows. Sizes
    are (rows, columns) everywhere, in old_grid, in new_grid and in F.interpolate."""
    return resized(positions, old_grid, tuple(new_grid)[::-1])


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
    return torch.arange(16.0).reshape(1, 1, 4, 4), 2


@mistake(break_patchify)
def test_with_a_single_patch():
    """You found what goes wrong inside of a patch. The order of the patches, and which
    pixels belong to one, can be seen only where there are several patches both above
    and beside each other."""
    return torch.arange(8.0).reshape(1, 2, 2, 2), 2


@mistake(break_patchify)
def test_with_an_empty_image():
    """None of the wrong versions was found. They all move values to a wrong place, and
    nobody can tell one zero from another: give each pixel a value of its own."""
    return torch.zeros(2, 3, 4, 4), 2
