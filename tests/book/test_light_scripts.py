"""No page waits for a script, or loads one that it has no use for."""

import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, SoupStrainer
from playwright.sync_api import Browser, expect

from tests.book.contents import pages_of_the_book
from tests.suites import sweep
from tools.light_scripts import AT_ONCE, needed


def scripts(html: Path, name: str) -> list:
    text = (html / f"{name}.html").read_text(encoding="utf-8")
    only = SoupStrainer("script", src=True)
    return BeautifulSoup(text, "html.parser", parse_only=only).find_all("script")


@sweep("name", pages_of_the_book())
def test_a_page_is_read_without_waiting_for_a_script(name: str, html: Path):
    waits = [one["src"] for one in scripts(html, name) if not one.has_attr("defer")]
    assert [address for address in waits if AT_ONCE not in address] == []


@pytest.mark.parametrize(
    ("script", "page", "other"),
    [
        ("copybutton.js", "chapters/scaling", "chapters/glossary"),
        ("clipboard.min.js", "chapters/scaling", "chapters/glossary"),
        ("togglebutton.js", "chapters/scaling", "chapters/bibliography"),
        ("design-tabs.js", "chapters/playground_dates", "chapters/scaling"),
    ],
)
def test_a_script_is_loaded_where_it_is_needed_alone(
    script: str, page: str, other: str, html: Path
):
    assert any(script in one["src"] for one in scripts(html, page))
    assert not any(script in one["src"] for one in scripts(html, other))


def test_scripts_that_nobody_named_are_always_needed():
    assert needed("", "") and needed("own.js", "")
    assert needed("_static/togglebutton.js", '<div class="toggle">')
    assert not needed("_static/togglebutton.js", "<p>text</p>")


BOOTSTRAP = "**/scripts/bootstrap.js"


def test_what_draws_tooltips_is_loaded_for_the_first_of_them(
    browser: Browser, site: str
):
    with browser.new_context(viewport={"width": 800, "height": 600}) as context:
        page = context.new_page()
        page.goto(f"{site}chapters/glossary.html", wait_until="load")
        loaded = "performance.getEntriesByType('resource').map(e => e.name)"
        page.get_by_role("heading", name="Glossary").hover()
        assert not any("bootstrap" in name for name in page.evaluate(loaded))
        tooltips = page.locator(".tooltip")
        page.locator(".primary-toggle:visible").hover()
        expect(tooltips.filter(has_text="Toggle primary sidebar")).to_be_visible()
        page.locator(".theme-switch-button:visible").first.focus()
        expect(tooltips.filter(has_text="Color mode")).to_be_visible()
        assert sum("bootstrap" in name for name in page.evaluate(loaded)) == 1


def test_without_what_draws_tooltips_a_button_keeps_its_title(
    browser: Browser, site: str
):
    with browser.new_context(viewport={"width": 800, "height": 600}) as context:
        page = context.new_page()
        errors: list = []
        page.on("pageerror", lambda error: errors.append(error))
        page.route(BOOTSTRAP, lambda route: route.abort())
        page.goto(f"{site}chapters/glossary.html", wait_until="load")
        button = page.locator(".primary-toggle:visible")
        with page.expect_event("requestfailed"):
            button.hover()
        expect(button).to_have_attribute("title", "Toggle primary sidebar")
        assert errors == []
        page.unroute(BOOTSTRAP)
        page.get_by_role("heading", name="Glossary").hover()
        button.hover()
        expect(page.locator(".tooltip")).to_be_visible()


def test_a_script_is_loaded_once_and_again_after_a_failure(
    root: Path, browser: Browser, tmp_path: Path
):
    shutil.copy(root / "chapters" / "_static" / "loader.js", tmp_path)
    (tmp_path / "page.html").write_text("<script src=loader.js></script>")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        failed = "Loader.script('later.js').then(() => 'there', (e) => e.message)"
        assert page.evaluate(failed).endswith("later.js could not be loaded")
        (tmp_path / "later.js").write_text(
            "globalThis.times = (globalThis.times ?? 0) + 1"
        )
        assert page.evaluate(failed) == "there"
        assert page.evaluate(failed) == "there"
        assert page.evaluate("times") == 1


def test_work_waits_until_its_place_is_near(
    root: Path, browser: Browser, tmp_path: Path
):
    shutil.copy(root / "chapters" / "_static" / "loader.js", tmp_path)
    (tmp_path / "page.html").write_text(
        "<p id=first>a</p><p id=last style='margin-top: 5000px'>b</p>"
        "<script src=loader.js></script><script>Loader.whenNear("
        "document.querySelectorAll('p'), 100, (p) => { p.textContent += ' came'; });"
        "</script>"
    )
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        expect(page.locator("#first")).to_have_text("a came")
        assert page.locator("#last").text_content() == "b"
        page.locator("#last").scroll_into_view_if_needed()
        expect(page.locator("#last")).to_have_text("b came")
        page.locator("#first").scroll_into_view_if_needed()
        expect(page.locator("#first")).to_have_text("a came")
