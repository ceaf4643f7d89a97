"""How many processors may be used, in systems made of a few files."""

from __future__ import annotations

import pytest

from autograder.processors import processors


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
        ({"class/grader": "1000 100000\n"}, 1),
        ({"class": "300000 100000\n", "class/grader": "max 100000\n"}, 3),
        ({"class/grader": "nonsense"}, 64),
    ],
)
def test_a_quota_counts(system, quotas, count):
    files = {f"{group}/cpu.max": quota for group, quota in quotas.items()}
    assert processors(system("9:cpuset:/x\n0::/class/grader\n", files)) == count
