"""What is expected of an exercise: the answers of the reference and of known mistakes.

Both run in a trusted process: nothing here calls what a student wrote.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autograder.answers import Answer, decode
from autograder.exercise import Case, Exercise, Implementation, Topic
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
        memo: what ``explain`` has worked out, for the next wrong answer.
    """

    seeds: list[int]
    reference: list[Answer]
    constant: list[bool]
    find_mistakes: Callable[[], list[KnownMistake]]
    implementation: Implementation | None = None
    find_names: Callable[[], list[Names]] = list
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

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
    """Run the reference and the known mistakes on the cases of ``exercise``.

    Args:
        topic: the exercises of the chapter.
        exercise: one of them.
        seeds: the seed of each case.
        known: what is expected for other seeds; what is the same for all seeds is
            taken from there.

    Raises:
        OwnCodeFailed: the reference cannot be run here. So does, for a known mistake,
            an answer among the ``mistakes`` of what is returned.
    """
    reference = topic.reference(exercise.name)
    others = range(1 + OTHER_SEEDS if known is None else 1)
    answers, *rest = (
        decoded(encoded_answers(exercise, reference, [s + step for s in seeds]))
        for step in others
    )
    return Expected(
        list(seeds),
        answers,
        known.constant if known else _constant(exercise, answers, rest),
        lambda: [
            KnownMistake(m.name, m.hint, AskedLater(exercise, m.implementation, seeds))
            for m in topic.mistakes(exercise.name)
        ],
        reference,
        lambda: known.names if known else names_of_parts(topic, exercise, seeds),
    )


def _constant(
    exercise: Exercise, answers: Sequence[Answer], rest: Sequence[Sequence[Answer]]
) -> list[bool]:
    """For each case, whether its answer is the one to other seeds, too."""
    return [
        all(disagreement(case, first, other) is None for other in others)
        for case, first, *others in zip(exercise.cases, answers, *rest, strict=True)
    ]


def names_of_parts(
    topic: Topic, exercise: Exercise, seeds: Sequence[int]
) -> list[Names]:
    """The names of the parts of the answer to each case."""
    reference = topic.reference(exercise.name)
    return [
        part_names(reference, case, seed, exercise.results)
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def encoded_answers(
    exercise: Exercise,
    implementation: Implementation,
    seeds: Sequence[int],
    answer: Callable[[Case, Implementation, int], bytes] = reference_answer,
) -> list[str]:
    """Answers to all cases as they travel, as text that a JSON file can hold.

    Args:
        exercise: what is asked.
        implementation: of the course, in ``solutions``.
        seeds: the seed of each case.
        answer: how it is asked; ``own_answer`` if it may raise any error.

    Raises:
        OwnCodeFailed: see ``own_answers``.
    """
    return [
        base64.b64encode(answer(case, implementation, seed)).decode("ascii")
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def mistaken_answers(
    topic: Topic, exercise: Exercise, seeds: Sequence[int]
) -> list[list]:
    """What JSON can hold of known mistakes: their names, hints and encoded answers.

    Raises:
        OwnCodeFailed: one of them cannot be run here.
    """
    return [
        [m.name, m.hint, encoded_answers(exercise, m.implementation, seeds, own_answer)]
        for m in topic.mistakes(exercise.name)
    ]


def known_mistakes(found: Sequence[Sequence]) -> list[KnownMistake]:
    """The known mistakes of which ``mistaken_answers`` told."""
    return [KnownMistake(name, hint, decoded(texts)) for name, hint, texts in found]


def decoded(texts: Sequence[str]) -> list[Answer]:
    """The answers that ``encoded_answers`` gave."""
    return [decode(base64.b64decode(text)) for text in texts]
