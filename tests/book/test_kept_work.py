"""What a reader has done is kept in the browser, shown, and taken to another one."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tools.chromium import served
from tools.kept_work import FILE

MINE = "attention-from-scratch"
CHAPTERS = {"one": {"softmax": "v1", "attend": "v2"}, "two": {"causal_mask": "v1"}}
SCRIPTS = ("loader.js", "kept.js", "progress.js", "in_page/work.js")
PAGE = """<!doctype html><html data-content_root="{up}"><title>{name}</title>
<link rel="stylesheet" href="{up}_static/house.css"><body>
<nav class="bd-links"><ul>
<li><a class="reference internal" href="{up}chapters/preface.html">Preface</a>
<li><a class="reference internal" href="{up}chapters/one.html">1. One</a>
<li><a class="reference internal" href="{up}chapters/two.html">2. Two</a>
<li><a class="reference internal" href="{up}chapters/three.html">3. Three</a>
</ul></nav>
<main>{main}<div style="height: 3000px"></div></main>
{scripts}
"""
START = f"""<div class="start-lead"><p>Lead</p>
<p><a href="chapters/one.html">Start with chapter 1</a> <a href="#">Play</a></p></div>
<p class="map-title"><a href="chapters/one.html">One</a></p>
<p>As <a href="chapters/one.html">chapter one</a> says.</p>{FILE}"""
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError"); }"""
FORBIDDEN = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("no", "SecurityError"); } })"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as context:
        yield context


@pytest.fixture
def book(root: Path, tmp_path: Path) -> Iterator[str]:
    """The address of three chapters and a page that leads to them."""
    static = tmp_path / "_static"
    (static / "in_page").mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    for name in (*SCRIPTS, "house.css"):
        shutil.copy(root / "chapters" / "_static" / name, static / name)
    listed = f"(globalThis.InPage ??= {{}}).chapters = {json.dumps(CHAPTERS)};"
    (static / "in_page" / "chapters.js").write_text(listed)
    for name in ("index", "chapters/one", "chapters/two", "chapters/three"):
        up = "../" * name.count("/") or "./"
        scripts = "".join(
            f'<script defer src="{up}_static/{script}"></script>'
            for script in SCRIPTS[:3]
        )
        main = START if name == "index" else ""
        text = PAGE.format(up=up, name=name, main=main, scripts=scripts)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    with served(tmp_path) as address:
        yield address


def opened(context: BrowserContext, book: str, name: str = "index") -> Page:
    page = context.new_page()
    page.goto(f"{book}{name}.html", wait_until="load")
    return page


def keep(page: Page, name: str, **entry: object) -> None:
    """Put an entry into the storage, as pages do."""
    page.evaluate(
        "([key, entry]) => localStorage.setItem(key, JSON.stringify(entry))",
        [f"{MINE}{name}", entry],
    )


def kept(page: Page) -> dict[str, object]:
    """All entries of the storage."""
    return page.evaluate(
        "Object.fromEntries(Object.entries({...localStorage}).map("
        "([key, text]) => [key, JSON.parse(text)]))"
    )


def counts(page: Page) -> list[str]:
    """What stands beside links, each with the link's words."""
    marks = page.locator(".solved-count > [aria-hidden]")
    return marks.evaluate_all(
        "all => all.map(e => [e.closest('a').firstChild.data, e.textContent].join(' '))"
    )


def test_somebody_who_has_not_begun_sees_and_loads_nothing(context, book):
    page = opened(context, book)
    assert counts(page) == []
    assert page.locator("script[src*=in_page]").count() == 0
    expect(page.locator(".start-lead a").first).to_have_text("Start with chapter 1")


def test_links_to_chapters_count_what_is_solved(context, book):
    page = opened(context, book, "chapters/two")
    keep(page, "/softmax/v1", code="...", score=7, of=7)  # of the second edition
    keep(page, "/attend/v2", code="...", best="...")
    keep(page, "/causal_mask/v0", code="...", best="...")  # of an earlier stub
    page = opened(context, book)
    mark = page.locator(".solved-count").first
    expect(mark).to_be_attached()
    assert counts(page) == ["1. One 2/2", "One 2/2"]
    assert mark.evaluate("e => e.style.getPropertyValue('--solved')") == "1"
    expect(mark.locator(".visually-hidden")).to_have_text(", 2 of 2 exercises solved")


@pytest.mark.parametrize(
    ("solved", "words", "leads_to"),
    [
        ([], "Continue: chapter 1, One", "one"),
        (["/softmax/v1", "/attend/v2"], "Continue: chapter 2, Two", "two"),
    ],
)
def test_the_start_page_goes_on_where_one_was(context, book, solved, words, leads_to):
    page = opened(context, book, "chapters/one")
    for name in solved:
        keep(page, name, code="1", best="1")
    page = opened(context, book)
    button = page.locator(".start-lead a").first
    expect(button).to_have_text(words)
    assert button.evaluate("a => a.href") == f"{book}chapters/{leads_to}.html"
    assert page.locator(".start-lead .solved-count").count() == 0


def saved(page: Page, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save all work").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def load(page: Page, file: Path, says: str) -> None:
    page.locator(".kept-work input").set_input_files(file)
    expect(page.locator(".kept-work [role=status]")).to_contain_text(says)


def test_all_work_goes_to_another_browser_and_nothing_there_is_lost(
    browser: Browser, context, book, tmp_path: Path
):
    page = opened(context, book, "chapters/two")
    keep(page, "/softmax/v1", code="draft", best="right")
    keep(page, "/attend/v2", code="theirs", best="right as well")
    keep(page, "-quiz/one", **{"Why?": "Because.", "When?": "Now."})
    keep(page, "-practice", opened=["one", "two"], cards={"a": [3, 20], "b": [1, 9]})
    before = kept(page)
    file = saved(opened(context, book), tmp_path)

    with browser.new_context() as elsewhere:
        page = opened(elsewhere, book)
        load(page, file, "Your work is loaded.")
        assert kept(page) == before
        expect(page.locator(".start-lead a").first).to_contain_text("chapter 2, Two")
        assert counts(page) == ["1. One 2/2", "One 2/2"]

    with browser.new_context() as elsewhere:
        page = opened(elsewhere, book)
        keep(page, "/attend/v2", code="mine")
        keep(page, "-quiz/one", **{"Why?": "For no reason."})
        keep(page, "-practice", opened=["three"], cards={"a": [1, 30]})
        load(page, file, "What was in this browser before has stayed.")
        assert kept(page) == before | {
            f"{MINE}/attend/v2": {"code": "mine", "best": "right as well"},
            f"{MINE}-quiz/one": {"Why?": "For no reason.", "When?": "Now."},
            f"{MINE}-practice": {
                "opened": ["three", "one", "two"],
                "cards": {"a": [1, 30], "b": [1, 9]},
            },
        }


@pytest.mark.parametrize(
    "text",
    ["no JSON", '{"cells": []}', f'{{"book": "{MINE}", "kept": {{"x": {{}}}}}}'],
)
def test_a_file_without_work_is_refused(context, book, tmp_path: Path, text: str):
    file = tmp_path / "other.json"
    file.write_text(text)
    page = opened(context, book)
    load(page, file, "There is no work on this book in this file: choose one")
    assert kept(page) == {}


@pytest.mark.parametrize(
    ("storage", "says"),
    [
        (FULL, "The storage of this browser is full."),
        (FORBIDDEN, "This browser keeps nothing of this page."),
    ],
    ids=["full", "forbidden"],
)
def test_what_the_browser_does_not_take_lasts_as_long_as_the_page(
    context, book, storage: str, says: str
):
    context.add_init_script(storage)
    page = opened(context, book, "chapters/one")
    line = page.locator(".kept-message")
    assert line.count() == 0  # a reader would not miss where they were
    page.evaluate(f"Kept.keep('{MINE}/softmax/v1', {{ code: '1', best: '1' }})")
    expect(line).to_contain_text(says)
    expect(line).to_be_in_viewport()
    entry = page.evaluate(f"Kept.recall('{MINE}/softmax/v1')")
    assert entry == {"code": "1", "best": "1"}


@pytest.mark.parametrize("text", ["{oops", "7"])
def test_what_cannot_be_read_is_put_aside(context, book, text: str):
    page = opened(context, book, "chapters/one")
    name = f"{MINE}/softmax/v1"
    page.evaluate("([name, text]) => localStorage.setItem(name, text)", [name, text])
    page = opened(context, book)
    assert counts(page) == []
    page.evaluate("name => Kept.keep(name, { code: '1' })", name)
    expect(page.locator(".kept-message")).to_contain_text("put aside, not deleted")
    assert page.evaluate("name => localStorage[name]", name) == '{"code":"1"}'
    assert page.evaluate("name => localStorage[`unreadable ${name}`]", name) == text
