"""A student on a JupyterHub: fetches, submits and reads the feedback.

The hub is a real one, with a password and a server for each student. What students have
there is the wheel, and nothing of the course but what nbgrader's exchange gives them.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.release.course import make_course
from classroom.submissions import cell_source, submission
from tests.autograder.grading.test_grade import nbgrader
from tests.lab.conftest import PATIENCE, right_cells, wait_for
from tests.students_machine import Student, build_wheel, machine_with

TOPIC = "simplified_attention"
COURSE = {"course_id": "attention-from-scratch", "assignment_id": TOPIC}
ME = getpass.getuser()  # nbgrader's exchange knows students by their accounts
PASSWORD = secrets.token_hex()

SETTINGS = """\
c = get_config()
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.DummyAuthenticator.password = {password!r}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {home!r}
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.env_keep = []
c.Spawner.environment = {{"PATH": {path!r}, "OMP_NUM_THREADS": "1"}}
c.Spawner.http_timeout = c.Spawner.start_timeout = {patience}
c.ConfigurableHTTPProxy.command = [
    {ours!r}, "-c", "from configurable_http_proxy.cli import main; main()"
]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.JupyterHub.bind_url = "http://127.0.0.1:{public}"
c.JupyterHub.hub_port = {hub}
"""


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the settings of the course and those of students say of the exchange."""
    place = tmp_path_factory.mktemp("exchange")
    (place / "exchange").mkdir()
    (place / "exchange").chmod(0o777)
    return (
        f"c.Exchange.root = {str(place / 'exchange')!r}\n"
        f"c.Exchange.cache = {str(place / 'cache')!r}\n"
    )


@pytest.fixture(scope="module")
def course(exchange: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one chapter in the exchange."""
    folder = tmp_path_factory.mktemp("instructor") / "course"
    make_course(folder, [TOPIC])
    with (folder / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(exchange)
    nbgrader(folder, "release_assignment", TOPIC)
    return folder


@pytest.fixture(scope="module")
def machine(
    root: Path, exchange: str, tmp_path_factory: pytest.TempPathFactory
) -> Student:
    """What the hub starts for a student: no checkout, no solutions."""
    wheel = build_wheel(root, tmp_path_factory.mktemp("wheel"))
    home = tmp_path_factory.mktemp("home")
    machine = machine_with(wheel, home, "jupyterhub", "nbgrader", "jupyterlab")
    for folder in ("etc/jupyter/jupyter_server_config.d", "share/jupyter/lab"):
        place = home / "env" / folder
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(Path(sys.prefix, folder))
    (home / "nbgrader_config.py").write_text(f"c = get_config()\n{exchange}")
    return machine


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens, of those that Linux gives nobody unasked."""
    found = []
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            break
    return found


class Session:
    """A student's own server behind the hub, after the student has logged in."""

    def __init__(self, hub: str) -> None:
        self.web = requests.Session()
        self.home = f"{hub}/user/{ME}"
        self.web.get(f"{hub}/hub/login").raise_for_status()
        form = {"username": ME, "password": PASSWORD, "_xsrf": self.token("/hub/")}
        started = self.web.post(f"{hub}/hub/login", form)
        deadline = time.monotonic() + PATIENCE
        while not started.url.startswith(self.home):
            assert time.monotonic() < deadline, started.text
            time.sleep(0.5)
            started = self.web.get(f"{hub}/hub/spawn")
        self.web.get(f"{self.home}/lab").raise_for_status()

    def token(self, path: str) -> str:
        """What a page of this path has to send with each form."""
        (found,) = (
            cookie.value
            for cookie in self.web.cookies
            if cookie.name == "_xsrf" and cookie.path == path
        )
        return found or ""

    def call(self, method: str, path: str, **options: Any) -> Any:
        """Ask the student's server; what it answers."""
        address = f"{self.home}/{path}"
        headers = {"X-XSRFToken": self.token(f"/user/{ME}/")}
        answer = self.web.request(method, address, headers=headers, **options)
        assert answer.ok, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def session(
    artefact: None, machine: Student, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """A hub with one student who has logged in."""
    folder = tmp_path_factory.mktemp("hub")
    public, proxy, hub = free_ports(3)
    settings = SETTINGS.format(
        password=PASSWORD,
        home=str(machine.home),
        python=str(machine.python),
        path=f"{machine.python.parent}:/usr/bin:/bin",
        patience=PATIENCE,
        ours=sys.executable,
        public=public,
        proxy=proxy,
        hub=hub,
    )
    (folder / "jupyterhub_config.py").write_text(settings)
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub"],
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{public}"
    try:
        wait_for(f"{address}/hub/api", process, log)
        yield Session(address)
    finally:
        process.terminate()  # ends the proxy and the students' servers, too
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            print(log.read_text())


def test_a_session_on_a_hub_fetches_submits_and_gets_feedback(
    course: Path, session: Session, needs_sandbox: None
):
    (listed,) = session.call("GET", "assignments", params=COURSE)["value"]
    assert listed["status"] == "released"
    (fetched,) = session.call("POST", "assignments/fetch", data=COURSE)["value"]
    (notebook,) = fetched["notebooks"]
    path = f"api/contents/{notebook['path']}"
    # The student's work: right answers, and one with a mistake that the course knows.
    right = right_cells(TOPIC)
    mistake = load_topic(TOPIC).mistakes("softmax")[0]
    work = right | {"softmax": cell_source(mistake, "softmax")}
    released = session.call("GET", path)["content"]
    written = submission(released, work)
    session.call("PUT", path, json={"type": "notebook", "content": written})
    session.call("POST", "assignments/submit", data=COURSE)
    nbgrader(course, "collect", TOPIC)
    for command in ("grade", "feedback"):
        assert main([command, TOPIC, "--course", str(course)]) == 0
    report = json.loads((course / "reports" / TOPIC / f"{ME}.json").read_text())
    lost = {e["name"] for e in report["exercises"] if e["score"] < e["max_score"]}
    assert "softmax" in lost
    nbgrader(course, "release_feedback", TOPIC)
    session.call("POST", "assignments/fetch_feedback", data=COURSE)
    (page,) = session_files(session, f"{TOPIC}/feedback")
    assert mistake.hint.split(",")[0] in page


def session_files(session: Session, folder: str) -> list[str]:
    """The pages below a folder of the student's, as the student opens them."""
    found = []
    for entry in session.call("GET", f"api/contents/{folder}")["content"]:
        if entry["type"] == "directory":
            found += session_files(session, entry["path"])
        elif entry["name"].endswith(".html"):
            path = f"api/contents/{entry['path']}"
            found.append(
                session.call("GET", path, params={"format": "text"})["content"]
            )
    return found
