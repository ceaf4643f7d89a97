"""Attacks 1 to 17: points that were not earned.

Each attacker's notebook is right but for softmax, which is wrong and holds the attack.
The honest notebook is wrong in the same way and attacks nothing.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.answers import decode
from autograder.book import chapter_names
from autograder.break_exercise import BreakExercise
from autograder.encoding import encode
from autograder.exercise import load_topic
from autograder.expected import expect
from autograder.judge import judge, mark
from classroom.forgeries import IN_THE_SOLUTION
from classroom.submissions import submission
from tests.autograder.attacks.conftest import about, printed
from tests.autograder.conftest import TOPIC, scores

EXPLAINED = (
    "differ",
    "expected",
    "raised",
    "no answer was received",
    "ended the kernel",
    "its cell stopped",
    "the result",
    "malformed",
    "misconception",
)


def skip_execution(data):
    for cell in data["cells"]:
        cell["metadata"].setdefault("tags", []).append("skip-execution")


def raises_exception(data):
    for cell in data["cells"]:
        cell["metadata"]["tags"] = ["raises-exception", "remove-cell"]


IN_THE_METADATA = {
    "01 a skip-execution tag is on every cell": skip_execution,
    "01 other tags are on every cell": raises_exception,
}


@pytest.fixture(scope="module")
def graded(grade_class, attacking, asked, master, right):
    students = {"honest": attacking(), "neighbour a": submission(master, right)}
    tell = ["print('FOUND', globals().get('FOUND'))"]
    students |= {
        name: attacking(code, after=tell)
        for name, code in asked(IN_THE_SOLUTION).items()
    }
    for name, spoil in asked(IN_THE_METADATA).items():
        students[name] = attacking()
        spoil(students[name])
    files = "14 own modules lie beside the notebook"
    students[files] = attacking()
    students["neighbour z"] = submission(master, right)

    def put_files_beside(course):
        folder = course / "submitted" / files / TOPIC
        poison = "raise SystemExit('poisoned')"
        for name in ("numpy.py", "sitecustomize.py", "conftest.py", "IPython.py"):
            (folder / name).write_text(poison)
        (folder / "torch").mkdir()
        (folder / "torch" / "__init__.py").write_text(poison)
        (folder / "numpy.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
        startup = folder / ".ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00.py").write_text(poison)

    return grade_class(students, spoil=put_files_beside)


FORGERIES = [
    *IN_THE_SOLUTION,
    *IN_THE_METADATA,
    "14 own modules lie beside the notebook",
]


@pytest.mark.parametrize("attack", FORGERIES)
def test_a_forgery_earns_no_more_than_the_same_answer_without_it_and_says_why(
    graded, attack
):
    honest, report = graded.reports["honest"], graded.reports[attack]
    said = about(report)
    assert scores(honest)["softmax"] == 0 == scores(report)["softmax"], said
    assert 0 <= report["score"] <= honest["score"]
    assert graded.marks[attack] == report["score"]
    (exercise,) = [e for e in report["exercises"] if e["name"] == "softmax"]
    assert exercise["mistake"] or any(words in said for words in EXPLAINED), said


def test_the_neighbours_of_forgers_have_all_their_points(graded, everything):
    assert graded.marks["neighbour a"] == everything == graded.marks["neighbour z"]
    assert graded.outcome.refused == {}


def test_most_forgeries_cost_the_other_exercises_nothing(graded):
    """What is not broken on purpose is graded as if nothing had happened."""
    honest = graded.reports["honest"]["score"]
    harmed = {s for s, r in graded.reports.items() if r["score"] < honest}
    assert harmed <= {
        "04 comparisons and builtins are patched",
        "06 a transformer drops and replaces statements",
        "06 an input transformer rewrites the question",
        "08 check and the answering code are patched",
        "08 the responder is replaced",
        "12 an alarm jumps out of the question",
        "10 what is sent is no frame",
        "10 the next request is read by the submission",
        "12 the socket is shut",
        "17 the random generator gives zeros",
        "17 the random generator gives what another seed gives",
        "ipython callbacks and hooks are installed",
    }


@pytest.mark.parametrize(
    "attack",
    [
        "09 memory is searched for expected values",
        "11 the reference is looked for by import",
    ],
)
def test_a_search_finds_no_reference(graded, attack):
    found = [
        line
        for line in printed(graded.notebook(attack)).splitlines()
        if "FOUND" in line
    ]
    assert found
    for line in found:
        assert not set(line.removeprefix("FOUND")) - set("[] ,"), line


# The judge alone, on every chapter: what is known before the question is asked.


def known_seeds(topic, chance):
    """The same at every run, so that luck does not decide about a test."""
    draw = random.Random(f"{topic.name}/{chance}").getrandbits
    return {n: [draw(48) for _ in e.cases] for n, e in topic.exercises.items()}


@pytest.fixture(scope="module", params=chapter_names())
def chapter(request):
    topic = load_topic(request.param)
    seeds = known_seeds(topic, 1)
    return topic, {n: expect(topic, e, seeds[n]) for n, e in topic.exercises.items()}


def test_answers_remembered_from_another_grading_earn_nothing(chapter):
    """But by luck, where few answers are possible: so of three gradings, the least."""
    topic, asked = chapter
    earned = {}
    for name, exercise in topic.exercises.items():
        if isinstance(exercise, BreakExercise):  # nothing is drawn for it
            continue
        remembered = [
            expect(topic, exercise, known_seeds(topic, n)[name], asked[name])
            for n in (2, 3, 4)
        ]
        earned[name] = min(
            mark(exercise, one.reference, asked[name]).score for one in remembered
        )
    assert not any(earned.values()), earned


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=20)
    | hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_side=4)),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)
forgeries = st.binary(max_size=60) | st.builds(
    lambda kind, value, noise: kind + encode(value) + noise,
    st.sampled_from([b"V", b"R", b"U", b""]),
    values | st.tuples(st.sampled_from(["ValueError", "eval"]), st.text(max_size=20)),
    st.just(b"") | st.binary(max_size=5),
)


@settings(max_examples=300)
@given(forgeries, st.sampled_from([mark] * 9 + [judge]))
def test_no_forged_encoding_of_an_answer_is_worth_a_point(
    topic, expected, forged, examiner
):
    """One in ten is also explained, which takes long."""
    exercise = topic.exercises["softmax"]
    given_answers = [decode(forged)] * len(exercise.cases)
    report = examiner(exercise, given_answers, expected["softmax"])
    assert report.score == 0
    assert all(len(case.message) < 1000 for case in report.cases)
    assert all(line.isprintable() for case in report.cases for line in [case.message])
