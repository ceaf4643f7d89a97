"""Drawn digits reach the model prepared, and the page says how many are read."""

import re

import numpy as np
import pytest
import torch

from tests.book.playgrounds import computed, trained_vit, weights_file
from toolkit import drawing, drawn_digits, images

PARTS = tuple(drawn_digits.STYLES)
GOAL = 95.0  # per cent of the held-out drawings, of which there are 240
ROUNDING = 1.0  # points of a score that weights of 8 bits may cost, or win
PREPARE = """drawings => drawings.map(strokes => ["rasterise", "normalise"].map(
  way => [...Playground.pixels(Playground[way](strokes))]
))"""


def prepared(strokes: list) -> list[np.ndarray]:
    return [drawing.pixels(way(strokes)).ravel() for way in WAYS]


WAYS = (drawing.rasterised, drawing.normalised)


@pytest.mark.parametrize("part", PARTS)
def test_the_page_makes_the_same_pixels_of_strokes_as_the_chapter(window, part):
    digits = window.ask("playground_digits")
    drawings = [digit.strokes for digit in drawn_digits.drawings(part)]
    found = computed(digits, PREPARE, [[s.tolist() for s in each] for each in drawings])
    expected = [prepared(each) for each in drawings]
    np.testing.assert_array_equal(np.array(found), np.array(expected))


@torch.no_grad()
def test_the_page_has_the_held_out_drawings_and_says_how_many_are_read(window, html):
    digits = window.ask("playground_digits")
    facts, _ = weights_file(html, "digits")
    held_out = drawn_digits.drawings("held out")
    labels = torch.tensor([digit.label for digit in held_out])
    assert facts["drawn"] == drawn_digits.in_tenths(held_out)
    assert facts["drawn_labels"] == labels.tolist()
    pixels = [drawing.pixels(drawing.normalised(d.strokes)) for d in held_out]
    data, model = images.digits(), trained_vit(html)
    for name, inputs, meant in [
        ("tested", data.test_images, data.test_labels),
        ("drawn", torch.from_numpy(np.stack(pixels))[:, None], labels),
    ]:
        logits = model((inputs - facts["mean"]) / facts["deviation"])
        right = 100 * (logits.argmax(-1) == meant).double().mean().item()
        said = digits.locator(f"#digits-{name}").inner_text()
        share, count = re.fullmatch(r"([\d.]+) % of (\d+)", said).groups()
        assert float(share) == pytest.approx(right, abs=ROUNDING)  # weights of 8 bits
        assert int(count) == len(meant)
        assert name != "drawn" or float(share) >= GOAL
