"""Strokes become the pixels that the data set's programs would have made of them."""

import numpy as np
import pytest

from toolkit import drawing, images


def extent(dots: np.ndarray) -> tuple[int, int]:
    """Height and width of what is covered, in dots."""
    rows, columns = np.nonzero(dots)
    return int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def test_a_pixel_is_the_share_of_its_sixteen_dots():
    dots = np.zeros((32, 32), bool)
    dots[4:8, 8:10] = True  # half of row 1, column 2
    dots[31, 31] = True
    found = drawing.pixels(dots)
    assert found.dtype == np.float32
    assert (found[1, 2], found[7, 7], found.sum()) == (0.5, 1 / 16, 0.5 + 1 / 16)


def test_training_images_have_as_much_ink_and_room_as_is_assumed():
    data = images.digits().images
    ink = 16 * data.sum(dim=(1, 2, 3)).mean()
    assert pytest.approx(float(ink), abs=5) == drawing.INK
    assert (data[:, 0, [0, 7]].amax(dim=-1) > 0).float().mean() == 1  # full height
    outside = data[:, 0, :, [0, 7]].mean()
    assert outside < 0.02 * data.mean() * 8  # nearly nothing beyond six columns


ZIGZAG = [np.array([[4.0, 3.0], [12.0, 3.0], [4.0, 13.0], [12.0, 13.0]])]


@pytest.mark.parametrize("scale", [0.7, 1.0, 1.6])
@pytest.mark.parametrize("lean", [-0.4, 0.0, 0.3])
def test_size_place_and_slant_do_not_matter_after_preparation(scale, lean):
    matrix = scale * np.array([[1.0, lean], [0.0, 1.0]])
    changed = [stroke @ matrix.T + [3.0, 2.0] for stroke in ZIGZAG]
    expected = drawing.normalised(ZIGZAG)
    assert (drawing.normalised(changed) != expected).sum() <= 2  # dots on the edge


def test_a_bare_line_becomes_a_thick_one_and_not_a_square():
    dots = drawing.normalised([np.array([[20.0, 5.0], [14.0, 21.0]])])
    height, width = extent(dots)
    assert height == drawing.HIGH
    assert width <= drawing.THICKEST
    assert dots.sum() == pytest.approx(drawing.INK, rel=0.05)


@pytest.mark.parametrize(
    "strokes",
    [
        [np.array([[16.0, 16.0]])],
        [np.array([[16.0, 16.0], [16.0, 16.0]])],
        [np.array([[4.0, 16.0], [28.0, 16.0]])],
    ],
    ids=["a point", "a point twice", "a level line"],
)
def test_drawings_without_height_or_width_are_prepared_too(strokes):
    dots = drawing.normalised(strokes)
    assert dots.any()
    rows, columns = np.nonzero(dots)
    middle = (rows.mean() + 0.5, columns.mean() + 0.5)
    assert middle == pytest.approx((16, 16))
