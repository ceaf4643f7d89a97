"""What nbgrader's own autograde records when the answers could not be judged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.exercise import load_topic
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import marks

pytestmark = pytest.mark.usefixtures("artefact")  # stock nbgrader's own autograde

EVERYTHING = sum(e.points for e in load_topic(TOPIC).exercises.values())
# What the kernels of a test run first.
NO_SOLUTIONS = "import sys; sys.modules['solutions'] = None"
NO_CHECK = "import sys; sys.modules['autograder'] = None"
# As if the reference had run out of memory, in the kernel of one student alone.
NO_MEMORY = """
import autograder.check
from autograder.errors import GraderFault
def cannot_run(*names):
    raise GraderFault("the course's own softmax could not be run here: MemoryError")
autograder.check.expected_here = cannot_run
"""


def autograde(course, *words, first=""):
    """Call nbgrader's command; its status and what it logs."""
    startup = course / "ipython" / "profile_default" / "startup" / "first.py"
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text(first)
    scripts = Path(sys.executable).parent
    environment = {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "IPYTHONDIR": str(course / "ipython"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "autograde", TOPIC, *words],
        cwd=course,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stderr


def refusals(log):
    return [line for line in log.splitlines() if "ERROR] not recorded: " in line]


def test_no_mark_is_recorded_where_nothing_was_judged(course, master, right):
    hand_in(course, TOPIC, {"student01": submission(master, right)})
    key = course / "source" / TOPIC / f"{TOPIC}.key"
    key.unlink()
    status, log = autograde(course, first=NO_SOLUTIONS)
    assert status == 1
    (line,) = refusals(log)
    assert f"student01: {TOPIC}, check-" in line and f"{TOPIC}.key" in line
    assert marks(course) == {}
    assert not (course / "autograded" / "student01" / TOPIC).exists()

    status, log = autograde(course)
    assert (status, refusals(log)) == (0, [])
    assert marks(course) == {"student01": EVERYTHING}

    status, log = autograde(course, "--force", first=NO_CHECK)
    assert status == 1
    (line,) = refusals(log)
    assert "`check` is not there" in line
    assert marks(course) == {"student01": EVERYTHING}


def test_those_who_were_judged_have_the_marks_that_we_give(
    course, master, right, grade
):
    mistake = load_topic(TOPIC).mistakes("softmax")[0]
    wrong = {**right, "softmax": cell_source(mistake, "softmax")}
    fails = submission(master, right)
    cell = {"cell_type": "code", "metadata": {}, "source": NO_MEMORY, "outputs": []}
    fails["cells"].insert(0, {**cell, "execution_count": None, "id": "no-memory"})
    students = {
        "student01": submission(master, right),
        "student02": fails,
        "student03": submission(master, {}),
        "student04": submission(master, wrong),
        "student05": submission(master, {**right, "attend": "del check"}),
    }
    hand_in(course, TOPIC, students)
    status, log = autograde(course)
    assert status == 1
    failed, deleted = refusals(log)
    assert "student02" in failed and "MemoryError" in failed
    assert "student05" in deleted
    recorded = marks(course)
    ours = grade(TOPIC, course, force=True).graded
    assert recorded == {name: ours[name]["score"] for name in recorded}
    assert 0 < recorded.pop("student04") < EVERYTHING
    assert recorded == {"student01": EVERYTHING, "student03": 0}
