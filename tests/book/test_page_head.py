"""What a page tells search engines and messengers, and what missing pages show."""

import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, SoupStrainer
from playwright.sync_api import Browser, expect

from tests.small_books import SmallBook
from tools.pages.head import LONGEST, pages_address, shortened

ADDRESS = "https://owner.github.io/course/"
FORMULA = (
    "# Second\n\nA formula, $x^2$, is first.\n\nIts *second* paragraph has none.\n"
)


@pytest.fixture(scope="module")
def published(artefact: None, tmp_path_factory: pytest.TempPathFactory) -> SmallBook:
    """A built book of two pages whose repository is known."""
    book = SmallBook(tmp_path_factory.mktemp("published"))
    config = (book.folder / "_config.yml").read_text(encoding="utf-8")
    assert "https://github.com/OWNER/REPOSITORY" in config
    config = config.replace("OWNER/REPOSITORY", "Owner/course")
    book.write("_config.yml", config)
    book.write(
        "_toc.yml",
        "{format: jb-book, root: index, chapters: [{file: chapters/page}]}",
    )
    book.write("index.md", '# First\n\nA page about `"quotes"` & <angles>.\n')
    book.write("chapters/page.md", FORMULA)
    book.built()
    return book


def read_head(file: Path) -> BeautifulSoup:
    """The head of a page, and what belongs there wherever it stands."""
    only = SoupStrainer(["head", "meta"])
    text = file.read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser", parse_only=only)


def head(page: BeautifulSoup) -> dict[str, list[str]]:
    """What the ``meta`` elements of a page say, by their name."""
    found: dict[str, list[str]] = {}
    for tag in page.select("head meta[content]"):
        name = tag.get("name") or tag.get("property")
        found.setdefault(name, []).append(tag["content"])
    return found


def test_a_page_says_what_it_is_about(published: SmallBook):
    built = published.html
    first, second = (
        head(read_head(built / name)) for name in ("index.html", "chapters/page.html")
    )
    assert first["description"] == ['A page about "quotes" & <angles>.']
    assert first["og:description"] == first["description"]
    assert second["description"] == ["Its second paragraph has none."]
    assert second["og:title"] == ["Second"]
    assert first["og:type"] == ["website"]
    assert second["og:type"] == ["article"]


def test_addresses_are_complete_where_the_book_is_published(published: SmallBook):
    built = published.html
    page = head(read_head(built / "chapters/page.html"))
    assert page["og:url"] == [f"{ADDRESS}chapters/page.html"]
    (picture,) = page["og:image"]
    assert picture.startswith(ADDRESS)
    assert (built / picture.removeprefix(ADDRESS)).is_file()
    names = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
    listed = ET.parse(built / "sitemap.xml").findall("s:url/s:loc", names)
    assert [loc.text for loc in listed] == [f"{ADDRESS}chapters/page.html", ADDRESS]


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("https://github.com/Owner/course", "https://owner.github.io/course/"),
        ("https://github.com/Owner/owner.github.io", "https://owner.github.io/"),
    ],
)
def test_the_address_is_that_of_github_pages(repository: str, address: str):
    assert pages_address(repository) == address


def test_messengers_get_a_picture_of_the_size_that_they_show(html: Path):
    file = html / "_static" / "preview.png"
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    found = head(read_head(html / "index.html"))
    assert [str(width), str(height)] == [
        *found["og:image:width"], *found["og:image:height"],
    ]  # fmt: skip
    assert (width, height) == (1200, 630)


def test_the_page_for_missing_ones_needs_no_other_file(
    published: SmallBook, browser: Browser, html: Path
):
    missing = published.html / "404.html"
    soup = BeautifulSoup(missing.read_text(encoding="utf-8"), "html.parser")
    assert {a["href"] for a in soup.select("a")} == {f"{ADDRESS}index.html"}
    assert soup.form["action"] == f"{ADDRESS}search.html"
    asked = []
    with browser.new_context() as context:
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto((html / "404.html").as_uri())
        assert len(asked) == 1
        page.get_by_role("link").click()
        expect(page.locator(".attention-scene")).to_be_visible()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Few words.", "Few words."),
        (
            "A sentence of some length here. " * 8,
            "A sentence of some length here. " * 5,
        ),
        ("word " * 60, "word " * 30 + "word…"),
    ],
)
def test_a_long_opening_ends_with_a_sentence_or_a_word(text: str, short: str):
    found = shortened(text.strip())
    assert found.rstrip("…").split() == short.strip().rstrip("…").split()
    assert len(found) <= LONGEST
