"""Find one slip: an altered reference that gives the student's answers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from autograder.answers import Answer, answer, decode
from autograder.compare import agrees
from autograder.exercise import Exercise, Implementation
from autograder.expected import Expected
from autograder.symptoms.outcomes import varied
from autograder.symptoms.pairs import LEAST_CASES
from autograder.variants import Variant

SECONDS = 0.5  # of the processor for one answer, after which no other slip is tried


def search_end() -> float:
    """The processor time at which a search that begins now has to end."""
    return time.process_time() + SECONDS


class Trials:
    """Tries wrong versions on the cases that ask for a value.

    Args:
        exercise: what was asked.
        given: the answers of a student.
        expected: the right ones.
        wrong: which cases are answered wrongly.
        end: when no other slip is tried, in processor time; a while from now if it is
            not given.

    Attributes:
        wrong: the numbers of the cases in which another value was given than asked for.
        right: the numbers of the others that ask for a value and got the right one.
        failed: how many cases ask for a value and got another one, or an error.
        given: the answers of the student.
        expected: the right ones.
        end: when no other slip is tried, in processor time.
        stopped: whether a search came to an end because its time did.
    """

    def __init__(
        self,
        exercise: Exercise,
        given: Sequence[Answer],
        expected: Expected,
        wrong: Sequence[bool],
        end: float | None = None,
    ) -> None:
        self.end, self.stopped = search_end() if end is None else end, False
        self.given, self.expected = given, expected
        self._cases = exercise.cases
        asked = [n for n, right in enumerate(expected.reference) if right.is_value]
        self.failed = sum(wrong[n] for n in asked)
        self.wrong = [n for n in asked if wrong[n] and given[n].is_value]
        self.right = [n for n in asked if not wrong[n]]

    @property
    def all_values(self) -> bool:
        """Whether a value was given wherever one was asked for."""
        return len(self.wrong) == self.failed

    @property
    def mostly_values(self) -> bool:
        """Whether a value was given in more than half of the cases that failed."""
        return 2 * len(self.wrong) > self.failed

    def in_time(self, found: Iterable[Any], end: float | None = None) -> Iterator[Any]:
        """What is found before the end; notes if that cuts it off."""
        for one in found:
            if self.is_over(end):
                return
            yield one

    def is_over(self, end: float | None = None) -> bool:
        """Whether a search has to end; notes it if so."""
        over = time.process_time() >= (self.end if end is None else end)
        self.stopped = self.stopped or over
        return over

    def quickest(self, numbers: Sequence[int]) -> list[int]:
        """Cases in the order in which they tell most versions apart in least time.

        Those that compare what a call returned come first, and of them the smallest.
        """
        probe, expected = self.expected.probe, self.expected

        def key(number: int) -> tuple[bool, bool, bool, int]:
            values = numbers_in(expected.reference[number])
            direct = bool(probe and probe.roles(number))
            fixed = expected.constant[number]
            return fixed, not direct, not varied(values), values.size

        return sorted(numbers, key=key)

    def answer(self, implementation: Implementation, number: int) -> Answer:
        """What a wrong version answers to a case."""
        case, seed = self._cases[number], self.expected.seeds[number]
        return decode(answer(case, implementation, seed))

    def of_variant(self, variant: Variant, number: int) -> Answer:
        """What an altered reference answers to a case; computed once."""
        case, seed = self._cases[number], self.expected.seeds[number]
        return variant.answer(number, case, seed)

    def agrees(self, number: int, theirs: Answer) -> bool:
        """Whether a wrong version answers to a case as the student does."""
        return self._same(number, theirs, self.given[number])

    def is_right(self, number: int, theirs: Answer) -> bool:
        """Whether a wrong version answers to a case as the reference does."""
        return self._same(number, theirs, self.expected.reference[number])

    def shows(self, number: int, theirs: Answer) -> bool:
        """Whether a wrong version gives a value to a case, and not the right one."""
        return theirs.is_value and not self.is_right(number, theirs)

    def explains(self, made: Implementation, first: int) -> bool:
        """Whether a version answers as the student does wherever a value was given.

        The case ``first`` is tried before the others.
        """
        others = [number for number in self.wrong if number != first]
        return all(
            self.agrees(number, self.answer(made, number))
            for number in (first, *others)
        ) and all(
            self.is_right(number, self.answer(made, number)) for number in self.right
        )

    def _same(self, number: int, theirs: Answer, other: Answer) -> bool:
        case = self._cases[number]
        both = theirs.is_value and other.is_value
        return both and agrees(theirs.value, other.value, case.rtol, case.atol)


def numbers_in(given: Answer) -> np.ndarray:
    """All finite numbers of an answer in a row."""
    parts = [part[np.isfinite(part)] for part in _arrays(given.value)]
    return np.concatenate([np.zeros(0), *parts])


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biuf":
            yield value.astype(float).ravel()
        return
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, list | dict):
        for part in parts:
            yield from _arrays(part)


def find_slip(trials: Trials) -> tuple[str, str]:
    """What an altered reference amounts to that explains all wrong cases, or most.

    Returns:
        Of the one that explains all and of the one that explains most, what is said;
        empty where there is none.
    """
    probe, part, most = trials.expected.probe, "", LEAST_CASES - 1
    if probe is None or not trials.mostly_values:
        return "", ""
    found = itertools.chain(probe.variants, probe.steps)
    for variant in trials.in_time(found):
        count = cases_explained(trials, variant)
        if count == trials.failed:
            return variant.says, ""
        if count > most:
            most, part = count, in_part(variant.says, count, trials.failed)
    return "", part


def cases_explained(trials: Trials, variant: Variant) -> int:
    """In how many wrong cases an altered reference answers as the student does.

    In none, if it differs in the first of them, as most alterations do, in half of
    them, or in one that is right. Cases that ask for an error do not count.
    """
    agreed, missed = 0, trials.failed - len(trials.wrong)
    for number in trials.wrong:
        if trials.agrees(number, trials.of_variant(variant, number)):
            agreed += 1
            continue
        missed += 1
        if not agreed or 2 * missed >= trials.failed:
            return 0
    for number in trials.right:
        if not trials.is_right(number, trials.of_variant(variant, number)):
            return 0
    return agreed


def in_part(says: str, count: int, of: int) -> str:
    """What is said of a version that explains most of the wrong cases, or all."""
    if count == of:
        return says
    others = "the other" if of - count == 1 else "the others"
    return (
        f"In {count} of the {of} failing cases that ask for a value, this holds: "
        f"{says} It does not explain {others}."
    )
