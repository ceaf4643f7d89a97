"""What is told of the bank is what check says of it."""

from autograder.common_mistakes import reports
from autograder.exercise import load_topic


def test_every_mistake_of_a_chapter_is_looked_at_and_named():
    topic = load_topic("scaling")
    for exercise in topic.exercises.values():
        found = reports(topic, exercise)
        bank = topic.mistakes(exercise.name)
        assert [one.mistake for one in found] == [known.name for known in bank]
