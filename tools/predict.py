"""Sphinx extension: a question to answer before the cell that answers it is read.

    ```{predict} 66.7
    :line: d = 64
    :near: 5
    What is the variance of the dot products for `d=64`?
    ```

The argument is the answer: a number, which is right within ``near``, or one of the
``choices`` (with ``|`` between them). The first line of the next output that contains
``line`` shows it, and the build complains when it does not. With
``chapters/_static/predict.js`` there is a field, the output waits for the answer and is
compared with it. Without a script, on paper and in notebooks it is a paragraph.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.marked_pages import load_where

MARK = 'class="predict"'
LOG = logging.getLogger(__name__)


class Prediction(nodes.General, nodes.Element):
    """A question; ``answer``, ``line``, ``near`` and ``choices`` are attributes."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("tools.kept_work")
    app.add_node(Prediction, html=(_open, _close), latex=(_nothing, _nothing))
    app.add_directive("predict", Predict)
    app.connect("doctree-read", compare_with_outputs)
    load_where(app, MARK, "predict.css", "predict.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Predict(SphinxDirective):
    """``{predict}``: the answer is its argument, the question its content."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "line": directives.unchanged_required,
        "near": float,
        "choices": lambda text: [choice.strip() for choice in text.split("|")],
    }

    def run(self) -> list[nodes.Node]:
        """The question, which begins with *Predict*."""
        answer, choices = self.arguments[0], self.options.get("choices", [])
        if "line" not in self.options:
            raise self.error("predict: `:line:` says which line has the answer")
        if answer not in choices if choices else not _is_number(answer):
            raise self.error(
                f"predict: {answer!r} is no number and none of its choices: {choices}"
            )
        given = {"near": 0.0, "choices": choices} | self.options
        found = Prediction(answer=answer, **given)
        self.state.nested_parse(self.content, self.content_offset, found)
        found[0].insert(0, nodes.strong("", "Predict."))
        found[0].insert(1, nodes.Text(" "))
        self.set_source_info(found)
        return [found]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def compare_with_outputs(app: Sphinx, doctree: nodes.document) -> None:
    """Complain about answers that the next output does not give."""
    parts = list(doctree.findall())
    for place in doctree.findall(Prediction):
        below = parts[parts.index(place) :]
        output = next(filter(_is_output, below), nodes.container())
        lines = [" ".join(line.split()) for line in output.astext().splitlines()]
        line = next((line for line in lines if place["line"] in line), None)
        if line is None:
            LOG.warning(
                "predict: the next output has no line with %r: %s",
                *(place["line"], lines),
                location=place,
            )
        elif not place["choices"] and place["answer"] not in re.findall(
            r"-?\d+(?:\.\d+)?", line
        ):
            LOG.warning(
                "predict: the answer is %s, and the output has the line %r",
                *(place["answer"], line),
                location=place,
            )


def _is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell_output" in node["classes"]


def _open(writer: Any, node: Prediction) -> None:
    marks = {name: node[name] for name in ("answer", "line", "near")}
    marks["choices"] = "|".join(node["choices"])
    texts = (f'data-{name}="{html.escape(str(mark))}"' for name, mark in marks.items())
    writer.body.append(f"<div {MARK} {' '.join(texts)}>\n")


def _close(writer: Any, node: Prediction) -> None:
    writer.body.append("</div>\n")


def _nothing(writer: Any, node: nodes.Node) -> None:
    """LaTeX shows what is inside and adds nothing."""
