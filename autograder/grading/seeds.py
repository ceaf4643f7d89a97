"""Draw seeds: each submission is asked what no other one is."""

from __future__ import annotations

import secrets

from autograder.exercise import Topic


def draw_seeds(topic: Topic) -> dict[str, list[int]]:
    """A seed for every case of every exercise of a topic, which nobody can guess."""
    return {
        name: [secrets.randbits(48) for _ in exercise.cases]
        for name, exercise in topic.exercises.items()
    }
