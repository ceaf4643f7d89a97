"""Small books that tests build: of some pages, or with the settings of the book."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import yaml
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
# They load torch, or pack Pyodide and Vega into the book: two thirds of the time that a
# book of one page takes.
COSTLY = {
    "tools.interactive_charts",
    "tools.live_pictures",
    "tools.playground",
    "tools.run_in_page",
}


def settings_of_the_book(but_for: set[str] = COSTLY) -> dict[str, Any]:
    """What ``_config.yml`` says, without the extensions that a test does not need.

    Args:
        but_for: the extensions that are left out; each of them has to be in the list.
    """
    text = (ROOT / "_config.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    used = settings["sphinx"]["config"]["extensions"]
    assert but_for <= set(used), f"not in _config.yml: {but_for - set(used)}"
    settings["sphinx"]["config"]["extensions"] = [
        name for name in used if name not in but_for
    ]
    return settings


def build_pages(
    folder: Path,
    pages: Mapping[str, str],
    extensions: Sequence[str],
    *,
    builder: str = "html",
    complaints: TextIO | None = None,
    **settings: Any,
) -> Sphinx:
    """Build some pages with Sphinx, in this process, into ``folder / "html"``.

    Args:
        folder: where they are written.
        pages: their texts by their files; none if they are there.
        extensions: those that are used besides MyST's.
        builder: of Sphinx.
        complaints: where warnings are written.
        settings: as a ``conf.py`` has them; one that is there counts as well.
    """
    (folder / "conf.py").touch()
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    app = Sphinx(
        srcdir=folder,
        confdir=folder,
        outdir=folder / "html",
        doctreedir=folder / "doctrees",
        buildername=builder,
        confoverrides={"extensions": ["myst_parser", *extensions], **settings},
        status=None,
        warning=complaints,
    )
    app.build()
    return app


NOTEBOOK = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""


def code_cell(code: str, options: str = "") -> str:
    """A cell of a notebook in MyST, with its tags and the like."""
    return f"\n```{{code-cell}} ipython3\n{options}{code}\n```\n"


class SmallBook:
    """A book of one page, ``chapters/page.md``, with the settings of the real one.

    What takes long in a build and has nothing to do on such a page is left out.
    """

    def __init__(self, folder: Path, but_for: set[str] = COSTLY) -> None:
        self.folder = folder
        self.html = folder / "_build" / "html"
        self.write("_config.yml", yaml.safe_dump(settings_of_the_book(but_for)))
        shutil.copytree(ROOT / "chapters" / "_static", folder / "chapters" / "_static")
        (folder / "chapters" / "references.bib").touch()
        self.write("_toc.yml", "format: jb-book\nroot: chapters/page\n")

    def write(self, path: str, text: str) -> None:
        """Write a file of the book."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def build(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Build with the flags of the Makefile."""
        return self.make("book", **environment)

    def built(self, **environment: str) -> None:
        """Build without a complaint."""
        done = self.build(**environment)
        assert done.returncode == 0, done.stdout

    def make(
        self, *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Call the book's own Makefile."""
        makefile, programs = ROOT / "Makefile", Path(sys.executable).parent
        path = f"{self.folder}{os.pathsep}{ROOT}"
        return subprocess.run(
            ["make", "-f", makefile, f"BIN={programs}", "INSTALLED=", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def page(self, name: str = "page") -> str:
        """A built page."""
        return (self.html / "chapters" / f"{name}.html").read_text(encoding="utf-8")
