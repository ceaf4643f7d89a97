"""What a page may load before anybody scrolls, types or plays, in compressed bytes.

Only bytes are held against the budget, because they are the same on every machine;
``python -m benchmarks.pages`` measures times as well.
"""

import gzip
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.book.contents import pages_of_the_book, pages_of_the_site
from tools.chromium import served
from tools.page_weight import weight

# Measured: start page 76, chapters up to 190, playgrounds 104, 299 and 317 thousand.
# Colours of symbols took two of these. No chapter may have more than 200, and no
# playground more than 350.
START, PAGE, PLAYGROUND = 80_000, 195_000, 320_000
# What comes with its model; the third playground loads one when it is used.
WITH_A_MODEL = ("chapters/playground_dates", "chapters/playground_digits")


def budget(name: str) -> int:
    """The bytes that a page may load."""
    if name == pages_of_the_book()[0]:
        return START
    return PLAYGROUND if name in WITH_A_MODEL else PAGE


@pytest.fixture(scope="module")
def weigh(readers_browser: Browser, site: str) -> Callable[[str], dict[str, int]]:
    """What a page loads at first, by its name; each is opened once."""
    return cache(lambda name: weight(readers_browser, f"{site}{name}.html"))


@pytest.mark.parametrize("name", pages_of_the_site())
def test_a_page_keeps_to_its_budget(name: str, weigh: Callable[[str], dict[str, int]]):
    files = weigh(name)
    assert sum(files.values()) <= budget(name), dict(
        sorted(files.items(), key=lambda item: -item[1])
    )


NOT_AT_FIRST = re.compile(
    r"vega\.js|searchindex\.js|mathjax|fa-solid|codemirror\.js|pyodide|bootstrap\.js"
)


@pytest.mark.parametrize("name", pages_of_the_book())
def test_what_is_only_needed_later_is_loaded_later(
    name: str, weigh: Callable[[str], dict[str, int]]
):
    assert [file for file in weigh(name) if NOT_AT_FIRST.search(file)] == []


def test_weight_counts_what_a_page_loads_as_servers_send_it(
    readers_browser: Browser, tmp_path: Path
):
    script = b"/* a comment */" * 1000
    (tmp_path / "a.js").write_bytes(script)
    Image.new("L", (70, 30)).save(tmp_path / "a.png")
    page = b'<script src="a.js"></script><img src="a.png">'
    (tmp_path / "page.html").write_bytes(page)
    with served(tmp_path) as home:
        sizes = weight(readers_browser, f"{home}page.html")
    sizes.pop("favicon.ico", None)  # which browsers may ask for by themselves
    assert sizes == {
        "page.html": len(gzip.compress(page)),
        "a.js": len(gzip.compress(script)),
        "a.png": (tmp_path / "a.png").stat().st_size,
    }
