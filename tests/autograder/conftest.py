"""One course, one sandbox and one set of right answers for all tests of the grader.

What only runs on Linux is imported by the fixtures that need it, so that the tests of
the student's side also run elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import partial

import nbformat
import pytest

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.expected import expect_all
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from classroom.submissions import right_answers, submission

TOPIC = "simplified_attention"


@pytest.fixture(scope="session")
def needs_sandbox():
    from autograder.sandbox.bubblewrap import SandboxUnavailable, require_bubblewrap
    from autograder.sandbox.connection import fork_servers

    try:
        require_bubblewrap()
    except SandboxUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield
    fork_servers().close()


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
    return expect_all(topic)


@pytest.fixture(scope="session")
def examined(needs_sandbox, topic, master, expected):
    """Examine a submission in the sandbox; the report."""
    from autograder.grading.examine import examine
    from autograder.sandbox.connection import fork_servers
    from autograder.sandbox.limits import Limits
    from autograder.submissions.cells import as_handed_in

    def run(data, limits=None):
        limits = limits or Limits(cell_seconds=5, submission_seconds=30)
        handed_in, servers = as_handed_in(master, data, topic.exercises), fork_servers()
        go = partial(examine, handed_in, topic, expected, limits, servers=servers)
        return patiently(go).report

    return run


@pytest.fixture(scope="session")
def workers(needs_sandbox):
    """Workers that are reused across tests.

    Starting them, and the sandbox that they share, takes longer than most classes.
    """
    from autograder.grading.workers import Pool

    with Pool() as pool:
        yield pool


@pytest.fixture(scope="session")
def grade(workers):
    """Grade a chapter of a course, as ``grading.grade`` does, with these workers."""
    from autograder.grading import grade as grading

    return partial(grading.grade, pool=workers)


def patiently(examine):
    """Examine again what the machine was too busy for, as a grader does."""
    for _ in range(9):
        try:
            return examine()
        except GraderFault as fault:
            if "too busy" not in str(fault):
                raise
    return examine()


class Staying:
    """A pool whose workers survive the ``with`` block that uses it."""

    def __init__(self, pool):
        self._pool = pool

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def __getattr__(self, name):
        return getattr(self._pool, name)


@pytest.fixture
def commands_share_workers(monkeypatch, workers):
    """Let the command ``grade`` use the workers that stay, and start none."""
    monkeypatch.setattr(
        "autograder.grading.workers.Pool", lambda jobs: Staying(workers)
    )


@pytest.fixture
def solved(master, right):
    """A right submission in which some answers are replaced.

    Then no other answer has a right one of its own, under its name.
    """

    def make(**answers):
        names = "|".join(answers)
        others = {
            name: re.sub(rf"\b({names})\b", r"own_\1", text) if names else text
            for name, text in right.items()
        }
        return submission(master, {**others, **answers})

    return make


@pytest.fixture(scope="session")
def released_course(tmp_path_factory):
    """A course with one released chapter. Copy it, do not change it."""
    from autograder.release.course import make_course

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
