"""No page waits for a script, or loads one that it has no use for."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, expect


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
