"""The notebook that is kept is the student's own, with all that nbgrader looks for."""

from __future__ import annotations

import base64
import copy
import io
import zlib

import nbformat
import pytest
from matplotlib import image
from nbformat.v4 import new_markdown_cell

from autograder.grading.kept import kept_notebook
from autograder.submissions.cells import as_handed_in
from autograder.submissions.completed import completed
from classroom.submissions import submission
from tests.autograder.conftest import code_cell

ESSAY = "Why is it divided by the root?"


@pytest.fixture(scope="module")
def asking(master):
    """A released notebook with a question and a task that a person marks."""
    notebook = copy.deepcopy(master)
    manual = {"schema_version": 3, "locked": False, "points": 3}
    for name, kinds in (("why", {"solution": True}), ("plot", {"task": True})):
        entry = {"grade_id": name, "grade": False, "solution": False, "task": False}
        entry |= manual | kinds | ({"grade": True} if name == "why" else {})
        text = ESSAY if name == "why" else "Draw it below."
        notebook.cells.append(new_markdown_cell(text, metadata={"nbgrader": entry}))
    return notebook


@pytest.fixture
def keep(asking, right):
    def kept(data):
        handed_in = as_handed_in(asking, data, right)
        runs = [[] for _ in handed_in.cells]
        notebook = kept_notebook(asking, completed(handed_in, runs), [])
        nbformat.validate(notebook)
        return notebook

    return kept


def graded(notebook):
    entries = [c.metadata.nbgrader for c in notebook.cells if "nbgrader" in c.metadata]
    return {entry.grade_id: entry for entry in entries}


def texts(notebook):
    return [cell.source for cell in notebook.cells]


def strip(data):
    for cell in data["cells"]:
        cell["metadata"] = {}


def test_what_is_missing_stands_where_it_was(asking, keep):
    data = submission(asking, {})
    names = list(graded(asking))
    data["cells"] = [
        cell
        for cell in data["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") not in names[3:7]
    ]
    kept = graded(keep(data))
    assert (list(kept), kept) == (names, graded(asking))


def test_an_answer_in_another_cell_takes_the_place_of_the_stub(asking, keep):
    mine = "def softmax(x):\n    return 1"
    data = submission(asking, {})
    data["cells"].insert(0, code_cell(mine))
    notebook = keep(data)
    found = {c.metadata.nbgrader.grade_id: c for c in notebook.cells if c.metadata}
    assert found["softmax"].source == mine


@pytest.mark.parametrize("change", [dict, strip])
def test_an_answer_that_has_others_beside_it_takes_no_place_of_theirs(
    asking, keep, right, change
):
    data = submission(asking, right)
    change(data)
    notebook = keep(data)
    found = {c.metadata.nbgrader.grade_id: c for c in notebook.cells if c.metadata}
    for name, text in right.items():
        assert found[name].source == text


def test_essays_and_what_stands_below_are_kept_word_for_word(asking, keep):
    data = submission(asking, {})
    data["cells"][-2]["source"] = "<script>because</script>"
    data["cells"].insert(-1, new_markdown_cell("and *more*"))
    notebook = keep(data)
    assert "    <script>because</script>" in texts(notebook)
    assert "    and *more*" in texts(notebook)


def png(width, height):
    file = io.BytesIO()
    image.imsave(file, [[[0.5, 0.5, 0.5]] * width] * height, format="png")
    return base64.b64encode(file.getvalue()).decode()


def test_a_picture_in_an_essay_is_kept_or_it_is_said_that_it_is_not(asking, keep):
    data = submission(asking, {})
    bomb = zlib.compress(b"x" * 1000)
    data["cells"][-2]["attachments"] = {
        "../a.png": {"image/png": png(4, 3)},
        "b.jpg": {"image/jpeg": base64.b64encode(bomb).decode()},
        "c.png": {"image/png": "no picture"},
    }
    data["cells"][-2]["source"] = "![](attachment:../a.png)"
    notebook = keep(data)
    (essay,) = [cell for cell in notebook.cells if "attachments" in cell]
    assert essay.metadata.nbgrader.grade_id == "why"
    assert essay.attachments == {"picture-1.png": {"image/png": png(4, 3)}}
    assert essay.source.startswith("    ![](attachment:../a.png)\n\n![picture-1.png]")
    assert essay.source.count("is not shown") == 2
