"""Nothing moves in a page that is there, however late its scripts and pictures come."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.book.contents import pages_of_the_book
from tests.book.visits import quiet
from tests.suites import sweep

# What may come after the first paint. One script adds to the head, and cannot.
LATE = re.compile(r"/(?!documentation_options)[^/?]+\.(js|png|svg|webp)(\?|$)")
MOVED = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const what = entry.sources.map(({ node }) => node?.parentElement?.outerHTML ?? "");
    moved.push([entry.startTime, entry.value, ...what.map((tag) => tag.slice(0, 99))]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
PAINTED = """document.readyState === "interactive"
  && performance.getEntriesByName("first-contentful-paint").length > 0"""
FONTS = "document.fonts.status === 'loaded'"  # lines with formulas depend on theirs
LAID_OUT = """!('arriving' in document.documentElement.dataset)
  || 'arrived' in document.documentElement.dataset"""
TWO_FRAMES = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))"


@pytest.fixture
def opened(readers_browser: Browser) -> Iterator[Callable[..., tuple[Page, list]]]:
    """Opens pages whose scripts and pictures come when all else was seen.

    Returns the page, and what moved since they came. Before, a browser may paint a
    page of which it has only the beginning.
    """
    contexts = []

    def open_page(address: str, width: int, theme: str = "light") -> tuple[Page, list]:
        context = readers_browser.new_context(
            color_scheme=theme, viewport={"width": width, "height": 800}
        )
        contexts.append(context)
        wait = quiet(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.add_init_script(MOVED)
        held: list[Route] | None = []

        def hold(route: Route) -> None:
            route.continue_() if held is None else held.append(route)

        page.route(LATE, hold)
        page.goto(address, wait_until="commit")
        page.wait_for_function(PAINTED)
        page.evaluate(TWO_FRAMES)
        page.wait_for_function(FONTS)
        page.evaluate(TWO_FRAMES)
        assert page.locator("html").get_attribute("data-theme") == theme
        began = page.evaluate("performance.now()")
        late, held = held, None
        for route in late:
            route.continue_()
        page.wait_for_load_state("load")
        wait(page)
        page.wait_for_function(LAID_OUT)
        page.evaluate(TWO_FRAMES)
        return page, [move for at, *move in page.evaluate("moved") if at > began]

    yield open_page
    for context in contexts:
        context.close()


@sweep("name", pages_of_the_book())
def test_nothing_moves_on_a_phone(name: str, opened, site: str):
    _, moved = opened(f"{site}{name}.html", 360)
    assert moved == []


# On a laptop the sidebars are there as well, and lines are wide.
@pytest.mark.parametrize(
    "name", ["index", "chapters/scaling", "chapters/playground_digits"]
)
def test_nothing_moves_on_a_laptop(name: str, opened, site: str):
    _, moved = opened(f"{site}{name}.html", 1440)
    assert moved == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_has_its_colours_from_the_first_paint(theme: str, opened, site: str):
    page, _ = opened(f"{site}chapters/scaling.html", 360, theme)  # it looks by itself
    mode = page.evaluate("[localStorage.mode, document.documentElement.dataset.theme]")
    assert mode == ["auto", theme]


HEIGHTS = """() => [...document.querySelectorAll('article :is(p, li, td, div.math)')]
  .map(e => e.getBoundingClientRect().height)"""


def test_fonts_of_formulas_that_come_late_move_no_line(
    readers_browser: Browser, site: str
):
    heights, laptop = [], {"width": 1440, "height": 800}
    for late in (True, False):
        with readers_browser.new_context(viewport=laptop) as context:
            page = context.new_page()
            if late:
                page.route("**/*.woff", lambda route: route.abort())
            page.goto(f"{site}chapters/scaling.html", wait_until="load")
            page.wait_for_function(LAID_OUT)
            page.wait_for_function(FONTS)
            assert page.locator("mjx-container").count() > 50
            heights.append(page.evaluate(HEIGHTS))
    assert heights[0] == pytest.approx(heights[1], abs=0.1)
