"""What the build adds to the page of a chapter."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.small_books import build_pages
from tools.exercise_notebooks import PLACEHOLDER

CONTENTS = """\
# Book

```{toctree}
:numbered:
long
short
```

```{toctree}
words
```
"""
LONG = f"""\
# Long

{"word " * 1500}

```python
{"code " * 4000}
```

## Part

{"word " * 1500}

★☆☆ · 25 minutes. Do it.

★★★ · 70 minutes. Do more.
"""


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of two chapters and a page without a number."""
    folder = tmp_path_factory.mktemp("book")
    pages = {
        "index.md": CONTENTS,
        "long.md": LONG,
        "short.md": "# Short\n\nFew words.\n",
        "words.md": "# Glossary\n\nWords.\n",
    }
    build_pages(folder, pages, ["tools.chapter_pages"])
    return folder / "html"


def page(html: Path, name: str) -> BeautifulSoup:
    text = (html / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def test_words_of_prose_and_minutes_of_exercises_make_the_time(html: Path):
    line = page(html, "long").select_one("h1 + .reading-time")
    words = "About 15 minutes to read, and about 1.5 hours for the exercises."
    assert line.get_text() == words  # 3010 words, 200 a minute; 95 minutes
    line = page(html, "short").select_one("h1 + .reading-time")
    assert line.get_text() == "About 5 minutes to read."


def test_only_numbered_chapters_have_a_time(html: Path):
    for name in ("index", "words"):
        assert page(html, name).select(".reading-time") == []


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
