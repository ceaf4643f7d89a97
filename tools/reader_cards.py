"""Sphinx extension: what a term means and which paper is cited, beside the link.

A link to the glossary or to the bibliography shows a card while the pointer rests on
it, while it has the focus, and at the first tap. The card of a citation says what the
title of its link says. The definitions of terms are written into one script here, which
``chapters/_static/reader_cards.js`` loads before it shows the first of them.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import glossary
from sphinx.application import Sphinx

from tools.marked_pages import load_where

SCRIPT, TERMS = "reader_cards.js", "glossary_terms.js"  # in the static files
MARKS = ("std-term", "bibtex-citation", "bibliography.html#")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    load_where(app, MARKS, SCRIPT)
    app.connect("build-finished", write_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_terms(app: Sphinx, exception: Exception | None) -> None:
    """Write the terms of all glossaries, by the address that links to them have."""
    if exception or app.builder.format != "html":
        return
    terms = {}
    entries = app.env.get_domain("std").get_objects()
    for page in sorted({page for _, _, kind, page, *_ in entries if kind == "term"}):
        address = app.builder.get_target_uri(page)
        for anchor, card in definitions(app.env.get_doctree(page)).items():
            terms[f"{address}#{anchor}"] = card
    text = json.dumps(terms, separators=(",", ":"))
    file = Path(app.outdir) / "_static" / TERMS
    file.write_text(f"globalThis.glossaryTerms = {text};\n", encoding="utf-8")


def definitions(doctree: nodes.document) -> dict[str, list[str]]:
    """The terms of a page by their ids: [term, definition], as text without markup."""
    found = {}
    for place in doctree.findall(glossary):
        for item in place.findall(nodes.definition_list_item):
            about = " ".join(item.next_node(nodes.definition).astext().split())
            for term in item.findall(nodes.term):
                for anchor in term["ids"]:
                    found[anchor] = [term.astext(), about]
    return found
