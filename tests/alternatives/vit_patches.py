"""Other right answers to the exercises on images as sequences."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def patchify_unfold(images, patch_size):
    if any(side % patch_size for side in images.shape[-2:]):
        raise ValueError("the patches do not fill the image")
    return F.unfold(torch.from_numpy(images), patch_size, stride=patch_size).mT


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


def conv_loops(weight, patch_size, channels):
    kernels = []
    for row in weight:
        planes = np.split(row, channels)
        kernels.append([plane.reshape(patch_size, -1) for plane in planes])
    return np.array(kernels)


def positions_split(positions, old_grid, new_grid):
    number = positions.shape[1] - 1
    first, rest = positions.split([1, number], dim=1)
    rest = rest.reshape(1, *old_grid, -1).permute(0, 3, 1, 2)
    rest = F.interpolate(
        rest, tuple(new_grid), mode="bicubic", align_corners=False, antialias=False
    )
    rest = rest.permute(0, 2, 3, 1).reshape(1, new_grid[0] * new_grid[1], -1)
    return torch.cat((first, rest), dim=1)


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


ALTERNATIVES = {
    "break_patchify": [break_patchify_with_random_values],
    "patchify": [patchify_unfold],
    "unpatchify": [unpatchify_strips],
    "PatchEmbedding": [EmbeddingByUnfold],
    "linear_to_conv": [conv_loops],
    "sinusoidal_encoding_2d": [grid_by_loops],
    "interpolate_positions": [positions_split],
}
