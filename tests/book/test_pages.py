"""Every page of the book as a reader's browser shows it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response

from tests.book.contents import ROOT, pages_of_the_book, pages_of_the_site
from tests.book.visits import quiet, watched
from tests.suites import members, sweep
from tools.formulas import typeset
from tools.page_weight import sizes

WIDTHS = (1280, 360)

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
# A long page is laid out part by part, and what is not laid out has no words.
LAID_OUT = """() => {
  const { dataset } = document.documentElement;
  return !('arriving' in dataset) || 'arrived' in dataset;
}"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


@dataclass
class Page:
    """What a browser saw of one page."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    overflow: dict[int, int] = field(default_factory=dict)
    seen: dict = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)  # bytes of what came at first


Visit = Callable[[str], Page]


@pytest.fixture(scope="module")
def visit(readers_browser: Browser, site: str) -> Visit:
    """Opens a page by its name, as somebody who was never here; each is opened once."""

    @cache
    def visit(name: str) -> Page:
        wide, narrow = ({"width": width, "height": 800} for width in WIDTHS)
        with (
            readers_browser.new_context(viewport=wide) as context,
            watched(context, site) as watch,
        ):
            answers: list[Response] = []
            context.on("response", lambda answer: answers.append(answer))
            wait = quiet(context)
            tab = context.new_page()
            tab.goto(f"{site}{name}.html", wait_until="load")
            wait(tab)
            page = Page(watch.complaints, watch.foreign, files=sizes(answers))
            typeset(tab)
            tab.evaluate(LOAD_PICTURES)
            tab.wait_for_function(LAID_OUT)
            page.seen = tab.evaluate(MEASURE)
            page.overflow[WIDTHS[0]] = tab.evaluate(OVERFLOW)
            tab.set_viewport_size(narrow)
            page.overflow[WIDTHS[1]] = tab.evaluate(OVERFLOW)
        return page

    return visit


@pytest.fixture(params=members(pages_of_the_site()))
def page(request: pytest.FixtureRequest, visit: Visit) -> Page:
    """Each page in turn."""
    return visit(request.param)


def test_a_page_loads_without_complaint(page: Page):
    assert page.complaints == []


def test_a_page_asks_no_other_host_for_anything(page: Page):
    assert page.foreign == []


def test_every_formula_is_typeset(page: Page):
    assert page.seen["raw"] == []
    assert page.seen["formula_errors"] == []
    assert page.seen["typeset"] == page.seen["formulas"]


def test_every_picture_loads_and_says_what_it_shows(page: Page):
    for image in page.seen["images"]:
        assert image["width"] > 0, image["src"]
        assert len(image["alt"].split()) >= 5, image["src"]
    assert all(page.seen["figures"])


def test_a_page_is_not_wider_than_the_screen(page: Page):
    assert page.overflow == dict.fromkeys(WIDTHS, 0)


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
# Measured: start page 76, chapters up to 190, playgrounds 104, 299 and 317 thousand.
# Colours of symbols took two of these. No chapter may have more than 200, and no
# playground more than 350.
START, PAGE, PLAYGROUND = 80_000, 200_000, 320_000
# What comes with its model; the third playground loads one when it is used.
WITH_A_MODEL = ("chapters/playground_dates", "chapters/playground_digits")


def budget(name: str) -> int:
    """The bytes that a page may load."""
    if name == pages_of_the_book()[0]:
        return START
    return PLAYGROUND if name in WITH_A_MODEL else PAGE


@sweep("name", pages_of_the_site())
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


@pytest.mark.parametrize("served", [True, False], ids=["server", "file"])
def test_search_finds_a_chapter(served: bool, browser: Browser, html: Path, site: str):
    home = site if served else html.as_uri() + "/"
    own = "http://127.0.0.1" if served else "file:///"
    with browser.new_context() as context, watched(context, own) as page:
        tab = context.new_page()
        tab.goto(f"{home}chapters/preface.html", wait_until="load")
        tab.keyboard.press("Control+k")
        tab.keyboard.type("padding mask")
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/search.html?q=padding**")
        found = tab.locator("#search-results li a")
        found.first.wait_for()
        addresses = found.evaluate_all("all => all.map(link => link.href)")
        assert any("chapters/masking.html" in address for address in addresses)
        found.first.click()
        tab.wait_for_selector("article h1")
        assert "chapters/" in tab.url
    assert (page.complaints, page.foreign) == ([], [])


@pytest.mark.parametrize(
    ("query", "chapters"),
    [
        ("causal mask", {"masking"}),
        ("why divide by sqrt", {"scaling"}),
        ("RoPE", {"glossary", "positional_encoding", "modern_attention"}),
        ("MHA", {"multi_head"}),
        ("beam sear", {"decoding"}),  # not yet all of it
    ],
)
def test_the_best_answer_of_search_is_a_place_on_it(
    query: str, chapters: set[str], browser: Browser, html: Path
):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(f"{(html / 'search.html').as_uri()}?q={query}")
        best = tab.locator("#search-results li a").first
        address = best.get_attribute("href")
        assert address.partition(".html")[0].removeprefix("chapters/") in chapters
        best.click()
        tab.wait_for_selector("article h1")
        place = address.partition("#")[2]
        assert not place or tab.locator(f"article [id='{place}']").count() == 1


def test_search_says_when_it_finds_nothing(browser: Browser, html: Path):
    with browser.new_context() as context:
        tab = context.new_page()
        address = (html / "search.html").as_uri()
        tab.goto(f"{address}?q=%3Cimg src=xyzzyq%3E")
        tab.locator(".search-summary", has_text="finished").wait_for()
        assert tab.locator("#search-results img").count() == 0
        tab.goto(f"{address}?q=xyzzyq")
        tab.locator(".search-summary", has_text="found nothing").wait_for()
        assert tab.locator("#search-results li").count() == 0


def test_the_root_is_a_page_and_sends_nobody_elsewhere(browser: Browser, site: str):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(site)
        assert tab.locator('meta[http-equiv="refresh"]').count() == 0
        assert (
            tab.locator("article h1").inner_text().startswith("Attention from Scratch")
        )
        assert tab.url == site
