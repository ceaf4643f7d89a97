"""Questions that come or go after grading, which a gradebook does not take."""

from __future__ import annotations

import nbformat

from autograder.__main__ import main
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import nbgrader
from tests.autograder.made_up import record, report_on


def test_a_question_that_goes_or_comes_after_grading_gets_a_way_on(course, capsys):
    record(course, TOPIC, [report_on("one", TOPIC)])
    path = course / "source" / TOPIC / f"{TOPIC}.ipynb"
    release = course / "release" / TOPIC / f"{TOPIC}.ipynb"
    source, before = path.read_text(), release.read_bytes()
    notebook = nbformat.reads(source, as_version=4)
    notebook.cells = [c for c in notebook.cells if "nbgrader" not in c.metadata]
    nbformat.write(notebook, path)
    assert main(["course", str(course), TOPIC]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert len(line) < 300 and "taken out since it was graded. Put them back" in line
    notebook = nbformat.reads(source, as_version=4)
    question = nbformat.v4.new_markdown_cell("Why?")
    question.metadata["nbgrader"] = {
        **{"grade": True, "solution": True, "locked": False, "task": False},
        **{"points": 2, "grade_id": "why", "schema_version": 3},
    }
    notebook.cells.append(question)
    nbformat.write(notebook, path)
    assert main(["course", str(course), TOPIC]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"questions were added to source/{TOPIC}" in line
    assert f"nbgrader db assignment remove {TOPIC} --force" in line
    assert release.read_bytes() == before
    # The way on is one.
    nbgrader(course, "db", "assignment", "remove", TOPIC, "--force")
    assert main(["course", str(course), TOPIC]) == 0
    assert '"grade_id": "why"' in release.read_text()
