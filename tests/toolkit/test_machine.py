"""The drawing of the whole machine: the part that is asked for is highlighted."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from toolkit import figures
from toolkit.machine import BOXES, FRAMES, PARTS, machine


def bold(figure: plt.Figure) -> set[str]:
    return {
        text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"
    }


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_highlighted_by_frame_and_text_and_nothing_else_is(part):
    figure = machine(part)
    drawn = BOXES | FRAMES
    wanted = {drawn[name][-1] for name in PARTS[part]}
    assert bold(figure) == wanted | {"purple: you are here"}
    (ax,) = figure.axes
    purple = [
        p for p in ax.patches if to_hex(p.get_edgecolor()).upper() == figures.WEIGHT
    ]
    assert len(purple) == len(PARTS[part])
    plt.close(figure)


def test_every_text_fits_into_its_box():
    figure = machine()
    (ax,) = figure.axes
    figure.draw_without_rendering()
    boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
    for patch, (*_, text) in zip(
        ax.patches, [*FRAMES.values(), *BOXES.values()], strict=True
    ):
        outer, inner = patch.get_window_extent(), boxes[text]
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1, text
        assert outer.y0 <= inner.y0 and inner.y1 <= outer.y1, text
    plt.close(figure)
