"""The same grading on a cluster: a real scheduler, real workers, one of them killed."""

from __future__ import annotations

import json
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
from autograder.errors import GraderFault
from autograder.grading.apart import call_apart
from autograder.grading.cluster import ClusterError, cluster_executor
from autograder.sandbox.limits import Limits
from classroom.submissions import hand_in, make_class, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import marks

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


def test_killed_worker_loses_no_submission(grade, dask, course, master):
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
    alone = grade(TOPIC, course, limits=limits, force=True)
    assert alone.changes == []


def test_scheduler_that_is_lost_costs_nobody_points(dask, course, master, capsys):
    scheduler, log = dask("scheduler", "--host", "127.0.0.1", "--port", "0")
    address = wait_for(r"tcp://127\.0\.0\.1:\d+", log)[0]
    _, worker_log = dask("worker", address, "--nthreads", "1", "--no-nanny")
    wait_for("Registered to", worker_log)
    students = make_class(TOPIC, master, 24, attacks=False)
    hand_in(course, TOPIC, students)
    reports = course / "reports" / TOPIC

    def kill_in_the_middle():
        while not reports.is_dir() or len(list(reports.glob("*.json"))) < 2:
            time.sleep(0.02)
        os.killpg(scheduler.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_in_the_middle)
    killer.start()
    words = ["grade", TOPIC, "--course", str(course)]
    status = main([*words, "--cluster", address])
    killer.join()
    assert status == 3
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "not examined" in line and "the cluster was lost" in line
    first = marks(course)
    assert 2 <= len(first) < len(students)
    assert main([*words, "--jobs", "2"]) == 0
    assert sorted(marks(course)) == sorted(students)
    assert "zero" not in capsys.readouterr().out
    assert {name: marks(course)[name] for name in first} == first


# Loaded by each Python of a cluster: a file with this word is read for ever, and nobody
# has patience for that.
SLOW = """
import sys
if "scheduler" not in sys.orig_argv:
    from autograder.grading import worker
    read = worker.parse_notebook
    def parse_notebook(content):
        while b"SLOWLY" in content:
            pass
        return read(content)
    worker.parse_notebook = parse_notebook
    limit = worker.reading_limit
    worker.reading_limit = lambda: limit(1.0)
"""


def test_what_takes_too_long_to_read_ends_on_a_cluster_too(
    dask, course, master, right, tmp_path, monkeypatch
):
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    paths = [str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    _, log = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    address = wait_for(r"tcp://127\.0\.0\.1:\d+", log)[0]
    # As the guide has it: a worker is a process that may have none of its own.
    _, worker_log = dask("worker", address, "--nthreads", "1", "--no-dashboard")
    wait_for("Registered to", worker_log)
    slow = submission(master, {**right, "softmax": "'SLOWLY'"})
    hand_in(course, TOPIC, {"first": slow, "second": submission(master, right)})
    words = ["grade", TOPIC, "--course", str(course), "--cluster", address]
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "zero: first: reading it takes more than 1 s" in done.stdout
    assert marks(course)["first"] == 0 < marks(course)["second"]


def test_a_process_that_ends_is_replaced():
    first = call_apart(os.getpid)
    assert first != os.getpid()
    assert call_apart(os.getpid) == first
    with pytest.raises(GraderFault, match="was ended"):
        call_apart(os._exit, 1)
    assert call_apart(os.getpid) not in (first, os.getpid())
    with pytest.raises(ValueError, match="invalid literal"):
        call_apart(int, "no number")


def test_the_process_of_a_thread_ends_with_it():
    found = []
    thread = threading.Thread(target=lambda: found.append(call_apart(os.getpid)))
    thread.start()
    thread.join()
    end = time.monotonic() + 30
    while Path(f"/proc/{found[0]}").exists():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_cluster_that_is_down_is_one_line(course, master, capsys, monkeypatch):
    monkeypatch.setattr("autograder.grading.cluster.CONNECT_SECONDS", 1)
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


@pytest.mark.parametrize(
    "address",
    ["tcp://192.0.2.1:8786", "192.0.2.1:8786", "ws://192.0.2.1:1", "tcp://a:1"],
)
def test_an_unencrypted_scheduler_elsewhere_is_refused(address):
    start = time.monotonic()
    with (
        pytest.raises(ClusterError, match=r"would not be encrypted.*--protocol tls"),
        cluster_executor(address),
    ):
        pass
    assert time.monotonic() - start < 5  # nobody was asked


def test_a_scheduler_with_certificates_is_used(dask, tmp_path, monkeypatch):
    """As the instructor's guide has it, with one certificate for all."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", "/CN=grading", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    one = {"cert": str(cert), "key": str(key)}
    tls = {"ca-file": str(cert), "scheduler": one, "worker": one, "client": one}
    comm = {"require-encryption": True, "tls": tls}
    settings = tmp_path / "config"
    settings.mkdir()
    (settings / "tls.yaml").write_text(json.dumps({"distributed": {"comm": comm}}))
    monkeypatch.setenv("DASK_CONFIG", str(settings))
    options = ["--protocol", "tls", "--host", "127.0.0.1", "--port", "0"]
    _, log = dask("scheduler", *options, "--no-dashboard")
    address = wait_for(r"tls://127\.0\.0\.1:\d+", log)[0]
    _, worker_log = dask("worker", address, "--nthreads", "1", "--no-nanny")
    wait_for("Registered to", worker_log)
    script = (
        "import sys\n"
        "from autograder.grading.cluster import cluster_executor\n"
        "with cluster_executor(sys.argv[1]) as executor:\n"
        "    print(executor.submit(int, '7').result())\n"
    )
    command = [sys.executable, "-c", script, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "7\n", done.stderr[-2000:]
