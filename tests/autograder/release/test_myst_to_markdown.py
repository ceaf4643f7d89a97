"""Released notebooks show no raw directives."""

from __future__ import annotations

import pytest
from myst_nb.core.read import read_myst_markdown_notebook

from autograder.book import chapter_names, chapters_folder
from autograder.release.myst_to_markdown import UnknownMarkup, plain_markdown
from autograder.release.source import source_notebook
from tests.suites import sweep

BIB = """
@article{one2020first, author = {Ada {van Dyke}}, title = {T}, year = {2020}}
@article{two2021second, author = {Ann Bee and Cee Dee}, title = {T}, year = {2021}}
@article{many2022third, author = {A Ex and B Why and C Zed}, title = {T}, year = {2022}}
"""


@pytest.fixture
def bibliography(tmp_path):
    path = tmp_path / "references.bib"
    path.write_text(BIB)
    return path


@pytest.mark.parametrize(
    ("myst", "plain"),
    [
        ("(section-x)=\n# Title", "# Title"),
        ("% a comment\nText", "Text"),
        ("see {ref}`the part <section-x>`", "see the part"),
        ("a {term}`query` and {term}`keys <key>`", "a query and keys"),
        ("{numref}`fig-x` shows", "Figure 2 shows"),
        ("Write {eq}`eq-x`.", "Write (3)."),
        ("Chapter {doc}`../x/several_heads` has", "Chapter “Heads” has"),
        ("$$\nx\n$$ (eq-x)", "$$\nx\n\\tag{3}\n$$"),
        ("$$\nx\n$$ (eq-never-named)", "$$\nx\n$$"),
        (
            "Text.[^a] More.\n\n[^a]: Small\n    print.\n\nEnd.",
            "Text.\\* More.\n\n\\* Small print.\n\nEnd.",
        ),
        ("```{note}\nBe kind.\n```", "> **Note**\n>\n> Be kind."),
        (
            "````{admonition} Common misreading\n:class: warning\n\nNo.\n````",
            "> **Common misreading**\n>\n> No.",
        ),
        ("````{exercise} Add\n:label: e\n\nDo.\n````", "### Exercise: Add\n\nDo."),
        ("````{solution} e\n```{literalinclude} x.py\n```\n````", ""),
        ("```{margin}\nAn *aside*.\n```", "An *aside*."),
        ("```python\nx = {ref}\n```", "```python\nx = {ref}\n```"),
    ],
)
def test_markup_has_a_plain_form(myst, plain):
    names = {"fig-x": "Figure 2", "eq-x": "(3)", "several_heads": "“Heads”"}
    assert plain_markdown(myst, names=names) == plain


def test_a_prediction_is_asked_without_its_answer():
    asked = "```{predict} 7\n:line: d = 2\n:near: 1\nHow\n*many*?\n```"
    assert plain_markdown(asked) == "**Predict.** How *many*?"


def test_a_quiz_keeps_its_answers_folded_away():
    quiz = (
        "```{quiz}\nHow *many* {term}`keys <key>`?\n\n"
        "- [ ] One.\n\n  That is a query.\n"
        "- [x] All of\n  them.\n\n  Each has a share,\n  however small.\n"
        "- [ ] None.\n\n  Weights sum to one.\n```"
    )
    assert plain_markdown(quiz) == (
        "**Question 1.** How *many* keys?\n\n"
        "* **A.** One.\n* **B.** None.\n* **C.** All of\n  them.\n\n"
        "<details><summary>Answer</summary>\n\n"
        "* **A. No.** That is a query.\n"
        "* **B. No.** Weights sum to one.\n"
        "* **C. Right.** Each has a share,\n  however small.\n\n"
        "</details>"
    )


def test_citations_become_author_and_year(bibliography):
    text = "{cite:t}`one2020first` {cite}`two2021second,many2022third`"
    assert plain_markdown(text, bibliography) == (
        "van Dyke (2020) (Bee and Dee, 2021; Ex et al., 2022)"
    )


@pytest.mark.parametrize(
    "myst",
    [
        "```{tableofcontents}\n```",
        "{unknown}`x`",
        "```{note}\nnever closed",
        "{cite}`x`",
        "{doc}`nowhere`",
    ],
)
def test_what_has_no_plain_form_stops_the_release(myst):
    with pytest.raises(UnknownMarkup):
        plain_markdown(myst)


@sweep("name", chapter_names())
def test_released_chapter_has_no_raw_markup(name):
    for cell in source_notebook(name).cells:
        if cell.cell_type == "markdown":
            assert "`{" not in cell.source.replace("`{`", "")
            assert not any(
                mark in cell.source
                for mark in ("```{", ":::", "{ref}", "{cite", ")=\n", "[^", "+++")
            )


def test_every_chapter_with_exercises_is_released():
    with_check = {
        path.stem
        for path in chapters_folder().glob("*.md")
        if any(
            "check" in cell.metadata.get("tags", [])
            for cell in read_myst_markdown_notebook(path.read_text("utf-8")).cells
        )
    }
    assert set(chapter_names()) == with_check
