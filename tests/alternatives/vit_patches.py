"""Other right answers to the exercises on images as sequences."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from solutions import vit_patches as solutions


def patchify_loops(images, patch_size):
    B, C, H, W = images.shape
    if H % patch_size or W % patch_size:
        raise ValueError(f"{H} x {W} is not divided by {patch_size}")
    patches = []
    for top in range(0, H, patch_size):
        for left in range(0, W, patch_size):
            patch = images[:, :, top : top + patch_size, left : left + patch_size]
            patches.append(patch.reshape(B, C * patch_size * patch_size))
    return np.stack(patches, axis=1)


def patchify_unfold(images, patch_size):
    if any(side % patch_size for side in images.shape[-2:]):
        raise ValueError("the patches do not fill the image")
    return F.unfold(torch.from_numpy(images), patch_size, stride=patch_size).mT


def unpatchify_loops(patches, patch_size, height, width):
    B, N, values = patches.shape
    p, columns = patch_size, width // patch_size
    images = np.zeros((B, values // (p * p), height, width))
    for n in range(N):
        top, left = n // columns * p, n % columns * p
        patch = patches[:, n].reshape(B, -1, p, p)
        images[:, :, top : top + p, left : left + p] = patch
    return images


def unpatchify_strips(patches, patch_size, height, width):
    p = patch_size
    rows, columns = height // p, width // p
    pieces = patches.reshape(*patches.shape[:2], -1, p, p).swapaxes(0, 1)
    strips = [
        np.concatenate(list(pieces[r * columns : (r + 1) * columns]), axis=-1)
        for r in range(rows)
    ]
    return np.concatenate(strips, axis=-2)


class EmbeddingByUnfold(nn.Module):
    def __init__(self, image_size, patch_size, channels, embed_dim):
        super().__init__()
        grid, rest = divmod(image_size, patch_size)
        self.patch_size, self.size = patch_size, (channels, image_size, image_size)
        self.positions = nn.Parameter(0.1 * torch.randn(1, 1 + grid * grid, embed_dim))
        self.class_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.projection = nn.Linear(channels * patch_size * patch_size, embed_dim)

    def forward(self, images):
        patches = F.unfold(images, self.patch_size, stride=self.patch_size)
        tokens = self.projection(patches.transpose(1, 2))
        first = self.class_token.repeat(images.shape[0], 1, 1)
        return torch.cat((first, tokens), dim=1).add(self.positions)


class EmbeddingByConvolution(EmbeddingByUnfold):
    def forward(self, images):
        p = self.patch_size
        kernel = self.projection.weight.unflatten(1, (-1, p, p))
        tokens = F.conv2d(images, kernel, self.projection.bias, stride=p)
        tokens = tokens.flatten(2).transpose(1, 2) + self.positions[:, 1:]
        first = self.class_token + self.positions[:, :1]
        return torch.cat([first.expand(len(tokens), 1, -1), tokens], 1)


def conv_loops(weight, patch_size, channels):
    kernels = []
    for row in weight:
        planes = np.split(row, channels)
        kernels.append([plane.reshape(patch_size, -1) for plane in planes])
    return np.array(kernels)


def conv_by_unpatchify(weight, patch_size, channels):
    """A row is an image of one patch."""
    return solutions.unpatchify(weight[:, None], patch_size, patch_size, patch_size)


def cubic_weights(old, new, dtype):
    """(new, old) weights of Keys' kernel with a = -0.75, borders repeated."""
    weights = torch.zeros(new, old, dtype=dtype)
    for i in range(new):
        centre = (i + 0.5) * old / new - 0.5
        first = math.floor(centre) - 1
        for j in range(first, first + 4):
            x = abs(centre - j)
            if x <= 1:
                value = 1.25 * x**3 - 2.25 * x**2 + 1
            else:
                value = -0.75 * (x**3 - 5 * x**2 + 8 * x - 4)
            weights[i, min(max(j, 0), old - 1)] += value
    return weights


def positions_by_matrices(positions, old_grid, new_grid):
    (h, w), (rows, columns) = old_grid, new_grid
    vertical = cubic_weights(h, rows, positions.dtype)
    horizontal = cubic_weights(w, columns, positions.dtype)
    grid = positions[0, 1:].reshape(h, w, -1)
    grid = torch.einsum("ih,jw,hwe->ije", vertical, horizontal, grid)
    return torch.cat([positions[0, :1], grid.flatten(0, 1)])[None]


def positions_split(positions, old_grid, new_grid):
    number = positions.shape[1] - 1
    first, rest = positions.split([1, number], dim=1)
    rest = rest.reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
    rest = F.interpolate(
        rest, tuple(new_grid), mode="bicubic", align_corners=False, antialias=False
    )
    rest = rest.permute(0, 2, 3, 1).reshape(1, new_grid[0] * new_grid[1], -1)
    return torch.cat((first, rest), dim=1)


def break_patchify_with_descending_values():
    return np.arange(32.0)[::-1].reshape(1, 2, 4, 4), 2


def break_patchify_with_random_values():
    return [np.random.default_rng(1).standard_normal((1, 2, 4, 4)), 2]


def grid_by_loops(height, width, dim):
    half = dim // 2
    table = np.zeros((height * width, dim))
    for r in range(height):
        for c in range(width):
            for k in range(0, half, 2):
                for start, position in ((0, r), (half, c)):
                    angle = position / 10000 ** (k / half)
                    table[r * width + c, start + k] = math.sin(angle)
                    table[r * width + c, start + k + 1] = math.cos(angle)
    return table


def grid_by_broadcasting(height, width, dim):
    half = dim // 2
    frequencies = 10000.0 ** (-np.arange(0, half, 2) / half)
    table = np.empty((height, width, 2, dim // 4, 2))
    for half_of, position in enumerate(np.indices((height, width))):
        angles = position[..., None] * frequencies
        table[:, :, half_of, :, 0] = np.sin(angles)
        table[:, :, half_of, :, 1] = np.cos(angles)
    return table.reshape(height * width, dim)


ALTERNATIVES = {
    "break_patchify": [
        break_patchify_with_descending_values,
        break_patchify_with_random_values,
    ],
    "patchify": [patchify_loops, patchify_unfold],
    "unpatchify": [unpatchify_loops, unpatchify_strips],
    "PatchEmbedding": [EmbeddingByUnfold, EmbeddingByConvolution],
    "linear_to_conv": [conv_loops, conv_by_unpatchify],
    "sinusoidal_encoding_2d": [grid_by_loops, grid_by_broadcasting],
    "interpolate_positions": [positions_by_matrices, positions_split],
}
