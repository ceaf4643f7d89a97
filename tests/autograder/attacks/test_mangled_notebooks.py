"""Notebooks mangled at random: hypothesis looks for one that breaks the grader."""

from __future__ import annotations

import copy
import json

import nbformat
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograder.grading.worker import Job, examine_submission
from autograder.release.source import source_notebook
from autograder.release.student import student_notebook
from autograder.sandbox.limits import Limits
from autograder.submissions.submitted import Submission
from classroom.forgeries import WRONG
from classroom.submissions import right_answers, submission
from tests.autograder.attacks.conftest import left_behind, processes
from tests.autograder.conftest import TOPIC

LIMITS = Limits(cell_seconds=3, submission_seconds=20)
MASTER = student_notebook(source_notebook(TOPIC))
RIGHT = right_answers(TOPIC)
# Another answer must not hold a right softmax that a mangled grade id could make count.
HONEST = submission(
    MASTER,
    {name: text.replace("softmax", "weigh") for name, text in RIGHT.items()}
    | {"softmax": WRONG},
)
WHOLE = submission(MASTER, RIGHT)
ODD = [
    None,
    True,
    -1,
    0,
    1e308,
    10**30,
    float("nan"),
    "",
    "x" * 5000,
    "\ud800",
    "\x00\x1b[2J\u202e",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "skip-execution",
    "softmax",
    "check-softmax",
    [],
    {},
    [[[[[]]]]],
    {"nbgrader": {"grade_id": "softmax", "points": 99, "grade": True}},
    {"cell_type": "code", "source": "32", "metadata": {}},
    {"cell_type": "code", "source": ["import os\n", "os._exit(0)"], "metadata": {}},
    {"cell_type": "raw", "source": WRONG, "metadata": {"tags": ["exercise"]}},
]


def spots(value, depth=0):
    """Every container in a JSON value with a key or an index in it."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            if depth < 7:
                yield from spots(value[key], depth + 1)


def mangle_once(draw, data):
    found = list(spots(data))
    if not found:
        return
    pick = st.integers(0, len(found) - 1)
    where, key = found[draw(pick)]
    other, other_key = found[draw(pick)]
    match draw(st.sampled_from(["set", "delete", "copy", "swap", "insert", "text"])):
        case "set":
            where[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        case "delete":
            del where[key]
        case "copy":
            where[key] = copy.deepcopy(other[other_key])
        case "swap":
            one, two = copy.deepcopy(where[key]), copy.deepcopy(other[other_key])
            where[key], other[other_key] = two, one
        case "insert" if isinstance(where, list):
            where.insert(key, copy.deepcopy(draw(st.sampled_from([*ODD, where[key]]))))
        case "text" if isinstance(where[key], str) and where[key]:
            text = where[key]
            cut = draw(st.integers(0, len(text)))
            where[key] = text[:cut] + draw(st.text(max_size=20)) + text[cut + 3 :]


def mangle_cells(draw, data):
    cells = data["cells"]
    pick = st.integers(0, len(cells) - 1)
    one, two = draw(pick), draw(pick)
    match draw(st.sampled_from(["swap", "metadata", "source", "twice", "kind"])):
        case "swap":
            cells[one], cells[two] = cells[two], cells[one]
        case "metadata":
            cells[one]["metadata"] = copy.deepcopy(cells[two]["metadata"])
        case "source":
            cells[one]["source"] = cells[two]["source"]
        case "twice":
            cells.insert(two, copy.deepcopy(cells[one]))
        case "kind":
            cells[one]["cell_type"] = draw(st.sampled_from(["code", "markdown", "raw"]))


@st.composite
def mangled(draw):
    """The bytes of a notebook that was right but for softmax, and then mangled."""
    data = copy.deepcopy(HONEST)
    for _ in range(draw(st.integers(0, 4))):
        mangle_cells(draw, data)
    for _ in range(draw(st.integers(0, 4))):
        mangle_once(draw, data)
    content = bytearray(json.dumps(data).encode())
    if draw(st.integers(0, 4)) == 0:
        start = draw(st.integers(0, len(content)))
        match draw(st.sampled_from(["cut", "noise", "encode"])):
            case "cut":
                del content[start : start + draw(st.integers(1, 2000))]
            case "noise":
                content[start:start] = draw(st.binary(max_size=50))
            case "encode":
                content = bytearray(content.decode("latin-1").encode("utf-16"))
    return bytes(content)


def graded_cells(notebook):
    """What nbgrader has to find again, by grade id, and the text of what is locked."""
    return {
        entry.grade_id: (entry, cell.source.strip() if entry.locked else "")
        for cell in notebook.cells
        if (entry := cell.metadata.get("nbgrader"))
    }


@pytest.fixture(scope="module")
def worker(needs_sandbox):
    """What a worker of a grading run does with the bytes of a submission."""
    job = Job(TOPIC, nbformat.writes(MASTER), LIMITS)

    def examine(content):
        return examine_submission(job, Submission("somebody", content))

    return examine


@pytest.fixture(scope="module")
def honest_score(worker):
    return worker(json.dumps(HONEST).encode())[0]["score"]


@settings(
    max_examples=15,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(mangled())
def test_a_mangled_notebook_never_gains(worker, honest_score, content):
    """No score above the honest one; a reason for each point lost, nothing left."""
    before = processes()
    report, notebook = worker(content)
    assert 0 <= report["score"] <= honest_score
    for exercise in report["exercises"]:
        if exercise["score"] < exercise["max_score"]:
            said = [exercise["message"], *(c["message"] for c in exercise["cases"])]
            assert report["refused"] or any(said), exercise
    json.dumps(report).encode("utf-8")
    assert len(notebook.encode("utf-8")) < 5e6
    kept = nbformat.reads(notebook, as_version=4)
    nbformat.validate(kept)
    assert graded_cells(kept) == graded_cells(MASTER)
    assert sum("nbgrader" in c.metadata for c in kept.cells) == len(graded_cells(kept))
    assert not left_behind(before)


def test_after_them_a_right_notebook_has_all_its_points(worker, everything):
    assert worker(json.dumps(WHOLE).encode())[0]["score"] == everything
