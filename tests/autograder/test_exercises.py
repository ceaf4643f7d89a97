"""The bank of exercises: cases judge, mistakes are caught and named."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import replace
from functools import cache

import pytest

from autograder.break_exercise import BreakExercise
from autograder.exercise import find_topic, load_topic, topic_names
from autograder.judge import Report, judge
from autograder.rows import disagreement
from tests.autograder.judged import asked, report_on
from tests.suites import sweep

SEED_OFFSETS = [0, 12_345, 987_654]

EXERCISES = [
    pytest.param(topic, exercise, id=f"{topic}-{exercise}")
    for topic in topic_names()
    for exercise in load_topic(topic).exercises
]


@cache
def reports_on_mistakes(name: str, offset: int) -> dict[str, Report]:
    """What is said of each known mistake, by its name."""
    exercise, expected = asked(name, offset)
    return {m.name: judge(exercise, m.answers, expected) for m in expected.mistakes}


@sweep("offset", SEED_OFFSETS)
@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_reference_has_full_points_and_every_mistake_loses_some(topic, name, offset):
    exercise, expected = asked(name, offset)
    report = judge(exercise, expected.reference, expected)
    assert report.score == report.max_score
    assert report.mistake is None
    for mistake, report in reports_on_mistakes(name, offset).items():
        assert report.score < report.max_score, f"{mistake} was not caught"
        assert report.mistake == mistake, f"{mistake} taken for {report.mistake}"


@sweep(("topic", "name"), EXERCISES)
def test_luck_decides_at_most_one_case_of_a_mistake(topic, name):
    outcomes: dict[str, list] = {}
    for offset in SEED_OFFSETS:
        for mistake, report in reports_on_mistakes(name, offset).items():
            passed = [case.passed for case in report.cases]
            outcomes.setdefault(mistake, []).append(passed)
    for mistake, rows in outcomes.items():
        by_luck = [len(set(column)) > 1 for column in zip(*rows, strict=True)]
        assert sum(by_luck) <= 1, f"{mistake} passes cases by luck: {rows}"


@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_mistakes_differ_by_a_hundred_times_the_tolerance(topic, name):
    exercise, expected = asked(name, 0)
    for known in expected.mistakes:
        assert any(
            disagreement(
                replace(case, rtol=100 * case.rtol, atol=100 * case.atol),
                right,
                wrong,
            )
            for case, right, wrong in zip(
                exercise.cases, expected.reference, known.answers, strict=True
            )
        ), f"{known.name} is too close to the right answer"


@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_exercise_has_cases_mistakes_and_a_data_dependent_case(topic, name):
    exercise, expected = asked(name, 0)
    assert len(exercise.cases) >= 3
    assert len(expected.mistakes) >= 3
    asks_for_a_test = isinstance(exercise, BreakExercise)  # which has no data
    assert all(expected.constant) == asks_for_a_test
    assert {answer.raised for answer in expected.reference} <= {None, "ValueError"}
    assert not any(answer.unreadable for answer in expected.reference)
    assert all(case.points >= 1 for case in exercise.cases)
    assert len({case.title for case in exercise.cases}) == len(exercise.cases)
    for known in expected.mistakes:
        assert 40 <= len(known.hint) <= 600, f"{known.name}: {known.hint}"
        assert "``" not in known.hint, f"{known.name}: pages show them"
        raised = [
            wrong.raised
            for right, wrong in zip(expected.reference, known.answers, strict=True)
            if right.raised is None
        ]
        never_ran = {"AttributeError", "NameError", "TypeError"}.issuperset(raised)
        assert not never_ran, f"{known.name} does not run: {raised}"


@sweep("offset", SEED_OFFSETS)
@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_alternative_right_answers_have_full_points(topic, name, offset):
    module = importlib.import_module(f"tests.alternatives.{topic}")
    alternatives = module.ALTERNATIVES[name]
    assert alternatives
    for alternative in alternatives:
        report = report_on(name, alternative, offset)
        wrong = [(c.title, c.message) for c in report.cases if not c.passed]
        assert report.score == report.max_score, (alternative.__qualname__, wrong)
        assert report.mistake is None


@pytest.mark.parametrize(("topic", "name"), EXERCISES)
def test_every_exercise_has_a_reference_with_a_docstring(topic, name):
    reference = load_topic(topic).reference(name)
    assert inspect.getdoc(reference)
    assert reference.__name__ == name


def test_exercise_names_are_unique_in_the_course():
    names = [param.values[1] for param in EXERCISES]
    assert len(names) == len(set(names))
    for topic, name in (param.values for param in EXERCISES):
        assert find_topic(name).name == topic
