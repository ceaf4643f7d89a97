"""Where there is no sandbox and no warden, a submission is charged with its own doing.

The kernels are real, and so is what happens to them from outside.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.grading import examine as examining
from autograder.grading.examine import examine_single
from autograder.sandbox.limits import PATIENCE, Limits
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC, scores
from tests.suites import sweep

LIMITS = Limits(cell_seconds=3, submission_seconds=60)
POINTS = load_topic(TOPIC).exercises["softmax"].points


@pytest.fixture
def examined_here(topic, master, expected):
    """Examine a submission without a sandbox, as ``check --no-sandbox`` does."""

    def run(data, limits=LIMITS):
        done = examine_single(master, data, topic, expected, limits, servers=None)
        return done.report

    return run


@pytest.fixture
def signalled(broken_machine, tmp_path):
    """How to have an answer wait, and to send signals to who waits.

    Those that get none, and those that survive theirs, go on.
    """
    marker, go_on = tmp_path / "running", tmp_path / "go on"

    def nap(softmax):
        return (
            "import os, time\n"
            f"with open({str(marker)!r} + str(os.getpid()), 'w') as file: pass\n"
            f"while not os.path.exists({str(go_on)!r}): time.sleep(0.02)\n" + softmax
        )

    @contextlib.contextmanager
    def sending(*numbers, times):
        reached, ended = [], threading.Event()

        def send():
            while not ended.wait(0.05):
                found = {
                    int(path.name.removeprefix("running"))
                    for path in tmp_path.glob("running*")
                }
                for pid in found - set(reached):
                    reached.append(pid)
                    for number in numbers:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, number)
                        until = time.monotonic() + 6 * (number == signal.SIGSTOP)
                        # The next one must not go on before this one is gone.
                        while time.monotonic() < until and psutil.pid_exists(pid):
                            if ended.wait(0.05):
                                break
                    if len(reached) == times:
                        go_on.touch()
                        return

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield reached
        finally:
            ended.set()
            thread.join()

    return nap, sending


def test_who_is_killed_from_outside_is_examined_again(
    examined_here, solved, right, signalled
):
    nap, sending = signalled
    with sending(signal.SIGKILL, times=1) as reached:
        report = examined_here(solved(softmax=nap(right["softmax"])))
    assert len(reached) == 1
    assert report["score"] == report["max_score"]
    assert report["notes"] == ["examined without a sandbox"]


def test_nobody_knows_who_has_killed_it_so_it_has_no_mark(examined_here, solved):
    with pytest.raises(GraderFault, match="signal 9 .*perhaps from outside"):
        examined_here(solved(softmax="import os; os.kill(os.getpid(), 9)"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_who_is_ended_from_outside_twice_has_no_mark(
    examined_here, solved, right, signalled, number
):
    nap, sending = signalled
    with (
        sending(number, times=9) as reached,
        pytest.raises(GraderFault, match=f"signal {number:d} .*perhaps from outside"),
    ):
        examined_here(solved(softmax=nap(right["softmax"])))
    assert len(reached) == 2


def test_the_command_says_so_in_one_line(tmp_path, master, right, signalled):
    nap, sending = signalled
    answers = {**right, "softmax": nap(right["softmax"])}
    path = tmp_path / f"{TOPIC}.ipynb"
    path.write_text(json.dumps(submission(master, answers)))
    with sending(signal.SIGKILL, times=9):
        done = subprocess.run(
            [sys.executable, "-m", "autograder", "check", str(path), "--no-sandbox"],
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert "perhaps from outside" in line


def test_who_is_stopped_from_outside_is_not_charged_with_the_time(
    examined_here, solved, right, signalled
):
    nap, sending = signalled
    with sending(signal.SIGSTOP, signal.SIGCONT, times=1) as reached:
        report = examined_here(solved(softmax=nap(right["softmax"])))
    assert len(reached) == 1
    assert report["score"] == report["max_score"]


def test_who_stays_stopped_has_no_mark(examined_here, solved, right, signalled):
    nap, sending = signalled
    limits = Limits(cell_seconds=1, submission_seconds=60)
    assert PATIENCE * limits.cell_seconds < 6  # for how long it is stopped
    with sending(signal.SIGSTOP, times=9) as reached, pytest.raises(GraderFault):
        examined_here(solved(softmax=nap(right["softmax"])), limits)
    assert len(reached) == 2


@sweep(
    ("code", "words"),
    [
        ("import os; os._exit(3)", "ended with code 3"),
        ("import os; os.kill(os.getpid(), 11)", "ended by signal 11"),
        ("import time; time.sleep(10**6)", "time limit of 3 s"),
        ("while True: pass", "time limit of 3 s"),
    ],
)
def test_what_it_does_itself_costs_its_own_exercise_only(
    examined_here, solved, code, words
):
    report = examined_here(solved(softmax=code))
    softmax = next(found for found in report["exercises"] if found["name"] == "softmax")
    assert words in softmax["message"]
    assert report["score"] == report["max_score"] - POINTS
    assert scores(report)["softmax"] == 0


@sweep(
    "code",
    [
        "for _ in range(3000):\n    os.mkdir('deeper')\n    os.chdir('deeper')",
        "os.mkdir('closed')\nopen('closed/file', 'w').close()\nos.chmod('closed', 0)",
        "here = os.getcwd()\nos.rename(here, here + '-')\nos.symlink('/etc', here)",
        "shutil.rmtree(os.getcwd())",
    ],
    ids=["nested", "closed", "a link in its place", "gone"],
)
def test_what_it_leaves_in_its_folder_costs_nothing(
    examined_here, solved, right, code, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(Path("/etc").iterdir())
    softmax = f"import os, shutil\n{right['softmax']}\n{code}\n"
    try:
        report = examined_here(solved(softmax=softmax))
    finally:
        left = [path.name for path in tmp_path.iterdir() if not path.is_symlink()]
        subprocess.run(["rm", "-rf", *left], cwd=tmp_path)  # pytest could not do it
    assert report["score"] == report["max_score"]
    assert sorted(Path("/etc").iterdir()) == before
    assert all(name.endswith("-") for name in left)  # nothing finds what was renamed


def test_a_system_that_counts_no_waits_is_told_of(examined_here, solved, monkeypatch):
    monkeypatch.setattr(examining, "waits_are_counted", lambda: False)
    notes = examined_here(solved())["notes"]
    assert notes == ["examined without a sandbox", examining.UNKNOWN_WAITS]
