"""Weights reach the page, from a chapter that was executed or from the cache."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.small_books import COSTLY, settings_of_the_book

PLAYGROUND = {"tools.playground", "tools.playground_example", "tools.recorded_scene"}
HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
CHAPTER = """# A chapter

```{code-cell} ipython3
:tags: [book-only, remove-input]
from torch import nn
from toolkit import playground

layer = nn.TransformerEncoderLayer(4, 2, 6)
model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
playground.give_away("dates", model, %s)
```
"""
PAGE = """# A page

```{raw} html
<div class="playground" data-playground="dates"></div>
```
"""


class Book:
    """A chapter that may give a model away, and a page that runs it."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        settings = settings_of_the_book(root, COSTLY - PLAYGROUND)
        (folder / "_config.yml").write_text(yaml.safe_dump(settings))
        static = folder / "chapters" / "_static"
        shutil.copytree(root / "chapters" / "_static", static)
        (folder / "chapters" / "references.bib").touch()
        (folder / "_toc.yml").write_text(
            "{format: jb-book, root: chapters/chapter, "
            "chapters: [{file: chapters/page}]}"
        )
        self.write("page", PAGE)
        self.html = folder / "_build" / "html"

    def write(self, name: str, text: str) -> None:
        (self.folder / "chapters" / f"{name}.md").write_text(text, encoding="utf-8")

    def give(self, facts: str) -> None:
        self.write("chapter", HEADER + CHAPTER % facts)

    def build(self) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("jupyter-book")
        return subprocess.run(
            [program, "build", ".", "--warningiserror", "--keep-going", "--quiet"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def facts(self) -> dict:
        """What the script of the built book says about the model."""
        script = self.html / "_static" / "playground" / "dates.weights.js"
        found = re.search(r'\["dates"\] = (\{.*\});', script.read_text())
        return json.loads(found[1])["facts"]

    def scripts(self, page: str) -> list[str]:
        """The scripts of the playground that a page loads, in their order."""
        text = (self.html / "chapters" / f"{page}.html").read_text(encoding="utf-8")
        return re.findall(r'src="\.\./_static/playground/([\w.]+)\.js', text)


@pytest.fixture
def book(artefact: None, tmp_path: Path, root: Path) -> Book:
    return Book(tmp_path, root)


def test_the_page_gets_the_weights_of_the_last_execution(book: Book):
    book.give("colour='red'")
    done = book.build()
    assert done.returncode == 0, done.stdout
    assert book.facts["colour"] == "red"
    loaded = book.scripts("page")
    assert "dates.weights" not in loaded  # it is asked for when somebody comes near
    page = (book.html / "chapters" / "page.html").read_text(encoding="utf-8")
    assert 'data-weights="../_static/playground/dates.weights.js?v=' in page
    assert loaded.index("tensor") < loaded.index("transformer") < len(loaded) - 1
    assert loaded[-1] == "dates_page"
    assert book.scripts("chapter") == []  # nobody else pays for it
    chapter = (book.html / "chapters" / "chapter.html").read_text(encoding="utf-8")
    assert len(chapter) < 50_000  # the numbers are not in the page itself

    shutil.rmtree(book.html)  # the outputs stay in the cache
    assert book.build().returncode == 0
    assert book.facts["colour"] == "red"

    book.give("colour='green'")  # only the chapter is read again, not the page
    assert book.build().returncode == 0
    assert book.facts["colour"] == "green"


def test_a_page_whose_model_nobody_gave_away_fails_the_build(book: Book):
    book.write("chapter", "# A chapter\n\nIt trains nothing.\n")
    done = book.build()
    assert done.returncode != 0
    assert "no chapter gave away the model 'dates'" in done.stdout
