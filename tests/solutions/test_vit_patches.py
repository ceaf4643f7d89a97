"""Patches and their embedding against loops and torch's convolution."""

import cmath

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


def test_positions_stay_on_their_own_grid_and_turn_with_another(rng):
    positions = tensor(rng, 1, 1 + 3 * 4, 3)
    same = interpolate_positions(positions, (3, 4), (3, 4))
    torch.testing.assert_close(same, positions)
    turned = positions[0, 1:].reshape(3, 4, 3).transpose(0, 1).reshape(1, 12, 3)
    turned = torch.cat([positions[:, :1], turned], dim=1)
    found = interpolate_positions(positions, (3, 4), (7, 5))
    other = interpolate_positions(turned, (4, 3), (5, 7))
    assert torch.equal(found[:, 0], positions[:, 0])
    grids = found[0, 1:].reshape(7, 5, 3), other[0, 1:].reshape(5, 7, 3)
    torch.testing.assert_close(grids[0], grids[1].transpose(0, 1))


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
