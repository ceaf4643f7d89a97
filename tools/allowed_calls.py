"""Sphinx extension: what a task takes from its exercise.

Below it stands what an answer may use: the grader enforces the same ``forbidden``, so
that the two cannot disagree. A task of the core path says so beside its minutes.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from autograder.exercise import UnknownExercise, find_topic

EFFORT = re.compile(r"^([★☆]+ · \d+ minutes?)")
MARK = re.compile(r"\*(?P<emphasis>[^*]+)\*|`(?P<literal>[^`]+)`")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", say_what_is_allowed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def say_what_is_allowed(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line to the tasks of a page."""
    for kind in (exercise_node, exercise_enumerable_node):
        for task in doctree.findall(kind):
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
