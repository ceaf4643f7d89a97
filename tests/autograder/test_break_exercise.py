"""Exercises whose answer is a test: what is sent is checked, and run by us alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import autograder.exercises
from autograder import check as checking
from autograder.answer_key import read_key, write_key
from autograder.answers import Answer
from autograder.break_exercise import (
    BreakExercise,
    WrongVersions,
    hidden_versions,
    hide,
)
from autograder.exercise import (
    Exercise,
    Mistake,
    load_topic,
    topic_names,
)
from autograder.explain.advice import ANOTHER_TEST, FOUND_LATER, SMALLER
from autograder.failing import failing_calls
from autograder.judge import Report
from autograder.picture import first_difference
from autograder.specification import (
    LARGEST,
    NotAllowed,
    integers,
    read_arguments,
    real,
    reals,
    whole,
)
from autograder.verdict import AGREES, LATER, NOT_ALLOWED
from tests.autograder.judged import report_on

TOPIC = "simplified_attention"
ROOT = Path(autograder.exercises.__file__).parent
BREAKS = [
    pytest.param(topic, name, id=name)
    for topic in topic_names()
    for name, exercise in load_topic(topic).exercises.items()
    if isinstance(exercise, BreakExercise)
]


def report_on_scores(*scores) -> Report:
    return report_on("break_softmax", lambda: scores)


def passed(report: Report) -> list[bool]:
    return [case.passed for case in report.cases]


def anything(*arguments):
    return ""


# What is right, and what is wrong with what is not.


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_a_stub_earns_nothing_and_the_reference_everything(topic, name):
    def stub():
        raise NotImplementedError

    blank = report_on(name, stub)
    assert (blank.score, blank.message) == (0, "not implemented yet")
    done = report_on(name, load_topic(topic).reference(name))
    assert done.score == done.max_score > 0


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_versions_are_two_to_six_and_each_is_told_from_the_others(topic, name):
    exercise = load_topic(topic).exercises[name]
    versions = hidden_versions(exercise)
    assert 2 <= len(versions) <= 6
    assert len({known.name for known in versions}) == len(versions)
    assert len(exercise.cases) - len(versions) in (0, 1)
    for known in versions:  # the title gives it away in part only
        source = Path(ROOT, f"{topic}.py").read_text(encoding="utf-8")
        assert known.name not in source


@pytest.mark.parametrize(
    "nothing",
    [
        *(None, (), "all", 7, {}, ("scores",), ([np.zeros(2), np.zeros((3, 1))],)),
        tuple(np.zeros((1, 0, 7)) for _ in range(3)),
    ],
)
@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_what_are_no_arguments_earns_nothing(topic, name, nothing):
    report = report_on(name, lambda: nothing)
    assert report.score == 0
    assert report.cases[0].message.startswith(NOT_ALLOWED)
    assert all(
        case.message == "the same arguments as above" for case in report.cases[1:]
    )
    assert report.mistake is None
    assert ("Nothing was returned" in report.message) == (nothing is None)


def test_a_version_is_found_where_softmax_itself_says_that_it_is_wrong():
    """By hand: what each version of softmax is right on is in the title of its case."""
    spread, level = [900.0, -900.0, 0.0], [0.0, 0.0, 0.0]
    assert passed(report_on_scores(np.array(level))) == [0, 0, 0, 1, 0]
    assert passed(report_on_scores(np.array(spread))) == [0, 0, 1, 0, 0]
    both = report_on_scores(np.array([spread, level]))
    assert passed(both) == [True, True, True, True, False]
    assert both.cases[-1].message == "too large: 6 values in total, of at most 4"
    assert both.score == 4


def test_a_poor_test_is_told_what_it_does_not_show():
    report = report_on_scores(np.array([0.5, -0.5]))
    assert report.mistake == "one_row_of_everyday_scores"
    assert [case.message for case in report.cases[:3]] == [AGREES] * 3
    assert report.cases[-1].message == (
        "on these arguments, 3 of the wrong versions still agree with the right one"
    )


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_a_hint_on_a_known_test_is_quoted_as_advice_on_another_one(topic, name):
    for known in load_topic(topic).mistakes(name):
        report = report_on(name, known.implementation)
        assert report.message == f"{ANOTHER_TEST} “{known.hint}”"


def test_a_test_that_finds_all_versions_is_not_told_to_find_more():
    (x,) = load_topic(TOPIC).reference("break_softmax")()
    report = report_on_scores(np.concatenate([x] * 9))
    assert report.score < report.max_score
    assert report.message == SMALLER


# What is allowed: types, shapes, ranges and sizes, before anything runs.


def divides(n, k):
    return "`k` must divide `n`" if n % k else ""


X, QX = [reals("x", "B N")], [reals("q", "D"), reals("X", "N D")]
WHOLE, TWO = [whole("n", 1, 8)], [whole("n", 1, 8), whole("k", 1, 8)]
LARGE = np.zeros((64, 64))


@pytest.mark.parametrize(
    ("parameters", "sent", "said"),
    [
        (X, [np.array([[1.0, np.nan]])], "`x` is not finite everywhere"),
        (X, [np.array([1.0, 2.0])], r"`x` has shape \(2,\), expected \(B, N\)"),
        (X, [np.zeros((1, 0))], "which holds nothing"),
        (X, [np.full((1, 1), 2 * LARGEST)], "`x` has to lie between -1000 and 1000"),
        (X, [None], "`x` has to be an array"),
        ([integers("x", "N", 0, 5)], [np.array([1.0])], "has to hold integers"),
        # -1 as a signed integer
        (
            [integers("x", "N", -3, 3)],
            [np.array([2**64 - 1], dtype=np.uint64)],
            "has to lie between -3 and 3",
        ),
        *((WHOLE, [wrong], "`n`") for wrong in map(np.array, (9, [3], 2.5))),
        (QX, [np.ones(3), np.ones((3, 4))], r"`X` has shape \(3, 4\), .* with D = 3"),
        (X * 2, [LARGE, LARGE], "8192 values, and 4096 are the most"),
        (TWO, [np.array(6), np.array(4)], "must divide"),
        (TWO, [np.array(6)], "the tuple has 1 items, and the parameters are n, k"),
    ],
)
def test_arguments_are_refused_with_a_reason(parameters, sent, said):
    with pytest.raises(NotAllowed, match=said):
        read_arguments(parameters, sent, divides if parameters is TWO else anything)


def test_what_is_allowed_is_read_as_the_target_takes_it():
    read = read_arguments(
        [whole("n", 1, 8), real("t", 0.0, 2.0), reals("x", "... N"), *QX],
        [np.array(3), np.array(1), np.arange(4), np.ones(3), np.ones((4, 3))],
        anything,
    )
    assert read[:2] == [3, 1.0]
    assert [type(value) for value in read[:2]] == [int, float]
    assert read[2].dtype == np.float64
    assert read_arguments(TWO, [np.array(6), np.array(3)], divides) == [6, 3]


# The bank.


def test_versions_have_to_fit_the_cases():
    target = Exercise("target")
    exercise = BreakExercise(name="break_target", target=target, parameters=[])
    exercise.version("right on zeros")
    one = Mistake("one", "target", "hint", abs)
    assert hide(exercise, one).versions == (one,)
    with pytest.raises(WrongVersions, match="1 cases for wrong versions, and 2"):
        hide(exercise, one, one)


# Without solutions, as in a course for credit.


@pytest.fixture
def credit(monkeypatch, tmp_path):
    """The folder of a student who has the key, and no solutions."""
    write_key(TOPIC, tmp_path / f"{TOPIC}.key")
    known = importlib.util.find_spec

    def find_spec(name, *rest):
        return None if name == "solutions" else known(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.chdir(tmp_path)
    checking.expected_here.cache_clear()
    yield tmp_path
    checking.expected_here.cache_clear()


def test_the_key_holds_no_test(credit):
    topic = load_topic(TOPIC)
    expected = read_key(topic, topic.exercises["break_softmax"], credit)
    assert expected.reference == [Answer()] * 5
    assert expected.mistakes == []


def test_with_a_key_what_is_allowed_is_judged_at_grading(credit, capsys):
    def break_softmax():
        return (np.array([[1000.0, -1000.0], [0.0, 0.0]]),)

    points = checking.check(break_softmax)
    assert points == 0
    assert repr(points) == "0"  # as nbgrader reads it
    assert "6 of 6 points are judged at grading" in points._repr_html_()
    said = capsys.readouterr().out
    assert said.count(LATER) >= 5
    assert said.count("not yet") == 5
    assert FOUND_LATER in said
    assert "break_softmax: 6 of 6 points are judged at grading" in said
    for words in ("0 of", "Stuck?"):
        assert words not in said


# Pictures and calls.


def test_the_references_test_is_neither_drawn_nor_given():
    exercise = load_topic(TOPIC).exercises["break_softmax"]

    def wrong():
        return (np.zeros((2, 2)),)

    judged = checking.examine_here(exercise, wrong)
    report, given, reference = judged.report, judged.given, judged.reference
    assert first_difference(exercise, report, given, reference) is None
    assert not list(failing_calls(exercise, wrong, report))
