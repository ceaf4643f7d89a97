"""Beside the scenes: what their shades mean."""

import pytest
from playwright.sync_api import Page, expect

from tests.book.playgrounds import Window


def test_the_legend_says_which_weight_is_darkest(digits: Page):
    darkest = digits.locator("#digits-darkest")
    expect(darkest).to_have_text("50 %")
    digits.locator("#digits-rollout").check()
    expect(darkest).to_have_text("15 %")


@pytest.mark.parametrize("name", ["dates", "digits"])
def test_each_playground_with_a_scene_has_a_legend(window: Window, name: str):
    page = window.visit(f"playground_{name}")
    assert page.locator(".playground-ramp:visible").count() == 1
