"""Draw seeds, and compute the right answers to them.

Each submission is marked with seeds of its own, and a class shares one set more, for
which the answers of known mistakes are computed once: see ``worker.expected_by_all``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from autograder.exercise import Topic
from autograder.expected import Expected, Memoise, expect, uncached


def draw_seeds(topic: Topic, secret: bytes) -> dict[str, list[int]]:
    """A seed for every case of every exercise of a topic.

    Args:
        topic: the exercises of the chapter.
        secret: at most 64 bytes; the seeds cannot be guessed without it.
    """

    def seed(name: str, number: int) -> int:
        text = f"{name}/{number}".encode()
        return int.from_bytes(blake2b(text, key=secret, digest_size=6).digest())

    return {
        name: [seed(name, number) for number in range(len(exercise.cases))]
        for name, exercise in topic.exercises.items()
    }


def expected_answers(
    topic: Topic, seeds: Mapping[str, list[int]], memoise: Memoise = uncached
) -> dict[str, Expected]:
    """The right answers and those of the known mistakes, for all exercises.

    For ``memoise``, see ``expected.expect``.
    """
    return {
        name: expect(topic, exercise, seeds[name], memoise)
        for name, exercise in topic.exercises.items()
    }
