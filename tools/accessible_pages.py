"""Sphinx extension: pages that also work by keyboard, screen reader and on a phone.

Pictures get a box of their own, in which they can be moved sideways where the page is
narrower than they can be read at. Boxes that scroll can be reached by keyboard. Roles
that docutils gives to a bibliography are those of an older standard; they become the
ones that browsers know. On paper, pages follow ``print.css``. Search works from a
folder as well.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

PICTURE = re.compile(r"(<figure\b[^>]*>\s*)(<img\b[^>]*>)")
SCRIPT = "scrolling_boxes.js"
# Browsers let no page read the files beside it, so there search shows titles alone.
SEARCH_IN_FILES = (
    'if (location.protocol === "file:") '
    "DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;"
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend_page)
    app.add_css_file("print.css", media="print")
    app.add_js_file(SCRIPT, loading_method="defer")
    app.add_js_file(None, body=SEARCH_IN_FILES, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mend_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Mend the body of a page before it is put into its template."""
    if "body" in context:
        context["body"] = mended(context["body"])


def mended(body: str) -> str:
    """HTML with a box around each picture, and a bibliography that is a list."""
    body = PICTURE.sub(r'\1<div class="figure-box">\2</div>', body)
    return body.replace('role="doc-biblioentry"', 'role="listitem"')
