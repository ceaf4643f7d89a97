"""Every task says what may be used, and which calls the grader refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docutils import nodes

from autograder.book import chapter_names
from autograder.exercise import load_topic
from autograder.release.source import source_notebook
from tests.small_books import build_pages

# What exercises rebuild, as the course decided it: all else is a right answer.
LAYERS = {"TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"}
LAYERS |= {"TransformerEncoder", "TransformerDecoder"}
ATTENTION = {"MultiheadAttention", "multi_head_attention_forward"}
ATTENTION |= {"scaled_dot_product_attention"}
REBUILT = {
    **dict.fromkeys(("MultiHeadAttention", "TorchMultiheadAttention"), ATTENTION),
    **dict.fromkeys(("EncoderLayer", "DecoderLayer", "Encoder"), LAYERS),
}


@pytest.mark.parametrize("chapter", chapter_names())
def test_each_task_in_a_notebook_says_what_its_exercise_forbids(chapter):
    cells = source_notebook(chapter).cells
    topic = load_topic(chapter)
    said = {}
    for before, cell in zip(cells, cells[1:], strict=False):
        if "exercise" in cell.metadata.get("tags", []):
            assert before.source.startswith("*May be used:* everything"), cell.source
            said[cell.metadata.nbgrader.grade_id] = before.source
    assert said.keys() == topic.exercises.keys()
    for name, line in said.items():
        named = re.findall("`([^`]+)`", line)
        assert named == list(topic.exercises[name].forbidden)
        assert REBUILT.get(name, set()) <= set(named)
        assert bool(named) == (name in REBUILT)


PAGE = """# A page

````{exercise} A layer
:label: exercise-EncoderLayer

A task.
````

````{exercise} A softmax
:label: exercise-softmax

★★☆ · 10 minutes. A task of the core path.
````

````{exercise} Something else
:label: exercise-nobody_checks_it

★☆☆ · 5 minutes. A question.
````
"""


def test_each_task_on_a_page_says_the_same(tmp_path: Path):
    extensions = ["sphinx_exercise", "tools.exercise_card"]
    app = build_pages(tmp_path, {"index.md": PAGE}, extensions, builder="dummy")
    lines = [
        node.astext()
        for node in app.env.get_doctree("index").findall(nodes.paragraph)
        if "allowed" in node["classes"]
    ]
    assert lines == [
        re.sub("[*`]", "", load_topic(topic).exercises[name].allowed)
        for topic, name in (
            ("transformer", "EncoderLayer"),
            ("simplified_attention", "softmax"),
        )
    ]
    text = app.env.get_doctree("index").astext()
    assert "★★☆ · 10 minutes · core. A task" in text
    assert "★☆☆ · 5 minutes. A question" in text
