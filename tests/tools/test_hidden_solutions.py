"""A book whose solutions are hidden prints none, on whatever page they stand."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from sphinx.application import Sphinx

from solutions import language_model, multi_head, vision_transformer
from tools.hidden_solutions import INSTEAD

EXTENSIONS = ["myst_nb", "sphinx_design", "sphinx_exercise", "tools.hidden_solutions"]
PRINTED = {
    "playground_dates": [multi_head.MultiHeadAttention],
    "playground_digits": [
        vision_transformer.VisionTransformer.forward,
        vision_transformer.attention_rollout,
    ],
    "playground_write": [language_model.filter_logits, language_model.sample_tokens],
}


def build(root: Path, folder: Path, hidden: bool) -> dict[str, str]:
    """The playground's pages, and every other text that is written, in a book."""
    app = Sphinx(
        root,
        None,
        folder / "html",
        folder / "doctrees",
        "html",
        confoverrides={
            "extensions": EXTENSIONS,
            "html_theme": "basic",
            "include_patterns": ["chapters/playground_*.md"],
            "myst_enable_extensions": ["dollarmath"],
            "master_doc": "chapters/playground_dates",
            "nb_execution_mode": "off",
            # Sphinx adds to its own default, which another book of this process shares.
            "source_suffix": {".md": "myst-nb"},
            "hide_solutions": hidden,
            "highlight_language": "none",  # or marks would stand between the words
            "pygments_style": "none",
        },
        status=None,
        warning=None,
    )
    app.build()
    return {
        str(path.relative_to(folder / "html")): path.read_text(encoding="utf-8")
        for kind in ("*.html", "*.js", "*.txt")
        for path in (folder / "html").rglob(kind)
    }


@pytest.fixture(scope="module")
def books(artefact, root, tmp_path_factory):
    return {
        hidden: build(root, tmp_path_factory.mktemp("book"), hidden)
        for hidden in (True, False)
    }


def words(text: str) -> str:
    """The text of a page without marks, in one line."""
    from bs4 import BeautifulSoup

    return "".join(BeautifulSoup(text, "html.parser").get_text().split())


@pytest.mark.parametrize("page", PRINTED)
def test_a_page_shows_references_only_where_they_are_not_hidden(books, page):
    shown, hidden = (
        words(books[hidden][f"chapters/{page}.html"]) for hidden in (False, True)
    )
    for reference in PRINTED[page]:
        code = inspect.getsource(reference).rpartition('"""')[2].splitlines()
        lines = ["".join(line.partition("#")[0].split()) for line in code]
        telling = [line for line in lines if len(line) > 20]
        assert telling
        assert all(line in shown for line in telling)
        assert not any(line in hidden for line in telling)
    assert "".join(INSTEAD.split()) in hidden
    assert "".join(INSTEAD.split()) not in shown


def test_nothing_else_of_such_a_book_holds_them(books):
    for name, text in books[True].items():
        assert "rollout[:,0,1:]" not in words(text), name
        assert not name.startswith("_sources"), name
    assert any(name.startswith("_sources") for name in books[False])
