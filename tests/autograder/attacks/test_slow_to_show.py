"""What is slow to show must not hold up those whose feedback is made after it.

Each shape took nbgrader's own page the square of its length, or more, somewhere: in the
colours of code, in markdown, in the links that are rewritten, in terminal colours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbconvert.filters import ansi2html, markdown2html, strip_files_prefix
from nbconvert.filters.highlight import Highlight2HTML
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.grading.kept import add_output, kept_notebook
from autograder.submissions.cells import as_handed_in
from autograder.submissions.completed import completed
from classroom.submissions import hand_in, submission
from tests.autograder.attacks.conftest import LIMITS
from tests.autograder.conftest import TOPIC, code_cell

SHAPES = {
    "blanks": " ",
    "ideographic spaces": "\u3000",
    "blank lines": " \n",
    "ideographic lines": "\u3000\n",
    "empty lines": "\n",
    "tabs": "\t",
    "word": "a",
    "dots": "a.",
    "numbers": "1.",
    "stars": "*",
    "underscores": "_",
    "question marks": "?",
    "backticks": "`",
    "brackets": "[",
    "links": "[](files/",
    "pictures": "![",
    "quotes": "> ",
    "items": "- ",
    "tables": "|a",
    "tags": "<a ",
    "comments": "<!--",
    "dollars": "$$",
    "environments": "\\begin{a}",
    "backslashes": "\\",
    "escapes": "\x1b[1m",
    "half an escape": "\x1b[1;",
    "parentheses": "(",
    "strings": "'''",
    "formats": "f'{",
    "magics": "%%html\n<",
    "more magics": "%%ruby <<A\n",
    "shell": "!$((",
    "ampersands": "&#",
}


@pytest.fixture(scope="module")
def shown(master):
    """What nbgrader's templates make of what is kept of a hostile submission."""
    colour = Highlight2HTML(pygments_lexer="ipython3")
    short = nbformat.from_dict({**master, "cells": master.cells[:1]})

    def show(text):
        data = submission(short, {})
        data["cells"] += [
            code_cell(text),
            code_cell(f"x = 1{text}\ny"),
            new_markdown_cell(text),
            new_markdown_cell(f"x{text}\ny"),
        ]
        handed_in = as_handed_in(short, data, ["softmax"])
        cells = handed_in.cells
        runs = [NotebookNode(outputs=[]) for _ in cells]
        for run, cell in zip(runs, cells, strict=True):
            if cell.is_own:
                add_output(run.outputs, "stream", {"name": "stdout", "text": text})
        page = []
        for cell in kept_notebook(short, completed(handed_in, runs), []).cells:
            if cell.cell_type == "code":
                page.append(colour(cell.source, metadata=cell.metadata))
                page += [ansi2html(output.text) for output in cell.outputs]
            else:
                page.append(strip_files_prefix(markdown2html(cell.source)))
        return "".join(page)

    show("warm up")
    return show


# Pygments' regular expressions take the square of these.
@pytest.mark.parametrize(
    "shape",
    [
        *("blank lines", "ideographic lines", "empty lines"),
        *("dots", "stars", "numbers"),
    ],
)
def test_what_is_coloured_in_the_square_of_its_length_has_no_colours(shown, shape):
    assert "<span class" not in shown((SHAPES[shape] * 6000)[:6000])


def test_usual_code_keeps_its_colours(shown):
    page = shown("def f(x):\n    return x + 1  # more")
    assert '<span class="k">def</span>' in page


def test_no_character_of_plain_code_is_lost(shown):
    source = "values = [" + ", ".join(map(str, range(500))) + "]"
    assert source in shown(source)


def test_many_small_outputs_are_put_together_up_to_a_length_only():
    outputs = []
    for _ in range(40_000):
        add_output(outputs, "stream", {"name": "stdout", "text": "x" * 10})
    assert len(outputs[0].text) < 21_000


def test_feedback_of_a_class_is_made_whatever_one_of_them_wrote(
    grade, released_course, master, right, tmp_path
):
    """All shapes at once, as long as may be; the next in the class is not held up."""
    course = tmp_path / "course"
    shutil.copytree(released_course, course)
    hostile = submission(master, {**right, "softmax": right["softmax"] + "\n" * 60_000})
    for piece in SHAPES.values():
        text = (piece * 14_000)[:14_000]
        hostile["cells"] += [code_cell(f"1{text}"), new_markdown_cell(f"x{text}")]
    spaces = submission(master, right)
    spaces["cells"] += [code_cell("x = 1" + "\u3000" * 90_000) for _ in range(5)]
    spaces["cells"] += [new_markdown_cell("\u3000" * 90_000) for _ in range(5)]
    students = {"a hostile": hostile, "a spaces": spaces}
    students |= {"b": submission(master, right), "c": submission(master, {})}
    hand_in(course, TOPIC, students)
    outcome = grade(TOPIC, course, limits=LIMITS)
    assert outcome.graded["a hostile"]["score"] > 0
    assert outcome.graded["a spaces"]["score"] == outcome.graded["b"]["score"]
    assert outcome.graded["b"]["score"] == outcome.graded["b"]["max_score"]
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_feedback", TOPIC],
        cwd=course,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for student in students:
        page = course / "feedback" / student / TOPIC / f"{TOPIC}.html"
        assert "points" in page.read_text(encoding="utf-8")
        kept = course / "autograded" / student / TOPIC / f"{TOPIC}.ipynb"
        nbformat.validate(json.loads(kept.read_text(encoding="utf-8")))
