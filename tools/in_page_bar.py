"""The line below the title of a chapter whose exercises are solved in the page.

It counts what is solved and has the buttons for all exercises at once. It is written
when the book is built, and ``chapters/_static/in_page/page.js`` only brings it to life,
so that nothing below it moves. Without JavaScript it is not there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tools.packed_runtime import size_of_first_run

BUTTONS = {
    "check": "Check all",
    "download": "Download as notebook",
    "load": "Load notebook",
}


class Bar(nodes.General, nodes.Element):
    """The place of the line; ``exercises`` is how many there are on the page."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Bar, html=(_write, _nothing), latex=(_nothing, _nothing))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_bar(doctree: nodes.document, exercises: int) -> None:
    """Put the line below the title of a page that has exercises."""
    title = next(doctree.findall(nodes.title), None)
    if title is not None and exercises:
        place = title.parent.index(title) + 1
        title.parent.insert(place, Bar(exercises=exercises))


def bar_html(exercises: int, size: int) -> str:
    """The line as it is before a reader has done anything.

    Args:
        exercises: how many there are on the page.
        size: what the first run loads, in bytes.
    """
    count = f"0 of {exercises} exercises solved"
    buttons = "".join(
        f'<button type="button" data-does="{name}" disabled>{words}</button>\n'
        for name, words in BUTTONS.items()
    )
    return (
        '<div class="in-page-bar noprint pst-js-only" role="group"'
        ' aria-label="Your work on this page">\n'
        f'<span class="in-page-progress">{count}</span>\n'
        f'{buttons}<input type="file" accept=".ipynb" hidden>\n'
        '<span role="status">Cells with a Run button run in this page. The first run '
        f"loads Python, {round(size / 1e6)} MB.</span></div>\n"
    )


def _write(writer: Any, node: Bar) -> None:
    app = writer.builder.app
    if app.config.in_page_runs:
        runtime = Path(app.outdir) / "_static" / "in_page" / "runtime.js"
        writer.body.append(bar_html(node["exercises"], size_of_first_run(runtime)))


def _nothing(writer: Any, node: Bar) -> None:
    """Paper has nothing to press."""
