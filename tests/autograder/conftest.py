"""One course, one sandbox and one set of right answers for all tests of the grader."""

from __future__ import annotations

import shutil

import nbformat
import pytest

from autograder.course import make_course
from autograder.examine import draw_seeds, examine, expected_answers
from autograder.exercise import load_topic
from autograder.limits import Limits
from autograder.release import source_notebook, student_notebook
from autograder.sandbox import (
    SandboxUnavailable,
    require_bubblewrap,
    stop_sandbox,
)
from benchmarks.classroom import right_answers, submission

TOPIC = "simplified_attention"


@pytest.fixture(scope="session")
def needs_sandbox():
    try:
        require_bubblewrap()
    except SandboxUnavailable as error:
        import os

        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield
    stop_sandbox()


@pytest.fixture(scope="session")
def topic():
    return load_topic(TOPIC)


@pytest.fixture(scope="session")
def master():
    return student_notebook(source_notebook(TOPIC))


@pytest.fixture(scope="session")
def right():
    return right_answers(TOPIC)


@pytest.fixture(scope="session")
def expected(topic):
    return expected_answers(topic, draw_seeds(topic, b""))


@pytest.fixture(scope="session")
def examined(needs_sandbox, topic, master, expected):
    """Examine a submission in the sandbox; the report."""

    def run(data, limits=None, **options):
        limits = limits or Limits(cell_seconds=5, submission_seconds=30)
        return examine(master, data, topic, expected, limits, **options).report

    return run


@pytest.fixture
def solved(master, right):
    """A right submission in which some answers are replaced."""

    def make(**answers):
        return submission(master, {**right, **answers})

    return make


@pytest.fixture(scope="session")
def released_course(tmp_path_factory):
    """A course with one released chapter. Copy it, do not change it."""
    folder = tmp_path_factory.mktemp("released") / "course"
    make_course(folder, [TOPIC])
    return folder


@pytest.fixture
def course(released_course, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(released_course, folder)
    return folder


def scores(report):
    """Points by exercise."""
    return {exercise["name"]: exercise["score"] for exercise in report["exercises"]}


def code_cell(source, **nbgrader):
    """A code cell as a submission may hold it."""
    cell = nbformat.v4.new_code_cell(source)
    if nbgrader:
        cell.metadata["nbgrader"] = nbgrader
    return cell
