"""Sphinx extension: five minutes of practice, at the end of chapters and on a page.

The cards are made from references and mistakes by ``autograder.practice``, in a process
beside the build; ``chapters/_static/practice.js`` deals them and remembers, in the
reader's browser, when each is due again. A book whose solutions are hidden has none:
cards show references.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tools.execute_chapters import kept_in
from tools.exercise_notebooks import chapter_of
from tools.marked_pages import load_where

FOLDER = "practice"  # in the static files
MARK = 'class="practice"'
ROOT = Path(__file__).resolve().parents[1]
# Its heading is no section of the page, which search would offer once for each chapter.
STRIP = """\
<div class="practice" data-chapter="{}">
<h2 id="practice">Practice</h2>
<p>Small tasks on this chapter, made for a few minutes and a thumb. Those that show the
code of an exercise come once you have solved it. A card that you know comes back after
a day, three days, a week, three weeks and two months.</p>
<p class="practice-message" role="status">Practice needs JavaScript.</p></div>
"""
WHOLE = """\
<div class="practice" data-chapter="">
<p class="practice-message" role="status">Practice needs JavaScript.</p></div>
"""


class Practice(SphinxDirective):
    """``{practice}``: cards of all chapters that the reader has opened."""

    def run(self) -> list[nodes.Node]:
        """The place of the cards; paper has none."""
        return [nodes.raw("", WHOLE, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("sphinx_exercise")  # has the option hide_solutions
    app.setup_extension("tools.kept_work")
    app.add_directive("practice", Practice)
    app.connect("builder-inited", begin, priority=900)  # after MyST-NB's settings
    app.connect("doctree-read", add_strip, priority=900)
    load_where(app, MARK, "practice.css", "practice.js")
    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def begin(app: Sphinx) -> None:
    """Begin to make the cards."""
    app.practice_cards = None
    if app.builder.format == "html" and not app.config.hide_solutions:
        app.practice_cards = subprocess.Popen(
            [sys.executable, "-m", "tools.practice_cards", _folder(app)],
            env={**os.environ, **kept_in(app.env.mystnb_config)},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )


def end(app: Sphinx, exception: Exception | None) -> None:
    """Wait for the cards.

    Raises:
        ExtensionError: they could not be made.
    """
    making, app.practice_cards = app.practice_cards, None
    if making is None:
        return
    if exception:
        making.kill()
    _, said = making.communicate()
    if making.returncode and not exception:
        raise ExtensionError(f"the practice cards were not made: {said}")


def _folder(app: Sphinx) -> str:
    return str(Path(app.outdir, "_static", FOLDER).absolute())


def add_strip(app: Sphinx, doctree: nodes.document) -> None:
    """Put a place for cards at the end of each chapter that has exercises."""
    chapter = chapter_of(app.env.docname)
    page = next(doctree.findall(nodes.section), None)
    if chapter and page is not None and not app.config.hide_solutions:
        page += nodes.raw("", STRIP.format(chapter), format="html")
