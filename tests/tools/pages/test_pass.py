"""Finished pages are made anew in each build, from those that Sphinx keeps."""

import os
import sys
from pathlib import Path

import pytest
from PIL import Image
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace

from tools import pages
from tools.pages import accessibility, pictures, scripts
from tools.pages.page import parsed

NAMES = ("index", "a", "b", "c", "d")
THEME = {"html_theme": "sphinx_book_theme"}


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need nothing of this book."""
    own = (accessibility.mend, pictures.make_lazy, scripts.defer)
    monkeypatch.setattr(pages, "STEPS", own)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small book; each page has a picture."""
    folder = tmp_path / "source"
    folder.mkdir()
    others = "\n".join(f"   {name}" for name in NAMES[1:])
    for name in NAMES:
        text = f"{name}\n=====\n\nSee :doc:`c`.\n\n.. figure:: {name}.png\n"
        if name == "index":
            text += f"\n.. toctree::\n\n{others}\n"
        (folder / f"{name}.rst").write_text(text)
        Image.new("L", (7, 3)).save(folder / f"{name}.png")
    return folder


def built(source: Path) -> dict[str, str]:
    """The pages of the book and, empty, the names of its pictures."""
    out = source.parent / "out"
    with docutils_namespace():
        app = Sphinx(
            source,
            None,
            out,
            source.parent / "trees",
            "html",
            confoverrides={"extensions": ["tools.pages"], **THEME},
            status=None,
            warning=None,
        )
        writers = source.parent / "writers"
        writers.mkdir(exist_ok=True)

        def sign(app, pagename, templatename, context, doctree):
            if doctree is not None:
                (writers / str(os.getpid())).touch()

        app.connect("html-page-context", sign)
        app.build()
    found = {f"{name}.html": (out / f"{name}.html").read_text() for name in NAMES}
    return found | {file.name: "" for file in (out / "_images").iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
def test_pages_of_several_processes_are_those_of_one(source, monkeypatch):
    monkeypatch.setattr(pages, "processors", lambda: 2)
    many = built(source)
    assert len(list((source.parent / "writers").iterdir())) > 2
    monkeypatch.setattr(pages, "processors", lambda: 1)
    for folder in ("out", "trees"):
        (source.parent / folder).rename(source.parent / f"{folder} of many")
    assert built(source) == many
    assert {f"{name}.webp" for name in NAMES} == {n for n in many if "html" not in n}


def test_a_page_is_finished_once_and_goes_with_its_source(source: Path):
    left = source.parent / "out" / "left.html"
    (source / "left.rst").write_text(":orphan:\n\nleft\n====\n")
    first = built(source)
    assert left.exists()
    assert first["a.html"].count('class="figure-box"') == 1
    assert built(source) == first
    (source / "a.rst").write_text("a\n=\n\nNew words.\n\n.. figure:: a.png\n")
    (source / "left.rst").unlink()
    second = built(source)
    assert not left.exists()
    assert "New words." in second.pop("a.html")
    assert second == {name: text for name, text in first.items() if name != "a.html"}


@pytest.mark.parametrize("gone", ["out", "trees/pages/.finished"])
def test_pictures_come_back_after_the_book_was_removed_or_a_build_cut_short(
    source: Path, gone: str
):
    first = built(source)
    (source.parent / gone).rename(source.parent / "gone")
    for picture in (source.parent / "out").glob("_images/*"):
        picture.unlink()
    assert built(source) == first


def test_a_page_that_another_process_could_not_write_fails_the_build(
    source: Path, monkeypatch: pytest.MonkeyPatch
):
    def write_some(self, pagename, *arguments, **options):
        if pagename != "b":
            write(self, pagename, *arguments, **options)

    write = pages.PagesBuilder.handle_page
    monkeypatch.setattr(pages.PagesBuilder, "handle_page", write_some)
    with pytest.raises(ExtensionError, match="not written: b;"):
        built(source)


def test_a_page_is_what_its_parts_are():
    text = '<html><article class="a">One <article>two</article></article> end</html>'
    page = parsed("chapters/page", text)
    assert page.html == text
    assert page.body == "One <article>two</article>"
    assert page.up == "../"
    assert parsed("404", "<html>No article.</html>").body == ""
