"""Positions against loops, complex numbers and what must hold."""

import cmath
import math

import numpy as np
import pytest

from solutions.positional_encoding import (
    break_rotary_embedding,
    rotary_embedding,
    shift_matrix,
    sinusoidal_encoding,
)

close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(7)


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


def test_every_row_of_the_table_has_the_same_norm():
    table = sinusoidal_encoding(1000, 64)
    close(np.linalg.norm(table, axis=1), math.sqrt(32))


@pytest.mark.parametrize("offset", [0, 1, 7, 100, -1, -40])
@pytest.mark.parametrize("dim", [2, 6, 64])
def test_one_matrix_shifts_every_position(offset, dim):
    table = sinusoidal_encoding(200, dim)
    first, last = max(0, -offset), min(200, 200 - offset)
    moved = table[first:last] @ shift_matrix(offset, dim).T
    close(moved, table[first + offset : last + offset], atol=1e-12)


def test_shifts_compose_and_keep_norms():
    there, back = shift_matrix(13, 10), shift_matrix(-13, 10)
    close(there @ back, np.eye(10), atol=1e-12)
    close(there @ there.T, np.eye(10), atol=1e-12)
    close(there @ shift_matrix(4, 10), shift_matrix(17, 10), atol=1e-12)


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


def test_rotary_scores_depend_on_the_difference_of_positions_only(rng):
    query, key = rng.standard_normal((2, 1, 8)).repeat(20, axis=1)
    near, far = np.arange(20), np.arange(20) + 1000
    scores = rotary_embedding(query, near) @ rotary_embedding(key, near).T
    close(scores[1:, 1:], scores[:-1, :-1], atol=1e-12)
    moved = rotary_embedding(query, far) @ rotary_embedding(key, far).T
    close(moved, scores, atol=1e-10)


def test_rotary_embedding_and_shift_matrix_are_the_same_rotation():
    """(cos, sin) turned by +a is (sin, cos) shifted by the same offset."""
    table = sinusoidal_encoding(9, 8)
    swapped = np.arange(8) ^ 1  # 1 0 3 2 5 4 7 6
    moved = rotary_embedding(table[:, swapped], np.full(9, 4))
    close(moved[:, swapped], table @ shift_matrix(4, 8).T, atol=1e-12)


def test_break_rotary_embedding_turns_by_the_angles_of_the_definition():
    x, positions, base = break_rotary_embedding()
    turned = rotary_embedding(x, positions, base)
    for place, speed in ((0, 1.0), (2, base**-0.5)):
        pair = complex(*x[0, place : place + 2])
        turn = cmath.exp(1j * positions[0] * speed)
        assert complex(*turned[0, place : place + 2]) == pytest.approx(pair * turn)
    assert positions[0] != 0
    assert base != 10000
