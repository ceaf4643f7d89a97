"""The browser keeps which chapters were read, and links to them say so."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tools.chromium import served
from tools.reading_time import READ

PAGE = """<!doctype html><html data-content_root="{up}"><title>{name}</title>
<style>.tall {{ height: 3000px }}</style><body>
<nav class="bd-links"><ul>
<li><a class="reference internal" href="{up}chapters/one.html">1. One</a>
<li><a class="reference internal" href="{up}chapters/two.html">2. Two</a>
</ul></nav>
<main><div class="tall"></div>{end}</main>
<script src="{up}reading_progress.js"></script>
"""
KEY = "attention-from-scratch-read"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as context:
        yield context


@pytest.fixture
def book(root: Path, tmp_path: Path) -> Iterator[str]:
    """The address of two chapters and a page that leads to them."""
    shutil.copy(root / "chapters/_static/reading_progress.js", tmp_path)
    (tmp_path / "chapters").mkdir()
    for name in ("index", "chapters/one", "chapters/two"):
        up = "../" * name.count("/") or "./"
        end = READ.format(2) if "/" in name else ""
        text = PAGE.format(up=up, name=name, end=end)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    with served(tmp_path) as address:
        yield address


def opened(context: BrowserContext, book: str, name: str) -> Page:
    page = context.new_page()
    page.goto(f"{book}{name}.html")
    return page


def read(page: Page) -> list[str]:
    """The links of a page, as they are spoken."""
    return page.locator(".bd-links a").all_text_contents()


def box(page: Page) -> Locator:
    return page.get_by_label("I have read this chapter")


def test_a_chapter_is_read_when_its_end_is_seen_and_not_before(context, book):
    page = opened(context, book, "chapters/one")
    expect(page.locator(".chapter-read")).to_contain_text("0 of 2 chapters read")
    expect(box(page)).not_to_be_checked()
    assert page.evaluate(f"localStorage.getItem('{KEY}')") is None
    box(page).scroll_into_view_if_needed()
    expect(box(page)).to_be_checked()
    expect(page.locator(".chapter-read")).to_contain_text("1 of 2 chapters read")
    assert read(page) == ["1. One (read)", "2. Two"]
    assert read(opened(context, book, "index")) == ["1. One (read)", "2. Two"]


def test_a_tick_that_was_taken_away_does_not_come_back(context, book):
    page = opened(context, book, "chapters/two")
    box(page).scroll_into_view_if_needed()
    expect(box(page)).to_be_checked()
    box(page).uncheck()
    assert read(page) == ["1. One", "2. Two"]
    page.reload()
    box(page).scroll_into_view_if_needed()
    expect(page.locator(".chapter-read")).to_contain_text("0 of 2 chapters read")
    expect(box(page)).not_to_be_checked()
    box(page).check()
    assert read(page) == ["1. One", "2. Two (read)"]


def test_another_tab_marks_its_links(context, book):
    contents = opened(context, book, "index")
    chapter = opened(context, book, "chapters/one")
    box(chapter).scroll_into_view_if_needed()
    expect(contents.locator(".chapter-is-read")).to_have_count(1)


@pytest.mark.parametrize("kept", ["{oops", "null", "[1]", '"text"', '{"x": "yes"}'])
def test_what_somebody_else_wrote_is_no_progress(context, book, kept: str):
    page = opened(context, book, "index")
    page.evaluate("([key, kept]) => localStorage.setItem(key, kept)", [KEY, kept])
    page = opened(context, book, "chapters/one")
    expect(page.locator(".chapter-read")).to_contain_text("0 of 2 chapters read")
    assert read(page) == ["1. One", "2. Two"]


def test_where_storage_is_forbidden_a_page_remembers_until_it_is_left(context, book):
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw Error('no'); }})"
    )
    page = opened(context, book, "chapters/one")
    box(page).scroll_into_view_if_needed()
    expect(box(page)).to_be_checked()
    assert read(page) == ["1. One (read)", "2. Two"]
    other = opened(context, book, "chapters/two")
    expect(other.locator(".chapter-read")).to_contain_text("0 of 2 chapters read")
    assert read(other) == ["1. One", "2. Two"]
