"""What the card of an exercise has from the build: shapes, a short stub, hints.

``chapters/_static/in_page/exercise.js`` makes the card of it. Where no script runs, the
task, the stub and its solution stand as they do on paper.
"""

from __future__ import annotations

import ast
import html
import re

from docutils import nodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from autograder.exercise import UnknownExercise, find_topic
from autograder.show import with_code

# A line of a docstring that gives a shape: "scores: (..., N) any real numbers".
ARGUMENT = re.compile(r"^(\w+): (\([^()]*\))")
RESULT = re.compile(r"^(?:(\w+): )?(\([^()]*\))(?: (?!the\b|an?\b|one\b)(\w+))?")


def task_above(cell: nodes.Node) -> list[nodes.Node]:
    """The task that stands directly above a stub; nothing if something else does."""
    place = cell.parent.index(cell)
    above = cell.parent[place - 1 : place] if place else []
    kinds = (exercise_node, exercise_enumerable_node)
    return [node for node in above if isinstance(node, kinds)]


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
