"""The line below the title of a chapter that counts the exercises solved in the page.

It is written when the book is built, and ``chapters/_static/in_page/page.js`` only
changes its number, so that nothing below it moves. Without JavaScript it is not there.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


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


def bar_html(exercises: int) -> str:
    """The line as it is before a reader has done anything."""
    count = f"0 of {exercises} exercises solved"
    return (
        '<p class="in-page-bar noprint pst-js-only">'
        f'<span class="in-page-progress">{count}</span></p>\n'
    )


def _write(writer: Any, node: Bar) -> None:
    if writer.builder.app.config.in_page_runs:
        writer.body.append(bar_html(node["exercises"]))


def _nothing(writer: Any, node: Bar) -> None:
    """Paper has nothing to press."""
