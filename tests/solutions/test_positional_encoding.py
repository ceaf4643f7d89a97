"""Positions against loops, complex numbers and what must hold."""

import cmath
import math

import pytest
import torch

from solutions.positional_encoding import (
    LearnedPositions,
    break_rotary_embedding,
    rotary_embedding,
    shift_matrix,
    sinusoidal_encoding,
    sinusoidal_encoding_2d,
)


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    yield
    torch.set_default_dtype(before)


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
            assert table[i, 2 * k].item() == pytest.approx(point.imag, abs=1e-11)
            assert table[i, 2 * k + 1].item() == pytest.approx(point.real, abs=1e-11)


def test_every_row_of_the_table_has_the_same_length():
    table = sinusoidal_encoding(1000, 64)
    torch.testing.assert_close(table.norm(dim=1), torch.full((1000,), math.sqrt(32)))


def test_no_two_of_ten_thousand_positions_share_a_code():
    table = sinusoidal_encoding(10_000, 16)
    assert torch.unique(table.mul(1e6).round(), dim=0).shape == (10_000, 16)


def test_tables_come_in_the_default_dtype_and_are_computed_in_double_precision():
    exact = sinusoidal_encoding(5000, 32)
    torch.set_default_dtype(torch.float32)
    for table in (
        sinusoidal_encoding(5000, 32),
        sinusoidal_encoding_2d(2, 3, 8),
        shift_matrix(3, 8),
    ):
        assert table.dtype == torch.float32
    torch.testing.assert_close(
        sinusoidal_encoding(5000, 32).double(), exact, rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("offset", [0, 1, 7, 100, -1, -40])
@pytest.mark.parametrize("dim", [2, 6, 64])
def test_one_matrix_shifts_every_position(offset, dim):
    table = sinusoidal_encoding(200, dim)
    matrix = shift_matrix(offset, dim)
    first, last = max(0, -offset), min(200, 200 - offset)
    moved = table[first:last] @ matrix.T
    torch.testing.assert_close(moved, table[first + offset : last + offset])


def test_shifts_compose_and_keep_lengths():
    there, back = shift_matrix(13, 10), shift_matrix(-13, 10)
    torch.testing.assert_close(there @ back, torch.eye(10))
    torch.testing.assert_close(there @ there.T, torch.eye(10))
    torch.testing.assert_close(there @ shift_matrix(4, 10), shift_matrix(17, 10))


@pytest.mark.parametrize(("height", "width"), [(3, 5), (5, 3), (1, 4), (4, 1), (4, 4)])
def test_each_cell_of_a_grid_carries_the_codes_of_its_row_and_its_column(height, width):
    table = sinusoidal_encoding_2d(height, width, 12)
    assert table.shape == (height * width, 12)
    for row in range(height):
        for column in range(width):
            code = table[row * width + column]
            for k in range(3):
                for half, position in ((0, row), (6, column)):
                    point = turning(position, k, 6)
                    assert code[half + 2 * k].item() == pytest.approx(point.imag)
                    assert code[half + 2 * k + 1].item() == pytest.approx(point.real)


@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_rotary_embedding_multiplies_pairs_by_complex_numbers_of_length_one(base):
    x, positions = torch.randn(2, 3, 4, 6), torch.tensor([5, 0, 17, 400])
    turned = rotary_embedding(x, positions, base)
    for i, position in enumerate(positions.tolist()):
        for k in range(3):
            pair = torch.view_as_complex(x[:, :, i, 2 * k : 2 * k + 2].contiguous())
            expected = pair * turning(position, k, 6, base)
            torch.testing.assert_close(turned[:, :, i, 2 * k], expected.real)
            torch.testing.assert_close(turned[:, :, i, 2 * k + 1], expected.imag)


def test_rotary_scores_depend_on_the_difference_of_positions_only():
    query, key, near = torch.randn(8), torch.randn(8), torch.arange(20)
    q = rotary_embedding(query.expand(20, 8), near)
    k = rotary_embedding(key.expand(20, 8), near)
    scores = q @ k.T
    torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1])
    far = rotary_embedding(query.expand(20, 8), near + 1000)
    far_scores = far @ rotary_embedding(key.expand(20, 8), near + 1000).T
    torch.testing.assert_close(far_scores, scores)


def test_rotary_embedding_keeps_lengths_and_leaves_position_zero_alone():
    x = torch.randn(2, 5, 8)
    turned = rotary_embedding(x, torch.arange(5))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(turned[:, 0], x[:, 0])


def test_rotary_embedding_and_shift_matrix_are_the_same_rotation():
    """(cos, sin) turned by +a is (sin, cos) shifted by the same offset."""
    table = sinusoidal_encoding(9, 8)
    as_points = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)  # (cos, sin)
    moved = rotary_embedding(as_points, torch.full((9,), 4))
    back = moved.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    torch.testing.assert_close(back, table @ shift_matrix(4, 8).T)


def test_rotary_embedding_has_the_right_gradient():
    x = torch.randn(2, 3, 4, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: rotary_embedding(x, torch.tensor([2, 9, 4])), x
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rotary_embedding_keeps_the_type_of_its_input(dtype):
    x = torch.randn(2, 3, 4).to(dtype)
    assert rotary_embedding(x, torch.arange(3)).dtype == dtype


def test_learned_positions_are_added_to_the_tokens_of_every_sequence():
    module = LearnedPositions(6, 3)
    x = torch.randn(4, 5, 3)
    result = module(x)
    for b in range(4):
        for i in range(5):
            torch.testing.assert_close(result[b, i], x[b, i] + module.table[i])


def test_learned_positions_start_with_different_rows():
    assert torch.pdist(LearnedPositions(8, 16).table.detach()).min() > 0


def test_break_rotary_embedding_turns_by_the_angles_of_the_definition():
    x, positions, base = break_rotary_embedding()
    turned = rotary_embedding(x, positions, base)
    for place, speed in ((0, 1.0), (2, base**-0.5)):
        pair, turn = (
            complex(*x[0, place : place + 2]),
            cmath.exp(1j * positions * speed),
        )
        assert complex(*turned[0, place : place + 2]) == pytest.approx(pair * turn)
    assert positions[0] != 0
    assert base != 10000
