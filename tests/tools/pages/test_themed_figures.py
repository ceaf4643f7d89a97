"""Figures on dark pages: legible, in the same hues, with photographs as they are."""

import base64
import colorsys
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from toolkit import figures
from tools.pages.themed_figures import DARK_PAGE, HOUSE, on_dark, themed

IMAGE = re.compile(r'<image\b[^>]*href="data:image/(?:png|webp);base64,([^"]*)"[^>]*>')
INKS = [*figures.SERIES, figures.QUERY, figures.KEY, figures.VALUE, figures.NEUTRAL]


def contrast(first: str, second: str) -> float:
    """As WCAG 2.2 defines it."""
    lights = []
    for colour in (first, second):
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in to_rgb(colour)
        ]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def drawn(figure: Figure) -> str:
    """A figure as SVG."""
    written = io.StringIO()
    figure.savefig(written, format="svg")
    plt.close(figure)
    return written.getvalue()


def pixels_in(svg: str) -> list[np.ndarray]:
    """The images of pixels in a drawing, each (H, W, 3)."""
    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
        for data in IMAGE.findall(svg)
    ]


@pytest.fixture
def house_style():
    with plt.rc_context():
        figures.use_house_style()
        yield


@pytest.mark.parametrize("colour", INKS)
def test_words_can_be_read_on_a_dark_page(colour: str):
    words = figures.ink(colour)
    assert contrast(words, "#ffffff") >= 4.5
    assert contrast(on_dark(words, text=True), DARK_PAGE) >= 4.45  # of 255 steps


@pytest.mark.parametrize("colour", [colour for colour in INKS if colour != "#000000"])
def test_lines_keep_their_hue_and_can_be_seen_on_a_dark_page(colour: str):
    dark = on_dark(colour, text=False)
    assert contrast(dark, DARK_PAGE) >= 3
    before, after = (colorsys.rgb_to_hsv(*to_rgb(each)) for each in (colour, dark))
    apart = abs(before[0] - after[0])
    assert before[1] < 0.05 or min(apart, 1 - apart) < 0.06


def test_every_number_in_a_heat_map_can_be_read_on_a_dark_page():
    for scale in (figures.WEIGHT_MAP, figures.SCORE_MAP, figures.QUANTITY_MAP):
        for step in range(256):
            cell = "#{:02x}{:02x}{:02x}".format(*scale(step, bytes=True)[:3])
            number = max(("#000000", "#ffffff"), key=lambda n: contrast(n, cell))
            found = contrast(on_dark(number, text=True), on_dark(cell, text=False))
            assert found >= 4.5, (cell, number)


def test_the_house_colours_are_those_of_the_page(root: Path):
    css = (root / "chapters" / "_static" / "house.css").read_text(encoding="utf-8")
    rule = re.search(r'html\[data-theme="dark"\] \{([^}]*--house-query[^}]*)\}', css)
    for name, colour in zip(("query", "key", "value"), HOUSE.values(), strict=True):
        assert f"--house-{name}: {colour};" in rule[1]


def test_zero_in_a_heat_map_is_the_page(house_style):
    svg = drawn(figures.attention_map(np.eye(3), colour_bar=True).figure)
    light, bar = pixels_in(themed(svg, dark=False))
    dark, dark_bar = pixels_in(themed(svg, dark=True))
    assert np.array_equal(light[0, 1], [255, 255, 255])
    assert np.array_equal(dark[0, 1], np.array(to_rgb(DARK_PAGE)) * 255)
    assert dark[0, 0].min() > 150  # the largest weight is what is brightest
    assert dark.shape == light.shape
    assert np.ptp(dark_bar[:, :, 1]) > 150
    assert np.array_equal(bar, pixels_in(svg)[1])


def test_a_photograph_stays_as_it_is(house_style):
    figure, (left, right) = plt.subplots(1, 2)
    left.imshow(np.random.default_rng(0).random((9, 9, 3)))
    right.imshow(np.linspace(0, 1, 81).reshape(9, 9), cmap="gray")
    svg = drawn(figure)
    before, after = pixels_in(svg), pixels_in(themed(svg, dark=True))
    assert len(before) == len(after) == 2
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other)


def test_every_colour_of_a_figure_is_another_on_dark_pages(house_style):
    figure, ax = plt.subplots()
    ax.plot([0, 1], color=figures.QUERY)
    ax.bar([0], [1], facecolor="white", edgecolor=figures.NEUTRAL, hatch="//")
    ax.text(0.5, 0.5, "words", bbox={"facecolor": "#EEDDCC"})
    svg = drawn(figure)
    light, dark = themed(svg, dark=False), themed(svg, dark=True)
    for colour in (figures.QUERY.lower(), "#eeddcc", figures.NEUTRAL.lower()):
        assert colour in light
        assert colour not in dark
    assert HOUSE[figures.QUERY] in dark
    lines = r"stroke: #000000|fill: #000000"
    assert re.search(lines, light)
    assert not re.search(lines, dark)
