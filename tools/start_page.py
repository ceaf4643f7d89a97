"""Sphinx extension: the parts of the start page that are computed.

``{attention-scene}`` is the picture that readers explore. ``{judged-mistake}`` runs a
known mistake through the judge that also judges readers. ``{chapter-map}`` lists the
chapters with what is built in each, from the table of contents and the exercises. All
three are made again whenever a page changes, or a file that they are made of.
"""

from __future__ import annotations

import ast
import html
import inspect
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from autograder.exercise import UnknownExercise, find_topic, load_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge
from autograder.show import as_html
from toolkit import book
from tools.attention_scene import scene_html
from tools.chapter_pages import exercise_minutes, in_hours
from tools.exercise_notebooks import chapter_of
from tools.marked_pages import load_where
from tools.page_course import solved_in_page
from tools.pages.head import opening

MARK = 'class="attention-scene"'
# A change in any of these may change the page.
MADE_OF = (
    *("autograder/**/*.py", "solutions/**/*.py"),
    *("toolkit/book.py", "tools/start_page.py", "tools/attention_scene.py"),
)


class Map(nodes.General, nodes.Element):
    """The place of the map, until the titles of all chapters are known."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("tools.kept_work")
    app.add_node(Map)
    app.add_directive("attention-scene", AttentionScene)
    app.add_directive("judged-mistake", JudgedMistake)
    app.add_directive("chapter-map", ChapterMap)
    app.connect("env-get-outdated", outdated_maps)
    app.connect("doctree-resolved", draw_map)
    load_where(app, MARK, "start_page.css", "attention_scene.js")
    return {"parallel_read_safe": False, "parallel_write_safe": True}


class AttentionScene(SphinxDirective):
    """``{attention-scene}``: a sentence in which a word can be chosen as the query."""

    def run(self) -> list[nodes.Node]:
        """The scene as HTML; paper has none."""
        note_code(self.env)
        return [nodes.raw("", scene_html(), format="html")]


class JudgedMistake(SphinxDirective):
    """``{judged-mistake} EXERCISE NAME``: a known mistake and the report that it gets.

    The code is left out of books without solutions: in the wrong answer to a small
    exercise, most of the right one can be read.
    """

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """The wrong code, and below it the table that a reader would see."""
        note_code(self.env)
        exercise, name = self.arguments
        try:
            code, report = judged(exercise, name)
        except UnknownExercise as error:
            raise self.error(f"judged-mistake: {error}") from error
        shown: list[nodes.Node] = []
        if not self.config.hide_solutions:
            shown.append(nodes.literal_block(code, code, language="python"))
        table = f'<div class="judged-mistake">{report}</div>'
        return [*shown, nodes.raw("", table, format="html")]


class ChapterMap(SphinxDirective):
    """``{chapter-map}``: all pages of the book, with what readers build in each."""

    def run(self) -> list[nodes.Node]:
        """Its place."""
        note_code(self.env)
        if not hasattr(self.env, "pages_with_a_map"):
            self.env.pages_with_a_map = set()
        self.env.pages_with_a_map.add(self.env.docname)
        return [Map()]


def note_code(env: BuildEnvironment) -> None:
    """A page with one of these directives is out of date when their code changes."""
    root = Path(__file__).resolve().parents[1]
    for file in sorted(file for kind in MADE_OF for file in root.glob(kind)):
        env.note_dependency(str(file))
    env.note_dependency(str(book.CONTENTS))


def judged(exercise: str, name: str) -> tuple[str, str]:
    """The code of a known mistake, under the exercise's name, and its report as HTML.

    Raises:
        UnknownExercise: there is no such exercise, or no such mistake of it.
    """
    topic = find_topic(exercise)
    asked = topic.exercises[exercise]
    expected = expect(topic, asked, public_seeds(asked))
    pairs = zip(topic.mistakes(exercise), expected.mistakes, strict=True)
    for known, answered in pairs:
        if known.name == name:
            report = judge(asked, answered.answers, expected)
            return as_answer(known.implementation, exercise), as_html(report)
    raise UnknownExercise(f"{name} is not a known mistake of {exercise}")


def as_answer(implementation: Any, exercise: str) -> str:
    """The source of a mistake as a reader would have written it: without its hint."""
    source = textwrap.dedent(inspect.getsource(implementation))
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    function.name, function.decorator_list = exercise, []
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    return ast.unparse(function)


def outdated_maps(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """Pages with a map are read again when any page comes, goes or changes."""
    if not (added or changed or removed):
        return []
    return sorted(getattr(env, "pages_with_a_map", set()) & env.found_docs)


def draw_map(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the map in its place."""
    for place in list(doctree.findall(Map)):
        place.replace_self(nodes.raw("", map_html(app, docname), format="html"))


def map_html(app: Sphinx, docname: str) -> str:
    """The parts of the book: numbered chapters as cards, other pages as links.

    Pages below another one, as those of a guide, are found there.
    """
    listed = book.parts(Path(app.srcdir, "_toc.yml"))
    root, listings = app.config.root_doc, app.env.toctree_includes.items()
    below = {page for above, its in listings if above != root for page in its}
    cards, links = [], []
    for part in listed:
        pages = [p for p in part.pages if p in app.env.titles and p not in below]
        if part.caption and any(_number(app, page) for page in pages):
            items = "".join(_card(app, docname, page) for page in pages)
            cards.append(
                f'<h3 class="map-part">{html.escape(part.caption)}</h3>'
                f'<ol class="map-chapters">{items}</ol>'
            )
        elif part.caption:
            items = "".join(f"<li>{_link(app, docname, page)}</li>" for page in pages)
            links.append(
                f"<div><p>{html.escape(part.caption)}</p><ul>{items}</ul></div>"
            )
    others = f'<div class="map-others">{"".join(links)}</div>' if links else ""
    return f'<div class="chapter-map">{"".join(cards)}{others}</div>'


def _number(app: Sphinx, page: str) -> str:
    """The number of a chapter, empty for pages without one."""
    return ".".join(map(str, app.env.toc_secnumbers.get(page, {}).get("", ())))


def _link(app: Sphinx, docname: str, page: str) -> str:
    address = html.escape(app.builder.get_relative_uri(docname, page))
    title = html.escape(app.env.titles[page].astext())
    return f'<a class="reference internal" href="{address}">{title}</a>'


def _card(app: Sphinx, docname: str, page: str) -> str:
    """A chapter: its number and title, what it is about, and what readers build."""
    topic = chapter_of(page)
    about, builds = opening(app.env.get_doctree(page)), ""
    if topic:
        about = _about(topic)
        names = list(load_topic(topic).exercises)
        minutes = exercise_minutes(_source(app, page))
        count = f"{len(names)} exercise{'s' * (len(names) != 1)}"
        core = {e.name for e in load_topic(topic).exercises.values() if e.core}
        code = " ".join(
            f"<code{' class=core' if name in core else ''}>{html.escape(name)}</code>"
            for name in names
        )
        here = len(solved_in_page(topic))
        where = f"{here} of them in the page" if here else "in a notebook"
        if here == len(names):
            where = "all in the page"
        builds = (
            f'<p class="map-builds">You build {code}</p>'
            f'<p class="map-time">{count}, {where}, {in_hours(minutes)}</p>'
        )
    return (
        f'<li><span class="map-number">{_number(app, page)}</span>'
        f'<p class="map-title">{_link(app, docname, page)}</p>'
        f"<p>{html.escape(about)}</p>{builds}</li>"
    )


def _source(app: Sphinx, page: str) -> str:
    return Path(app.env.doc2path(page)).read_text(encoding="utf-8")


def _about(topic: str) -> str:
    """What a chapter builds, as the module of its references says it after its name."""
    module = inspect.getmodule(load_topic(topic).reference(_first(topic)))
    line = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    name, _, about = line.partition(": ")
    return about[:1].upper() + about[1:] if about else name


def _first(topic: str) -> str:
    return next(iter(load_topic(topic).exercises))
