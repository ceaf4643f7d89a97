"""Digits that a program draws: enough, varied, on the board, and always the same."""

from collections import Counter

import numpy as np
import pytest

from toolkit import drawn_digits

PARTS = ("development", "held out")


@pytest.mark.parametrize(("part", "least"), [("development", 200), ("held out", 200)])
def test_every_digit_is_drawn_equally_often(part, least):
    labels = [drawing.label for drawing in drawn_digits.drawings(part)]
    assert len(labels) >= least
    assert set(Counter(labels).values()) == {len(labels) // 10}


@pytest.mark.parametrize("part", PARTS)
def test_drawings_stay_on_the_board_and_no_two_are_equal(part):
    drawings = drawn_digits.drawings(part)
    points = np.concatenate([stroke for d in drawings for stroke in d.strokes])
    assert points.min() >= drawn_digits.MARGIN - 0.05  # points are rounded
    assert points.max() <= drawn_digits.BOARD - drawn_digits.MARGIN + 0.05
    assert len({b"".join(s.tobytes() for s in d.strokes) for d in drawings}) == len(
        drawings
    )


def test_no_style_is_in_both_parts():
    both = [
        style
        for part in PARTS
        for styles in drawn_digits.STYLES[part]
        for style in styles
    ]
    assert len({repr(style) for style in both}) == len(both) == 50


def test_a_curve_passes_its_points_in_the_direction_between_their_neighbours():
    points = np.array([(0, 0), (1, 2), (4, 3), (5, 0)], float)
    curve = drawn_digits.path(points, "curve", steps=1000)
    assert np.array_equal(curve[::1000], points)
    for n in (1, 2):  # the tangent of a Catmull-Rom spline, by a central difference
        slope = (curve[1000 * n + 1] - curve[1000 * n - 1]) * 1000 / 2
        expected = (points[n + 1] - points[n - 1]) / 2
        np.testing.assert_allclose(slope, expected, atol=1e-2)
