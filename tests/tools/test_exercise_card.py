"""What the card of an exercise has from the build."""

import re
from pathlib import Path

import pytest
from docutils import nodes

from autograder.book import chapter_names
from autograder.exercise import load_topic
from autograder.release.source import source_notebook
from tests.small_books import build_pages
from tools.exercise_card import additions, shapes_of

STUB = '''def f(a, b, mode):
    """Do it.

    Args:
        a: (..., N) scores,
            (not, a, shape) in a line that goes on.
        b: (N,) or nothing.
        mode: "sum" or "mean".

    Returns:
        %s
    """
    raise NotImplementedError
'''


@pytest.mark.parametrize(
    ("returns", "line"),
    [
        ("(..., N) weights; they sum to one.", "weights (..., N)"),
        ("(N,) the sum of both.", "(N,)"),
        ("(N,) one sum per row.", "(N,)"),
        ("y: (N,) a sum.\n        w: (N, N) more.", "y (N,), w (N, N)"),
    ],
)
def test_the_shapes_are_those_of_the_docstring(returns, line):
    assert shapes_of(STUB % returns) == f"a (..., N), b (N,) → {line}"


def test_without_shapes_nothing_is_said():
    assert shapes_of(STUB % "A number.") == ""
    assert shapes_of("def f():\n    return 1") == ""
    assert shapes_of("class F:\n    pass") == ""


def test_hints_that_were_written_are_in_the_card(monkeypatch):
    exercise = load_topic("simplified_attention").exercises["softmax"]
    monkeypatch.setattr(exercise, "hints", ("First `exp` <b>.", "Then divide."))
    parts = [part.astext() for part in additions("softmax", "def softmax(): pass")]
    (hints,) = parts
    assert "<li>First <code>exp</code> &lt;b&gt;.</li><li>Then divide.</li>" in hints
    monkeypatch.setattr(exercise, "hints", ())
    assert additions("softmax", "def softmax(): pass") == []


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
