"""What is said of a wrong answer that no mistake of the bank names."""

from __future__ import annotations

from collections.abc import Callable

from autograder.answers import answer, decode
from autograder.exercise import Exercise, Topic, find_topic
from autograder.expected import expect, public_seeds
from autograder.judge import judge


def told(name: str, implementation: Callable) -> str:
    """What is said of an answer to an exercise of the course."""
    topic = find_topic(name)
    return told_in(topic, topic.exercises[name], implementation)


def told_in(topic: Topic, exercise: Exercise, implementation: Callable) -> str:
    """What is said of an answer to an exercise of any topic."""
    expected = expect(topic, exercise, public_seeds(exercise))
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    report = judge(exercise, given, expected)
    assert report.score < report.max_score
    assert report.mistake is None
    return report.message
