"""A search that answers with sections, exercises and terms.

Sphinx's own index knows pages, counts code as if it were prose, and wants every word of
a question. The index that is written here knows sections, the exercises in them and the
terms of the glossary, by their titles and their prose, and in it each word has the
weight that it gives a place: BM25F (Robertson, Zaragoza and Taylor 2004, "Simple BM25
extension to multiple weighted fields"). A page only adds up weights:
``chapters/_static/search_ranking.js`` does, with Sphinx's stems, for the page that
searches and for the dialog that searches as one types.

A term is explained where the book, read in its order, links it to the glossary for the
first time: that section is found by the term as well. Pages for teachers come last.

Nothing reads Sphinx's own index, so the builder of pages writes none.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish
from sphinx_exercise.nodes import exercise_subtitle, is_exercise_node

from toolkit import book
from tools.pages.page import Page

# In the static files. The dialog loads the first two by itself, when it is opened.
INDEX, DIALOG = "search_sections.js", "search_dialog.js"
ON_PAGE = (INDEX, "search_ranking.js", "search_page.js")
# Abbreviations of the field, and the terms that the book spells out; and of what a
# reader sees, the cause that a section is named after.
SHORT = {
    "bpe": "byte pair encoding",
    "ffn": "feed forward",
    "gqa": "grouped query attention",
    "kv": "key value",
    "llm": "language model",
    "mha": "multi head attention",
    "mla": "latent attention",
    "mqa": "multi query attention",
    "nan": "fully masked",
    "rope": "rotary",
    "sqrt": "square root",
    "vit": "vision transformer",
}
# Question words, which say nothing about the topic.
QUESTIONS = frozenset({"do", "does", "how", "should", "what", "when", "which", "why"})
NO_PROSE = (
    *(nodes.literal_block, nodes.doctest_block, nodes.raw, nodes.math),
    *(nodes.math_block, nodes.comment, nodes.image, nodes.title),
    addnodes.glossary,  # each term is a place of its own
)
TEACHERS = "For teachers"  # a part of the table of contents
TITLE, PAGE_TITLE = 4.0, 2.0  # as many times as in prose
SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25
SCALE = 10  # weights are written as whole numbers


class Place(NamedTuple):
    """What search can find, with its stems.

    ``names`` are what else it is found by: for a section, the terms that it explains;
    for an exercise, its function. ``page_title`` says of other places what they are.
    """

    page: str
    anchor: str
    title: str
    page_title: str
    is_section: bool
    names: list[str]
    words: list[str]


def connect(app: Sphinx) -> None:
    """Register what Sphinx has to do meanwhile."""
    app.connect("html-page-context", load_scripts)


def load_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Ask for the index on the page that searches alone, elsewhere for the dialog."""
    for file in ON_PAGE if pagename == "search" else (DIALOG,):
        app.add_js_file(file, loading_method="defer")


def write_index(app: Sphinx, pages: list[Page]) -> None:
    """Write the index of all pages."""
    listed = book.parts(Path(app.srcdir, "_toc.yml"))
    names = [name for part in listed for name in part.pages]
    names += sorted(app.env.found_docs - set(names))  # in the order of reading
    last = [name for part in listed if part.caption == TEACHERS for name in part.pages]
    found = places(app.env, [name for name in names if name in app.env.found_docs])
    index = json.dumps(index_of(list(found), last), separators=(",", ":"))
    file = Path(app.outdir) / "_static" / INDEX
    file.write_text(f"globalThis.searchSections = {index};\n", encoding="utf-8")


def places(env: BuildEnvironment, pages: Sequence[str]) -> Iterator[Place]:
    """The sections, exercises and terms of some pages, in their order."""
    explained: set[str] = set()
    for page in pages:
        doctree = env.get_doctree(page)
        title = env.titles[page].astext()
        for section in doctree.findall(has_title):
            anchor = "" if section.parent is doctree else section["ids"][0]
            terms = [term for term in terms_in(section) if term not in explained]
            explained.update(terms)
            heading = section[0].astext()
            yield place(page, anchor, heading, title, True, terms, prose(section))
        for exercise in doctree.findall(is_exercise_node):
            anchor, kind = exercise["label"], f"Exercise, {title}"
            name = anchor.removeprefix("exercise-")
            titles = [node.astext() for node in exercise.findall(exercise_subtitle)]
            heading = "".join(titles) or name
            names, text = [name.lower()], prose(exercise)
            yield place(page, anchor, heading, kind, False, names, text)
        for term in doctree.findall(is_term):
            anchor, text = term["ids"][0], prose(term.parent[-1])
            yield place(page, anchor, term.astext(), title, False, [], text)


def is_term(node: nodes.Node) -> bool:
    """Whether this is a term of the glossary, which has a list of items of terms."""
    return isinstance(node, nodes.term) and isinstance(
        node.parent.parent.parent, addnodes.glossary
    )


def place(
    page: str,
    anchor: str,
    title: str,
    page_title: str,
    is_section: bool,
    names: list[str],
    text: Iterable[str],
) -> Place:
    """A place, with the stems of its text."""
    found = list(stems(" ".join(text)))
    return Place(page, anchor, title, page_title, is_section, names, found)


def terms_in(section: nodes.Element) -> list[str]:
    """The terms that a section, without those in it, links to the glossary."""
    links = (
        link
        for child in section.children
        if not (has_title(child) or isinstance(child, addnodes.glossary))
        for link in child.findall(addnodes.pending_xref)
    )
    terms = (x["reftarget"] for x in links if x.get("reftype") == "term")
    return list(dict.fromkeys(" ".join(re.findall(r"\w+", t.lower())) for t in terms))


def prose(section: nodes.Element) -> Iterator[str]:
    """The texts of a section, without code, formulas and the sections in it."""
    for child in section.children:
        if isinstance(child, nodes.Text):
            yield child.astext()
        elif isinstance(child, NO_PROSE):
            continue
        elif not has_title(child):
            yield from prose(child)


def has_title(node: nodes.Node) -> bool:
    """Whether a node is a section of a page. Parts of tasks have no title."""
    return isinstance(node, nodes.section) and isinstance(node.next_node(), nodes.title)


def stems(text: str) -> Iterator[str]:
    """The words of a text as Sphinx stems them, and what is written for short."""
    words = [word.lower() for word in ENGLISH.split(text)]
    kept = [w for w in words if ENGLISH.word_filter(w) and w not in QUESTIONS]
    yield from map(stemmed, kept)
    line = f" {' '.join(map(stemmed, words))} "
    for short, phrase in PHRASES.items():
        yield from [short] * line.count(phrase)


ENGLISH = SearchEnglish({})
stemmed = cache(ENGLISH.stem)  # of each word of the book once
PHRASES = {
    stemmed(short): f" {' '.join(map(stemmed, phrase.split()))} "
    for short, phrase in SHORT.items()
}


def index_of(found: list[Place], last: Sequence[str] = ()) -> dict[str, Any]:
    """What pages need: the places, and the weight of each stem for each of them.

    Args:
        found: the places.
        last: pages whose places come after all others.

    Returns:
        ``places``, [page, anchor, title, title of the page, whether it is a section,
        names] each; ``stems``, for each stem the numbers of places and its weights
        there, in turn; ``titles``, for each stem the numbers of places with it in
        their title; ``last``; and ``ignored``, words of a question that say nothing of
        what is asked for.
    """
    words = sum(len(one.words) for one in found)
    mean = max(1, words) / max(1, len(found))
    counts = [frequencies(one, mean) for one in found]
    known = Counter(stem for count in counts for stem in count)
    weights: dict[str, list[int]] = {stem: [] for stem in sorted(known)}
    for number, count in enumerate(counts):
        for stem, frequency in count.items():
            rare = math.log(1 + (len(found) - known[stem] + 0.5) / (known[stem] + 0.5))
            weight = rare * frequency * (SATURATION + 1) / (frequency + SATURATION)
            weights[stem] += [number, max(1, round(SCALE * weight))]
    titles: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        for stem in sorted(set(stems(one.title))):
            titles.setdefault(stem, []).append(number)
    return {
        "places": [one[:-1] for one in found],
        "stems": weights,
        "titles": titles,
        "last": list(last),
        "ignored": sorted(QUESTIONS),
    }


def frequencies(place: Place, mean: float) -> Counter[str]:
    """How often a stem is in a place, for its length, with titles counted more."""
    shorter = 1 / (1 - LENGTH + LENGTH * len(place.words) / mean)
    found: Counter[str] = Counter()
    for stem in place.words:
        found[stem] += shorter
    for text, times in ((place.title, TITLE), (place.page_title, PAGE_TITLE)):
        for stem in stems(text):
            found[stem] += times
    return found
