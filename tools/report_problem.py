"""Sphinx extension: a link on each section with which readers report a problem in it.

The link opens a new issue in the public repository, with page and section filled in.
Where ``_config.yml`` names no repository that readers can reach, there are no links.
"""

from __future__ import annotations

import html
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx

from tools.exercise_notebooks import repository
from tools.search_sections import has_title

LINK = """\
<p class="report-problem noprint"><a href="{}" rel="nofollow">Report a problem<span
 class="visually-hidden"> in “{}”</span></a></p>
"""
BODY = """\
Page: {page}
Section: {section} (#{anchor})

What is wrong there, and what did you expect instead?

"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a link at the end of each section, before the sections inside of it."""
    found = repository(app)
    if app.builder.format != "html" or found is None:
        return
    title = app.env.titles[docname].astext()
    for section in list(doctree.findall(has_title)):
        if section.parent is doctree and any(map(has_title, section.children)):
            continue  # the page's own section; its subsections have links
        name, anchor = section[0].astext(), section["ids"][0]
        address = issue_address(found[0], docname, title, name, anchor)
        link = LINK.format(html.escape(address), html.escape(name))
        inner = filter(has_title, section.children)
        place = next(map(section.index, inner), len(section))
        section.insert(place, nodes.raw("", link, format="html"))


def issue_address(url: str, page: str, title: str, section: str, anchor: str) -> str:
    """Where a new issue is written, with its title and the beginning of its text.

    Args:
        url: of the repository on GitHub.
        page: its name in the book, such as ``chapters/masking``.
        title: of the page.
        section: its title.
        anchor: its id in the page.
    """
    fields = {
        "title": title if title == section else f"{title}: {section}",
        "body": BODY.format(page=page, section=section, anchor=anchor),
    }
    return f"{url}/issues/new?{urlencode(fields)}"
