"""Pages for those who see other colours, or none, or use no mouse."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE
from playwright.sync_api import Browser, Page, expect

from tests.book import axe
from tests.book.contents import ROOT, pages_of_the_site
from tests.book.playgrounds import FORGET
from tests.book.visits import watched
from tests.suites import sweep
from toolkit import figures

# Charts are drawn when they are near, so each is shown in turn.
CHARTS_DRAWN = """() => [...document.querySelectorAll(
  '.interactive-chart, .live-picture')].every(
  chart => chart.classList.contains('is-live') || chart.scrollIntoView())"""
BOXES_NAMED = """() => [...document.querySelectorAll(
  '.figure-box, .interactive-chart-view, .pst-scrollable-table-container, div.math, ' +
  'div.math mjx-container'
)].every(b => b.scrollWidth <= b.clientWidth + 1 || b.tabIndex === 0)"""
# The theme looks at code and outputs again when the window has another size.
CODE_FOCUSABLE = """() => [...document.querySelectorAll(
  'pre, .cell_output > .output'
)].every(box => box.scrollWidth <= box.clientWidth || box.tabIndex === 0)"""
# Words of code and signs of formulas are the same everywhere, and half of all elements.
BLEACH = """() => {
  document.querySelectorAll('pre').forEach((e) => { e.textContent = e.textContent; });
  const formulas = [...document.querySelectorAll('mjx-math')];
  const sizes = formulas.map((e) => e.getBoundingClientRect());
  formulas.forEach((e, n) => {
    const { width, height } = sizes[n];
    e.replaceChildren();
    e.style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
  });
}"""
PAGE_AS_IT_IS = "chapters/masking"
WIDTHS = {"light": 1280, "dark": 360}
ASKS = {"search": "?q=mask"}


def settle(tab: Page, theme: str) -> None:
    """Wait until a page that is open is as its readers have it, with every chart."""
    tab.set_viewport_size({"width": WIDTHS[theme], "height": 800})
    tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
    tab.wait_for_function(CHARTS_DRAWN)
    tab.evaluate("scrollTo(0, 0)")
    tab.wait_for_function(BOXES_NAMED)
    tab.wait_for_function(CODE_FOCUSABLE)
    expect(tab.locator("html")).to_have_attribute("data-theme", theme)


@dataclass
class Seen:
    """What was seen of a page that was opened once, as a file."""

    complaints: list[str]
    foreign: list[str]
    violations: list[dict]  # of a light page
    dark: list[tuple]  # what is serious in how a dark page looks


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for page after page, each of which finds nothing of the one before."""
    with browser.new_context(reduced_motion="reduce") as context:
        context.add_init_script(FORGET)
        yield context.new_page()


@pytest.fixture(scope="module")
def visit(tab: Page, html: Path) -> Callable[[str], Seen]:
    """Opens a page by its name; each is opened once, without a web server."""

    known: set[str] = set()  # kinds of text that were asked about

    @cache
    def visit(name: str) -> Seen:
        tab.goto("about:blank")
        with watched(tab.context, "file:///") as page:
            tab.set_viewport_size({"width": WIDTHS["light"], "height": 800})
            tab.emulate_media(color_scheme="light", reduced_motion="reduce")
            address = (html / f"{name}.html").as_uri()
            tab.goto(address + ASKS.get(name, ""), wait_until="load")
            settle(tab, "light")
        if name != PAGE_AS_IT_IS:
            tab.evaluate(BLEACH)
        found = axe.everything(tab, known)
        settle(tab, "dark")
        dark = axe.looks(tab, known)
        return Seen(page.complaints, page.foreign, found, dark)

    return visit


@sweep("name", pages_of_the_site())
def test_a_page_works_as_a_file_without_a_web_server(
    name: str, visit: Callable[[str], Seen]
):
    seen = visit(name)
    assert (seen.complaints, seen.foreign) == ([], [])


@sweep("name", pages_of_the_site())
def test_axe_finds_nothing_serious(name: str, visit: Callable[[str], Seen]):
    seen = visit(name)
    assert (axe.serious(seen.violations), seen.dark) == ([], [])


MOVING = """() => [...document.querySelectorAll('body *')].filter(
  one => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"""


@pytest.mark.parametrize("name", ["index", "scaling", "playground_dates"])
def test_nothing_moves_for_those_who_ask_for_less_motion(
    name: str, browser: Browser, html: Path
):
    folder = html if name == "index" else html / "chapters"
    with browser.new_context(reduced_motion="no-preference") as context:
        tab = context.new_page()
        tab.goto((folder / f"{name}.html").as_uri(), wait_until="load")
        assert tab.evaluate(MOVING) > 0
        tab.emulate_media(reduced_motion="reduce")
        assert tab.evaluate(MOVING) == 0


def test_one_faint_word_and_one_box_that_no_key_moves_are_found(tab: Page, html: Path):
    tab.goto((html / f"{PAGE_AS_IT_IS}.html").as_uri(), wait_until="load")
    settle(tab, "dark")
    tab.evaluate("""() => {
      const words = [...document.querySelectorAll('article section > p')];
      words.at(-3).innerHTML += '<span id="faint" style="opacity: 0.4">Words</span>';
      words.at(5).innerHTML += '<span id="box" style="display: block; width: 9em; ' +
        'overflow: auto; white-space: nowrap">Many words in a narrow box</span>';
    }""")
    found = {(rule, *target) for rule, target, _ in axe.looks(tab)}
    assert found == {
        ("color-contrast", "#faint"),
        ("scrollable-region-focusable", "#box"),
    }


@sweep(
    "name",
    [
        *("index", "search", "chapters/masking", "chapters/qkv_projections"),
        "chapters/teaching/errors",
        "chapters/teaching/limits",
    ],
)
def test_names_are_what_can_be_read_and_tables_have_heads(
    name: str, visit: Callable[[str], Seen]
):
    found = [rule for rule in visit(name).violations if rule["id"] in axe.CAREFUL]
    assert [(r["id"], n["html"]) for r in found for n in r["nodes"]] == []


VISIONS = (None, "protanomaly", "deuteranomaly", "tritanomaly")
# Units of CAM02-UCS; one is about what can just be noticed side by side.
EASY_TO_TELL = 8


def css_colours(theme: str) -> dict[str, str]:
    """The house colours of the pages in one theme."""
    css = (ROOT / "chapters" / "_static" / "house.css").read_text(encoding="utf-8")
    selector = "html" if theme == "light" else r'html\[data-theme="dark"\]'
    block = re.search(rf"^{selector} \{{([^}}]*--house-query[^}}]*)\}}", css, re.M)[1]
    return dict(re.findall(r"--house-(\w+): (#[0-9a-f]{6})", block))


PALETTES = {
    "figures": {
        name: getattr(figures, name)
        for name in ("QUERY", "KEY", "VALUE", "WEIGHT", "NEUTRAL")
    },
    "series": {str(n): colour for n, colour in enumerate(figures.SERIES)},
    "light pages": css_colours("light"),
    "dark pages": css_colours("dark"),
}


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255


def as_seen(colour: str, vision: str | None) -> np.ndarray:
    """What somebody sees whose cones of one kind are missing (Machado et al. 2009)."""
    if vision is None:
        return rgb(colour)
    space = {"name": "sRGB1+CVD", "cvd_type": vision, "severity": 100}
    return np.clip(cspace_convert(rgb(colour), space, "sRGB1"), 0, 1)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", PALETTES)
def test_house_colours_stay_apart(palette: str, vision: str | None):
    for (one, a), (other, b) in combinations(PALETTES[palette].items(), 2):
        difference = deltaE(as_seen(a, vision), as_seen(b, vision), input_space="sRGB1")
        assert difference >= EASY_TO_TELL, (one, other)
