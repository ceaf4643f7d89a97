"""Every number in the prose of a chapter comes from one of its cells, or is known."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.book.contents import ROOT, pages_of_the_book
from tests.book.known_numbers import KNOWN, Known
from tests.book.prose_numbers import Number, Page, read_page
from tests.suites import sweep

# Their numbers are of graded classes, of systems and of limits, not of cells.
FOR_TEACHERS = "chapters/teaching/"


def executed_pages() -> list[str]:
    """The chapters with code: their names, without the folder."""
    found = []
    for page in pages_of_the_book():
        source = (ROOT / f"{page}.md").read_text(encoding="utf-8")
        if "{code-cell}" in source and not page.startswith(FOR_TEACHERS):
            found.append(page.removeprefix("chapters/"))
    return found


@cache
def built(html: Path, name: str) -> Page:
    """A page of the book, taken apart once."""
    return read_page((html / "chapters" / f"{name}.html").read_text(encoding="utf-8"))


def covers(words: str, number: Number) -> bool:
    """Whether the words of a known number are where this number stands."""
    end = number.start + len(number.text)
    return any(
        found.start() <= number.start and end <= found.end()
        for found in re.finditer(re.escape(words), number.paragraph)
    )


def is_known(number: Number, entries: dict[str, Known]) -> bool:
    """Whether an entry stands for this number, with its value."""
    return any(
        covers(words, number) and number.is_close_to(entry.value)
        for words, entry in entries.items()
    )


@sweep("name", executed_pages())
def test_each_number_in_the_prose_is_printed_by_a_cell_or_known(html: Path, name: str):
    page, entries = built(html, name), KNOWN.get(name, {})
    unsupported = [
        number.context()
        for number in page.numbers()
        if not page.supports(number) and not is_known(number, entries)
    ]
    assert not unsupported, (
        f"chapters/{name}.md has numbers that no cell of it prints: mend the prose, "
        "print them, or say in tests/book/known_numbers.py where they come from"
    )


@sweep("name", sorted(KNOWN))
def test_known_numbers_still_stand_on_their_page_and_follow_from_it(
    html: Path, name: str
):
    page = built(html, name)
    unused, missing = [], []
    for words, entry in KNOWN[name].items():
        if not any(covers(words, number) for number in page.numbers()):
            unused.append(words)
        missing += [f"{words}: {n}" for n in entry.of if not page.contains(n)]
    assert not unused, "their words are gone from the page"
    assert not missing, "neither printed nor in the code"


PAGE = """<article><h2><span class="section-number">3.1. </span>Speed</h2>
<p>We train for {steps} steps, in 1997, with <code>size=77</code>. About {share} of
the 1,347 digits are right, a loss of {loss}.</p>
<div class="cell"><div class="cell_input"><pre>train(steps=250)</pre></div>
<div class="cell_output"><div class="output stream">1347 digits, 0.913 right, loss
0.3478, 1.2e+06 parameters</div></div></div></article>"""
RIGHT = {"steps": "250", "share": "92 %", "loss": "0.35"}


def unsupported_in(**changes: str) -> list[str]:
    page = read_page(PAGE.format(**RIGHT | changes))
    return [number.text for number in page.numbers() if not page.supports(number)]


def test_what_cells_print_or_contain_is_supported():
    assert unsupported_in() == []
    assert unsupported_in(share="0.9", loss="0.348") == []


@pytest.mark.parametrize(
    "what, wrong",
    [
        *[("steps", text) for text in ("251", "fifty", "1.3 million")],
        *[("share", text) for text in ("95 %", "eighty per cent")],
        *[("loss", text) for text in ("0.34", "0.3479", "-0.4")],
    ],
)
def test_a_number_that_no_cell_prints_is_noticed(what: str, wrong: str):
    (found,) = unsupported_in(**{what: wrong})
    assert wrong in found
