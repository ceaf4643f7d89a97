"""A page that leads to the chapters says how many of their exercises are solved."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

SCRIPTS = ("work.js", "progress.js")
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
<script>globalThis.InPage = {chapters: %s}</script>%s
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(offline=True) as context:
        yield context


@pytest.fixture
def page(context: BrowserContext, root: Path, tmp_path: Path) -> Page:
    folder = root / "chapters" / "_static" / "in_page"
    scripts = "".join(
        f'<script src="{(folder / name).as_uri()}"></script>' for name in SCRIPTS
    )
    file = tmp_path / "index.html"
    file.write_text(PAGE % (json.dumps(CHAPTERS), scripts), encoding="utf-8")
    page = context.new_page()
    page.goto(file.as_uri())
    return page


def keep(page: Page, exercise: str, version: str, **entry: object) -> None:
    """What an exercise writes when it was checked."""
    page.evaluate(
        "([name, version, entry]) => InPage.work.keep(name, version, entry)",
        [exercise, version, entry],
    )


def said(page: Page) -> list[str]:
    """The marks of a page, each with what it stands in."""
    found = "marks => marks.map((m) => m.parentNode.textContent.trim())"
    return page.locator(".in-page-solved").evaluate_all(found)


def test_nothing_is_said_to_somebody_who_has_not_begun(page: Page):
    assert said(page) == []


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
    other = context.new_page()
    other.goto(page.url)
    keep(other, "one", "v1", code="...", score=2, of=2)
    mark = page.locator("a[href='other.html'] .in-page-solved")
    mark.wait_for()
    assert mark.inner_text().strip() == "1 of 1 solved"
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
