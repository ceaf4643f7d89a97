"""Exercises whose answer is a test: what is sent is checked, and run by us alone."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import autograder.exercises
from autograder import check as checking
from autograder.answer_key import read_key, write_key
from autograder.answers import Answer, answer, decode
from autograder.break_exercise import (
    BreakExercise,
    WrongVersions,
    hidden_versions,
    hide,
    shown_by,
)
from autograder.exercise import (
    Exercise,
    Mistake,
    load_topic,
    topic_names,
)
from autograder.expected import Expected, expect, public_seeds
from autograder.explain.advice import ANOTHER_TEST, FOUND_LATER, NOT_SHOWN, SMALLER
from autograder.failing import failing_call
from autograder.hints import hints_on
from autograder.judge import Report, judge
from autograder.picture import first_difference
from autograder.show import as_html, as_text
from autograder.specification import (
    LARGEST,
    MAX_SIZE,
    NotAllowed,
    integers,
    read_arguments,
    real,
    reals,
    truths,
    whole,
)
from autograder.verdict import AGREES, LATER, NOT_ALLOWED

TOPIC = "simplified_attention"
ROOT = Path(autograder.exercises.__file__).parent
BREAKS = [
    pytest.param(topic, name, id=name)
    for topic in topic_names()
    for name, exercise in load_topic(topic).exercises.items()
    if isinstance(exercise, BreakExercise)
]


@cache
def expected_of(topic_name: str, name: str) -> Expected:
    topic = load_topic(topic_name)
    exercise = topic.exercises[name]
    return expect(topic, exercise, public_seeds(exercise))


def report_on(topic_name: str, name: str, function) -> Report:
    exercise = load_topic(topic_name).exercises[name]
    expected = expected_of(topic_name, name)
    given = [
        decode(answer(case, function, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    return judge(exercise, given, expected)


def report_on_scores(*scores) -> Report:
    return report_on(TOPIC, "break_softmax", lambda: scores)


def passed(report: Report) -> list[bool]:
    return [case.passed for case in report.cases]


def anything(*arguments):
    return ""


# What is right, and what is wrong with what is not.


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_a_stub_earns_nothing_and_the_reference_everything(topic, name):
    def stub():
        raise NotImplementedError

    blank = report_on(topic, name, stub)
    assert (blank.score, blank.message) == (0, "not implemented yet")
    done = report_on(topic, name, load_topic(topic).reference(name))
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
        *(None, (), [], "all", 7, {}, (None,), ("scores",), ([[1.0, 2.0]],)),
        ([np.zeros(2), np.zeros((3, 1))], {"x": [np.zeros(2), None]}, "ragged", 4),
        tuple(np.zeros((1, 0, 7)) for _ in range(3)),
    ],
)
@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_what_are_no_arguments_earns_nothing(topic, name, nothing):
    report = report_on(topic, name, lambda: nothing)
    assert report.score == 0
    assert report.cases[0].message.startswith(NOT_ALLOWED)
    assert all(
        case.message == "the same arguments as above" for case in report.cases[1:]
    )
    assert report.mistake is None
    assert ("Nothing was returned" in report.message) == (nothing is None)


def test_scores_that_are_no_tuple_are_told_the_tuple_and_no_other_advice():
    for scores in (np.zeros((2, 2)), np.array([[1000.0, -1000.0], [0.0, 0.0]])):
        report = report_on(TOPIC, "break_softmax", lambda scores=scores: scores)
        assert (report.mistake, report.message) == (None, "")
        assert report.cases[0].message.endswith("tuple of the arguments, `(scores,)`")


def test_a_version_is_found_where_softmax_itself_says_that_it_is_wrong():
    """By hand: what each version of softmax is right on is in the title of its case."""
    spread, level = [900.0, -900.0, 0.0], [0.0, 0.0, 0.0]
    assert passed(report_on_scores(np.array(level))) == [
        False,
        False,
        False,
        True,
        False,
    ]
    assert passed(report_on_scores(np.array(spread))) == [
        False,
        False,
        True,
        False,
        False,
    ]
    both = report_on_scores(np.array([spread, level]))
    assert passed(both) == [True, True, True, True, False]
    assert both.cases[-1].message == "too large: 6 values in total, of at most 4"
    assert both.score == 4


def test_a_poor_test_is_told_what_it_does_not_show():
    report = report_on_scores(np.array([0.5, -0.5]))
    assert report.mistake == "one_row_of_everyday_scores"
    assert [case.message for case in report.cases[:3]] == [AGREES] * 3
    assert report.cases[-1].message == (
        "on these arguments, 3 wrong versions agree with the right one"
    )


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_a_hint_on_a_known_test_is_quoted_as_advice_on_another_one(topic, name):
    for known in load_topic(topic).mistakes(name):
        report = report_on(topic, name, known.implementation)
        assert report.message == f"{ANOTHER_TEST} “{known.hint}”"


def test_a_test_that_is_like_no_known_one_is_told_what_the_titles_say():
    report = report_on(
        "multi_head", "break_split_heads", lambda: (np.ones((1, 1, 2)), 1)
    )
    assert report.mistake is None
    exercise = load_topic("multi_head").exercises["break_split_heads"]
    first, advice = exercise.cases[0].title, shown_by(exercise)[0]
    assert report.message.startswith(f"To find {first}: {advice}")
    assert report.message.count("To find") == 2


def test_a_hint_on_a_known_test_is_not_quoted_where_there_is_better_advice():
    def of_everyday_tokens():
        return 3, *np.random.default_rng(0).standard_normal((3, 1, 1, 3, 1))

    def of_equal_tokens():
        return 1, *np.zeros((3, 1, 2, 3, 1))

    reports = [
        report_on("decoding", "break_cached_attention", made)
        for made in (of_everyday_tokens, of_equal_tokens)
    ]
    assert "Where all tokens are equal" not in reports[0].message
    assert "put at least one token into the cache" in reports[0].message
    assert "Where all tokens are equal" in reports[1].message


def test_without_advice_on_versions_the_titles_are_explained():
    topic = load_topic(TOPIC)
    exercise = topic.exercises["break_softmax"]
    expected = expect(topic, exercise, public_seeds(exercise))
    unlike_any = replace(expected, find_mistakes=list)
    given = [Answer(value=[np.array([0.5, -0.5])])] * len(exercise.cases)
    assert judge(exercise, given, unlike_any).message == NOT_SHOWN


@pytest.mark.parametrize(("topic", "name"), BREAKS)
def test_advice_on_a_version_goes_on_where_its_title_ends(topic, name):
    exercise = load_topic(topic).exercises[name]
    advice = shown_by(exercise)
    assert not advice or len(advice) == len(hidden_versions(exercise))
    for words in advice:
        assert words.endswith(".") and words[0].islower(), words


def test_a_test_that_finds_all_versions_is_not_told_to_find_more():
    (x,) = load_topic(TOPIC).reference("break_softmax")()
    report = report_on_scores(np.concatenate([x] * 9))
    assert report.score < report.max_score
    assert report.message == SMALLER


def test_a_hint_does_not_depend_on_how_large_a_poor_test_is():
    few, many = np.ones(2), np.ones(9)
    found = {report_on_scores(scores).mistake for scores in (few, many)}
    assert found == {"one_row_of_everyday_scores"}


def test_what_the_students_function_raises_is_their_error():
    def broken():
        return (np.zeros(3) + np.zeros(2),)

    report = report_on(TOPIC, "break_softmax", broken)
    assert report.score == 0
    assert report.cases[0].message.startswith("ValueError was raised")


def test_nothing_is_said_of_how_a_test_relates_to_the_references():
    (right,) = load_topic(TOPIC).reference("break_softmax")()
    report = report_on_scores(right[0] / 100)
    assert report.score < report.max_score
    assert "factor" not in report.message


# The door: types, shapes, ranges and sizes, before anything runs.


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (np.array([[1.0, np.nan]]), "`x` is not finite everywhere"),
        (np.array([[np.inf, 1.0]]), "`x` is not finite everywhere"),
        (np.array([[True, False]]), "`x` has to hold real numbers"),
        (np.array([1.0, 2.0]), r"`x` has shape \(2,\), expected \(B, N\)"),
        (np.zeros((2, 0)), r"each size may be 1 to 64"),
        (np.zeros((1, MAX_SIZE + 1)), r"each size may be 1 to 64"),
        (np.full((1, 1), 2 * LARGEST), "`x` has to lie between -1000 and 1000"),
        ("text", "`x` has to be an array"),
        ([1.0, 2.0], "`x` has to be an array"),
        (None, "`x` has to be an array"),
    ],
)
def test_an_array_is_refused_with_its_reason(sent, said):
    with pytest.raises(NotAllowed, match=said):
        read_arguments([reals("x", "B N")], [sent], anything)


def test_integers_stand_for_real_numbers_and_not_the_other_way_round():
    (x,) = read_arguments([reals("x", "N")], [np.array([1, 2])], anything)
    assert x.dtype == np.float64
    with pytest.raises(NotAllowed, match="has to hold integers"):
        read_arguments([integers("x", "N", 0, 5)], [np.array([1.0, 2.0])], anything)
    with pytest.raises(NotAllowed, match="has to hold truth values"):
        read_arguments([truths("x", "N")], [np.array([1, 0])], anything)


def test_an_integer_is_not_wrapped_into_the_range():
    sent = np.array([2**64 - 1], dtype=np.uint64)  # -1 as a signed one
    with pytest.raises(NotAllowed, match="has to lie between -3 and 3"):
        read_arguments([integers("x", "N", -3, 3)], [sent], anything)


def test_a_number_is_read_as_pythons_own():
    parameters = [whole("n", 1, 8), real("t", 0.0, 2.0)]
    read = read_arguments(parameters, [np.array(3), np.array(1)], anything)
    assert read == [3, 1.0]
    assert [type(value) for value in read] == [int, float]
    for wrong in (np.array(9), np.array([3]), np.array(2.5), np.array(True)):
        with pytest.raises(NotAllowed, match="`n`"):
            read_arguments(parameters, [wrong, np.array(1.0)], anything)


def test_a_bound_may_be_more_than_a_half_can_hold():
    parameters = [real("base", 2.0, 100_000.0), reals("x", "N", -1.0, 100_000.0)]
    sent = [np.array(3.0, "f2"), np.array([-1.0, 60_000.0], "f2")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it would name a file of the grader
        base, x = read_arguments(parameters, sent, anything)
    assert base == 3.0
    assert x.tolist() == [-1.0, 60_000.0 // 32 * 32]


def test_a_letter_is_one_size_in_all_arguments():
    parameters = [reals("q", "D"), reals("X", "N D")]
    read_arguments(parameters, [np.ones(3), np.ones((4, 3))], anything)
    with pytest.raises(NotAllowed, match=r"`X` has shape \(3, 4\), .* with D = 3"):
        read_arguments(parameters, [np.ones(3), np.ones((3, 4))], anything)


def test_leading_axes_are_few():
    parameters = [reals("x", "... N")]
    for axes in (1, 2, 3):
        read_arguments(parameters, [np.ones((1,) * axes)], anything)
    for axes in (0, 4, 16):
        with pytest.raises(NotAllowed, match="has shape"):
            read_arguments(parameters, [np.ones((1,) * axes)], anything)


def test_all_arguments_together_are_small():
    side = np.zeros((MAX_SIZE, MAX_SIZE))
    with pytest.raises(NotAllowed, match="8192 values, and 4096 are the most"):
        read_arguments([reals("x", "N N"), reals("y", "N N")], [side, side], anything)


def test_a_rule_refuses_arguments_together():
    parameters = [whole("n", 1, 8), whole("k", 1, 8)]

    def rule(n, k):
        return "`k` must divide `n`" if n % k else ""

    assert read_arguments(parameters, [np.array(6), np.array(3)], rule) == [6, 3]
    with pytest.raises(NotAllowed, match="must divide"):
        read_arguments(parameters, [np.array(6), np.array(4)], rule)


# The bank.


def test_versions_have_to_fit_the_cases():
    target = Exercise("target")
    exercise = BreakExercise(name="break_target", target=target, parameters=[])
    exercise.version("right on zeros")
    one = Mistake("one", "target", "hint", abs)
    assert hide(exercise, one).versions == (one,)
    with pytest.raises(WrongVersions, match="1 cases for wrong versions, and 2"):
        hide(exercise, one, one)
    assert hide(exercise, one, shown_by=["take 1."]).shown_by == ("take 1.",)
    with pytest.raises(WrongVersions, match="advice on 2 of 1 wrong versions"):
        hide(exercise, one, shown_by=["take 1.", "take 2."])
    other = Mistake("other", "softmax", "hint", abs)
    with pytest.raises(WrongVersions, match="other is one of softmax"):
        hide(exercise, other)


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

    assert checking.check(break_softmax) == 0
    said = capsys.readouterr().out
    assert said.count(LATER) >= 5
    assert said.count("not yet") == 5
    assert FOUND_LATER in said
    assert "break_softmax: 6 of 6 points are judged at grading" in said
    for words in ("0 of", "Stuck?"):
        assert words not in said


def test_with_a_key_what_is_too_large_lacks_points_and_the_rest_is_open(credit):
    exercise = load_topic(TOPIC).exercises["break_softmax"]
    report = checking.examine_here(exercise, lambda: (np.zeros((2, 3)),)).report
    assert (report.score, report.later, report.lacks_points) == (0, 4, True)
    said, page = as_text(report), as_html(report)
    assert "4 of 6 points are judged at grading" in said
    assert "4 are judged at grading" in page
    assert "0 / 2" in page  # for the small test
    assert page.count("– / 1") == 4


def test_with_a_key_the_points_that_a_cell_shows_are_a_number_and_say_when(credit):
    def break_softmax():
        return (np.array([[1000.0, -1000.0], [0.0, 0.0]]),)

    points = checking.check(break_softmax)
    assert repr(points) == "0"  # as nbgrader reads it
    assert "6 of 6 points are judged at grading" in points._repr_html_()


def test_the_version_that_is_right_for_a_vector_is_wrong_for_a_table():
    rng = np.random.default_rng(5)
    found = {}
    for shape in ((4,), (1, 4), (3, 4)):
        rows = rng.dirichlet(np.ones(4), shape[:-1])
        cases = report_on(TOPIC, "break_softmax", lambda rows=rows: (rows,)).cases
        (case,) = [case for case in cases if "of shape (N,)" in case.title]
        found[shape] = case.passed
    assert found == {(4,): False, (1, 4): True, (3, 4): True}


def test_with_a_key_what_is_not_allowed_is_named_at_once(credit, capsys):
    def break_softmax():
        return (np.array([[1000.0, np.inf]]),)

    assert checking.check(break_softmax) == 0
    said = capsys.readouterr().out
    assert f"{NOT_ALLOWED}`scores` is not finite everywhere" in said
    assert FOUND_LATER not in said


def test_with_a_key_a_hint_does_not_say_that_cases_fail(credit):
    exercise = replace(load_topic(TOPIC).exercises["break_softmax"], hints=())
    found = checking.examine_here(exercise, lambda: (np.zeros(2),)).report
    assert (
        "These cases are left: the version that is right for a vector"
        in hints_on(exercise, found)[-1]
    )


def test_with_a_key_nothing_is_judged_right(credit):
    exercise = load_topic(TOPIC).exercises["break_softmax"]
    for value in (None, "", (), (np.zeros(2),)):
        found = checking.examine_here(exercise, lambda value=value: value).report
        assert found.score == 0


# Hints and pictures.


def test_hints_do_not_speak_of_arguments_that_go_wrong():
    exercise = load_topic(TOPIC).exercises["break_softmax"]
    report = report_on_scores(np.array([1.0, 2.0]))
    assert hints_on(exercise, report) == list(exercise.hints)
    unwritten = hints_on(replace(exercise, hints=()), report)
    assert not any("hint.inputs" in hint for hint in unwritten)
    assert "compare it with your softmax" in unwritten[-1]


def test_the_references_test_is_neither_drawn_nor_given():
    exercise = load_topic(TOPIC).exercises["break_softmax"]

    def wrong():
        return (np.zeros((2, 2)),)

    judged = checking.examine_here(exercise, wrong)
    report, given, reference = judged.report, judged.given, judged.reference
    assert first_difference(exercise, report, given, reference) is None
    assert failing_call(exercise, wrong, report, reference) is None
