"""Sphinx extension: the imports that a chapter begins with are folded away.

They stand between the opening of the story and its first picture. In the source and in
the notebook of a chapter they are a cell like any other.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

PROMPTS = {"prompt_show": "Show the imports", "prompt_hide": "Hide the imports"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; MyST-NB folds what is marked."""
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fold(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the first cell of a page if it begins with imports and shows nothing."""
    cells = (
        node
        for node in doctree.findall(nodes.container)
        if node.get("nb_element") == "cell_code"
    )
    cell = next(cells, None)
    if cell is None or len(cell) != 1 or "hide_mode" in cell:
        return
    if cell.astext().startswith(("import ", "from ")):
        cell.attributes.update({"hide_mode": "input", **PROMPTS})
