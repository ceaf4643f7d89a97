"""Find one slip: an altered reference that gives the student's answers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.compare import agrees
from autograder.exercise import Exercise, Implementation
from autograder.expected import Expected
from autograder.symptoms.outcomes import Outcome, varied
from autograder.symptoms.pairs import LEAST_CASES
from autograder.variants import Variant, answer_of

WORK = 1_050_000  # calls and returns, see ``Probe.cost``, of all trials for one answer
STEP = 50  # for whatever is looked at without being run
COMPARISON = 600  # and for answers in which a change is searched
MAKING = 400  # and for a version whose text has to be compiled
SECONDS = 5.0  # of the processor, after which a search ends whatever it has tried


def search_end() -> float:
    """The processor time at which a search that begins now is stopped at the latest."""
    return time.process_time() + SECONDS


class Trials:
    """Tries wrong versions on the cases that ask for a value.

    How much is tried is counted in work and not in time, and what was tried for an
    earlier answer counts as if it were tried again: so the same answer is told the same
    whenever it is judged. The clock only stops what takes far longer than it should.

    Args:
        exercise: what was asked.
        given: the answers of a student.
        expected: the right ones.
        wrong: which cases are answered wrongly.
        end: when no other slip is tried whatever was done, in processor time without
            what it took to ask the known mistakes; a while from now if not given.

    Attributes:
        wrong: the numbers of the cases in which another value was given than asked for.
        right: the numbers of the others that ask for a value and got the right one.
        failed: how many cases ask for a value and got another one, or an error.
        given: the answers of the student.
        expected: the right ones.
        spent: the work that was done.
        stopped: whether a search came to an end because so much work was done.
    """

    def __init__(
        self,
        exercise: Exercise,
        given: Sequence[Answer],
        expected: Expected,
        wrong: Sequence[bool],
        end: float | None = None,
    ) -> None:
        self._end = search_end() - expected.asking if end is None else end
        self.spent, self.stopped = 0, False
        self._tried: set[tuple[int, int]] = set()
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

    def in_time(
        self, found: Iterable[Any], least: int = 0, each: int = STEP
    ) -> Iterator[Any]:
        """What is found before all work is done; notes if that cuts it off.

        Args:
            found: what is looked at.
            least: the work that may be done on these, whatever was done before.
            each: how much of it is done for each of these besides what is run.
        """
        most = max(WORK, self.spent + least)
        for one in found:
            if self.is_over(most):
                return
            self.spent += each
            yield one

    def is_over(self, most: int | None = None) -> bool:
        """Whether a search has to end, after ``most`` work or all; notes it if so."""
        over = self.spent >= (WORK if most is None else most) or self._is_late()
        self.stopped = self.stopped or over
        return over

    def _is_late(self) -> bool:
        now = time.process_time()
        return now >= self._end and now - self.expected.asking >= self._end

    def quickest(self, numbers: Sequence[int]) -> list[int]:
        """Cases in the order in which they tell most versions apart in least time.

        Those that compare what a call returned come first, and of them the cheapest.
        """
        probe, expected = self.expected.probe, self.expected

        def key(number: int) -> tuple[bool, bool, bool, int]:
            values = numbers_in(expected.reference[number])
            direct = bool(probe and probe.roles(number))
            fixed = expected.constant[number]
            cost = probe.cost(number) if probe else values.size
            return fixed, not direct, not varied(values), cost

        return sorted(numbers, key=key)

    def outcome(self, number: int) -> Outcome:
        """Both answers to a case, and how exactly they are compared."""
        case, right = self._cases[number], self.expected.reference[number]
        return Outcome(right, self.given[number], case.rtol, case.atol)

    def title(self, number: int) -> str:
        """What a case is called."""
        return self._cases[number].title

    def answer(self, implementation: Implementation, number: int) -> Answer:
        """What a wrong version answers to a case."""
        case, seed = self._cases[number], self.expected.seeds[number]
        self._charge(number)
        return answer_of(implementation, case, seed)

    def of_variant(self, variant: Variant, number: int) -> Answer:
        """What an altered reference answers to a case; computed once.

        One that leaves the case as it is costs nothing.
        """
        if self.expected.probe.leaves(variant, number):
            return self.expected.reference[number]
        if (id(variant), number) not in self._tried:
            self._tried.add((id(variant), number))
            self._charge(number)
        return self.expected.probe.answer(variant, number)

    def _charge(self, number: int) -> None:
        if self.expected.probe is not None:
            self.spent += self.expected.probe.cost(number)

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
        return self._explain(lambda number: self.answer(made, number), first)

    def variant_explains(self, variant: Variant, first: int) -> bool:
        """The same of a version that keeps its answers."""
        return self._explain(lambda number: self.of_variant(variant, number), first)

    def _explain(self, theirs: Callable[[int], Answer], first: int) -> bool:
        others = [n for n in self.cheapest if n != first and n in self.wrong]
        return all(
            self.agrees(number, theirs(number)) for number in (first, *others)
        ) and all(
            self.is_right(number, theirs(number))
            for number in self.cheapest
            if number in self.right
        )

    @cached_property
    def wrong_first(self) -> list[int]:
        """The wrong cases in the order in which they are tried, see ``quickest``."""
        return self.quickest(self.wrong)

    @cached_property
    def cheapest(self) -> list[int]:
        """The cases that ask for a value and got one, in the order of cost."""
        return sorted([*self.wrong, *self.right], key=self.expected.probe.cost)

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

    In none, if it differs in the first that is tried, as most alterations do, in half
    of them, or in one that is right. Cases that ask for an error do not count.
    """
    agreed, missed = 0, trials.failed - len(trials.wrong)
    for number in trials.wrong_first:
        if trials.agrees(number, trials.of_variant(variant, number)):
            agreed += 1
            continue
        missed += 1
        if not agreed or 2 * missed >= trials.failed:
            return 0
    for number in trials.cheapest:
        if number in trials.right and not trials.is_right(
            number, trials.of_variant(variant, number)
        ):
            return 0
    return agreed


def in_part(says: str, count: int, of: int) -> str:
    """What is said of a version that explains most of the wrong cases, or all."""
    if count == of:
        return says
    others = "the other" if of - count == 1 else "the others"
    return (
        f"In {count} of the {of} failing cases that ask for a value, this holds: "
        f"{says} In {others}, that gives something else."
    )
