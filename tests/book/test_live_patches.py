"""The picture of patches and tokens; its numbers against the model of the chapter."""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from solutions.vision_transformer import VisionTransformer
from tests.book.contents import ROOT
from tests.book.pictures_alone import Open, numbers
from toolkit import images
from tools.live_pictures import patch_tokens


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
    says = picture.locator(".live-says").inner_text()
    row, column = divmod(patch, 4)
    assert numbers(says)[:3] == [patch + 1, row + 1, column + 1]
    assert ("is blank" in says) == (not values.any())


def test_each_patch_becomes_the_token_of_the_model(opened: Open, tokens: dict):
    with opened("patch_tokens") as (_, picture):
        patch, feature = patch_tokens.START
        check(picture, tokens, patch, feature)
        for number, button in enumerate(picture.locator(".patches-patch").all()):
            button.click()
            check(picture, tokens, number, feature)


def test_arrows_lead_through_the_grid_and_stop_at_its_edges(opened: Open, tokens: dict):
    with opened("patch_tokens") as (page, picture):
        patch, feature = patch_tokens.START
        page.keyboard.press("Tab")  # the grid is one stop, at the chosen patch
        for key, place in [
            ("ArrowDown", 9), ("ArrowLeft", 8), ("ArrowLeft", 8), ("ArrowDown", 12),
            ("ArrowDown", 12), ("ArrowUp", 8),
        ]:  # fmt: skip
            page.keyboard.press(key)
            check(picture, tokens, place, feature)
            focused = page.evaluate("document.activeElement.ariaLabel")
            assert focused.startswith(f"Patch {place + 1}:")
        page.keyboard.press("Tab")
        knob = picture.get_by_role("slider", name="Feature")
        assert knob.evaluate("knob => knob === document.activeElement")
        page.keyboard.press("ArrowRight")
        check(picture, tokens, 8, feature + 1)
        assert knob.get_attribute("aria-valuenow") == str(feature + 2)
