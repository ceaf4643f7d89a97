"""Sphinx extension: pages that also work by keyboard, screen reader and on a phone.

Pictures get a box of their own, in which they scroll sideways where the page is too
narrow for them to be legible. Boxes that scroll can be reached by keyboard. Roles that
docutils gives to a bibliography are those of an older standard; they become the ones
that browsers know. What folds pages away in the sidebar has a name. Duplicate ids, and
button names that do not match the visible text, are corrected. On paper, pages follow
``print.css``. The excerpts below search results are prose, without code and
formulas.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import (
    exercise_enumerable_node,
    exercise_node,
    solution_node,
)

PICTURE = re.compile(r"(<figure\b[^>]*>\s*)(<img\b[^>]*>)")
# MyST-NB gives all of these buttons the same accessible name, which does not match
# their text.
SUMMARY = '<summary aria-label="Toggle hidden content">'
SCRIPT = "scrolling_boxes.js"
EXCERPTS = "search_excerpts.js"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", name_contents)
    app.connect("doctree-resolved", free_space_from_links)
    app.connect("html-page-context", mend_page)
    app.connect("html-page-context", name_toggles, priority=600)  # after the theme's
    app.add_css_file("print.css", media="print")
    app.add_js_file(SCRIPT, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def name_contents(app: Sphinx, doctree: nodes.document) -> None:
    """Give the content of each task and solution an id of its own.

    sphinx-exercise calls all of them ``exercise-content`` or ``solution-content``.
    """
    for kind in (exercise_node, exercise_enumerable_node, solution_node):
        for box in doctree.findall(kind):
            for content in box.findall(nodes.section):
                content["ids"] = [f"{id_}-{box['label']}" for id_ in content["ids"]]


def free_space_from_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Move the space before a link in the title of a solution out of the link."""
    for box in doctree.findall(solution_node):
        for link in box[0].findall(nodes.reference):
            text = link[0]
            if isinstance(text, nodes.Text) and text.startswith(" "):
                link[0] = nodes.Text(text.lstrip())
                link.parent.insert(link.parent.index(link), nodes.Text(" "))


def mend_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Mend the body of a page before it is put into its template."""
    if "body" in context:
        context["body"] = mended(context["body"])
    if pagename == "search":
        app.add_js_file(EXCERPTS, loading_method="defer")


def name_toggles(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Name what folds pages away in the theme's table of contents."""
    contents = context.get("generate_toctree_html")
    if contents is None:
        return

    def named(*arguments: Any, **options: Any) -> Any:
        found = contents(*arguments, **options)
        for toggle in found.select("li > details > summary") if found else ():
            page = toggle.find_parent("li").find("a").get_text(strip=True)
            toggle["aria-label"] = f"Pages below {page}"
        return found

    context["generate_toctree_html"] = named


def mended(body: str) -> str:
    """HTML with boxes around pictures, buttons named as they read, lists as lists."""
    body = PICTURE.sub(r'\1<div class="figure-box">\2</div>', body)
    body = body.replace(SUMMARY, "<summary>")
    return body.replace('role="doc-biblioentry"', 'role="listitem"')
