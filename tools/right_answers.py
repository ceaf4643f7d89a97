"""Sphinx extension: a line above each check's table says that a right answer got it.

The book runs each check on the reference, so below a stub that raises
``NotImplementedError`` stands a table in which every case passes. A line above it says
that a right answer got it. Notebooks have no such tables before their readers run them.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

LINE = "With a right answer in place of the stub, this check shows:"
CLASS = "right-answer"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", introduce_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def introduce_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line in front of what each check cell printed."""
    for output in list(doctree.findall(_is_report)):
        output.insert(0, nodes.paragraph("", LINE, classes=[CLASS]))


def _is_report(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code_output"
        and "tag_check" in node.parent["classes"]
    )
