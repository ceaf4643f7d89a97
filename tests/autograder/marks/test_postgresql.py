"""The gradebook in PostgreSQL, on a real server started by the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.marks.gradebook_errors import GradebookError
from autograder.release.course import make_course
from autograder.sandbox.limits import Limits
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.usefixtures("needs_sandbox")
NOBODY = 65534


def programs():
    """Folder of initdb and postgres."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(p) for p in os.environ["PATH"].split(os.pathsep)]
    needed = ("initdb", "postgres", "pg_isready")
    found = [f for f in folders if all((f / name).exists() for name in needed)]
    if not found:
        if os.environ.get("CI"):
            raise FileNotFoundError(
                "PostgreSQL is not installed: apt install postgresql"
            )
        pytest.skip("PostgreSQL is not installed")
    return found[0]


@pytest.fixture(scope="module")
def server(artefact):
    """Address of an empty database; the server is stopped at the end."""
    binaries = programs()
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    as_nobody = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        os.chown(folder, NOBODY, NOBODY)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    subprocess.run(
        [binaries / "initdb", "-D", folder / "data", "-U", "course", "-A", "trust"],
        check=True,
        capture_output=True,
        cwd="/",
        **as_nobody,
    )
    process = subprocess.Popen(
        [binaries / "postgres", "-D", folder / "data", "-k", str(folder)]
        + ["-c", "listen_addresses="],  # a port might be somebody else's by now
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        **as_nobody,
    )
    try:
        is_ready = [binaries / "pg_isready", "-h", str(folder)]
        while subprocess.run(is_ready, capture_output=True).returncode != 0:
            assert process.poll() is None
            time.sleep(0.1)
        yield f"postgresql+psycopg://course@/postgres?host={folder}", process
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def test_marks_are_written_to_postgresql(grade, server, tmp_path, master, right):
    url, process = server
    course = tmp_path / "course"
    course.mkdir()
    (course / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.db_url = {url!r}\n"
        'c.CourseDirectory.course_id = "on a server"\n'
        'c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}\n'
    )
    make_course(course, [TOPIC])
    assert not (course / "gradebook.db").exists()
    hand_in(
        course,
        TOPIC,
        {
            "right": submission(master, right),
            "blank": submission(master, {}),
            "n" * 129: submission(master, right),  # a server keeps to the declared size
        },
    )
    limits = Limits(cell_seconds=10, submission_seconds=60)
    outcome = grade(TOPIC, course, limits=limits)
    assert len(outcome.graded) == 2
    assert "more than 128 characters" in outcome.refused["n" * 40 + "..."]
    with Gradebook(url, "on a server") as book:
        scores = {s.student.id: s.score for s in book.assignment_submissions(TOPIC)}
    everything = outcome.graded["right"]["max_score"]
    assert scores == {"right": everything, "blank": 0}

    process.terminate()
    process.wait()
    with pytest.raises(GradebookError, match="cannot be opened"):
        grade(TOPIC, course, limits=limits, force=True)
