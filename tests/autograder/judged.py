"""How an answer to an exercise of the course is judged, as in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from autograder.answers import decode
from autograder.exercise import Exercise, find_topic
from autograder.expected import Expected, expect, public_seeds
from autograder.forbid import answer_by_hand
from autograder.judge import Report, judge


@cache
def asked(name: str, offset: int = 0) -> tuple[Exercise, Expected]:
    """An exercise, and what is expected for seeds so far from the public ones."""
    topic = find_topic(name)
    exercise = topic.exercises[name]
    seeds = [seed + offset for seed in public_seeds(exercise)]
    return exercise, expect(topic, exercise, seeds)


def report_on(name: str, implementation: Callable, offset: int = 0) -> Report:
    """What the judge says of an answer."""
    exercise, expected = asked(name, offset)
    given = [
        decode(answer_by_hand(exercise, case, implementation, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    return judge(exercise, given, expected)


def told(name: str, implementation: Callable) -> str:
    """What is said of a wrong answer that no mistake of the bank names."""
    report = report_on(name, implementation)
    assert report.score < report.max_score
    assert report.mistake is None
    return report.message
