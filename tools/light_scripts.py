"""Sphinx extension: load scripts without blocking, and only on pages that use them.

The theme and other extensions ask for their scripts in the head of every page, where
the browser would stop reading the page until each is there. All of them wait for the
page by themselves, so they may as well be loaded beside it; in the order in which they
were, since some need others. The book's own come after one that loads what is only
needed later and one that makes elements.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

# What some scripts do something with, as it is written in the body of a page.
USED_BY = {
    "clipboard.min.js": ('class="highlight',),
    "copybutton.js": ('class="highlight',),
    "design-tabs.js": ('class="sd-tab-set',),
    "togglebutton.js": ("dropdown", "toggle"),
}
FIRST = ("loader.js", "elements.js")  # other scripts use them
TOOLTIPS = "tooltips.js"  # loads Bootstrap, which the template leaves out
AT_ONCE = "documentation_options.js"  # lines in the head of each page add to it
LAST = 900  # after all extensions have asked for their scripts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    for script in FIRST:
        app.add_js_file(script, priority=400, loading_method="defer")  # others: 500
    app.add_js_file(TOOLTIPS, loading_method="defer")
    app.connect("html-page-context", lighten, priority=LAST)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def lighten(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let the scripts of a page be loaded beside it, those that it needs."""
    body = context.get("body", "")
    context["script_files"][:] = [  # in place: others may still add to it
        deferred(script)
        for script in context["script_files"]
        if needed(str(script.filename or ""), body)
    ]


def needed(address: str, body: str) -> bool:
    """Whether a page has something that a script could do anything with."""
    marks = USED_BY.get(address.rpartition("/")[2])
    return marks is None or any(mark in body for mark in marks)


def deferred(script: Any) -> Any:
    """A script that the browser runs once it has read the page; text stays as it is."""
    own, address = script.attributes, str(script.filename or "")
    if not address or address.endswith(AT_ONCE) or {"async", "defer"} & own.keys():
        return script
    return type(script)(script.filename, priority=script.priority, defer="defer", **own)
