"""A page that leads to the chapters says how many of their exercises are solved."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tools.chromium import served
from tools.run_in_page import PROGRESS

CHAPTERS = {"scaling": {"scale_for": "v1", "entropy": "v2"}, "other": {"one": "v1"}}
PAGE = """<!doctype html><title>Contents</title><body>
<nav><ul><li><a href="chapters/scaling.html">5. Scaling</a></ul></nav>
<article>
<ul><li><p><a href="scaling.html">Scaling</a>, why we divide</p></ul>
<p>As <a href="scaling.html">scaling</a> says</p><a href="scaling.html#why">Why</a>
<div data-chapter="scaling">Scaling</div>
<svg><a href="scaling.html"><text y="20">Scaling</text></a></svg>
<a href="masking.html">Masking, in a notebook</a>
<a href="https://scaling.invalid/scaling.html">elsewhere</a>
<a href="other.html">Other</a>
</article>
<script>%s</script>
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as context:
        yield context


@pytest.fixture
def page(context: BrowserContext, root: Path, tmp_path: Path) -> Iterator[Page]:
    for name in ("work.js", "progress.js"):
        shutil.copy(root / "chapters" / "_static" / "in_page" / name, tmp_path)
    chapters = f"(globalThis.InPage ??= {{}}).chapters = {json.dumps(CHAPTERS)};"
    (tmp_path / "chapters.js").write_text(chapters, encoding="utf-8")
    text = PAGE % PROGRESS.format(folder=".")
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    with served(tmp_path) as address:
        page = context.new_page()
        page.goto(address)
        yield page


def keep(page: Page, exercise: str, version: str, **entry: object) -> None:
    """What ``work.js`` writes when an exercise was checked."""
    page.evaluate(
        "([key, entry]) => localStorage.setItem(key, JSON.stringify(entry))",
        [f"attention-from-scratch/{exercise}/{version}", entry],
    )


def said(page: Page) -> list[str]:
    """The marks of a page, each with what it stands in."""
    found = "marks => marks.map((m) => m.parentNode.textContent.trim())"
    return page.locator(".in-page-solved").evaluate_all(found)


def test_nothing_is_said_or_loaded_for_somebody_who_has_not_begun(page: Page):
    assert said(page) == []
    assert page.locator("script[src]").count() == 0


def test_each_link_to_a_chapter_says_how_far_the_reader_is(page: Page):
    keep(page, "scale_for", "v1", code="...", score=3, of=3)
    keep(page, "entropy", "v2", code="...", score=1, of=3)
    page.reload()
    assert said(page) == [
        "5. Scaling 1 of 2 solved",
        *["Scaling 1 of 2 solved"] * 3,
        "Other 0 of 1 solved",
    ]
    assert page.locator("[data-solved='1/2']").count() == 4


def test_an_answer_to_an_earlier_version_is_not_a_solved_exercise(page: Page):
    keep(page, "scale_for", "v0", code="...", score=3, of=3)
    page.reload()
    assert "Scaling 0 of 2 solved" in said(page)


def test_another_tab_changes_the_marks(page: Page, context: BrowserContext):
    keep(page, "one", "v0", code="...")
    page.reload()
    assert "Other 0 of 1 solved" in said(page)
    other = context.new_page()
    other.goto(page.url)
    keep(other, "one", "v1", code="...", score=2, of=2)
    mark = page.locator("a[href='other.html'] .in-page-solved")
    expect(mark).to_have_text(" 1 of 1 solved")
    assert page.locator(".in-page-solved").count() == 5


def test_storage_that_is_forbidden_or_damaged_says_nothing(
    page: Page, context: BrowserContext
):
    page.evaluate("localStorage.setItem('attention-from-scratch/one/v1', '{oops')")
    page.reload()
    assert said(page) == []
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw Error('no'); }})"
    )
    page.reload()
    assert said(page) == []
    assert page.get_by_text("Masking, in a notebook").is_visible()
