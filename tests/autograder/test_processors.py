"""How many processors may be used in a container."""

from __future__ import annotations

import pytest

from autograder.processors import processors


@pytest.mark.parametrize(
    ("quota", "count"),
    [
        ("max 100000\n", 64),
        ("200000 100000\n", 2),
        ("1000 100000\n", 1),
        ("nonsense", 64),
    ],
)
def test_a_quota_counts(tmp_path, monkeypatch, quota, count):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(64)))
    assert processors(tmp_path / "none") == 64
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    assert processors(file) == count
