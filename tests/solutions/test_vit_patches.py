"""Patches and their embedding against loops and torch's convolution."""

import cmath
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder.inputs import fill, tensor
from solutions.vit_patches import (
    PatchEmbedding,
    interpolate_positions,
    linear_to_conv,
    patchify,
    sinusoidal_encoding_2d,
    unpatchify,
)


@pytest.mark.parametrize(("B", "C", "H", "W", "p"), [(2, 3, 6, 8, 2), (3, 1, 9, 6, 3)])
def test_patches_are_the_columns_of_torchs_unfold(rng, B, C, H, W, p):
    images = rng.standard_normal((B, C, H, W))
    unfolded = F.unfold(torch.from_numpy(images), p, stride=p).mT
    assert np.array_equal(patchify(images, p), unfolded)


@pytest.mark.parametrize("p", [1, 2, 4, 8])
def test_torchs_fold_puts_patches_back_at_the_same_places(rng, p):
    patches = rng.standard_normal((2, 128 // p**2, 3 * p**2))
    folded = F.fold(torch.from_numpy(patches).mT, (8, 16), p, stride=p)
    assert np.array_equal(unpatchify(patches, p, 8, 16), folded)


@pytest.mark.parametrize(("size", "p", "C", "E"), [(32, 8, 3, 20), (12, 3, 1, 7)])
def test_patch_embedding_is_the_class_token_and_a_strided_convolution(
    rng, size, p, C, E
):
    embedding = fill(PatchEmbedding(size, p, C, E), rng)
    images = tensor(rng, 3, C, size, size)
    kernel = linear_to_conv(embedding.projection.weight.detach().numpy(), p, C)
    bias = embedding.projection.bias
    feature_map = F.conv2d(images, torch.from_numpy(kernel), bias, stride=p)
    first = embedding.class_token.expand(3, -1, -1)
    tokens = torch.cat([first, feature_map.flatten(2).mT], dim=1)
    assert (embedding(images) - tokens - embedding.positions).abs().max() < 1e-10


def keys_kernel(x, a=-0.75):
    """The cubic of Keys (1981), as torch uses it."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def bicubic(grid, rows, columns):
    """(h, w, E) to (rows, columns, E), pixel by pixel."""
    h, w, E = grid.shape
    new = np.zeros((rows, columns, E))
    for i in range(rows):
        for j in range(columns):
            y, x = (i + 0.5) * h / rows - 0.5, (j + 0.5) * w / columns - 0.5
            for r in range(math.floor(y) - 1, math.floor(y) + 3):
                for c in range(math.floor(x) - 1, math.floor(x) + 3):
                    weight = keys_kernel(y - r) * keys_kernel(x - c)
                    clamped = grid[min(max(r, 0), h - 1), min(max(c, 0), w - 1)]
                    new[i, j] += weight * clamped
    return new


@pytest.mark.parametrize(
    ("old", "new"), [((3, 4), (7, 5)), ((7, 6), (3, 4)), ((4, 4), (5, 5))]
)
def test_positions_are_interpolated_by_the_cubic_of_keys(rng, old, new):
    positions = tensor(rng, 1, 1 + old[0] * old[1], 3)
    found = interpolate_positions(positions, old, new)
    expected = bicubic(positions[0, 1:].reshape(*old, 3).numpy(), *new)
    assert np.allclose(found[0, 1:].numpy(), expected.reshape(-1, 3), atol=1e-12)
    assert torch.equal(found[:, 0], positions[:, 0])


@pytest.mark.parametrize(("height", "width"), [(3, 5), (5, 3), (1, 4), (4, 1), (4, 4)])
def test_each_cell_of_a_grid_carries_the_codes_of_its_row_and_its_column(height, width):
    table = sinusoidal_encoding_2d(height, width, 12)
    assert table.shape == (height * width, 12)
    for row in range(height):
        for column in range(width):
            code = table[row * width + column]
            for k in range(3):
                for half, position in ((0, row), (6, column)):
                    point = cmath.exp(1j * position / 10000 ** (k / 3))
                    assert code[half + 2 * k] == pytest.approx(point.imag)
                    assert code[half + 2 * k + 1] == pytest.approx(point.real)
