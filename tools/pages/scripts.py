"""Scripts that block no page, and only on pages that use them.

The theme and other extensions ask for their scripts in the head of every page, where
the browser would stop reading the page until each is there. All of them wait for the
page by themselves, so they may as well be loaded beside it, in the order in which they
were, since some need others.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

from tools.pages.page import Page

SCRIPT = re.compile(r'[ \t]*<script ([^>]*\bsrc="([^"?]*)[^>]*)></script>\n?')
# What some scripts do something with, as it is written in the body of a page.
USED_BY = {
    "clipboard.min.js": ('class="highlight',),
    "copybutton.js": ('class="highlight',),
    "design-tabs.js": ('class="sd-tab-set',),
    "togglebutton.js": ("dropdown", "toggle"),
}
# Lines in the head of each page add to the first; those that search need the second.
AT_ONCE = ("documentation_options.js", "language_data.js")


def defer(app: Sphinx, pages: list[Page]) -> None:
    """Let the scripts of pages be loaded beside them, those that they need."""
    for page in pages:
        for part in ("before", "after"):
            setattr(page, part, deferred(getattr(page, part), page.body))


def deferred(frame: str, body: str) -> str:
    """The theme's part of a page, whose scripts run once the page has been read."""

    def replaced(found: re.Match) -> str:
        name = found[2].rpartition("/")[2]
        if not any(mark in body for mark in USED_BY.get(name, ("",))):
            return ""
        if name in AT_ONCE or re.search(r"\b(async|defer)\b", found[1]):
            return found[0]
        return found[0].replace("<script ", '<script defer="defer" ', 1)

    return SCRIPT.sub(replaced, frame)
