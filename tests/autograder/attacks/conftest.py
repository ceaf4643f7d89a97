"""Attacks on the grader: a class of attackers is graded once, and looked at.

Everything runs on the real thing: the course folder, the worker processes, the sandbox
and nbgrader's gradebook. The numbers in the names of tests are those of the list of
attacks that the grader was designed against.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook

from autograder.grading.chapter import Outcome
from autograder.grading.examine import examine
from autograder.grading.grade import Unexamined
from autograder.sandbox.connection import fork_servers
from autograder.sandbox.limits import Limits
from autograder.submissions.cells import as_handed_in
from classroom.forgeries import WRONG
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC, code_cell, patiently

LIMITS = Limits(cell_seconds=5, submission_seconds=30)


@pytest.fixture(scope="session", autouse=True)
def attacks(attacker):
    """All tests here are about attackers."""


@dataclass(frozen=True)
class Asked:
    """Which of a file's attackers its chosen tests ask about.

    Attributes:
        names: their names, or nothing where some test may be about all of them.
    """

    names: frozenset[str] | None

    def __call__(self, attackers: dict[str, Any]) -> dict[str, Any]:
        """Those of some attackers that are asked about."""
        if self.names is None:
            return attackers
        return {name: attackers[name] for name in attackers if name in self.names}


@pytest.fixture(scope="module")
def asked(request):
    """Who has to be graded: ``make test`` chooses one attack of each file."""
    chosen = [item for item in request.session.items if item.path == request.path]
    given = [getattr(item, "callspec", None) for item in chosen]
    names = [spec.params.get("attack") if spec else None for spec in given]
    return Asked(None if None in names else frozenset(names))


@dataclass(frozen=True)
class Graded:
    """A class after grading.

    Attributes:
        course: folder of the course.
        outcome: what the run said.
        reports: by student.
        marks: scores in nbgrader's gradebook, by student.
    """

    course: Path
    outcome: Outcome
    reports: dict[str, dict[str, Any]]
    marks: dict[str, float]

    def notebook(self, student: str) -> nbformat.NotebookNode:
        """What was kept of a submission."""
        path = self.course / "autograded" / student / TOPIC / f"{TOPIC}.ipynb"
        return nbformat.read(path, as_version=4)


@pytest.fixture(scope="session")
def grade_class(request, needs_sandbox, released_course, tmp_path_factory):
    """Hand in notebooks to a course and grade them; by default, as ``grade`` does."""

    def run(students, limits=LIMITS, spoil=lambda course: None, by=None) -> Graded:
        course = tmp_path_factory.mktemp("attacked") / "course"
        shutil.copytree(released_course, course)
        hand_in(course, TOPIC, students)
        spoil(course)
        by = partial(by or request.getfixturevalue("grade"), TOPIC, course)
        for _ in range(9):
            with contextlib.suppress(Unexamined):  # the machine may be busy
                outcome = by(limits=limits)
                break
        else:
            outcome = by(limits=limits)
        reports = {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in (course / "reports" / TOPIC).glob("*.json")
        }
        url = f"sqlite:///{course / 'gradebook.db'}"
        with Gradebook(url, "attention-from-scratch") as book:
            found = book.assignment_submissions(TOPIC)
            marks = {s.student.id: s.score for s in found}
            assert not any(s.needs_manual_grade for s in found)
        return Graded(course, outcome, reports, marks)

    return run


@pytest.fixture(scope="session")
def examination(needs_sandbox, topic, master, expected):
    """Examine one submission in the sandbox; the report and the notebook kept."""

    def run(data, **limits):
        limits = Limits(**{"cell_seconds": 8, "submission_seconds": 40, **limits})
        handed_in = as_handed_in(master, data, topic.exercises)
        go = partial(examine, handed_in, topic, expected, limits)
        return patiently(partial(go, servers=fork_servers()))

    return run


@pytest.fixture
def asked_the_same(monkeypatch, expected):
    """Every submission is asked what the test knows."""
    monkeypatch.setattr(
        "autograder.grading.execution.draw_seeds",
        lambda exercise: expected[exercise.name].seeds,
    )


@pytest.fixture(scope="session")
def attacking(master, right):
    """A notebook that is right but for softmax, which holds an attack and is wrong.

    No other answer has a right softmax of its own, under this name. ``cells`` are added
    before the exercise, ``after`` behind everything.
    """
    others = {n: re.sub(r"\bsoftmax\b", "weigh", text) for n, text in right.items()}

    def make(softmax: str = WRONG, cells=(), after=(), **answers) -> dict[str, Any]:
        data = submission(master, {**others, "softmax": softmax, **answers})
        place = next(
            number
            for number, cell in enumerate(data["cells"])
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "softmax"
        )
        data["cells"][place:place] = [code_cell(source) for source in cells]
        data["cells"] += [code_cell(source) for source in after]
        return data

    return make


@pytest.fixture(scope="session")
def everything(topic):
    """All points of the chapter."""
    return sum(exercise.points for exercise in topic.exercises.values())


class Cost:
    """Memory that this process takes at most, beyond what it had: megabytes."""

    def __enter__(self) -> Cost:
        gc.collect()  # what earlier tests have left
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        self._before = self._memory("VmRSS")
        return self

    def __exit__(self, *exc: object) -> None:
        self.megabytes = (self._memory("VmHWM") - self._before) / 1024

    def _memory(self, name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))


def about(report: dict[str, Any], name: str = "softmax") -> str:
    """All that a report says about one exercise, and its notes."""
    exercise = next(e for e in report["exercises"] if e["name"] == name)
    cases = [case["message"] for case in exercise["cases"]]
    return " | ".join([exercise["message"], *cases, *report["notes"]])


def printed(notebook: nbformat.NotebookNode) -> str:
    """All text that the code of a student put out."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text") or "")
            texts += output.get("traceback") or []
            texts.append(output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


def processes() -> set[int]:
    """The sandboxes and kernels of this test run, and those that nobody owns."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has just ended
            if "autograder.sandbox.fork_server" not in process.cmdline():
                continue
            above = [parent.pid for parent in process.parents()]
            others = [pid for pid in above if pid not in (0, 1) and not _is_ours(pid)]
            if os.getpid() in above or not others:
                found.add(process.pid)
    return found


def _is_ours(pid: int) -> bool:
    return "autograder.sandbox.fork_server" in psutil.Process(pid).cmdline()


def left_behind(before: set[int]) -> set[int]:
    """What still runs of a submission, after the moment that killing it takes."""
    end = time.monotonic() + 300
    while (left := processes() - before) and time.monotonic() < end:
        time.sleep(0.05)
    return left
