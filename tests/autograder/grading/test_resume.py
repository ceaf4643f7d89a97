"""Killed at any moment, run again: nothing lost, nothing twice, nothing stale."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from autograder.grading import queue
from autograder.grading.grade import Unexamined
from autograder.release.settings import CourseError, settings_of
from autograder.sandbox.limits import Limits
from classroom.submissions import hand_in, make_class, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import marks
from tests.autograder.grading.troubled_workers import killed_at

pytestmark = pytest.mark.usefixtures("broken_machine", "needs_sandbox")
LIMITS = Limits(cell_seconds=10, submission_seconds=60)


def in_session(number):
    """Processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = entry.read_text().rpartition(")")[2].split()[:4]
            if int(session) == number and state != "Z":
                found.append(int(entry.parent.name))
    return found


def test_killed_run_goes_on_where_it_stopped(grade, course, master):
    students = make_class(TOPIC, master, 10)
    hand_in(course, TOPIC, students)
    command = [sys.executable, "-m", "autograder", "grade", TOPIC]
    process = subprocess.Popen(
        [*command, "--course", str(course), "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    reports = course / "reports" / TOPIC
    while process.poll() is None and len(list(reports.glob("[!.]*.json"))) < 3:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 300
    while running := in_session(process.pid):
        assert time.monotonic() < end, f"its workers go on: {running}"
        time.sleep(0.05)
    done = {path.stem: path.read_text() for path in reports.glob("[!.]*.json")}
    assert 3 <= len(done) < len(students)
    for student in done:  # what has a report is in the gradebook
        assert marks(course)[student] == json.loads(done[student])["score"]

    outcome = grade(TOPIC, course)
    assert sorted(outcome.unchanged) == sorted(done)
    assert sorted([*outcome.graded, *outcome.unchanged]) == sorted(students)
    assert {s: (reports / f"{s}.json").read_text() for s in done} == done
    assert sorted(marks(course)) == sorted(students)


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_an_examination_ends_when_its_process_is_told_to(
    needs_sandbox, master, tmp_path, told
):
    notebook = tmp_path / "notebook.ipynb"
    endless = submission(master, {"softmax": "while True: pass"})
    notebook.write_text(json.dumps(endless))
    script = tmp_path / "run.py"
    script.write_text(
        "from autograder.grading.client import SubmissionClient\n"
        "from autograder.__main__ import main\n"
        "real = SubmissionClient.run\n"
        "def run(self, source, outputs):\n"
        "    if 'while' in source:\n"
        "        print('running', flush=True)\n"
        "    return real(self, source, outputs)\n"
        "SubmissionClient.run = run\n"
        f"raise SystemExit(main(['check', {str(notebook)!r}]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline() == "running\n"
    process.send_signal(told)
    assert process.wait(timeout=300) != 0


def test_submission_that_kills_its_worker_costs_nobody_else(
    grade, course, master, right, monkeypatch
):
    """A worker is killed from outside, as the system does when memory runs out."""
    names = ["a", "b", "killer", "d", "e"]
    hand_in(course, TOPIC, dict.fromkeys(names, submission(master, right)))
    killing = partial(killed_at, "killer")
    monkeypatch.setattr(queue, "examine_submission", killing)
    with pytest.raises(Unexamined, match="1 not examined") as failed:
        grade(TOPIC, course)
    said = f"killer ({TOPIC}): the process that examined it was ended, twice"
    assert said in str(failed.value)
    scores = marks(course)
    assert sorted(scores) == ["a", "b", "d", "e"]
    assert len(set(scores.values())) == 1
    assert min(scores.values()) > 0


WRONG_LIMITS = {
    "memroy = 2**28": "c.Limits.memroy; there are .*memory",
    "cell_seconds = -1": "expected a number above 0",
    "memory = 512  # megabytes?": "memory = 512; expected at least 134217728",
}
WRONG_LIMITS |= {
    f"cpu_seconds = {value}": "expected a number above 0 and at most"
    for value in ("float('inf')", "float('nan')", "2**70", "True", "'1'")
}


def test_a_course_sets_the_limits_and_what_is_none_is_named(course):
    path = course / "nbgrader_config.py"
    text = path.read_text()
    path.write_text(text + "\nc.Limits.memory = 2**28\n")
    assert settings_of(course).limits == Limits(memory=2**28)
    for line, said in WRONG_LIMITS.items():
        path.write_text(f"{text}\nc.Limits.{line}\n")
        with pytest.raises(CourseError, match=said):
            settings_of(course)
