"""Every page of the book as a reader's browser shows it."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Response

from tests.book.contents import ROOT, pages_of_the_book, pages_of_the_site
from tests.book.visits import come_late, watched
from tests.suites import members, sweep
from tools.page_weight import sizes
from tools.pages.head import LONGEST
from tools.pages.scripts import AT_ONCE

PHONE, LAPTOP = {"width": 360, "height": 800}, {"width": 1280, "height": 800}

MEASURE = """() => {
  const content = document.querySelector('main');
  const all = (selector) => [...content.querySelectorAll(selector)];
  const text = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
  const raw = [];
  while (text.nextNode()) {
    const parent = text.currentNode.parentElement;
    if (parent.closest('pre, code, script, style, mjx-container')) continue;
    const found = text.currentNode.data.match(/\\$\\$|\\\\\\(|\\\\\\[|\\\\begin\\{/);
    if (found) raw.push(text.currentNode.data.trim());
  }
  return {
    words: content.innerText.split(/\\s+/).length,
    raw,
    formulas: all('.math').length,
    typeset: all('mjx-container').length,
    formula_errors: all('mjx-merror, mjx-mtext').filter(
      e => e.matches('mjx-merror') || e.style.color == 'red'
    ).map(e => e.closest('.math').innerText),
    images: all('img').map(
      e => ({src: e.src, alt: e.alt, width: e.naturalWidth})),
    figures: all('figure').map(e => e.querySelector('img')?.alt ?? ''),
    values: all('.output.text_plain').map(e => e.textContent.slice(0, 80)),
  };
}"""
# Pictures wait until they are near; here, all of them are asked for.
LOAD_PICTURES = """async () => {
  const pictures = [...document.images];
  pictures.forEach(picture => { picture.loading = 'eager'; });
  await Promise.allSettled(pictures.map(picture => picture.decode()));
}"""
# How far the page scrolls sideways, and boxes that scroll down while one scrolls
# down the page, when all is unfolded.
FIT = """() => [
  document.querySelectorAll('article details').forEach(e => { e.open = true; }),
  document.documentElement.scrollWidth - window.innerWidth,
  [...document.querySelectorAll('article *')].filter((e) =>
    /auto|scroll/.test(getComputedStyle(e).overflowY)
    && e.clientHeight && e.scrollHeight > e.clientHeight + 1).map(e => e.outerHTML),
]"""


@dataclass
class Page:
    """What a browser saw of one page."""

    complaints: list[str]
    foreign: list[str]
    moved: list[list]
    files: dict[str, int]  # bytes of what came at first
    seen: dict
    fits: list[list]  # on a phone, and on a laptop


Visit = Callable[[str], Page]


@pytest.fixture(scope="module")
def visit(readers_browser: Browser, site: str) -> Visit:
    """Opens a page by its name, as somebody who was never here; each is opened once."""

    @cache
    def visit(name: str) -> Page:
        answers: list[Response] = []
        with (
            readers_browser.new_context(viewport=PHONE) as context,
            watched(context, site) as watch,
        ):
            context.on("response", lambda answer: answers.append(answer))
            tab, moved = come_late(context, f"{site}{name}.html")
            files = sizes(answers)
            tab.evaluate(LOAD_PICTURES)
            seen = tab.evaluate(MEASURE)
            fits = [tab.evaluate(FIT)]
            tab.set_viewport_size(LAPTOP)
            fits.append(tab.evaluate(FIT))
        return Page(watch.complaints, watch.foreign, moved, files, seen, fits)

    return visit


@pytest.fixture(params=members(pages_of_the_book()))
def page(request: pytest.FixtureRequest, visit: Visit) -> Page:
    """Each page in turn."""
    return visit(request.param)


def test_a_page_loads_without_complaint_and_asks_no_other_host(page: Page):
    assert (page.complaints, page.foreign) == ([], [])


def test_nothing_moves_however_late_scripts_and_pictures_come(page: Page):
    assert page.moved == []


# On a laptop the sidebars are there as well, and lines are wide.
@pytest.mark.parametrize("name", ["index", "chapters/playground_digits"])
def test_nothing_moves_on_a_laptop(name: str, readers_browser: Browser, site: str):
    with readers_browser.new_context(viewport=LAPTOP, color_scheme="dark") as context:
        tab, moved = come_late(context, f"{site}{name}.html")
        assert moved == []
        mode = "[localStorage.mode, document.documentElement.dataset.theme]"
        assert tab.evaluate(mode) == ["auto", "dark"]


def test_every_formula_is_typeset(page: Page):
    assert page.seen["raw"] == []
    assert page.seen["formula_errors"] == []
    assert page.seen["typeset"] == page.seen["formulas"]


def test_every_picture_loads_and_says_what_it_shows(page: Page):
    for image in page.seen["images"]:
        assert image["width"] > 0, image["src"]
        assert len(image["alt"].split()) >= 5, image["src"]
    assert all(page.seen["figures"])


def test_a_page_is_not_wider_than_the_screen_and_no_box_in_it_scrolls_down(page: Page):
    assert page.fits == [[None, 0, []], [None, 0, []]]


@sweep("name", pages_of_the_book())
def test_no_page_is_empty(name: str, visit: Visit):
    seen = visit(name).seen
    source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    assert seen["words"] > max(100, 0.5 * words_of_prose(source))
    assert len(seen["figures"]) >= len(re.findall(r"^ +name: fig-", source, re.M))


@sweep("name", pages_of_the_book())
def test_no_cell_spills_a_value_that_nobody_asked_for(name: str, visit: Visit):
    """Chapters print what they show; a bare value can run over screens of numbers."""
    assert visit(name).seen["values"] == []


def words_of_prose(source: str) -> int:
    """Words that a reader of a page must find, whatever became of its cells."""
    prose = re.sub(r"^(`{3,})\{code-cell\}.*?^\1$", "", source, flags=re.M | re.S)
    return len(re.findall(r"[A-Za-z]{2,}", prose.split("---", 2)[-1]))


# What a page may load before anybody scrolls, types or plays, in compressed bytes: they
# do not depend on the machine. ``python -m benchmarks.pages`` measures times as well.
# No chapter may have more than 200, and no playground more than 350.
START, PAGE, PLAYGROUND = 82_000, 200_000, 320_000
# What comes with its model; the third playground loads one when it is used.
WITH_A_MODEL = ("chapters/playground_dates", "chapters/playground_digits")


def budget(name: str) -> int:
    """The bytes that a page may load."""
    if name == pages_of_the_book()[0]:
        return START
    return PLAYGROUND if name in WITH_A_MODEL else PAGE


@sweep("name", pages_of_the_book())
def test_a_page_keeps_to_its_budget(name: str, visit: Visit):
    files = visit(name).files
    assert sum(files.values()) <= budget(name), dict(
        sorted(files.items(), key=lambda item: -item[1])
    )


NOT_AT_FIRST = re.compile(
    r"vega\.js|searchindex\.js|mathjax|fa-solid|codemirror\.js|pyodide|bootstrap\.js"
)


@sweep("name", pages_of_the_book())
def test_what_is_only_needed_later_is_loaded_later(name: str, visit: Visit):
    assert [file for file in visit(name).files if NOT_AT_FIRST.search(file)] == []


@pytest.fixture(scope="module", params=members(pages_of_the_site()))
def markup(request: pytest.FixtureRequest, html: Path) -> tuple[str, BeautifulSoup]:
    """Each page in turn, without a browser."""
    text = (html / f"{request.param}.html").read_text(encoding="utf-8")
    return request.param, BeautifulSoup(text, "html.parser")


def test_a_page_has_one_title_one_description_and_each_id_once(markup):
    name, page = markup
    assert len(page.select('meta[name="viewport"]')) == 1
    (title,) = page.select("head title")
    halves = title.get_text().split(" — ")
    assert len(set(halves)) == len(halves), title
    if name in pages_of_the_book():
        (about,) = page.select('head meta[name="description"]')
        assert 20 < len(about["content"]) <= LONGEST
        assert "$" not in about["content"]
    ids = Counter(element["id"] for element in page.find_all(id=True))
    assert [one for one, count in ids.items() if count > 1] == []


def test_no_page_waits_for_a_script(markup):
    _, page = markup
    waits = [one["src"] for one in page.select("script[src]:not([defer])")]
    names = [address.partition("?")[0].rpartition("/")[2] for address in waits]
    assert set(names) <= set(AT_ONCE)


ICONS = """async () => {
  const icons = [...document.querySelectorAll('.fa-solid')];
  await document.fonts.ready;
  return {
    drawn: icons.map(icon => getComputedStyle(icon, '::before').content.length),
    fonts: [...document.fonts].filter(font => font.status === 'loaded').map(
      font => `${font.family} ${font.weight} ${font.unicodeRange}`),
  };
}"""


def test_icons_are_drawn_without_a_script_and_without_the_large_fonts(
    browser: Browser, site: str
):
    asked = []
    with browser.new_context() as context:
        context.on("request", lambda request: asked.append(request.url))
        tab = context.new_page()
        for name in ("chapters/notation", "search"):
            tab.goto(f"{site}{name}.html", wait_until="load")
            icons = tab.evaluate(ICONS)
            assert len(icons["drawn"]) > 5
            assert set(icons["drawn"]) == {len('"x"')}
            (font,) = (font for font in icons["fonts"] if "Awesome" in font)
            assert " 900 " in font
            assert "U+F002," in font.upper()  # the magnifier, in the small one
    assert [url for url in asked if "webfonts" in url] == []
