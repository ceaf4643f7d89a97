"""Formulas are set when the book is built, with the styles and fonts that they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

from tests.small_books import settings_of_the_book
from tools.built_formulas import Formula, characters_of_fonts, typeset

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
def build(artefact: None, root: Path, tmp_path: Path):
    settings = settings_of_the_book(root)
    (tmp_path / "_config.yml").write_text(yaml.safe_dump(settings))
    (tmp_path / "_toc.yml").write_text("{format: jb-book, root: chapters/page}")
    static = tmp_path / "chapters" / "_static"
    static.mkdir(parents=True)
    for file in (root / "chapters" / "_static").iterdir():
        (static / file.name).symlink_to(file)
    (static.parent / "references.bib").touch()

    def build(page: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (static.parent / "page.md").write_text(page, encoding="utf-8")
        program = Path(sys.executable).with_name("jupyter-book")
        return subprocess.run(
            [program, "build", ".", "--warningiserror", "--keep-going", "--quiet"],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return build


def test_a_page_with_formulas_needs_no_script_for_them(build, tmp_path: Path):
    done = build(PAGE)
    assert done.returncode == 0, done.stdout
    html = tmp_path / "_build" / "html"
    page = (html / "chapters" / "page.html").read_text(encoding="utf-8")
    body = BeautifulSoup(page, "html.parser").select_one("article")
    assert len(body.select(".math mjx-container")) == len(body.select(".math")) == 2
    assert body.select_one("div.math .eqno").get_text().startswith("(1)")
    assert "mathjax" not in "".join(
        script.get("src", "") for script in BeautifulSoup(page, "html.parser")("script")
    )
    assert "_static/formulas.css" in page
    search = (html / "search.html").read_text(encoding="utf-8")
    assert "formulas.css" not in search  # no formula, no style sheet
    assert not (html / "_static" / "mathjax").exists()


def test_a_formula_that_cannot_be_set_stops_the_build(build):
    done = build("# A page\n\n$\\nosuchmacro{x}$\n")
    assert done.returncode != 0
    assert "nosuchmacro" in done.stdout
    assert "page.md:3" in done.stdout


def test_without_node_a_line_says_that_formulas_are_set_in_the_browser(
    build, tmp_path: Path
):
    done = build(PAGE, PLAYWRIGHT_NODEJS_PATH=str(tmp_path / "no-node"))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Formulas will be set in the browser") == 1
    html = tmp_path / "_build" / "html"
    page = (html / "chapters" / "page.html").read_text(encoding="utf-8")
    script = BeautifulSoup(page, "html.parser").select_one("script[src*=mathjax]")
    address = script["src"].partition("?")[0]
    assert (html / "chapters" / address).is_file()
    assert "mjx-container" not in page
