"""What a submission uses is counted by control groups, or by looking at it.

A real control group can be tried only where this process may make one. What is done
with its files is tested with a folder that stands for it: there are numbers in its
files, but nothing counts them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading.chapter import Outcome
from autograder.sandbox import connection, control_group
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.control_group import BY_SAMPLING, BY_THE_KERNEL, Group
from autograder.sandbox.limits import Limits
from autograder.sandbox.usage import ControlGroup
from tests.autograder.sandbox.test_kernels import run

MB = 2**20


@pytest.fixture
def counting(needs_sandbox):
    """How the sandbox of this test run counts."""
    return fork_servers().current().counted


@pytest.fixture
def delegated(counting):
    if counting != BY_THE_KERNEL:
        pytest.skip(
            f"not {control_group.WANTED}=1, or no control group of version 2 with "
            f"memory, pids and cpu: {sorted(_controllers())} are there, others may be "
            "held by version 1"
        )


def _controllers():
    """What groups of version 2 can control here."""
    mounted = control_group.mount_point()
    if mounted is None:
        return set()
    return set((mounted / "cgroup.controllers").read_text().split())


@pytest.fixture
def stand_in(tmp_path):
    """A folder that stands for a group, with the files that the kernel would make."""
    group = Group(tmp_path, Limits(memory=300 * MB, processes=40))
    for name in ("cgroup.procs", "memory.events", "cpu.stat"):
        (group.folder / name).write_text("")
    return group


def test_a_group_is_given_the_limits(stand_in):
    files = {p.name: p.read_text() for p in stand_in.folder.iterdir()}
    assert files["memory.max"] == str(300 * MB)
    assert files["memory.swap.max"] == "0"
    assert files["memory.oom.group"] == "1"
    assert files["pids.max"] == "40"
    assert files["io.weight"] == "default 50"


def test_what_the_system_counted_is_read_again_at_each_look(stand_in):
    limits = Limits(memory=300 * MB)
    events, stat = (stand_in.folder / name for name in ("memory.events", "cpu.stat"))
    events.write_text("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n")
    stat.write_text("usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n")
    entered, *read = stand_in.open_files()
    meter = ControlGroup(limits, *read)
    used = meter.look()
    assert (used.seconds, used.sessions) == (1.5, 0)
    assert used.memory <= limits.memory
    events.write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\n")
    stat.write_text("usage_usec 2500000\n")
    used = meter.look()
    assert used.seconds == 2.5
    assert used.memory > limits.memory
    for fd in (entered, *read):
        os.close(fd)


def test_who_is_ended_because_others_took_the_memory_has_not_reached_a_limit(stand_in):
    """As the documentation of Linux says: by any kind of OOM killer."""
    limits = Limits(memory=300 * MB)
    events, stat = (stand_in.folder / name for name in ("memory.events", "cpu.stat"))
    events.write_text("low 0\nhigh 0\nmax 7\noom 0\noom_kill 2\noom_group_kill 1\n")
    stat.write_text("usage_usec 1\n")
    files = stand_in.open_files()
    assert ControlGroup(limits, *files[1:]).look().memory <= limits.memory
    for fd in files:
        os.close(fd)


def test_a_group_is_removed_when_nothing_is_in_it(stand_in):
    assert not stand_in.remove()  # the system removes files of its own, here they stay
    for path in stand_in.folder.iterdir():
        path.unlink()
    assert stand_in.remove()
    assert not stand_in.folder.exists()
    assert stand_in.remove()


@pytest.fixture
def seems_delegated(monkeypatch, tmp_path):
    """A folder that looks as if groups could be made in it, to who asks for groups."""
    monkeypatch.setenv(control_group.WANTED, "1")
    monkeypatch.setattr(control_group, "mount_point", lambda: tmp_path)
    monkeypatch.setattr(control_group, "own_group", lambda mounted: tmp_path)
    monkeypatch.setattr(control_group, "make_room", lambda own: True)
    return tmp_path


def test_without_groups_of_version_2_there_is_nothing_to_prepare(
    seems_delegated, monkeypatch
):
    monkeypatch.setattr(control_group, "mount_point", lambda: None)
    assert control_group.preparing(seems_delegated / "told") == []


@pytest.mark.parametrize("said", [None, "", "0"])
def test_nobody_gets_groups_without_asking(seems_delegated, monkeypatch, said):
    assert control_group.preparing(seems_delegated / "told") != []
    before = sorted(seems_delegated.iterdir())
    if said is None:
        monkeypatch.delenv(control_group.WANTED)
    else:
        monkeypatch.setenv(control_group.WANTED, said)
    assert control_group.preparing(seems_delegated / "told") == []
    assert sorted(seems_delegated.iterdir()) == before


def test_a_group_without_controllers_is_left_alone(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpuset io hugetlb\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert not control_group.make_room(tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == ""


def test_processes_of_other_people_are_not_moved(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    (tmp_path / "cgroup.type").write_text("domain\n")
    with subprocess.Popen(["sleep", "60"]) as child:
        own = f"{os.getpid()}\n{child.pid}\n"
        (tmp_path / "cgroup.procs").write_text(f"{own}{2**22 + 1}\n")
        assert not control_group.make_room(tmp_path)
        assert not (tmp_path / "grader").exists()
        (tmp_path / "cgroup.procs").write_text(own)
        assert control_group.make_room(tmp_path)
        child.kill()
    moved = (tmp_path / "grader" / "cgroup.procs").read_text()  # the last one
    assert moved in (str(child.pid), str(os.getpid()))
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+io"  # came last


def test_a_command_runs_also_when_its_group_cannot_be_prepared(seems_delegated):
    told = seems_delegated / "told"
    words = [*control_group.preparing(told), "echo", "runs"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout, told.exists()) == ("runs\n", False)


def test_who_cannot_enter_a_group_moves_nobody_and_prepares_nothing(seems_delegated):
    told = seems_delegated / "told"
    words = [*control_group.preparing(told), "echo", "runs"]
    (group,) = seems_delegated.glob("attention-*")
    group.rmdir()
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    place = next((line[4:] for line in lines if line.startswith("0::/")), "")
    shared = seems_delegated / place  # the group of this test run, as it seems
    shared.mkdir(parents=True, exist_ok=True)
    (shared / "cgroup.procs").write_text(f"{os.getpid()}\n")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout, told.exists()) == ("runs\n", False)
    assert not (shared / "sandbox").exists()


def test_a_group_that_could_not_be_used_is_removed_with_its_sandbox(
    needs_sandbox, seems_delegated, monkeypatch
):
    removed = []
    monkeypatch.setattr(connection, "remove_groups", removed.append)
    with connection.Sandbox():
        groups = list(seems_delegated.glob("attention-*"))
    assert len(groups) == 1
    assert removed == groups


def test_the_report_and_the_run_say_how_limits_were_counted(counting, examined, solved):
    assert counting in (BY_SAMPLING, BY_THE_KERNEL)
    report = examined(solved())
    assert report["counted"] == counting
    lines = Outcome(graded={"ADA": report}).lines("masking")
    assert lines.count(f"  limits were counted {counting}") == 1


# With a real group: the same limits have the same names.


def test_a_submission_has_a_group_of_its_own(delegated):
    places = [run("print(open('/proc/self/cgroup').read())")[0][0] for _ in range(2)]
    assert all("submission-" in place for place in places)
    assert places[0] != places[1]


@pytest.mark.parametrize(
    ("code", "limits", "ended"),
    [
        (
            "x = []\nwhile True: x.append(bytearray(9999))",
            {"memory": 200 * MB},
            "memory limit of 200 MB",
        ),
        (
            "import os, signal, time\n"
            "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
            "while True:\n"
            "    if os.fork() == 0:\n"
            "        while time.process_time() < 0.1: pass\n"
            "        os._exit(0)\n"
            "    time.sleep(0.1)",
            {"cpu_seconds": 2, "cell_seconds": 25},
            "processor time limit of 2 s",
        ),
    ],
)
def test_a_limit_that_the_system_reaches_has_its_name(delegated, code, limits, ended):
    assert run(code, **limits)[1] == ended


def test_a_group_is_gone_when_its_sandbox_is(delegated):
    script = (
        "from autograder.sandbox.connection import fork_servers\n"
        "from tests.autograder.sandbox.test_kernels import run\n"
        "(text,), _ = run(\"print(open('/proc/self/cgroup').read())\")\n"
        "fork_servers().close()\n"
        "print(text)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    name = Path(done.stdout.strip().rpartition("::")[2]).name
    assert name.startswith("submission-")
    assert not list(control_group.mount_point().rglob(name))
