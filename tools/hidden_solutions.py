"""Sphinx extension: a book whose solutions are hidden prints them nowhere.

With ``hide_solutions: true``, sphinx-exercise leaves out the boxes of solutions. Pages
print references at other places too, a playground beside the JavaScript that repeats
it. There, a sentence takes the place of what comes from a file in ``solutions/``. The
sources of the pages are not copied into such a book either.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

INSTEAD = "The solutions are not part of this edition of the book."


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", keep_sources)
    app.connect("doctree-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_sources(app: Sphinx, config: Config) -> None:
    """Copy no sources of pages: what is said about solutions is in them."""
    if config.hide_solutions:
        config.html_copy_source = False


def leave_out(app: Sphinx, doctree: nodes.document) -> None:
    """Put a sentence in the place of code that a page takes from ``solutions/``."""
    if not app.config.hide_solutions:
        return
    folder = Path(app.srcdir, "solutions").resolve()
    for block in list(doctree.findall(nodes.literal_block)):
        file = block.get("source")
        if file and folder in Path(app.srcdir, file).resolve().parents:
            block.replace_self(nodes.paragraph("", INSTEAD))
