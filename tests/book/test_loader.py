"""What is only needed later is loaded once."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser


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
