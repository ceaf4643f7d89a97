"""Pages that other processes write are those that one process would write."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace

from tools import parallel_writing
from tools.parallel_writing import Pages

PAGES = ("index", "a", "b", "c", "d")


def built(folder: Path, *extensions: str) -> tuple[dict[str, str], set[int]]:
    """The pages and names of pictures of a small book, and who wrote them."""
    source, out = folder / "source", folder / "out"
    writers = folder / "writers"
    source.mkdir(parents=True)
    writers.mkdir()
    others = "\n".join(f"   {name}" for name in PAGES[1:])
    for name in PAGES:
        text = f"{name}\n=====\n\nSee :doc:`c`.\n\n.. image:: {name}.png\n"
        if name == "index":
            text += f"\n.. toctree::\n\n{others}\n"
        (source / f"{name}.rst").write_text(text)
        Image.new("L", (7, 3)).save(source / f"{name}.png")
    with docutils_namespace():
        app = Sphinx(
            source,
            None,
            out,
            folder / "trees",
            "html",
            confoverrides={
                "extensions": ["tools.lazy_pictures", *extensions],
                "html_theme": "basic",
            },
            status=None,
            warning=None,
        )

        def sign(app, pagename, templatename, context, doctree):
            if doctree is not None:
                (writers / str(os.getpid())).touch()

        app.connect("html-page-context", sign)
        app.build()
    found = {f"{name}.html": (out / f"{name}.html").read_text() for name in PAGES}
    pictures = {file.name: "" for file in (out / "_images").iterdir()}
    return found | pictures, {int(file.name) for file in writers.iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
def test_pages_of_several_processes_are_those_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_writing, "processors", lambda: 2)
    one, alone = built(tmp_path / "one")
    many, writers = built(tmp_path / "many", "tools.parallel_writing")
    assert alone == {os.getpid()}
    assert len(writers) > 2
    assert many == one
    assert {f"{name}.webp" for name in PAGES} == {n for n in one if "html" not in n}


def test_a_page_that_another_process_could_not_write_fails_the_build(tmp_path):
    builder = SimpleNamespace(format="html", get_outfilename=lambda n: tmp_path / n)
    app, pages = SimpleNamespace(builder=builder), Pages()
    for name in ("a", "b"):
        pages.note(app, None, name)
    (tmp_path / "a").touch()
    with pytest.raises(ExtensionError, match="not written: b;"):
        pages.look(app, None)
