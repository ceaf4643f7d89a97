"""No page waits for a script, or loads one that it has no use for."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.book.contents import pages_of_the_book
from tools.light_scripts import AT_ONCE, needed


def scripts(html: Path, name: str) -> list:
    text = (html / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser").select("script[src]")


@pytest.mark.parametrize("name", pages_of_the_book())
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
