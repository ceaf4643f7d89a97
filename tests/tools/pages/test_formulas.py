"""Formulas are set when the book is built, with the styles and fonts that they need."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.small_books import SmallBook
from tools.pages.formulas import Formula, characters_of_fonts, typeset

MACROS = {"query": ["\\class{query}{#1}", 1]}
PAGE = r"""# A page

Inline $\query{q} k^\top$ and displayed:

$$
\frac{a}{b} < c
$$ (eq-one)

Equation {eq}`eq-one` has a number.
"""


@pytest.fixture(scope="module")
def answer() -> dict:
    asked = [
        Formula(r"\query{q} \cdot k / \sqrt{d}", display=True),
        Formula(r"\nosuchmacro x", display=False),
        Formula("a < b", display=False),
    ]
    return typeset(asked, MACROS)


def test_a_formula_is_seen_and_spoken(answer: dict):
    formula = BeautifulSoup(answer["formulas"][0], "html.parser")
    assert formula.select_one("mjx-math")["aria-hidden"] == "true"
    assert formula.select_one("mjx-math .query") is not None
    spoken = formula.select_one("mjx-assistive-mml math")
    assert spoken.get_text() == "q⋅k/d"
    assert spoken.find("msqrt") is not None


def test_signs_of_html_are_escaped(answer: dict):
    assert "<mo>&lt;</mo>" in answer["formulas"][2]


def test_an_unknown_command_is_named(answer: dict):
    assert answer["formulas"][1] == {
        "error": "Undefined control sequence \\nosuchmacro"
    }


def test_every_character_that_is_drawn_has_its_font(answer: dict):
    drawn = characters_of_fonts(answer["css"])
    assert drawn["MJXTEX-I"] == set("qkdab")
    assert {"/", "<", "⋅", "√"} <= drawn["MJXTEX"]


@pytest.fixture
def book(artefact: None, tmp_path: Path) -> SmallBook:
    """A page with two formulas."""
    book = SmallBook(tmp_path)
    book.write("chapters/page.md", PAGE)
    return book


def sources(page: str) -> str:
    """The scripts that a page loads."""
    return str([s.get("src") for s in BeautifulSoup(page, "html.parser")("script")])


def test_a_page_with_formulas_needs_no_script_for_them(book: SmallBook):
    book.built()
    body = BeautifulSoup(book.page(), "html.parser").select_one("article")
    assert len(body.select(".math mjx-container")) == len(body.select(".math")) == 2
    assert body.select_one("div.math .eqno").get_text().startswith("(1)")
    assert "mathjax" not in sources(book.page())
    assert "_static/formulas.css" in book.page()
    search = (book.html / "search.html").read_text(encoding="utf-8")
    assert "formulas.css" not in search  # no formula, no style sheet
    assert not (book.html / "_static" / "mathjax").exists()


def test_a_formula_that_cannot_be_set_stops_the_build(book: SmallBook):
    book.write("chapters/page.md", "# A page\n\n$\\nosuchmacro{x}$\n")
    done = book.build()
    assert done.returncode != 0
    assert "nosuchmacro" in done.stdout
    assert "chapters/page.md" in done.stdout
