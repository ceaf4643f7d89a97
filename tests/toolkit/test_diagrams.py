"""Boxes are where they were asked for, and arrows end in their last point."""

import matplotlib.pyplot as plt
import pytest

from toolkit import figures
from toolkit.diagrams import arrow, box


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_a_box_is_centred_and_holds_its_text(ax):
    box(ax, 3.0, 1.0, "norm", figures.KEY, width=2.0, height=0.5, linestyle="--")
    (frame,), (text,) = ax.patches, ax.texts
    assert frame.get_bbox().bounds == pytest.approx((2.0, 0.75, 2.0, 0.5))
    assert frame.get_linestyle() == "--"
    assert (text.get_text(), *text.get_position()) == ("norm", 3.0, 1.0)
    assert text.get_color() == figures.ink(figures.KEY)


def test_an_arrow_goes_through_its_points_and_its_head_is_at_the_last(ax):
    arrow(ax, (0, 0), (0, 2), (3, 2), (3, 5), colour=figures.QUERY)
    drawn = [[list(map(float, xy)) for xy in line.get_xydata()] for line in ax.lines]
    assert drawn == [[[0, 0], [0, 2]], [[0, 2], [3, 2]]]
    (head,) = ax.texts
    assert (head.xyann, head.xy) == ((3, 2), (3, 5))
