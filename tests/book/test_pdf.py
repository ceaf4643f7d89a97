"""The book as one PDF: everything is in it, and every reference leads somewhere."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup, SoupStrainer
from pypdf import PdfReader

from tests.book.contents import ROOT, pages_on_paper
from tools.book_pdf import CannotPrint, book_as_one_page, main
from tools.chromium import NAMES


@pytest.fixture(scope="module")
def pdf(html: Path, artefact: None, needs_chromium: None) -> PdfReader:
    """The PDF that ``make pdf`` makes of the built pages."""
    file = html.parent / "attention_from_scratch.pdf"
    file.unlink(missing_ok=True)
    done = subprocess.run(["make", "pdf"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return PdfReader(file)


@pytest.fixture(scope="module")
def page(html: Path, artefact: None) -> str:
    """The page from which it is printed."""
    return book_as_one_page(ROOT, html)


def bookmarks(pdf: PdfReader) -> dict[str, int]:
    """Pages, from 1, of the headings of the highest level."""
    return {
        entry.title: pdf.get_destination_page_number(entry) + 1
        for entry in pdf.outline
        if not isinstance(entry, list)
    }


def test_every_chapter_begins_where_the_contents_say(pdf: PdfReader, html: Path):
    begins = bookmarks(pdf)
    front = pdf.pages[1 : begins["Preface"] - 1]
    contents = "\n".join(page.extract_text() for page in front)
    for name in pages_on_paper():
        text = (html / f"{name}.html").read_text(encoding="utf-8")
        found = BeautifulSoup(text, "html.parser", parse_only=SoupStrainer("h1"))
        (heading,) = found.select("h1:has(> .headerlink)")
        title = heading.get_text().removesuffix("#")
        assert title in begins
        assert f"{title} {begins[title]}" in contents
        assert title in pdf.pages[begins[title] - 1].extract_text().replace("\n", " ")


def test_every_link_leads_to_a_place_in_the_book_or_out(pdf: PdfReader):
    places = pdf.named_destinations
    inside = 0
    for page in pdf.pages:
        for reference in page.get("/Annots") or []:
            note = reference.get_object()
            if "/Dest" in note:
                assert note["/Dest"] in places
                inside += 1
            else:
                assert re.match(r"https?://", note["/A"]["/URI"]), note["/A"]
    assert inside > 300


def test_every_figure_is_there_and_places_have_one_name(page: str):
    printed = BeautifulSoup(page, "html.parser")
    named = printed.select("[id]")
    places = {element["id"]: element for element in named}
    for name in pages_on_paper():
        source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        for figure in re.findall(r"^ +name: (fig-\S+)$", source, re.M):
            place = places.get(f"{name.rpartition('/')[2]}--{figure}")
            assert place is not None, figure
            assert place.select_one("img[src]"), figure
    ids = Counter(element["id"] for element in named)
    for link in printed.select('a[href^="#"]'):
        assert ids[link["href"][1:]] == 1, link
    for code in printed.select("pre, code"):
        code.decompose()
    assert "??" not in printed.get_text()


PAGE = """<html><head>{head}<link rel="stylesheet" href="../_static/a.css">
<script src="../_static/chart.js"></script></head><body><article><h1>{title}</h1>
<p id="top">See <a href="#top">above</a>, <a href="two.html#top">the other</a>,
<a href="../notebooks/a.ipynb">the notebook</a>, <a href="https://x.org">x</a>.</p>
<details class="mistake"><summary>One</summary>Two</details>
<details class="quiz-option"><summary>Three</summary>Four</details>
<p class="noprint">Click here.</p>
<div class="solution">Answer</div><p>Last words.</p></article></body></html>"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two built pages."""
    (tmp_path / "_config.yml").write_text("{title: T & U, author: A, copyright: 1}")
    toc = {
        "root": "c/one",
        "parts": [{"caption": "P", "chapters": [{"file": "c/two"}]}],
    }
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
    (tmp_path / "html" / "c").mkdir(parents=True)
    for name in ("one", "two"):
        file = tmp_path / "html" / "c" / f"{name}.html"
        style = '<link rel="stylesheet" href="../_static/b.css">' * (name == "two")
        file.write_text(PAGE.format(title=name.title(), head=style))
    return tmp_path


def test_links_between_pages_become_links_inside(small: Path):
    page = book_as_one_page(small, small / "html")
    assert '<a href="#one--top">above</a>, <a href="#two--top">the other</a>' in page
    assert "\nthe notebook, " in page
    assert '<a href="https://x.org">x</a>' in page
    assert page.count('<link href="_static/a.css"') == 1
    assert page.count('<link href="_static/b.css"') == 1
    assert "chart.js" not in page
    assert "Click here" not in page
    assert "<title>T &amp; U</title>" in page


def test_nothing_but_the_answers_of_a_quiz_stays_folded(small: Path):
    page = BeautifulSoup(book_as_one_page(small, small / "html"), "html.parser")
    assert len(page.select("details")) == 4
    assert all(fold["class"] == ["mistake"] for fold in page.select("details[open]"))
    assert len(page.select("details[open]")) == 2


def test_solutions_come_last(small: Path):
    page = book_as_one_page(small, small / "html")
    first, second = page.split('id="two"')
    for chapter in (first, second):
        assert chapter.index("Last words") < chapter.index(">Solutions<")
        assert chapter.index(">Solutions<") < chapter.index("Answer")


@pytest.mark.parametrize("loss", ["missing", "empty"])
def test_a_page_that_was_not_built_is_named(
    loss: str, small: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    page = small / "html" / "c" / "two.html"
    page.unlink() if loss == "missing" else page.write_text("<article></article>")
    with pytest.raises(CannotPrint, match=r"two\.html"):
        book_as_one_page(small, small / "html")
    monkeypatch.chdir(small)
    if any(shutil.which(name) for name in NAMES):
        assert main(["html", "book.pdf"]) == 2
        assert "two.html" in capsys.readouterr().err
    assert not (small / "book.pdf").exists()
