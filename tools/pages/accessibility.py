"""Pages that also work by keyboard, screen reader and on a phone.

Pictures get a box of their own, in which they scroll sideways where the page is too
narrow for them to be legible. Roles that docutils gives to a bibliography are those of
an older standard; they become the ones that browsers know. What folds pages away in the
sidebar has a name. Duplicate ids, and button names that do not match the visible text,
are corrected.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

from tools.pages.page import Page

PICTURE = re.compile(r"(<figure\b[^>]*>\s*)(<img\b[^>]*>)")
# MyST-NB gives all of these buttons the same accessible name, which does not match
# their text.
SUMMARY = '<summary aria-label="Toggle hidden content">'
# sphinx-exercise gives the content of all tasks one id, and that of all solutions.
CONTENT = re.compile(
    r'(<div class="(?:exercise|solution)\b[^>]*\bid="([^"]*)">\s*'
    r'<p class="admonition-title">(?:(?!</p>).)*</p>\s*<section id="[^"]*)(?=">)'
)
SPACE_IN_LINK = re.compile(r'(<p class="admonition-title">[^<]*)(<a [^>]*>) ')
TOGGLE = re.compile(r"(<a [^>]*>(?P<title>[^<]*)</a><details[^>]*><summary)(?=>)")


def mend(app: Sphinx, pages: list[Page]) -> None:
    """Mend what the theme and extensions write."""
    for page in pages:
        page.body = mended(page.body)
        page.before = TOGGLE.sub(r'\1 aria-label="Pages below \g<title>"', page.before)


def mended(body: str) -> str:
    """HTML with boxes around pictures, buttons named as they read, lists as lists."""
    body = PICTURE.sub(r'\1<div class="figure-box">\2</div>', body)
    body = body.replace(SUMMARY, "<summary>")
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    body = SPACE_IN_LINK.sub(r"\1 \2", body)
    return CONTENT.sub(r"\1-\2", body)
