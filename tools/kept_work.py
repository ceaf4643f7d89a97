"""Sphinx extension: what a reader has done is kept, shown, and can be taken along.

``chapters/_static/kept.js`` keeps it in the browser, for all scripts of the pages;
``progress.js`` says beside links to chapters how many of their exercises are solved,
and on the start page where to go on. ``{kept-work}`` is the place of two buttons there:
save all work as a file, and load such a file in another browser.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SCRIPTS = ("kept.js", "progress.js")
FILE = """\
<div class="kept-work pst-js-only">
<button type="button">Save all work as a file</button>
<button type="button">Load a file</button>
<input type="file" accept=".json,application/json" hidden aria-label="A saved file">
<p role="status"></p></div>
"""


class KeptWork(SphinxDirective):
    """``{kept-work}``: buttons that save and load what the browser keeps."""

    def run(self) -> list[nodes.Node]:
        """The buttons; paper has none."""
        return [nodes.raw("", FILE, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; other scripts come later, and may keep something."""
    app.add_directive("kept-work", KeptWork)
    for script in SCRIPTS:
        app.add_js_file(script, priority=450, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
