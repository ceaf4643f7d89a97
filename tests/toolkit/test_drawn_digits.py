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
