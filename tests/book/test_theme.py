"""The theme as this book has it: measure, symbols, code and asides."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.book.playgrounds import FORGET

CHAPTER = "chapters/masking.html"
Open = Callable[[str], Page]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The tab that all tests share, on a dark laptop."""
    with browser.new_context(
        reduced_motion="reduce",
        color_scheme="dark",
        viewport={"width": 1440, "height": 800},
    ) as context:
        context.add_init_script(FORGET)
        yield context.new_page()


@pytest.fixture
def opened(tab: Page, site: str) -> Open:
    """Opens a page of the book anew."""

    def opened(address: str) -> Page:
        tab.mouse.move(0, 0)
        tab.goto(f"{site}{address}", wait_until="load")
        return tab

    return opened


@pytest.fixture
def wide(opened: Open) -> Page:
    """A chapter."""
    return opened(CHAPTER)


SYMBOL_COLOURS = """() => Object.fromEntries(['query', 'key', 'value'].map(role => {
  const shown = [...document.querySelectorAll(`.bd-article .${role}`)];
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = `var(--house-${role})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return [role, {
    places: ['mjx-container', 'pre', 'p > code'].filter(
      place => shown.some(one => one.closest(place))),
    coloured: shown.every(one => getComputedStyle(one).color === colour),
  }];
}))"""


def test_symbols_have_the_house_colours_and_light_up_together(opened: Open):
    page = opened("chapters/qkv_projections.html")
    for found in page.evaluate(SYMBOL_COLOURS).values():
        assert {"mjx-container", "pre"} <= set(found["places"])
        assert found["coloured"]
    ground = "e => getComputedStyle(e).backgroundColor"
    queries = page.locator(".bd-article div.math .query")
    key = page.locator(".bd-article div.math .key").first
    unlit = queries.last.evaluate(ground)
    queries.first.hover()
    assert queries.last.evaluate(ground) == queries.first.evaluate(ground) != unlit
    assert key.evaluate(ground) == unlit
    key.hover()
    assert queries.last.evaluate(ground) == unlit != key.evaluate(ground)


def test_the_code_of_a_figure_is_a_button_below_its_caption(wide: Page):
    cells = wide.locator(".cell:has(> details.above-input):has(figcaption)")
    assert cells.count() > 3
    for cell in cells.all():
        button = cell.locator("> details > summary")
        caption = cell.locator("figcaption").bounding_box()
        assert button.inner_text() == "Show the code"
        assert button.bounding_box()["y"] >= caption["y"] + caption["height"]
    button = cells.first.locator("> details > summary")
    button.focus()
    wide.keyboard.press("Enter")
    assert button.inner_text() == "Hide the code"
    assert cells.first.locator("> details pre").is_visible()


MARKED = """[...document.querySelectorAll(".toc-entry a.nav-link")].filter(
  (link) => getComputedStyle(link).fontWeight > 400).length"""


def test_the_list_of_sections_marks_none_before_the_first(wide: Page):
    for place, marked in (("scrollHeight", 1), ("offsetTop", 0)):
        wide.evaluate(f"scrollTo(0, document.documentElement.{place})")
        wide.wait_for_function(f"{MARKED} === {marked}")


@pytest.mark.parametrize("width", [1280, 390])
def test_an_aside_stands_beside_the_text_or_below_what_it_belongs_to(
    width: int, tab: Page, site: str
):
    page = tab.context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}chapters/simplified_attention.html", wait_until="load")
    note = page.locator("aside.margin").first
    above, below = (
        note.locator(f"xpath={way}-sibling::p[1]").bounding_box()
        for way in ("preceding", "following")
    )
    box = note.bounding_box()
    assert box["y"] >= above["y"] + above["height"]
    if width >= 1280:
        assert box["x"] >= below["x"] + below["width"]
        note.scroll_into_view_if_needed()
        sections = page.locator(".bd-sidebar-secondary").bounding_box()
        assert box["x"] + box["width"] <= sections["x"]
        assert sections["height"] > 200  # they stay in sight
    else:
        assert box["y"] + box["height"] <= below["y"]
    page.close()
