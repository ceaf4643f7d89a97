"""Drawn digits reach the model prepared, and the page says how many are read."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from tests.book.playgrounds import computed, text_of, trained_vit, weights_file
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


def test_a_reader_sees_what_preparation_is_worth(digits, html):
    facts, _ = weights_file(html, "digits")
    row = text_of(html, "vision_transformer", r"(\nViT +[\d.]+% +[\d.]+%\n)")
    as_drawn, with_preparation = map(float, re.findall(r"[\d.]+(?=%)", row))
    button = digits.locator("#digits-drawn-exam")
    score = digits.locator("#digits-drawn-score")
    for is_prepared, expected in [(True, with_preparation), (False, as_drawn)]:
        digits.locator("#digits-fit").set_checked(is_prepared)
        button.click()
        condition = "prepared," if is_prepared else "as drawn,"
        expect(score).to_contain_text(condition, timeout=300_000)
        found = re.search(r"of 240 right, ([\d.]+) %", score.inner_text())[1]
        assert float(found) == pytest.approx(expected, abs=2 * ROUNDING)


def test_a_small_slanted_one_is_read_when_it_is_prepared(digits):
    canvas = digits.locator("#digits-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in SMALL]
    digits.mouse.move(*at[0])
    digits.mouse.down()
    digits.mouse.move(*at[1], steps=4)
    digits.mouse.up()
    result = digits.locator("#digits-result")
    expect(result).to_contain_text("says 1 with")
    before = result.inner_text()
    digits.locator("#digits-fit").uncheck()
    expect(result).not_to_have_text(before)


SMALL = [(0.75, 0.3), (0.62, 0.6)]
