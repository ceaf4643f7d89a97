"""Weights reach the page, from a chapter that was executed or from the cache."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.small_books import COSTLY, NOTEBOOK, SmallBook, code_cell

CODE = """from torch import nn
from toolkit import playground

layer = nn.TransformerEncoderLayer(4, 2, 6)
model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
playground.give_away("dates", model, colour={!r})"""
PAGE = """# A page

```{raw} html
<div class="playground" data-playground="dates"></div>
```
"""


@pytest.fixture
def book(artefact: None, tmp_path: Path) -> SmallBook:
    """A chapter that may give a model away, and a page that runs it."""
    book = SmallBook(tmp_path, COSTLY - {"tools.playground"})
    book.write("chapters/page.md", PAGE)
    contents = "root: chapters/chapter, chapters: [{file: chapters/page}]"
    book.write("_toc.yml", f"{{format: jb-book, {contents}}}")
    return book


def colour_after_a_build(book: SmallBook, given: str) -> str:
    """What the script of the page says about a model that was given away."""
    cell = code_cell(CODE.format(given), ":tags: [book-only, remove-input]\n")
    book.write("chapters/chapter.md", f"{NOTEBOOK}# A chapter\n{cell}")
    book.built()
    script = book.html / "_static" / "playground" / "dates.weights.js"
    found = re.search(r'\["dates"\] = (\{.*\});', script.read_text())
    return json.loads(found[1])["facts"]["colour"]


def scripts(book: SmallBook, page: str) -> list[str]:
    """The scripts of the playground that a page loads, in their order."""
    return re.findall(r'src="\.\./_static/playground/([\w.]+)\.js', book.page(page))


def test_the_page_gets_the_weights_of_the_last_execution(book: SmallBook):
    assert colour_after_a_build(book, "red") == "red"
    loaded = scripts(book, "page")
    assert "dates.weights" not in loaded  # it is asked for when somebody comes near
    assert 'data-weights="../_static/playground/dates.weights.js?v=' in book.page()
    assert loaded.index("tensor") < loaded.index("transformer") < len(loaded) - 1
    assert loaded[-1] == "dates_page"
    assert scripts(book, "chapter") == []  # nobody else pays for it
    assert len(book.page("chapter")) < 50_000  # the numbers are not in the page itself

    shutil.rmtree(book.html)  # the outputs stay in the cache
    assert colour_after_a_build(book, "red") == "red"
    # Only the chapter is read again, not the page.
    assert colour_after_a_build(book, "green") == "green"


def test_a_page_whose_model_nobody_gave_away_fails_the_build(book: SmallBook):
    book.write("chapters/chapter.md", "# A chapter\n\nIt trains nothing.\n")
    done = book.build()
    assert done.returncode != 0
    assert "no chapter gave away the model 'dates'" in done.stdout
