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
import types
from pathlib import Path

import psutil
import pytest

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.grading import examine as examining
from autograder.grading.single import examine_single
from autograder.sandbox import manager, process_tree
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
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9 (killed)"),
        ("import os; os.kill(0, 9)", "ended by signal 9 (killed)"),
        ("import os; os.killpg(0, 9)", "ended by signal 9 (killed)"),
        (
            "import os\nif os.fork() == 0: os.kill(os.getppid(), 9)\nos.wait()",
            "ended by signal 9 (killed)",
        ),
        ("import signal; signal.raise_signal(15)", "ended by signal 15 (terminated)"),
        ("import os; os.kill(os.getpid(), 11)", "ended by signal 11"),
        ("import os; os.kill(os.getpid(), 19)", "time limit of 3 s"),
        ("import time; time.sleep(10**6)", "time limit of 3 s"),
        ("while True: pass", "time limit of 3 s"),
    ],
)
def test_what_it_does_itself_costs_its_own_exercise_only(
    examined_here, solved, code, words
):
    report = examined_here(solved(softmax=code))
    assert words in report["exercises"][0]["message"]
    assert report["score"] == report["max_score"] - POINTS
    assert scores(report)["softmax"] == 0


@pytest.fixture
def hears_no_end(broken_machine, monkeypatch, tmp_path):
    """What a kernel says of its signals hardly ends, as when processes flood the pipe.

    Reading all of it takes this process far longer than the examination.
    """
    endless, heard = tmp_path / "said", []
    endless.touch()
    os.truncate(endless, 2**28)

    def pipe():
        return os.open(endless, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)

    def read(file, most):
        said = os.read(file, most)
        heard.append(len(said))
        return said

    flooded = types.SimpleNamespace(**{**vars(os), "pipe": pipe, "read": read})
    monkeypatch.setattr(manager, "os", flooded)
    yield
    assert 0 < sum(heard) < 2**24


@pytest.mark.usefixtures("hears_no_end")
def test_what_it_says_without_end_is_not_read_to_the_end(examined_here, solved, right):
    report = examined_here(
        solved(softmax="import time; time.sleep(1)\n" + right["softmax"])
    )
    assert report["score"] == report["max_score"]


@pytest.mark.usefixtures("hears_no_end")
def test_who_has_ended_is_not_heard_without_end_either(examined_here, solved):
    with pytest.raises(GraderFault, match="signal 9"):
        examined_here(solved(softmax="import os; os.kill(os.getpid(), 9)"))


def test_a_signal_announced_behind_a_full_pipe_is_heard(examined_here, solved):
    code = (
        "import os\n"
        "os.write(int(os.environ['AUTOGRADER_OWN_SIGNALS']), bytes(65_000))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    report = examined_here(solved(softmax=code))
    assert "ended by signal 9" in report["exercises"][0]["message"]
    assert report["score"] == report["max_score"] - POINTS


def test_nobody_knows_who_killed_it_behind_its_back_so_it_has_no_mark(
    examined_here, solved
):
    code = "import os\nos.system('kill -9 $PPID')\n"
    with pytest.raises(GraderFault, match="signal 9"):
        examined_here(solved(softmax=code))


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


def test_time_of_children_is_its_own():
    busy = [sys.executable, "-c", "while True: pass"]
    code = f"import subprocess; subprocess.run({busy!r})"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        tree = process_tree.ProcessTree(process.pid)
        kernel = psutil.Process(process.pid)
        try:
            for _ in range(600):  # until its child has run for a second
                own = tree.spent(stops_itself=False)["own"]
                alone = kernel.cpu_times()
                if own - alone.user - alone.system > 1:
                    break
                time.sleep(0.1)
        finally:
            for child in kernel.children():
                child.kill()
            process.kill()
    assert own - alone.user - alone.system > 1
    assert tree.spent(stops_itself=False) is None


@pytest.mark.skipif(
    not process_tree.waits_are_counted(), reason="this system counts no waits"
)
def test_who_shares_a_processor_waits_for_it():
    busy = [sys.executable, "-c", "while True: pass"]
    cpu = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(3):
            process = stack.enter_context(subprocess.Popen(busy))
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {cpu})
            processes.append(process)
        tree = process_tree.ProcessTree(processes[0].pid)
        start = time.monotonic()
        before = tree.spent(stops_itself=False)
        for _ in range(600):  # until it has had its share of both
            time.sleep(0.1)
            after = tree.spent(stops_itself=False)
            passed = time.monotonic() - start
            own, waited = (after[name] - before[name] for name in ("own", "waited"))
            if own > 0.3 and waited > 0.3:
                break
    assert own > 0.3 and waited > 0.3
    assert own + waited <= passed + 0.1  # Linux counts in hundredths of a second


def test_a_system_that_counts_no_waits_is_told_of(examined_here, solved, monkeypatch):
    monkeypatch.setattr(examining, "waits_are_counted", lambda: False)
    notes = examined_here(solved())["notes"]
    assert notes == ["examined without a sandbox", examining.UNKNOWN_WAITS]
