"""A term and a citation are explained beside their links."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.small_books import build_pages

BOOK = {
    "chapters/page.md": """# Page

Words that come first, and many of them, so that lines are long.

A {term}`mask` hides {term}`keys <key>`, says {cite:p}`one`. [Elsewhere](other).
""",
    "chapters/other.md": """# Other

```{glossary}
mask
  A table that says *which* {term}`key` <b>counts</b> for
  which query.

key
  What a query is compared with.
```

```{bibliography}
```
""",
    "index.md": "# Book\n\n```{toctree}\nchapters/page\nchapters/other\n```\n",
    "book.bib": "@misc{one, title={On masks}, author={Ada Author}, year={2001}}\n",
}
REST = 250  # milliseconds until a card is shown, and until it goes
MASK = "mask: A table that says which key <b>counts</b> for which query."


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with the links, as a file."""
    folder = tmp_path_factory.mktemp("cards")
    build_pages(
        folder,
        BOOK,
        ["sphinxcontrib.bibtex", "tools.reader_cards"],
        html_js_files=["loader.js", "elements.js"],
        bibtex_bibfiles=["book.bib"],
        html_static_path=[str(Path("chapters/_static").resolve())],
        html_css_files=["house.css"],
    )
    return folder / "html" / "chapters" / "page.html"


@pytest.fixture
def page(built: Path, browser: Browser) -> Iterator[Page]:
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.clock.install(time=0)
        page.goto(built.as_uri())
        page.clock.pause_at(60_000)  # from now on only a test lets time pass
        yield page


def test_a_term_is_explained_while_the_pointer_is_on_it_or_on_its_card(page: Page):
    card = page.get_by_role("tooltip")
    link = page.get_by_role("link", name="mask", exact=True)
    expect(card).not_to_be_visible()
    link.hover()
    page.clock.run_for(REST)
    expect(card).to_have_text(MASK)  # as text: nothing of it is a tag
    expect(link).to_have_attribute("aria-describedby", "reader-card")
    card.hover()
    page.clock.run_for(10 * REST)
    assert card.is_visible()
    page.get_by_role("link", name="keys").hover()
    page.clock.run_for(REST)
    expect(card).to_have_text("key: What a query is compared with.")
    assert link.get_attribute("aria-describedby") is None
    page.mouse.move(0, 0)
    assert card.is_visible()
    page.clock.run_for(REST)
    assert not card.is_visible()


def test_the_focus_shows_a_card_and_escape_takes_it_away(page: Page):
    card = page.get_by_role("tooltip")
    link = page.get_by_role("link", name="mask", exact=True)
    page.get_by_role("link", name="keys").focus()
    page.keyboard.press("Shift+Tab")
    expect(link).to_be_focused()
    expect(card).to_have_text(MASK)
    page.keyboard.press("Escape")
    expect(card).not_to_be_visible()
    page.keyboard.press("Tab")
    expect(card).to_have_text("key: What a query is compared with.")
    page.keyboard.press("Tab")
    expect(card).to_contain_text("Ada Author. On masks. 2001.")
    assert page.locator("a.reference[title]").count() == 0  # the browser's own tip
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Elsewhere")).to_be_focused()
    expect(card).not_to_be_visible()


def test_the_first_tap_shows_the_card_and_the_second_follows(
    built: Path, browser: Browser
):
    size = {"width": 360, "height": 640}
    with browser.new_context(offline=True, has_touch=True, viewport=size) as context:
        page = context.new_page()
        page.goto(built.as_uri())
        card = page.get_by_role("tooltip")
        link = page.get_by_role("link", name="mask", exact=True)
        link.tap()
        expect(card).to_have_text(MASK)
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert page.url.endswith("page.html")
        page.get_by_role("heading").first.tap()
        expect(card).not_to_be_visible()
        link.tap()
        expect(card).to_be_visible()
        link.tap()
        page.wait_for_url("**/other.html#term-mask")
