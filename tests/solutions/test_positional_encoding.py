"""Positions against complex numbers."""

import cmath

import numpy as np
import pytest

from solutions.positional_encoding import (
    rotary_embedding,
    shift_matrix,
    sinusoidal_encoding,
)

close = np.testing.assert_allclose


def turning(position, pair, dim, base=10000.0):
    """exp(i position w) for the frequency w of a pair, from the standard library."""
    return cmath.exp(1j * position / base ** (2 * pair / dim))


@pytest.mark.parametrize(("length", "dim"), [(1, 2), (60, 8), (5000, 6), (3, 512)])
def test_each_pair_is_a_point_on_the_unit_circle_at_the_angle_of_its_position(
    length, dim
):
    table = sinusoidal_encoding(length, dim)
    assert table.shape == (length, dim)
    for i in range(0, length, max(1, length // 50)):
        for k in range(dim // 2):
            point = turning(i, k, dim)
            assert table[i, 2 * k] == pytest.approx(point.imag, abs=1e-11)
            assert table[i, 2 * k + 1] == pytest.approx(point.real, abs=1e-11)


@pytest.mark.parametrize("offset", [0, 1, 7, 100, -1, -40])
@pytest.mark.parametrize("dim", [2, 6, 64])
def test_one_matrix_shifts_every_position(offset, dim):
    table = sinusoidal_encoding(200, dim)
    first, last = max(0, -offset), min(200, 200 - offset)
    moved = table[first:last] @ shift_matrix(offset, dim).T
    close(moved, table[first + offset : last + offset], atol=1e-12)


@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_rotary_embedding_multiplies_pairs_by_complex_numbers_of_length_one(rng, base):
    x, positions = rng.standard_normal((2, 3, 4, 6)), np.array([5, 0, 17, 400])
    turned = rotary_embedding(x, positions, base)
    for i, position in enumerate(positions):
        for k in range(3):
            pair = x[:, :, i, 2 * k] + 1j * x[:, :, i, 2 * k + 1]
            expected = pair * turning(position, k, 6, base)
            close(turned[:, :, i, 2 * k], expected.real, atol=1e-12)
            close(turned[:, :, i, 2 * k + 1], expected.imag, atol=1e-12)
