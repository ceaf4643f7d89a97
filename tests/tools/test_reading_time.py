"""A chapter says how long it takes."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.small_books import build_pages
from tools.reading_time import exercise_minutes, in_hours, time_needed

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
    build_pages(folder, pages, ["tools.reading_time"])
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


@pytest.mark.parametrize(
    ("words", "minutes", "line"),
    [
        (0, 0, "About 5 minutes to read."),
        (4400, 0, "About 20 minutes to read."),
        (4600, 60, "About 25 minutes to read, and about 60 minutes for the exercises."),
    ],
)
def test_times_are_rounded_to_five_minutes(words: int, minutes: int, line: str):
    assert time_needed(words, minutes) == line


def test_minutes_are_those_of_tasks_alone():
    text = "★☆☆ · 5 minutes. A\nIt takes ★☆☆ · 7 minutes.\n★★☆ · 20 minutes. B\n"
    assert exercise_minutes(text) == 25


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(89, "about 89 minutes"), (90, "about 1.5 hours"), (240, "about 4 hours")],
)
def test_many_minutes_become_hours(minutes: int, words: str):
    assert in_hours(minutes) == words
