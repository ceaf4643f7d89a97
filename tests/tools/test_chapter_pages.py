"""What the build adds to the page of a chapter."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.small_books import build_pages

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
