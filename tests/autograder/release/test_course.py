"""A course is made in one piece, or its making can be called again."""

from __future__ import annotations

import json
import resource

import pytest

from autograder.__main__ import main
from tests.autograder.conftest import TOPIC

NOTEBOOK, KEY = f"{TOPIC}/{TOPIC}.ipynb", f"{TOPIC}/{TOPIC}.key"


def files_of(course):
    """The content of every file of a course, but for the gradebook."""
    return {
        str(path.relative_to(course)): path.read_bytes()
        for path in course.rglob("*")
        if path.is_file() and path.suffix != ".db"
    }


@pytest.mark.usefixtures("broken_machine")
@pytest.mark.parametrize("most", [100, 8192, 65536])
def test_what_a_full_disk_cut_off_is_made_whole_by_the_next_call(
    released_course, tmp_path, most, capsys
):
    """The limits are those of a file: settings, notebook and key are of such sizes."""
    course = tmp_path / "course"
    command = ["course", str(course), TOPIC]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        assert main(command) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert capsys.readouterr().err.count("\n") == 1
    assert main(command) == 0
    made, whole = files_of(course), files_of(released_course)
    assert made.keys() == whole.keys()
    for name in (f"source/{KEY}", f"release/{KEY}", "nbgrader_config.py"):
        assert made[name] == whole[name]
    assert json.loads(made[f"source/{NOTEBOOK}"])["cells"]


@pytest.mark.parametrize("text", ['{"cells": [', '{"cells": 3}'])
def test_a_source_that_is_no_notebook_is_one_line(course, text, capsys):
    path = course / "source" / NOTEBOOK
    path.write_text(text)
    assert main(["course", str(course), TOPIC]) == 2
    said = capsys.readouterr().err
    assert f"{path} is no notebook" in said
    assert said.count("\n") == 1


def test_other_names_for_the_folders_of_a_course_are_refused_everywhere(course, capsys):
    settings = course / "nbgrader_config.py"
    before, at = settings.read_text(), ["--course", str(course)]
    settings.write_text(f"{before}\nc.CourseDirectory.source_directory = 'source'\n")
    assert main(["changes", TOPIC, *at]) == 0  # the usual name may be written down
    settings.write_text(f"{before}\nc.CourseDirectory.feedback_directory = 'mappe'\n")
    capsys.readouterr()
    for command in (
        ["course", str(course), TOPIC],
        ["grade", TOPIC, *at],
        ["changes", TOPIC, *at],
    ):
        assert main(command) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert "c.CourseDirectory.feedback_directory = 'mappe'" in line
        assert "expected 'feedback'" in line
