"""How many processors may be used, in systems made of a few files."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.processors import processors


def printed(code):
    """What a process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system of 64 processors; takes its list of cgroups, and files of these."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(64)))

    def make(groups, files):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
        for name, text in files.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("quotas", "count"),
    [
        ({}, 64),
        ({"class/grader": "max 100000\n"}, 64),
        ({"class/grader": "200000 100000\n"}, 2),
        ({"class/grader": "150000 100000\n"}, 2),
        ({"class/grader": "1000 100000\n"}, 1),
        ({"class": "300000 100000\n", "class/grader": "max 100000\n"}, 3),
        ({"class/grader": "nonsense"}, 64),
    ],
)
def test_a_quota_counts(system, quotas, count):
    files = {f"{group}/cpu.max": quota for group, quota in quotas.items()}
    assert processors(system("9:cpuset:/x\n0::/class/grader\n", files)) == count


@pytest.mark.parametrize(
    ("quotas", "count"),
    [
        ({"class/grader": -1}, 64),
        ({"class/grader": 200_000}, 2),
        ({"class/grader": 150_000}, 2),
        ({"class/grader": 1000}, 1),
        ({"class": 300_000, "class/grader": -1}, 3),
        ({".": 400_000}, 4),  # in a container, which has no folder of its group's name
    ],
)
@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct"])
def test_a_quota_of_version_1_counts(system, controllers, quotas, count):
    files = {}
    for group, quota in quotas.items():
        files[f"cpu/{group}/cpu.cfs_quota_us"] = f"{quota}\n"
        files[f"cpu/{group}/cpu.cfs_period_us"] = "100000\n"
    groups = f"5:memory:/class/grader\n4:{controllers}:/class/grader\n0::/\n"
    assert processors(system(groups, files)) == count


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", os.W_OK),
    reason="no cgroup of version 1 with a quota can be made here",
)
def test_a_real_quota_of_version_1_counts():
    group = Path("/sys/fs/cgroup/cpu", f"attention-{secrets.token_hex(8)}")
    group.mkdir()
    try:
        (group / "cpu.cfs_quota_us").write_text("100000")
        (group / "cpu.cfs_period_us").write_text("100000")
        code = (
            f"import os; open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
            "from autograder.processors import processors; print(processors())"
        )
        assert printed(code) == "1\n"
    finally:
        group.rmdir()


def test_affinity_counts():
    one = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, {{{one}}})\n"
        "from autograder.processors import processors; print(processors())"
    )
    assert printed(code) == "1\n"
