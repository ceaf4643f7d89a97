"""The same grading on a cluster: a real scheduler, real workers, one of them killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from autograder.__main__ import main
from autograder.grading.cluster import ClusterError, cluster_executor
from autograder.sandbox.limits import Limits
from classroom.submissions import hand_in, make_class
from tests.autograder.conftest import TOPIC
from tests.autograder.grading.test_grade import marks

ROOT = Path(__file__).resolve().parents[3]
ON_LOOPBACK = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]

pytestmark = pytest.mark.usefixtures("artefact", "needs_sandbox")


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


def wait_for(pattern, log, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text())
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


def scheduler_on(dask, *options):
    """A scheduler at a free port: its process, and its address."""
    process, log = dask("scheduler", *options, "--port", "0")
    return process, wait_for(r"Scheduler at: +(\S+)", log)[1]


def listening(*processes):
    """The hosts and ports at which processes and their children listen."""
    everybody = [psutil.Process(process.pid) for process in processes]
    for parent in list(everybody):
        everybody += parent.children(recursive=True)
    return {
        tuple(connection.laddr)
        for process in everybody
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def blocks_of_the_guide():
    """What the guide has people type and write for several machines."""
    page = ROOT / "chapters" / "teaching" / "several_machines.md"
    guide = page.read_text(encoding="utf-8")
    return re.findall(r"^```\w*\n(.*?)^```$", guide, re.M | re.S)


def test_killed_worker_loses_no_submission(grade, dask, course, master):
    _, address = scheduler_on(dask, *ON_LOOPBACK)
    options = [*ON_LOOPBACK, "--nthreads", "1", "--no-nanny"]
    victim, first_log = dask("worker", address, *options)
    _, second_log = dask("worker", address, *options)
    for worker_log in (first_log, second_log):
        wait_for("Registered to", worker_log)
    students = make_class(TOPIC, master, 14)
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
    assert victim.wait(300) != 0
    assert sorted(outcome.graded) == sorted(students) == sorted(marks(course))
    assert not any(report["refused"] for report in outcome.graded.values())
    alone = grade(TOPIC, course, limits=limits, force=True)
    assert alone.changes == []


def test_scheduler_that_is_lost_costs_nobody_points(dask, course, master, capsys):
    scheduler, address = scheduler_on(dask, *ON_LOOPBACK)
    _, worker_log = dask("worker", address, *ON_LOOPBACK, "--nthreads=1", "--no-nanny")
    wait_for("Registered to", worker_log)
    students = make_class(TOPIC, master, 24)
    hand_in(course, TOPIC, students)
    reports = course / "reports" / TOPIC

    def kill_in_the_middle():
        while not reports.is_dir() or len(list(reports.glob("*.json"))) < 2:
            time.sleep(0.02)
        os.killpg(scheduler.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_in_the_middle)
    killer.start()
    words = ["grade", TOPIC, "--course", str(course)]
    # In a process of its own: the handlers of dask keep the stream they were made with.
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words, "--cluster", address],
        capture_output=True,
        text=True,
        timeout=240,
    )
    killer.join()
    assert done.returncode == 3
    (line,) = done.stderr.strip().splitlines()
    assert "not examined" in line and "the cluster was lost" in line
    first = marks(course)
    assert 2 <= len(first) < len(students) - 3
    told = re.findall(r"not examined: (student_\d+)", done.stdout)
    assert sorted(told) == sorted(set(students) - set(first))
    assert main([*words, "--jobs", "2"]) == 0
    assert sorted(marks(course)) == sorted(students)
    assert "zero" not in capsys.readouterr().out
    assert {name: marks(course)[name] for name in first} == first


def test_cluster_that_is_down_is_one_line(course, master, capsys, monkeypatch):
    monkeypatch.setattr("autograder.grading.cluster.CONNECT_SECONDS", 1)
    hand_in(course, TOPIC, make_class(TOPIC, master, 1))
    with socket.socket() as deaf:  # it has a port, and does not listen there
        deaf.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        words = ["grade", TOPIC, "--course", str(course), "--cluster", address]
        assert main(words) == 2
    said = capsys.readouterr().err.strip()
    assert f"no scheduler answers at {address}" in said
    assert len(said.splitlines()) == 1


def test_cluster_without_workers_says_how_to_start_one(dask):
    scheduler, address = scheduler_on(dask, *ON_LOOPBACK)
    with pytest.raises(ClusterError) as refused, cluster_executor(address):
        pass
    command = re.search(r"`dask (worker .*)`", str(refused.value))[1]
    worker, log = dask(*command.split())
    wait_for("Registered to", log)
    found = listening(scheduler, worker)
    assert len(found) == 5  # both for dask and for HTTP, and the nanny of the worker
    assert {host for host, _ in found} == {"127.0.0.1"}
    with cluster_executor(address) as executor:
        assert executor.submit(int, "7").result() == 7


@pytest.mark.parametrize(
    "address",
    [
        "tcp://192.0.2.1:8786",
        "a:1",
        "ws://192.0.2.1:1",
    ],
)
def test_an_unencrypted_scheduler_elsewhere_is_refused(address, monkeypatch):
    asked = []
    monkeypatch.setattr("distributed.Client", lambda *where, **how: asked.append(where))
    with (
        pytest.raises(ClusterError, match=r"would not be encrypted.*--protocol tls"),
        cluster_executor(address),
    ):
        pass
    assert asked == []


def test_what_the_guide_starts_needs_a_certificate(dask, tmp_path, monkeypatch):
    """Its commands, with two addresses of this machine in place of two machines."""
    make_certificate, settings, commands = blocks_of_the_guide()[:3]
    subprocess.run(
        make_certificate, shell=True, cwd=tmp_path, check=True, capture_output=True
    )
    config = tmp_path / "config"
    config.mkdir()
    (config / "tls.yaml").write_text(settings.replace("/home/you", str(tmp_path)))
    monkeypatch.setenv("DASK_CONFIG", str(config))
    commands = re.sub(r"\bOWN_ADDRESS\b", "127.0.0.3", commands)
    commands = re.sub(r"\bADDRESS\b", "127.0.0.2", commands)
    options = re.search(r"^dask scheduler (.+)$", commands, re.M)[1]
    join = re.search(r"^dask (worker .+)$", commands, re.M)[1]
    scheduler, address = scheduler_on(dask, *options.split())
    assert address.startswith("tls://127.0.0.2:")
    worker, log = dask(*join.replace("tls://127.0.0.2:8786", address).split())
    wait_for("Registered to", log)
    found = listening(scheduler, worker)
    outside = {(host, port) for host, port in found if host != "127.0.0.1"}
    assert {host for host, _ in outside} == {"127.0.0.2", "127.0.0.3"}
    for host, port in outside:
        assert "certificate required" in answer_to_a_stranger(host, port)
    script = (
        "import sys\n"
        "from autograder.grading.cluster import cluster_executor\n"
        "with cluster_executor(sys.argv[1]) as executor:\n"
        "    print(executor.submit(int, '7').result())\n"
    )
    command = [sys.executable, "-c", script, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "7\n", done.stderr[-2000:]


def answer_to_a_stranger(host, port):
    """What somebody without a certificate is told."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, port), timeout=10) as plain:
        try:
            with anybody.wrap_socket(plain) as encrypted:
                return f"welcome: {encrypted.recv(1)!r}"
        except ssl.SSLError as error:
            return str(error).replace("_", " ").lower()
