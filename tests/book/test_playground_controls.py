"""Beside the scenes: a legend, keys near the board, one form of percentages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.book.test_playground import open_page


@pytest.fixture
def dates(html: Path, browser: Browser) -> Iterator[Page]:
    yield from open_page(html, browser, "playground_dates")


@pytest.fixture
def digits(html: Path, browser: Browser) -> Iterator[Page]:
    yield from open_page(html, browser, "playground_digits")


def test_stretching_is_offered_for_drawings_alone(digits: Page):
    stretch = digits.locator("#digits-fit")
    expect(stretch).to_be_disabled()  # the page begins with a test image
    digits.locator("#digits-canvas").focus()
    for key in ("Space", "ArrowDown", "ArrowDown", "Space"):
        digits.keyboard.press(key)
    expect(stretch).to_be_enabled()
    digits.get_by_role("button", name="next", exact=True).click()
    expect(stretch).to_be_disabled()


def test_the_keys_of_the_board_are_told_right_below_it(digits: Page):
    boxes = [
        digits.locator(f"#digits-{name}").bounding_box()
        for name in ("patches", "keys", "result")
    ]
    board, keys, result = ((box["y"], box["y"] + box["height"]) for box in boxes)
    assert board[1] <= keys[0] <= board[1] + 20
    assert keys[1] <= result[0]


def test_the_legend_says_which_weight_is_darkest(digits: Page):
    darkest = digits.locator("#digits-darkest")
    expect(darkest).to_have_text("50 %")
    digits.locator("#digits-rollout").check()
    expect(darkest).to_have_text("15 %")


@pytest.mark.parametrize("name", ["dates", "digits"])
def test_percentages_have_one_form(name: str, request: pytest.FixtureRequest):
    page = request.getfixturevalue(name)
    seen = page.locator(".playground").inner_text()
    assert len(re.findall("%", seen)) > 10
    assert re.findall(r".{0,3}[^\u00a0]%", seen) == []
    assert page.locator(".playground-ramp:visible").count() == 1
