"""Sphinx extension: what the card of an exercise has from the build.

Below a task stands what an answer may use: the grader enforces the same ``forbidden``,
so that the two cannot disagree. A task of the core path says so beside its minutes.
Shapes and hints are added where the page can run it (``run_in_page.py``);
``chapters/_static/in_page/exercise.js`` makes the card of it. Where no script runs, the
task, the stub and its solution stand as they do on paper.

With ``hide_solutions: true``, sphinx-exercise leaves out the boxes of solutions. Pages
print references at other places too, a playground beside the JavaScript that repeats
it. There, a sentence takes the place of what comes from a file in ``solutions/``. The
sources of the pages are not copied into such a book either.
"""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from autograder.exercise import UnknownExercise, find_topic
from autograder.show import with_code

# A line of a docstring that gives a shape: "scores: (..., N) any real numbers".
ARGUMENT = re.compile(r"^(\w+): (\([^()]*\))")
RESULT = re.compile(r"^(?:(\w+): )?(\([^()]*\))(?: (?!the\b|an?\b|one\b)(\w+))?")
TASKS = (exercise_node, exercise_enumerable_node)
EFFORT = re.compile(r"^([★☆]+ · \d+ minutes?)")
MARK = re.compile(r"\*(?P<emphasis>[^*]+)\*|`(?P<literal>[^`]+)`")
INSTEAD = "The solutions are not part of this edition of the book."


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("sphinx_exercise")  # has the option hide_solutions
    app.connect("config-inited", keep_sources)
    app.connect("doctree-read", say_what_is_allowed)
    app.connect("doctree-read", leave_out_solutions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def keep_sources(app: Sphinx, config: Config) -> None:
    """Copy no sources of pages: what is said about solutions is in them."""
    if config.hide_solutions:
        config.html_copy_source = False


def leave_out_solutions(app: Sphinx, doctree: nodes.document) -> None:
    """Put a sentence in the place of code that a page takes from ``solutions/``."""
    if not app.config.hide_solutions:
        return
    folder = Path(app.srcdir, "solutions").resolve()
    for block in list(doctree.findall(nodes.literal_block)):
        file = block.get("source")
        if file and folder in Path(app.srcdir, file).resolve().parents:
            block.replace_self(nodes.paragraph("", INSTEAD))


def say_what_is_allowed(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line to the tasks of a page."""
    for task in doctree.findall(lambda node: isinstance(node, TASKS)):
        name = task.get("label", "").removeprefix("exercise-")
        try:
            exercise = find_topic(name).exercises[name]
        except UnknownExercise:  # a question that nobody checks
            continue
        content = next(task.findall(nodes.section), task)
        content += paragraph(exercise.allowed)
        if exercise.core:
            mark_core(content)


def mark_core(content: nodes.Element) -> None:
    """Say beside the minutes of a task that it is on the core path."""
    for text in content.findall(nodes.Text):
        if EFFORT.match(text):
            text.parent.replace(text, nodes.Text(EFFORT.sub(r"\1 · core", text)))
            return


def paragraph(markdown: str) -> nodes.paragraph:
    """One line of text, emphasis and code as a paragraph."""
    line, end = nodes.paragraph(classes=["allowed"]), 0
    for match in MARK.finditer(markdown):
        line += nodes.Text(markdown[end : match.start()])
        text = match[match.lastgroup]
        node = nodes.emphasis if match.lastgroup == "emphasis" else nodes.literal
        line += node(text, text)
        end = match.end()
    line += nodes.Text(markdown[end:])
    return line


def task_above(cell: nodes.Node) -> list[nodes.Node]:
    """The task that stands directly above a stub; nothing if something else does."""
    place = cell.parent.index(cell)
    above = cell.parent[place - 1 : place] if place else []
    return [node for node in above if isinstance(node, TASKS)]


def additions(name: str, stub: str) -> list[nodes.Node]:
    """The parts of a card that are made from an exercise and its stub."""
    shapes = shapes_of(stub)
    parts = []
    if shapes:
        parts.append(
            f'<p class="in-page-shapes noprint"><code>{html.escape(shapes)}</code></p>'
        )
    try:
        hints = find_topic(name).exercises[name].hints
    except UnknownExercise:
        hints = ()
    if hints:
        items = "".join(f"<li>{with_code(hint)}</li>" for hint in hints)
        parts.append(f'<ol class="in-page-hints noprint" hidden>{items}</ol>')
    return [nodes.raw("", part, format="html") for part in parts]


def shapes_of(stub: str) -> str:
    """The shapes that a function takes and gives, in a line; empty if none is known.

    They are those of its docstring: ``scores (..., N) → weights (..., N)``.
    """
    function = ast.parse(stub).body[0]
    if not isinstance(function, ast.FunctionDef):
        return ""
    parts = re.split(r"^(\w+):$", ast.get_docstring(function) or "", flags=re.M)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    taken = [ARGUMENT.match(line) for line in _lines(said.get("Args", ""))]
    given = [RESULT.match(line) for line in _lines(said.get("Returns", ""))]
    left = ", ".join(f"{one[1]} {one[2]}" for one in taken if one)
    named = [one for one in given if one and one[1]] or given[:1]
    right = ", ".join(
        f"{one[1] or one[3] or ''} {one[2]}".strip() for one in named if one
    )
    return f"{left} → {right}" if left and right else ""


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]
