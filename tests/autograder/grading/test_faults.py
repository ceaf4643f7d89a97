"""What a submission is not to blame for costs it nothing: real causes, real command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.exercise import load_topic
from autograder.grading.grade import Unexamined
from autograder.sandbox.limits import Limits
from classroom.submissions import hand_in, make_class, submission
from tests.autograder.conftest import TOPIC, code_cell
from tests.autograder.grading.test_grade import marks
from tests.autograder.grading.test_resume import in_session

pytestmark = pytest.mark.usefixtures("broken_machine", "needs_sandbox")
LIMITS = Limits(cell_seconds=10, submission_seconds=60)
# As seen from outside of the sandbox, where its process is looked for.
CALL_ME = (
    "import ctypes, time\n"
    "def call_me(name):\n"
    "    ctypes.CDLL(None).prctl(15, name.encode())  # PR_SET_NAME\n"
)
# Until it is told to go on, so that nobody has to be in time for it.
WAIT = (
    "import signal\n"
    "told = []\n"
    "signal.signal(signal.SIGUSR1, lambda *_: told.append(True))\n"
    "def wait(name):\n"
    "    call_me(name)\n"
    "    while not told: time.sleep(0.02)\n"
    "    call_me('left alone')\n"
)


@pytest.fixture(scope="module")
def everything():
    return sum(e.points for e in load_topic(TOPIC).exercises.values())


def with_cell(notebook, source):
    """A submission with a cell of its own before the others."""
    notebook["cells"].insert(1, code_cell(source))
    return notebook


def named(name):
    """Processes that call themselves so."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if entry.read_text().strip() == name:
                found.append(int(entry.parent.name))
    return found


@contextlib.contextmanager
def killing(name, times):
    """Kill so many processes of a name; others may go on."""
    killed, ended, others = [], threading.Event(), set()

    def kill():
        while not ended.wait(0.05):
            for pid in set(named(name)) - set(killed) - others:
                chosen = len(killed) < times
                killed.append(pid) if chosen else others.add(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if chosen else signal.SIGUSR1)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def hand_in_victim(course, master, right, name):
    """Three right submissions; the process of one calls itself ``name`` and waits."""
    notebook = submission(master, right)
    waits = f"{CALL_ME}{WAIT}wait({name!r})"
    victim = with_cell(submission(master, right), waits)
    hand_in(course, TOPIC, {"ada": notebook, "victim": victim, "zoe": notebook})


def run_command(course, **options):
    command = [sys.executable, "-m", "autograder", "grade", TOPIC]
    return subprocess.run(
        [*command, "--course", str(course), "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def test_a_kernel_killed_from_outside_is_examined_again(
    grade, course, master, right, everything
):
    hand_in_victim(course, master, right, "once")
    with killing("once", 1) as killed:
        outcome = grade(TOPIC, course, limits=LIMITS)
    assert len(killed) == 1
    assert marks(course) == dict.fromkeys(["ada", "victim", "zoe"], everything)
    assert not any(report["notes"] for report in outcome.graded.values())


def test_who_is_killed_twice_has_no_mark_and_is_named(
    grade, course, master, right, everything
):
    hand_in_victim(course, master, right, "twice")
    with killing("twice", 99) as killed:
        done = run_command(course)
    assert len(killed) == 2
    assert done.returncode == 3
    (line,) = done.stderr.strip().splitlines()
    assert "1 not examined" in line and f"victim ({TOPIC})" in line
    assert "killed from outside" in line and "run it again" in line
    assert "not examined: victim" in done.stdout
    assert marks(course) == dict.fromkeys(["ada", "zoe"], everything)
    with killing("twice", 0):
        again = grade(TOPIC, course)
    assert sorted(again.unchanged) == ["ada", "zoe"]
    assert marks(course)["victim"] == everything


def start_command(course):
    """The same command in a session of its own, as a terminal would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", TOPIC]
        + ["--course", str(course), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_ends_at_once_and_keeps_what_is_finished(course, master, right):
    quick = make_class(TOPIC, master, 4)
    endless = CALL_ME + "call_me('endless')\nwhile True: pass"
    endless = submission(master, {**right, "softmax": endless})
    hand_in(course, TOPIC, {**quick, "zed": endless, "zoe": endless})
    process = start_command(course)
    reports = course / "reports" / TOPIC
    try:
        while len(list(reports.glob("[!.]*.json"))) < len(quick):
            assert process.poll() is None
            time.sleep(0.02)
        while len(named("endless")) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal tells all of them
        _, said = process.communicate(timeout=300)
    finally:
        process.kill()  # workers and sandbox end with it
    assert process.returncode == 130
    (line,) = said.splitlines()
    assert "interrupted" in line and "run it again" in line
    recorded = {path.stem: json.loads(path.read_text()) for path in reports.iterdir()}
    assert sorted(recorded) == sorted(quick)
    scores = {name: report["score"] for name, report in recorded.items()}
    assert {n: s for n, s in marks(course).items() if n in scores} == scores


def is_fork_server(pid):
    with contextlib.suppress(OSError):
        return (
            b"multiprocessing.forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
    return False  # it has just ended


@pytest.mark.parametrize("servers", [1, 2], ids=["it starts", "it has forked"])
def test_ctrl_c_while_workers_start_is_one_line(course, master, servers):
    """The server that forks them takes a few seconds to import everything."""
    hand_in(course, TOPIC, {"ada": submission(master, {"softmax": "while True: pass"})})
    process = start_command(course)
    try:
        while sum(map(is_fork_server, in_session(process.pid))) < servers:
            assert process.poll() is None
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal tells all of them
        # A shell says 130 of both. Python ends by the signal itself if that came while
        # it ran a text, as dataclasses does.
        assert process.wait(timeout=300) in (130, -signal.SIGINT)
        _, said = process.communicate(timeout=300)
    finally:
        process.kill()
    (line,) = said.splitlines()
    assert "interrupted" in line and "run it again" in line
    end = time.monotonic() + 300
    while running := in_session(process.pid):
        assert time.monotonic() < end, f"these go on: {running}"
        time.sleep(0.05)


def test_a_file_that_this_machine_cannot_read_is_no_zero(
    grade, course, master, right, everything, monkeypatch
):
    hand_in(course, TOPIC, dict.fromkeys(["ada", "ben"], submission(master, right)))
    real = os.open

    def broken(path, *arguments, **keywords):
        if "ben" in str(path):
            raise OSError(5, "Input/output error", str(path))
        return real(path, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr("os.open", broken)
        with pytest.raises(Unexamined, match=r"ben.*Input/output error") as failed:
            grade(TOPIC, course, limits=LIMITS)
    assert list(failed.value.outcomes[TOPIC].graded) == ["ada"]
    assert marks(course) == {"ada": everything}
