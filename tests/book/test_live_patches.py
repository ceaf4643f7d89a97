"""The picture of patches and tokens; its numbers against the model of the chapter."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from solutions.vision_transformer import VisionTransformer
from tests.book.contents import ROOT
from tests.book.pictures_alone import Open, centre, numbers
from toolkit import images
from tools.live_pictures import patch_tokens

PATCHES, FEATURES = 16, 64


@pytest.fixture(scope="module")
def tokens() -> dict[str, np.ndarray]:
    """Patches, projections and tokens, by the model that the chapter makes."""
    text = (ROOT / "chapters" / "vision_transformer.md").read_text(encoding="utf-8")
    made = r"^torch\.manual_seed\(0\)\nmodel = VisionTransformer\(.*?^\)"
    given: dict = {"torch": torch, "VisionTransformer": VisionTransformer}
    with torch.random.fork_rng():
        exec(re.search(made, text, re.M | re.S)[0], given)
    (digit,) = re.findall(r"images\.digits\(\)\.images\[(\d+), 0\]", text)
    image = images.digits().images[int(digit)]
    rows = [
        torch.stack([image[0, r, c] for r in (y, y + 1) for c in (x, x + 1)])
        for y in range(0, 8, 2)
        for x in range(0, 8, 2)
    ]
    embedding = given["model"].embedding
    with torch.no_grad():
        return {
            "patches": torch.stack(rows).numpy(),
            "projected": embedding.projection(torch.stack(rows)).numpy(),
            "token": embedding(image[None])[0, 1:].numpy(),
        }


def drawn(picture: Locator, name: str) -> np.ndarray:
    """The heights of a row of bars, in pixels of the drawing, (E,)."""
    path = picture.locator(f".of-{name}").get_attribute("d")
    ends = re.findall(r"M[\d.]+ ([\d.]+)V(-?[\d.]+)", path)
    return np.array([float(base) - float(end) for base, end in ends])


def check(picture: Locator, tokens: dict, patch: int, feature: int) -> None:
    """Compare all that the picture shows of one patch and one feature."""
    values = tokens["patches"][patch]
    for size in (2, 4):
        cells = picture.locator(f".is-{size} > span").all_inner_texts()
        np.testing.assert_allclose(numbers(" ".join(cells)), values, atol=0.0051)
    position = tokens["token"] - tokens["projected"]
    rows = {
        "projected": tokens["projected"][patch],
        "position": position[patch],
        "token": tokens["token"][patch],
    }
    scale = patch_tokens.HIGHEST / np.abs(tokens["projected"]).max()
    for name, row in rows.items():
        np.testing.assert_allclose(drawn(picture, name), scale * row, atol=0.02)
    told = numbers(picture.locator(".patches-feature").inner_text())
    assert told[0] == feature + 1
    np.testing.assert_allclose(
        told[1:], [row[feature] for row in rows.values()], atol=0.0009
    )
    pressed = picture.locator(".patches-patch").evaluate_all(
        "all => all.map(button => button.ariaPressed === 'true')"
    )
    assert np.flatnonzero(pressed).tolist() == [patch]
    lit = picture.locator(".patches-sequence li").evaluate_all(
        "all => all.map(token => token.className === 'is-chosen')"
    )
    assert np.flatnonzero(lit).tolist() == [patch + 1]  # after the class token
    says = picture.locator(".live-says").inner_text()
    row, column = divmod(patch, 4)
    assert numbers(says)[:3] == [patch + 1, row + 1, column + 1]
    assert ("is blank" in says) == (not values.any())
    if values.any():
        np.testing.assert_allclose(numbers(says)[3:7], values, atol=0.0051)


@pytest.mark.parametrize("width", [1280, 360])
def test_each_patch_becomes_the_token_of_the_model(
    width: int, opened: Open, tokens: dict
):
    with opened("patch_tokens", width) as (_, picture):
        patch, feature = patch_tokens.START
        check(picture, tokens, patch, feature)
        height = picture.bounding_box()["height"]
        for number, button in enumerate(picture.locator(".patches-patch").all()):
            button.click()
            check(picture, tokens, number, feature)
            if width == 1280:  # on a phone, the lines of text depend on the font
                assert picture.bounding_box()["height"] == height
            box = button.bounding_box()
            assert min(box["width"], box["height"]) >= 24


def test_pixels_are_drawn_where_the_patches_are(opened: Open, tokens: dict):
    with opened("patch_tokens") as (_, picture):
        ink = np.zeros((8, 8))
        for pixel in picture.locator(".patches-pixels rect").all():
            x, y, opacity = (
                float(pixel.get_attribute(name)) for name in ("x", "y", "fill-opacity")
            )
            ink[int(y), int(x)] = opacity
        cut = [ink[y : y + 2, x : x + 2] for y in (0, 2, 4, 6) for x in (0, 2, 4, 6)]
        np.testing.assert_allclose(
            np.reshape(cut, (PATCHES, 4)), tokens["patches"], atol=0.001
        )
        for n, button in enumerate(picture.locator(".patches-patch").all()):
            box = picture.locator(".patches-pixels").bounding_box()
            row, column = divmod(n, 4)
            middle = [
                box["x"] + box["width"] * (column + 0.5) / 4,
                box["y"] + box["height"] * (row + 0.5) / 4,
            ]
            np.testing.assert_allclose(centre(button), middle, atol=1.5)


def test_arrows_lead_through_the_grid_and_stop_at_its_edges(opened: Open, tokens: dict):
    with opened("patch_tokens") as (page, picture):
        patch, feature = patch_tokens.START
        page.keyboard.press("Tab")  # the grid is one stop, at the chosen patch
        for key, place in [
            ("ArrowRight", 6), ("ArrowDown", 10), ("ArrowLeft", 9), ("ArrowLeft", 8),
            ("ArrowLeft", 8), ("ArrowDown", 12), ("ArrowDown", 12), ("ArrowUp", 8),
        ]:  # fmt: skip
            page.keyboard.press(key)
            check(picture, tokens, place, feature)
            focused = page.evaluate("document.activeElement.ariaLabel")
            assert focused.startswith(f"Patch {place + 1}:")
        page.keyboard.press("Tab")
        knob = picture.get_by_role("slider", name="Feature")
        assert knob.evaluate("knob => knob === document.activeElement")
        for key, read in [
            ("ArrowRight", 12), ("Shift+ArrowUp", 22), ("ArrowLeft", 21),
            ("Shift+ArrowDown", 11), ("Shift+ArrowDown", 1), ("Shift+ArrowDown", 0),
            ("Home", feature),
        ]:  # fmt: skip
            page.keyboard.press(key)
            check(picture, tokens, 8, read)
            assert knob.get_attribute("aria-valuenow") == str(read + 1)


def test_a_feature_is_read_where_the_mouse_drags_the_mark(opened: Open, tokens: dict):
    with opened("patch_tokens") as (page, picture):
        patch, feature = patch_tokens.START
        track = picture.locator(".spread-track").bounding_box()

        def at(number: float) -> tuple[float, float]:
            x = track["x"] + track["width"] * number / (FEATURES - 1)
            return x, track["y"] + track["height"] / 2

        page.mouse.move(*at(feature))
        page.mouse.down()
        for number in (20, 62.7, 90, 3):
            page.mouse.move(*at(number))
            check(picture, tokens, patch, min(FEATURES - 1, round(number)))
        page.mouse.up()
        page.mouse.click(*at(40))
        check(picture, tokens, patch, 40)
