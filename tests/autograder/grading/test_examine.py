"""One submission, examined in the real sandbox."""

from __future__ import annotations

import pytest

from autograder.exercise import load_topic
from autograder.sandbox.bubblewrap import SandboxUnavailable
from autograder.sandbox.limits import Limits
from autograder.sandbox.manager import SandboxKernelManager
from classroom.submissions import cell_source
from tests.autograder.conftest import TOPIC, code_cell, scores
from tests.suites import sweep


def test_right_submission_has_full_points(examined, solved):
    report = examined(solved())
    assert report["score"] == report["max_score"] > 0
    assert all(exercise["mistake"] is None for exercise in report["exercises"])
    assert report["notes"] == []


def test_blank_submission_has_none(examined, master):
    report = examined(master)
    assert report["score"] == 0
    assert {e["message"] for e in report["exercises"]} == {"not implemented yet"}


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


@sweep(
    "left",
    [
        "import numpy as np\nnp.seterr(all='raise')",
        "import sys\nsys.setrecursionlimit(60)",
        "import cProfile\ncProfile.Profile().enable()",
        "import builtins, os\nos.environ.clear()\nbuiltins.open = None",
        "import sys\nsys.stdout.close()\nsys.stdout = sys.stderr = None\n1 / 0",
    ],
)
def test_what_an_added_cell_sets_costs_a_right_answer_nothing(examined, solved, left):
    data = solved()
    data["cells"].insert(2, code_cell(left))
    report = examined(data)
    assert report["score"] == report["max_score"]


@sweep(
    "stop",
    [
        "breakpoint()",
        "import pdb; pdb.set_trace()",
        "from IPython.core.debugger import set_trace; set_trace()",
    ],
)
def test_a_stop_that_was_left_in_an_answer_costs_nothing(examined, solved, right, stop):
    name, rest = right["softmax"].split('"""\n    shifted', 1)
    stopping = f'{name}"""\n    {stop}\n    shifted{rest}'
    report = examined(solved(softmax=stopping))
    assert report["score"] == report["max_score"]


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
    class Refusing(SandboxKernelManager):
        starts = 0

        async def start_kernel(self, **options):
            Refusing.starts += 1
            if Refusing.starts == number:
                raise RuntimeError("no room")
            await super().start_kernel(**options)

    monkeypatch.setattr("autograder.grading.execution.SandboxKernelManager", Refusing)
    killer = solved(softmax="import os; os._exit(1)")
    with pytest.raises(SandboxUnavailable, match="no kernel started: no room"):
        examined(killer)


@sweep(
    "line",
    [
        "open('data.csv')",
        "%of_nobody",
        "from numpy import nothing, array",
    ],
)
def test_a_line_that_fails_here_does_not_cost_what_is_below_it(
    examined, solved, right, line
):
    helper = "def reshaped(x):\n    return array(x)" if "array" in line else "x = 1"
    source = f"# Mine\n{line}\n{helper}\n{right['attend']}"
    report = examined(solved(attend=source))
    assert report["score"] == report["max_score"]
    (note,) = [n for n in report["notes"] if "stopped" in n]
    where = "" if line == "%of_nobody" else " in line 2"
    assert note.startswith(f"the cell of attend stopped{where} (")
    assert note.endswith("); what is below was run")


def test_cells_of_ones_own_that_end_the_kernel_cost_no_answer(examined, solved, right):
    """Five experiments that take too long, and one that an answer needs a part of."""
    data = solved(attend="attend = mine")
    busy = "import numpy as np\nwhile True:\n    pass"
    data["cells"].insert(
        1, code_cell(f"{right['attend']}\n{busy}".replace("def attend", "def mine"))
    )
    for _ in range(4):
        data["cells"].insert(1, code_cell(busy))
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


def test_answers_of_a_neighbour_are_worth_nothing(
    examined, right, solved, expected, monkeypatch
):
    """A submission that knows what others were asked, and the right answers to that."""
    seeds = expected["attend"].seeds
    answer = (
        right["attend"].replace("def attend(", "def neighbour(")
        + "\n\nfrom autograder.exercise import load_topic\n"
        "table = {}\n"
        "def record(query, inputs):\n"
        "    found = neighbour(query, inputs)\n"
        "    return table.setdefault(query.tobytes() + inputs.tobytes(), found)\n"
        f"cases = load_topic({TOPIC!r}).exercises['attend'].cases\n"
        f"for case, seed in zip(cases, {seeds!r}):\n"
        "    try:\n"
        "        case.run(record, np.random.default_rng(seed))\n"
        "    except ValueError:\n"
        "        pass  # as a case asks for\n"
        "def attend(query, inputs):\n"
        "    found = table.get(query.tobytes() + inputs.tobytes())\n"
        "    if found is None:\n"
        "        raise ValueError('not asked before')\n"
        "    return found\n"
    )
    with monkeypatch.context() as patch:
        patch.setattr(
            "autograder.grading.execution.draw_seeds",
            lambda exercise: expected[exercise.name].seeds,
        )
        as_others = examined(solved(attend=answer))
    assert as_others["score"] == as_others["max_score"]
    assert scores(examined(solved(attend=answer)))["attend"] == 0
