"""Figures of chapters belong to the page: light or dark, and light on paper."""

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

CHAPTER = "chapters/masking"


@pytest.fixture
def chapter(browser: Browser, site: str) -> Iterator[Page]:
    """A chapter for a reader whose device is dark, and where nothing moves."""
    with browser.new_context(color_scheme="dark", reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(f"{site}{CHAPTER}.html", wait_until="load")
        yield page


def first_figure(page: Page) -> Locator:
    """A figure that is loaded and in sight."""
    figure = page.locator(".cell_output .figure-box img:visible").first
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_js_property("complete", True)
    page.wait_for_function("e => e.naturalWidth > 0", arg=figure.element_handle())
    return figure


def shades(part: Locator, median: int) -> np.ndarray:
    """Of each point, from 0 for black to 255; most have about this shade."""
    part.evaluate("image => image.decode()")
    picture = Image.open(io.BytesIO(part.screenshot()))
    found = np.asarray(picture.convert("L"))
    assert abs(int(np.median(found)) - median) <= 1
    return found


def ground(page: Page) -> int:
    """The shade of the page behind its text."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(re.search(r"\d+", colour)[0])


def test_a_figure_follows_the_theme(chapter: Page):
    figure = first_figure(chapter)
    assert ground(chapter) < 40
    assert shades(figure, ground(chapter)).max() > 200  # words
    # Whatever the device prefers, what the reader chooses counts.
    chapter.evaluate("document.documentElement.dataset.theme = 'light'")
    assert ground(chapter) == 255
    assert shades(first_figure(chapter), 255).min() < 60
    expect(chapter.locator("figure figcaption").first).to_be_visible()


def test_paper_is_white_and_so_is_what_stands_on_it(chapter: Page):
    first_figure(chapter)
    chapter.evaluate(
        """addEventListener("beforeprint", () => {
          const figures = [...document.querySelectorAll(".figure-box img")];
          window.printed = {
            ground: getComputedStyle(document.body).backgroundColor,
            figures: figures.filter((e) => e.checkVisibility()).map((e) => e.src),
          };
        })"""
    )
    chapter.pdf()
    printed = chapter.evaluate("printed")
    assert printed["ground"] == "rgb(255, 255, 255)"
    assert len(printed["figures"]) > 3
    assert all(address.endswith(".light.svg") for address in printed["figures"])
    assert ground(chapter) < 40  # on the screen, everything is as before
