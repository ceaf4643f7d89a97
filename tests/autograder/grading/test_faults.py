"""What a submission is not to blame for costs it nothing: real causes, real command."""

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
    "    ctypes.CDLL(None).prctl(15, name.encode())  # PR_SET_NAME"
)
SLOW = (
    "def softmax(scores):\n"
    "    call_me('interrupted')\n"
    "    time.sleep(0.3)\n"
    "    call_me('left alone')\n"
    "    e = np.exp(scores - scores.max(-1, keepdims=True))\n"
    "    return e / e.sum(-1, keepdims=True)"
)
NAMED = (
    "import ctypes, time\n"
    "ctypes.CDLL(None).prctl(15, b'{name}')  # PR_SET_NAME\n"
    "time.sleep({nap})"
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
def killing(name, times, number=signal.SIGKILL):
    """Kill, or stop, processes of this name from outside, so many times."""
    killed, ended = [], threading.Event()

    def kill():
        while not ended.is_set() and len(killed) < times:
            for pid in set(named(name)) - set(killed):
                os.kill(pid, number)
                killed.append(pid)
            ended.wait(0.1)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def hand_in_victim(course, master, right, name, nap=2):
    """Three right submissions; the process of one calls itself ``name`` for a while."""
    notebook = submission(master, right)
    victim = with_cell(submission(master, right), NAMED.format(name=name, nap=nap))
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
    again = grade(TOPIC, course)
    assert sorted(again.unchanged) == ["ada", "zoe"]
    assert marks(course)["victim"] == everything


def test_an_answer_that_is_interrupted_from_outside_goes_on(
    grade, course, master, right, everything
):
    notebook = submission(master, {**right, "softmax": SLOW})
    hand_in(course, TOPIC, {"ada": with_cell(notebook, CALL_ME)})
    with killing("interrupted", 1, signal.SIGINT) as interrupted:
        outcome = grade(TOPIC, course, limits=LIMITS)
    assert len(interrupted) == 1
    assert marks(course) == {"ada": everything}
    assert not outcome.graded["ada"]["notes"]


def test_who_is_stopped_from_outside_is_not_charged_with_the_time(
    grade, course, master, right, everything
):
    hand_in_victim(course, master, right, "stopped", nap=1)
    limits = Limits(cell_seconds=2, submission_seconds=60)
    with (
        killing("stopped", 99, signal.SIGSTOP) as stopped,
        pytest.raises(Unexamined, match=r"victim.*this machine is too busy"),
    ):
        grade(TOPIC, course, limits=limits)
    assert len(stopped) == 2
    assert marks(course) == dict.fromkeys(["ada", "zoe"], everything)


def test_own_exit_and_own_crash_are_the_submissions_fault(grade, course, master, right):
    crash = "import ctypes; ctypes.string_at(0)\n"
    ends = {"exit": "import os; os._exit(9)\n", "crash": crash}
    hand_in(
        course,
        TOPIC,
        {n: submission(master, {**right, "attend": e}) for n, e in ends.items()},
    )
    outcome = grade(TOPIC, course, limits=LIMITS)
    notes = {name: str(report["notes"]) for name, report in outcome.graded.items()}
    assert "code 9" in notes["exit"]
    assert "signal 11" in notes["crash"]


@pytest.fixture
def tiny_disk():
    """A file system of 64 files for temporary files, which the test can fill."""
    folder = Path(tempfile.mkdtemp(prefix="t"))
    options = ["-t", "tmpfs", "-o", "size=4m,nr_inodes=64", "tmpfs", str(folder)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True)
    if mounted.returncode != 0:
        folder.rmdir()
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def keep_full(folder, until):
    """Leave no room in a small file system, also where others make some."""
    number = 0
    while not until.is_set():
        with contextlib.suppress(OSError):
            (folder / f"filling-{number}").mkdir()
            number += 1
            continue
        until.wait(0.001)


def test_a_full_disk_of_the_grader_costs_nobody_points(
    grade, course, master, right, everything, tiny_disk
):
    notebook = submission(master, right)
    names = [f"student-{number:02}" for number in range(12)]
    hand_in(course, TOPIC, dict.fromkeys(names, notebook))
    reports, ended = course / "reports" / TOPIC, threading.Event()

    def fill_in_the_middle():
        while len(list(reports.glob("[!.]*.json"))) < 3 and not ended.wait(0.01):
            pass
        keep_full(tiny_disk, ended)

    filler = threading.Thread(target=fill_in_the_middle)
    filler.start()
    try:
        done = run_command(course, env={**os.environ, "TMPDIR": str(tiny_disk)})
    finally:
        ended.set()
        filler.join()
    assert done.returncode == 3, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert "No space left on device" in line and "not examined" in line
    first = marks(course)
    assert 3 <= len(first) < len(names)
    assert set(first.values()) == {everything}
    outcome = grade(TOPIC, course)
    assert sorted(outcome.unchanged) == sorted(first)
    assert marks(course) == dict.fromkeys(names, everything)


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
    quick = make_class(TOPIC, master, 4, attacks=False)
    endless = submission(master, {**right, "softmax": "while True: pass"})
    hand_in(course, TOPIC, {**quick, "zed": endless, "zoe": endless})
    process = start_command(course)
    reports = course / "reports" / TOPIC
    try:
        while len(list(reports.glob("[!.]*.json"))) < len(quick):
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(1)  # the endless submissions are running, thirty seconds each
        told = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal tells all of them
        line = process.stderr.readline()
        assert time.monotonic() - told < 15
        _, more = process.communicate(timeout=60)
    finally:
        process.kill()  # workers and sandbox end with it
    assert process.returncode == 130
    assert more == ""
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


@pytest.mark.parametrize("seconds", [0, 0.1, 0.5, 1, 2, 4])
def test_ctrl_c_while_workers_start_is_one_line(course, master, right, seconds):
    """The server that forks them takes a few seconds to import everything."""
    hand_in(course, TOPIC, {"ada": submission(master, {"softmax": "while True: pass"})})
    process = start_command(course)
    try:
        while not any(map(is_fork_server, in_session(process.pid))):
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal tells all of them
        # A shell says 130 of both. Python ends by the signal itself if that came while
        # it ran a text, as dataclasses does.
        assert process.wait(timeout=30) in (130, -signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    (line,) = said.splitlines()
    assert "interrupted" in line and "run it again" in line
    end = time.monotonic() + 60
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


BUSY = (
    "import os; os.sched_setaffinity(0, {cpu}); os.nice(-10); print(flush=True)\n"
    "while True: pass"
)
# Eight tenths of a second of its own, however long that takes.
NEEDS_TIME = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b'starved')  # PR_SET_NAME
end = time.process_time() + 0.8
while time.process_time() < end: pass
"""


@contextlib.contextmanager
def starving(name, times):
    """Starve processes with this name of processor time."""
    cpu, starved, ended = min(os.sched_getaffinity(0)), set(), threading.Event()
    command = [sys.executable, "-c", BUSY.format(cpu={cpu})]
    neighbours = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]

    def tell(what):
        for process in neighbours:
            process.send_signal(what)

    def starve():
        while not ended.wait(0.01):
            now = set(named(name))
            if now - starved and len(starved) < times:
                starved.update(now)
                for pid in now:
                    os.sched_setaffinity(pid, {cpu})
                tell(signal.SIGCONT)
            if not now & starved:
                tell(signal.SIGSTOP)

    thread = threading.Thread(target=starve)
    try:
        for process in neighbours:
            process.stdout.readline()
        tell(signal.SIGSTOP)
        thread.start()
        yield starved
    finally:
        ended.set()
        thread.join()
        for process in neighbours:
            process.kill()
            process.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have a high priority")
@pytest.mark.parametrize("times", [1, 99])
def test_a_neighbour_that_takes_the_processor_costs_nobody_points(
    grade, course, master, right, everything, times
):
    slow = with_cell(submission(master, right), NEEDS_TIME)
    hand_in(course, TOPIC, {"ada": submission(master, right), "slow": slow})
    limits = Limits(cell_seconds=2, submission_seconds=60)
    with starving("starved", times) as starved, contextlib.suppress(Unexamined):
        grade(TOPIC, course, limits=limits)
    assert starved
    assert set(marks(course).values()) <= {everything}
    for _ in range(3):  # this machine may be busy with other things as well
        with contextlib.suppress(Unexamined):
            grade(TOPIC, course, limits=limits)
            break
    assert marks(course) == dict.fromkeys(["ada", "slow"], everything)


def test_who_sleeps_for_ever_is_to_blame_for_it(
    grade, course, master, right, everything
):
    asleep = {**right, "attend": "import time\ntime.sleep(10**6)"}
    answers = {"asleep": asleep, "ada": right}
    hand_in(course, TOPIC, {n: submission(master, a) for n, a in answers.items()})
    limits = Limits(cell_seconds=3, submission_seconds=60)
    outcome = grade(TOPIC, course, limits=limits)
    assert (
        "the cell of attend ended the kernel: time limit of 3 s"
        in (outcome.graded["asleep"]["notes"])
    )
    points = load_topic(TOPIC).exercises["attend"].points
    assert marks(course) == {"asleep": everything - points, "ada": everything}
