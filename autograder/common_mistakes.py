"""What ``check`` says of the known mistakes of a chapter, from the bank.

Every known mistake is run on the cases of its exercise, as ``check`` runs an answer.
"""

from __future__ import annotations

from autograder.exercise import Exercise, Topic
from autograder.expected import expect, public_seeds
from autograder.judge import Report, judge


def reports(topic: Topic, exercise: Exercise) -> list[Report]:
    """What ``check`` says of each known mistake, in the order of the bank."""
    expected = expect(topic, exercise, public_seeds(exercise))
    return [judge(exercise, known.answers, expected) for known in expected.mistakes]
