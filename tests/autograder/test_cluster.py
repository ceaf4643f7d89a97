"""The same grading on a cluster: a real scheduler, real workers, one of them killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.cluster import ClusterError, cluster_executor
from autograder.grade import grade
from autograder.limits import Limits
from benchmarks.classroom import hand_in, make_class
from tests.autograder.conftest import TOPIC
from tests.autograder.test_grade import marks

pytestmark = pytest.mark.usefixtures("needs_sandbox")


@pytest.fixture
def dask(tmp_path):
    """Start a dask command; stop all of them at the end."""
    started = []

    def start(*words):
        log = (tmp_path / f"dask-{len(started)}.log").open("w+")
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started.append((process, log))
        return process, Path(log.name)

    yield start
    for process, log in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


def wait_for(pattern, log, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text())
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


def test_killed_worker_loses_no_submission(dask, course, master):
    _, log = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    address = wait_for(r"tcp://127\.0\.0\.1:\d+", log)[0]
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    victim, first_log = dask("worker", address, *options)
    _, second_log = dask("worker", address, *options)
    for worker_log in (first_log, second_log):
        wait_for("Registered to", worker_log)
    students = make_class(TOPIC, master, 14, attacks=False)
    hand_in(course, TOPIC, students)

    def kill_in_the_middle():
        reports = course / "reports" / TOPIC
        while not reports.is_dir() or len(list(reports.glob("*.json"))) < 2:
            time.sleep(0.02)
        os.killpg(victim.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_in_the_middle)
    killer.start()
    limits = Limits(cell_seconds=10, submission_seconds=60)
    with cluster_executor(address) as executor:
        outcome = grade(TOPIC, course, limits=limits, executor=executor)
    killer.join()
    assert victim.wait(10) != 0
    assert sorted(outcome.graded) == sorted(students) == sorted(marks(course))
    assert not any(report["refused"] for report in outcome.graded.values())
    alone = grade(TOPIC, course, limits=limits, force=True, jobs=2)
    assert alone.changes == []


def test_cluster_that_is_down_is_one_line(course, master, capsys):
    hand_in(course, TOPIC, make_class(TOPIC, master, 1))
    words = ["grade", TOPIC, "--course", str(course), "--cluster", "tcp://127.0.0.1:9"]
    assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert "no scheduler answers at tcp://127.0.0.1:9" in said
    assert len(said.splitlines()) == 1


def test_cluster_without_workers_says_how_to_start_one(dask):
    _, log = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    address = wait_for(r"tcp://127\.0\.0\.1:\d+", log)[0]
    with (
        pytest.raises(ClusterError, match="dask worker"),
        cluster_executor(address),
    ):
        pass
