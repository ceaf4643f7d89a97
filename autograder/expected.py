"""What is expected of an exercise: the answers of the reference and of known mistakes.

Both run in a trusted process: nothing here calls what a student wrote.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from autograder.answers import Answer, decode
from autograder.exercise import Exercise, Implementation, Topic
from autograder.own_answers import own_answer, reference_answer
from autograder.parts import part_names
from autograder.rows import Names, disagreement

OTHER_SEEDS = 3  # a right answer that never changes over these is a constant


class AskedLater(Sequence[Answer]):
    """The answers of a known mistake, each of which is asked for when it is looked at.

    Most mistakes differ from a student's answer in the first case, so the others need
    not be run.
    """

    def __init__(
        self, exercise: Exercise, implementation: Implementation, seeds: Sequence[int]
    ) -> None:
        self._cases, self._seeds = exercise.cases, seeds
        self._implementation = implementation
        self._known: dict[int, Answer] = {}

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, number: int) -> Answer:  # type: ignore[override]
        case, seed = self._cases[number], self._seeds[number]
        if number not in self._known:
            self._known[number] = decode(own_answer(case, self._implementation, seed))
        return self._known[number]


@dataclass(frozen=True)
class KnownMistake:
    """How a known mistake answers the cases of an exercise."""

    name: str
    hint: str
    answers: Sequence[Answer]


@dataclass
class Expected:
    """What the reference and the known mistakes answer, case by case.

    Attributes:
        seeds: the seed of each case.
        reference: the right answers.
        constant: for each case, whether the right answer is the same for other data.
        find_mistakes: finds the answers of the known mistakes; called once, and only
            when an answer is wrong.
        implementation: the reference itself, where it is at hand.
        find_names: finds the names of the parts of the answer to each case; called
            once, and only when an answer is wrong.
    """

    seeds: list[int]
    reference: list[Answer]
    constant: list[bool]
    find_mistakes: Callable[[], list[KnownMistake]]
    implementation: Implementation | None = None
    find_names: Callable[[], list[Names]] = list

    @cached_property
    def names(self) -> list[Names]:
        """The names of the parts of the answer to each case; none if unknown."""
        return self.find_names()

    def part_names(self, number: int) -> Names:
        """The names of the parts of the answer to a case, as far as they are known."""
        return self.names[number] if self.names else {}

    @cached_property
    def mistakes(self) -> list[KnownMistake]:
        """The answers of the known mistakes."""
        return self.find_mistakes()


def public_seeds(exercise: Exercise) -> list[int]:
    """The seeds that ``check`` uses in a notebook: always the same."""
    return [
        zlib.crc32(f"{exercise.name}/{number}".encode())
        for number in range(len(exercise.cases))
    ]


def expect(
    topic: Topic,
    exercise: Exercise,
    seeds: Sequence[int],
    known: Expected | None = None,
) -> Expected:
    """Run the reference on the cases of ``exercise``, and the known mistakes if asked.

    Args:
        topic: the exercises of the chapter.
        exercise: one of them.
        seeds: the seed of each case.
        known: what is expected for other seeds: which right answers are constant, and
            what parts are called, is the same for all, and need not be found out again.

    Raises:
        OwnCodeFailed: the reference cannot be run here. So do, for a known mistake,
            the answers of the ``mistakes`` of what is returned.
    """
    reference = topic.reference(exercise.name)

    def right_answers(step: int) -> list[Answer]:
        return [
            decode(reference_answer(case, reference, seed + step))
            for case, seed in zip(exercise.cases, seeds, strict=True)
        ]

    def find_mistakes() -> list[KnownMistake]:
        return [
            KnownMistake(m.name, m.hint, AskedLater(exercise, m.implementation, seeds))
            for m in topic.mistakes(exercise.name)
        ]

    right = right_answers(0)
    if known is not None:
        constant, find_names = known.constant, lambda: known.names
    else:
        others = zip(*map(right_answers, range(1, 1 + OTHER_SEEDS)), strict=True)
        constant = [
            all(disagreement(case, one, other) is None for other in rest)
            for case, one, rest in zip(exercise.cases, right, others, strict=True)
        ]
        find_names = partial(names_of_parts, topic, exercise, seeds)
    return Expected(list(seeds), right, constant, find_mistakes, reference, find_names)


def names_of_parts(
    topic: Topic, exercise: Exercise, seeds: Sequence[int]
) -> list[Names]:
    """The names of the parts of the answer to each case."""
    reference = topic.reference(exercise.name)
    return [
        part_names(reference, case, seed, exercise.results)
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def expect_all(topic: Topic) -> dict[str, Expected]:
    """What is expected of all exercises on the public seeds, by name."""
    return {
        name: expect(topic, exercise, public_seeds(exercise))
        for name, exercise in topic.exercises.items()
    }
