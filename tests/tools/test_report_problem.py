"""Each section has a link with which a problem in it is reported."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from bs4 import BeautifulSoup

from tests.small_books import build_pages
from tools.exercise_notebooks import PLACEHOLDER

PAGE = """\
# Softmax & co

An opening.

## Why "exp" < 2?

Text.

### A detail

More text.

## The end

Text.
"""
PAGES = {"index": "# Preface\n\nText.\n", "chapters/one": PAGE}


def build(folder: Path, url: str) -> Path:
    """Build two pages of a book with an address of the repository."""
    build_pages(
        folder,
        {f"{name}.md": text for name, text in PAGES.items()},
        ["tools.chapter_pages"],
        html_theme="sphinx_book_theme",
        html_theme_options={"repository_url": url},
        smartquotes=False,
    )
    return folder / "html"


def links(page: Path) -> list:
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    return soup.select("p.report-problem a")


def test_without_a_public_repository_there_is_no_link(tmp_path: Path):
    html = build(tmp_path, PLACEHOLDER)
    assert [links(html / f"{name}.html") for name in PAGES] == [[], []]


def test_every_section_has_a_link_that_names_it(tmp_path: Path):
    html = build(tmp_path, "https://github.com/someone/a.course/")
    found = links(html / "chapters" / "one.html")
    titles = ['Why "exp" < 2?', "A detail", "The end"]
    words = [" ".join(link.get_text().split()) for link in found]
    assert words == [f"Report a problem in “{title}”" for title in titles]
    for link, title in zip(found, titles, strict=True):
        section = link.find_parent("section")
        address = urlsplit(link["href"])
        assert f"{address.scheme}://{address.netloc}{address.path}" == (
            "https://github.com/someone/a.course/issues/new"
        )
        fields = {name: value for name, (value,) in parse_qs(address.query).items()}
        assert fields["title"] == f"Softmax & co: {title}"
        assert "chapters/one" in fields["body"]
        assert f"{title} (#{section['id']})" in fields["body"]
    (link,) = links(html / "index.html")  # which has no sections
    assert parse_qs(urlsplit(link["href"]).query)["title"] == ["Preface"]
