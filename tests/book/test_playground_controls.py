"""Beside the scenes: what their shades mean."""

from playwright.sync_api import Page, expect


def test_the_legend_says_which_weight_is_darkest(digits: Page):
    darkest = digits.locator("#digits-darkest")
    expect(darkest).to_have_text("50 %")
    digits.locator("#digits-rollout").check()
    expect(darkest).to_have_text("15 %")


def test_each_playground_with_a_scene_has_a_legend(dates: Page, digits: Page):
    for page in (dates, digits):
        assert page.locator(".playground-ramp:visible").count() == 1
