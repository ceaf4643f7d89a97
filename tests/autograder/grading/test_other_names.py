"""An answer that has another name than its stub is told so, in grading as well."""

from __future__ import annotations

import time

import pytest

from autograder.cells import without_file
from autograder.grading import remarks
from autograder.grading.other_names import MOST_DEFINITIONS, name_renamed
from autograder.judge import refuse
from autograder.reasons import Reason
from autograder.rows import NOT_YET as MESSAGE
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.rebuild import rebuild
from autograder.submissions.written import written_in

RIGHT = (
    "def {}(scores):\n"
    "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
    "    return e / e.sum(axis=-1, keepdims=True)\n"
)
STUB = "def softmax(scores):\n    raise NotImplementedError\n\n\n"
NOT_YET = "Not implemented yet. Replace the line that raises NotImplementedError. "


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            STUB + RIGHT.format("softmx"),
            NOT_YET + "If softmx is your answer: it has to be called softmax, as in "
            "the stub, which is still there.",
        ),
        (STUB + RIGHT.format("normalised"), NOT_YET + "If normalised is your answer"),
        (STUB + RIGHT.format("f").replace("scores", "x"), "not implemented yet"),
        (
            RIGHT.format("softmx"),
            "softmax is not defined. If softmx is your answer: it has to be called "
            "softmax, as in the stub.",
        ),
        (RIGHT.format("f").replace("scores", "x"), "softmax is not defined."),
        (  # what cannot be written out again takes no mark away
            STUB + f"def helper():\n    return 0x{'f' * 4000}",
            "not implemented yet",
        ),
        (STUB + "def helper(x):\n    return f'{x}\u00a0m'", "not implemented yet"),
        (
            RIGHT.format("softmax").replace("np.exp(", "nq.exp("),
            "NameError: A name is not defined: a typo",
        ),
        (
            "def softmax(scores)\n    return scores",
            "its cell stopped with SyntaxError: expected ':' (line 1)",
        ),
    ],
)
def test_an_answer_under_another_name_is_told_so(examined, solved, cell, says):
    report = examined(solved(softmax=cell))
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["score"] == 0
    assert softmax["message"].startswith(says)


@pytest.fixture
def named(topic, master, solved):
    """The messages when nothing was answered but cells were written, by exercise."""

    def run(cell):
        rebuilt = rebuild(master, written_in(solved(softmax=STUB + cell)))
        stubs = topic.exercises.values()
        reports = [refuse(e, MESSAGE, Reason.STUB) for e in stubs]
        return {r.name: r.message for r in name_renamed(master, rebuilt, reports, {})}

    return run


SAME_PARAMETERS = "".join(
    f"def a_helper_of_my_own_number_{n}(scores): return scores\n" for n in range(1500)
)
HARD_TO_READ = {
    "many definitions": SAME_PARAMETERS,
    "a class of many": "class A:\n" + "    def f(self): return 1\n" * 4000,
    "lists in lists": f"def f(x):\n    return {'[' * 190}{']' * 190}\n",
    "more lists than can be read": f"def f(x):\n    return {'[' * 5000}{']' * 5000}\n",
    "signs": f"def f(x):\n    return {'-' * 50_000}x\n",
    "attributes": f"def f(x):\n    return x{'.b' * 40_000}\n",
    "hexadecimal digits": f"def f(x=0x{'f' * 90_000}):\n    return x\n",
    "a name of them": f"def x{'f' * 90_000}(scores):\n    return scores\n",
    "parameters": f"def f({', '.join(f'a{n}' for n in range(12_000))}): return 1\n",
    "branches": "def f(x):\n    if x: pass\n" + "    elif x: pass\n" * 5000,
}


@pytest.mark.parametrize("cell", HARD_TO_READ.values(), ids=HARD_TO_READ)
def test_no_search_for_a_name_takes_long_or_fails(named, cell):
    """Nothing that is found here changes a mark, so nothing here may cost one."""
    before = time.process_time()
    assert set(named(cell).values()) - {MESSAGE} <= {named(cell)["softmax"]}
    assert time.process_time() - before < 20  # twice; it takes two or less


def test_a_name_is_looked_for_among_the_first_definitions(named):
    last = "def softmx(scores): return scores * 2\n"
    others = "".join(f"def f{n}(x): return x\n" for n in range(MOST_DEFINITIONS - 20))
    assert "softmx" in named(others + last)["softmax"]
    assert "softmx" not in named(others * 2 + last)["softmax"]


def test_a_search_that_takes_too_long_is_given_up(named, monkeypatch):
    monkeypatch.setattr(remarks, "reading_limit", lambda: reading_limit(0.001))
    assert set(named(SAME_PARAMETERS).values()) == {MESSAGE}


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            "SyntaxError: expected ':' (<ipython-input-3-0f>, line 2)",
            "SyntaxError: expected ':' (line 2)",
        ),
        ("SyntaxError: '(' was never closed (1234567.py, line 12)", None),
        ("ModuleNotFoundError: No module named 'helper'", None),
        ("ValueError: a file (mine.py, line 2) of my own", None),
    ],
)
def test_a_cell_is_not_called_by_the_name_of_its_file(error, shown):
    expected = shown or error.replace("1234567.py, ", "")
    assert without_file(error) == expected
