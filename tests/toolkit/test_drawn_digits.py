"""Digits that a program draws: enough, varied, on the board, and always the same."""

from collections import Counter

import numpy as np
import pytest

from toolkit import drawn_digits


@pytest.mark.parametrize("part", drawn_digits.STYLES)
def test_each_is_drawn_equally_often_on_the_board_and_no_two_are_equal(part):
    drawings = drawn_digits.drawings(part)
    labels = Counter(drawing.label for drawing in drawings)
    assert len(drawings) >= 200
    assert set(labels.values()) == {len(drawings) // 10}
    points = np.concatenate([stroke for d in drawings for stroke in d.strokes])
    assert points.min() >= drawn_digits.MARGIN - 0.05  # points are rounded
    assert points.max() <= drawn_digits.BOARD - drawn_digits.MARGIN + 0.05
    different = {b"".join(s.tobytes() for s in d.strokes) for d in drawings}
    assert len(different) == len(drawings)
