import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from toolkit import figures


@pytest.fixture(autouse=True)
def house_style():
    with plt.rc_context():
        figures.use_house_style()
        yield
    plt.close("all")


def contrast_with_white(colour):
    """WCAG 2 contrast, written out from the recommendation."""
    channels = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in to_rgb(colour)
    ]
    red, green, blue = channels
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def cell_texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_wrong_number_of_names_is_refused():
    with pytest.raises(ValueError, match="3 names of queries for 2 queries"):
        figures.attention_map(np.eye(2), ["a", "b", "c"])
    with pytest.raises(ValueError, match="1 names of keys for 2 keys"):
        figures.attention_map(np.eye(2), keys=["a"])


def test_masked_scores_are_hatched_and_named():
    ax = figures.attention_map(np.array([[0.5, -np.inf], [np.nan, 1.0]]))
    assert cell_texts(ax) == ["0.50", "−∞", "NaN", "1.00"]
    assert sum(patch.get_hatch() == "////" for patch in ax.patches) == 2


def test_numbers_are_readable_on_every_shade():
    ax = figures.attention_map(np.linspace(0, 1, 100).reshape(10, 10))
    image = ax.images[0]
    for text, value in zip(ax.texts, np.linspace(0, 1, 100), strict=True):
        light = contrast_with_white(image.cmap(image.norm(value))[:3])
        contrast = light if text.get_color() == "white" else 21 / light
        assert contrast >= 4.5
