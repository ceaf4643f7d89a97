"""One submission, examined in the real sandbox."""

from __future__ import annotations

import pytest

from autograder.errors import GraderFault
from autograder.exercise import load_topic
from autograder.grading.client import SubmissionClient
from autograder.grading.execution import draw_seeds
from autograder.sandbox.limits import Limits
from classroom.submissions import cell_source
from tests.autograder.conftest import TOPIC, code_cell
from tests.suites import sweep


def test_right_submission_has_full_points(examined, solved):
    report = examined(solved())
    assert report["score"] == report["max_score"] > 0
    assert all(exercise["mistake"] is None for exercise in report["exercises"])
    assert report["notes"] == []


def test_a_mistake_of_the_bank_is_named_in_the_kernel_too(examined, solved):
    topic = load_topic(TOPIC)
    first = {name: topic.mistakes(name)[0] for name in topic.exercises}
    answers = {name: cell_source(found, name) for name, found in first.items()}
    report = examined(solved(**answers))
    named = {e["name"]: e["mistake"] for e in report["exercises"]}
    assert named == {name: found.name for name, found in first.items()}


def test_syntax_error_costs_only_its_own_exercise(examined, solved):
    report = examined(solved(soft_lookup="def soft_lookup(query:\n    return"))
    found = {e["name"]: e for e in report["exercises"]}
    lookup = found.pop("soft_lookup")
    assert lookup["score"] == 0
    assert "its cell stopped with SyntaxError" in lookup["message"]
    assert all(e["score"] == e["max_score"] for e in found.values())


def test_a_compiled_answer_runs_as_it_was_written(examined, solved):
    """Compiling takes a compiler, and a minute that an answer may not have."""
    compiled = (
        "import torch\n"
        "@torch.compile(fullgraph=True)\n"
        "def weights(scores):\n"
        "    return torch.softmax(scores, dim=-1)\n"
        "def softmax(scores):\n"
        "    return weights(torch.as_tensor(scores)).numpy()\n"
    )
    limits = Limits(cell_seconds=20, submission_seconds=60)
    report = examined(solved(softmax=compiled), limits)
    assert report["score"] == report["max_score"]


def test_an_answer_that_waits_for_somebody_to_type_was_begun(examined, solved):
    asks = "def softmax(scores):\n    return float(input('temperature'))"
    report = examined(solved(softmax=asks))
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["score"] == 0
    assert "in your line 2, `return float(input(" in softmax["cases"][0]["message"]


def test_every_answer_with_an_experiment_above_it_has_its_chance(
    examined, solved, right
):
    """The next kernel runs what the cell defines."""
    left = "import os; os._exit(1)\n"
    report = examined(solved(**{name: left + text for name, text in right.items()}))
    assert report["score"] == report["max_score"]
    assert any("cell of attend ended the kernel" in note for note in report["notes"])


@sweep(
    "ending",
    [
        "import os\n@lambda f: os._exit(0)\ndef attend(q, X): return q",
        "def attend(q, X):\n    while True: pass",
    ],
)
def test_what_ends_the_kernel_costs_its_own_exercise_only(examined, solved, ending):
    limits = Limits(cell_seconds=1, submission_seconds=30)
    report = examined(solved(attend=ending), limits)
    marks = {e["name"]: e["score"] == e["max_score"] for e in report["exercises"]}
    assert marks.pop("attend") is False
    assert all(marks.values())
    assert "ended the kernel" in report["exercises"][2]["message"]


def test_who_prints_a_lot_at_each_call_loses_outputs_and_no_points(
    examined, solved, right
):
    """A hundred calls: 20 MB, of which 8 are kept."""
    head, shifted = right["softmax"].rsplit("    shifted", 1)
    loud = f"{head}    print('x' * 200_000)\n    shifted{shifted}"
    data = solved(softmax=loud)
    flood = "for _ in range(100): softmax(np.zeros(2))"
    at = next(i for i, c in enumerate(data["cells"]) if c["source"] == loud)
    data["cells"].insert(at + 1, code_cell(f"{flood}\nprinted = True"))
    before = right["attend"].replace("def attend", "assert printed\ndef attend")
    data["cells"][:] = [
        {**c, "source": before} if c["source"] == right["attend"] else c
        for c in data["cells"]
    ]
    report = examined(data, Limits(cell_seconds=20))
    assert report["score"] == report["max_score"]
    assert "of all that was printed, the first 8 MB are kept" in report["notes"]


@pytest.mark.parametrize("number", [1, 2])
def test_that_no_kernel_starts_is_no_fault_of_a_submission(
    monkeypatch, examined, solved, number
):
    class Refusing(SubmissionClient):
        starts = 0

        def start(self):
            Refusing.starts += 1
            if Refusing.starts == number:
                raise RuntimeError("no room")
            super().start()

    monkeypatch.setattr("autograder.grading.execution.SubmissionClient", Refusing)
    killer = solved(softmax="import os; os._exit(1)")
    with pytest.raises(GraderFault, match="no room"):
        examined(killer)


def test_a_line_that_fails_here_does_not_cost_what_is_below_it(examined, solved, right):
    line = "from numpy import nothing, array\ndef reshaped(x):\n    return array(x)"
    report = examined(solved(attend=f"# Mine\n{line}\n{right['attend']}"))
    assert report["score"] == report["max_score"]
    (note,) = report["notes"]
    assert note.startswith("the cell of attend stopped in line 2 (")
    assert note.endswith("); what is below was run")


def test_cells_of_ones_own_that_end_the_kernel_cost_no_answer(examined, solved, right):
    """Some take too long, one all the memory; of one, an answer needs a part."""
    data = solved(attend="attend = mine")
    greedy = "x = [bytearray(2**28) for _ in range(1000)]"
    busy = "import numpy as np\nwhile True:\n    pass"
    data["cells"].insert(
        1, code_cell(f"{right['attend']}\n{busy}".replace("def attend", "def mine"))
    )
    for source in (greedy, busy, busy):
        data["cells"].insert(1, code_cell(source))
    limits = Limits(cell_seconds=1, submission_seconds=60)
    report = examined(data, limits)
    assert report["score"] == report["max_score"]
    assert report["notes"][:2] == [
        "a cell of yours ended the kernel: time limit of 1 s",
        "of the cells that you added, only what they define was run then",
    ]


def test_cells_of_ones_own_that_use_up_all_the_time_cost_no_answer(examined, solved):
    data = solved()
    busy = "import time\nend = time.process_time() + 1\n"
    busy += "while time.process_time() < end:\n    pass"
    for _ in range(8):
        data["cells"].insert(1, code_cell(busy))
    limits = Limits(cell_seconds=3, submission_seconds=4)
    report = examined(data, limits)
    assert report["score"] == report["max_score"]
    assert report["notes"] == [
        "a cell of yours ended the kernel: time limit of 4 s",
        "of the cells that you added, only what they define was run then",
    ]


def test_no_question_is_asked_twice(topic):
    exercise = topic.exercises["attend"]
    seeds = [seed for _ in range(9) for seed in draw_seeds(exercise)]
    assert len(set(seeds)) == 9 * len(exercise.cases)
