"""Every page of the book as a reader's browser shows it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (1280, 360)

TYPESET = "async () => { if (window.MathJax) await MathJax.startup.promise; }"
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
  };
}"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


def pages_of_the_book() -> list[str]:
    """The pages named in ``_toc.yml``, and those that Sphinx adds."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [
        chapter["file"] for part in contents["parts"] for chapter in part["chapters"]
    ]
    return [contents["root"], *chapters, "search", "genindex"]


@dataclass
class Page:
    """What a browser saw of one page."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    overflow: dict[int, int] = field(default_factory=dict)
    seen: dict = field(default_factory=dict)


Visit = Callable[[str], Page]


def watch(context: BrowserContext, home: str, page: Page) -> None:
    """Write down every complaint and every request that leaves ``home``."""

    def console(message) -> None:
        if message.type in ("error", "warning"):
            page.complaints.append(message.text)

    def request(asked) -> None:
        if not asked.url.startswith((home, "data:", "blob:")):
            page.foreign.append(asked.url)

    context.on("console", console)
    context.on("weberror", lambda error: page.complaints.append(str(error.error)))
    context.on("request", request)


@pytest.fixture(scope="session")
def visit(browser: Browser, site: str) -> Visit:
    """Open a page by its name; each is opened once."""
    visited: dict[str, Page] = {}

    def open_page(name: str) -> Page:
        if name not in visited:
            page = Page()
            with browser.new_context() as context:
                watch(context, site, page)
                tab = context.new_page()
                for width in WIDTHS:
                    tab.set_viewport_size({"width": width, "height": 800})
                    if width == WIDTHS[0]:
                        tab.goto(f"{site}{name}.html", wait_until="networkidle")
                        tab.evaluate(TYPESET)
                        page.seen = tab.evaluate(MEASURE)
                    page.overflow[width] = tab.evaluate(OVERFLOW)
            visited[name] = page
        return visited[name]

    return open_page


@pytest.fixture(params=pages_of_the_book())
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


@pytest.mark.parametrize("name", pages_of_the_book()[:-2])
def test_no_page_is_empty(name: str, visit: Visit):
    assert visit(name).seen["words"] > 100


def test_the_first_page_is_reached_from_the_root(browser: Browser, site: str):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(site)
        tab.wait_for_url("**/preface.html")
        assert "Attention from Scratch" in tab.title()


def test_the_pages_work_as_files_without_a_web_server(browser: Browser, html: Path):
    for name in pages_of_the_book():
        page = Page()
        with browser.new_context() as context:
            watch(context, "file:///", page)
            tab = context.new_page()
            tab.goto((html / f"{name}.html").as_uri(), wait_until="load")
            tab.evaluate(TYPESET)
            seen = tab.evaluate(MEASURE)
        assert (page.complaints, page.foreign) == ([], []), name
        assert seen["typeset"] == seen["formulas"], name
