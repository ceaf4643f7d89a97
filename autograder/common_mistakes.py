"""What ``check`` says of the known mistakes of a chapter, from the bank.

Every known mistake is run on the cases of its exercise, as ``check`` runs an answer.
"""

from __future__ import annotations

from autograder.exercise import Exercise, Topic
from autograder.expected import expect, public_seeds
from autograder.judge import Report, judge
from toolkit.kept import kept


def all_reports(topic: Topic) -> dict[str, list[Report]]:
    """What ``check`` says of each known mistake, by exercise."""
    loaded = [(topic.reference(name), topic.mistakes(name)) for name in topic.exercises]
    return _all_reports(topic, loaded)


@kept
def _all_reports(topic: Topic, loaded: list) -> dict[str, list[Report]]:
    """The same; ``loaded`` is what the topic loads by name, which no code shows."""
    exercises = topic.exercises.values()
    return {exercise.name: reports(topic, exercise) for exercise in exercises}


def reports(topic: Topic, exercise: Exercise) -> list[Report]:
    """What ``check`` says of each known mistake, in the order of the bank."""
    expected = expect(topic, exercise, public_seeds(exercise))
    return [judge(exercise, known.answers, expected) for known in expected.mistakes]
