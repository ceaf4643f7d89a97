"""Find why an answer is wrong: the first edit whose answers are the student's.

Everything here looks at answers only, and at the course's own code: it never calls what
a student wrote.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from autograder.answers import Answer, answer, decode
from autograder.break_exercise import BreakExercise
from autograder.compare import agrees
from autograder.exercise import Case, Exercise, Implementation
from autograder.expected import Expected
from autograder.explain import Edit, advice, errors, results
from autograder.explain.arguments import argument_edits, called_in, wrapped
from autograder.explain.steps import has_loops, run_within, step_edits
from autograder.parts import is_input
from autograder.reasons import Reason
from autograder.rows import disagreement

MOST = 400  # edits of one reference that are tried
LONGER, LEAST = 20, 0.01  # as the reference, and seconds: how long an edit may take
SECONDS = 0.45  # of the processor, after which no other edit is tried
ERRORS_MISSING = (
    "All values are right. Only errors that the docstring asks for are not raised: "
    "look at Raises, and at the titles of the cases that fail."
)
NOT_REFUSED = (
    "Besides, an error that the docstring asks for is not raised as it should be."
)
ONE_CASE = "One of the cases that fail looks like this: “{}” "
FURTHER = "What else fails may have a further cause: check again when this is mended."
IN_PLACE = (
    "Your code changes its argument {} in place, with an assignment such as x[...] = "
    "or x += or with a method that works in place, and whoever called it goes on with "
    "other values. Compute a new array, or change a copy."
)


@dataclass(frozen=True)
class Explanation:
    """Why an answer is wrong: the kind, the words, and the mistake of the bank."""

    reason: Reason = Reason.NONE
    words: str = ""
    mistake: str | None = None


def explain(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> Explanation:
    """Why an answer is wrong, as far as it can be found.

    Args:
        exercise: what was asked.
        given: the answers, to the seeds of ``expected``, one of which is wrong.
        expected: the right answers, and the mistakes to look among.

    Returns:
        The first edit whose answers are the student's in every case that asks for a
        value; else the first that is so in the first case that fails and in those that
        pass; else what the error means that was raised; else nothing.
    """
    if isinstance(exercise, BreakExercise):
        return Explanation(*advice.on_test(exercise, given, expected))
    asked = _Asked(exercise, given, expected)
    searches = (
        *(_known_mistake, _only_errors_missing, _error_of_all, _changed_inputs),
        *(_relation, _lost, _edit, _first_edit, _place, _first_relation),
        _error_of_some,
    )
    for search in searches:
        found = search(asked)
        if found is not None:
            return found
    return Explanation()


class _Asked:
    """The answers of a student beside the right ones.

    Attributes:
        wrong: for each case, how its answer differs; ``None`` if it does not.
        valued: the numbers of the cases that ask for a value, and not for an error.
        failed: those of them that are wrong.
    """

    def __init__(
        self, exercise: Exercise, given: Sequence[Answer], expected: Expected
    ) -> None:
        self.cases, self.given, self.expected = exercise.cases, given, expected
        self.wrong = [disagreement(*each) for each in self.triples(range(len(given)))]
        numbers = range(len(given))
        self.valued = [n for n in numbers if expected.reference[n].raised is None]
        self.failed = [n for n in self.valued if self.wrong[n]]

    def triples(self, numbers: Sequence[int]) -> Iterator[tuple[Case, Answer, Answer]]:
        """Some cases, each with the right answer and the one given."""
        for n in numbers:
            yield self.cases[n], self.expected.reference[n], self.given[n]

    def is_given(self, number: int, theirs: Answer) -> bool:
        """Whether a wrong version answers to a case as the student does."""
        given, case = self.given[number], self.cases[number]
        if theirs.is_value and given.is_value:
            return agrees(theirs.value, given.value, case.rtol, case.atol)
        return theirs.raised is not None and theirs.raised == given.raised

    @cached_property
    def parts(self) -> list[list[results.Wrong]]:
        """The wrong parts of each case that failed; none if one is no such array."""
        found = [self.parts_of(n) for n in self.failed]
        return found if all(found) else []

    def parts_of(self, number: int) -> list[results.Wrong]:
        """The wrong parts of a case that failed; none if one is no such array."""
        (case, right, given), *_ = self.triples([number])
        if not given.is_value:
            return []
        names = self.expected.part_names(number)
        return results.wrong_parts(case, right, given, names) or []

    @cached_property
    def edits(self) -> _Edits | None:
        """The edits of the reference; ``None`` where it is not at hand."""
        reference = self.expected.implementation
        return reference and _Edits(reference, self.cases, self.expected)

    @property
    def is_lost(self) -> bool:
        """Whether all that is wrong is NaN or infinite, as it is for many reasons."""
        parts = list(itertools.chain(*self.parts))
        return bool(parts) and all(part.is_lost for part in parts)

    @property
    def first(self) -> int | None:
        """The first case that fails with numbers, where others fail, too."""
        if len(self.failed) == 1:
            return None
        tell = (n for n in self.failed if _tells_apart(self.expected, n))
        says = (n for n in tell if _says_much(self, n))
        return next((n for n in says if _is_finite(self.given[n])), None)


def _known_mistake(asked: _Asked) -> Explanation | None:
    """The mistake of the bank that gives these answers.

    One that agrees on every case is the cause. One that agrees wherever a value was
    asked for is the cause of what is wrong with the values, and the errors that should
    have been raised are another matter.
    """
    everywhere = range(len(asked.given))
    errors_too = any(asked.wrong[n] for n in everywhere if n not in asked.valued)
    for known in asked.expected.mistakes:
        if _same(asked, known.answers, everywhere):
            return Explanation(Reason.MISTAKE, known.hint, known.name)
    if not any(asked.wrong[n] for n in asked.valued):
        return None
    for known in asked.expected.mistakes:
        if _same(asked, known.answers, asked.valued):
            more = f" {NOT_REFUSED}" if errors_too else ""
            return Explanation(Reason.MISTAKE, f"{known.hint}{more}", known.name)
    return None


def _same(asked: _Asked, theirs: Sequence[Answer], numbers: Sequence[int]) -> bool:
    """Whether a known mistake gives the answers of the student to some cases.

    An error where a value was asked for may have any reason; two of them are the same
    only if they say the same.
    """
    return all(
        disagreement(case, theirs[n], given) is None
        and (right.raised is not None or theirs[n].detail == given.detail)
        for n, (case, right, given) in zip(numbers, asked.triples(numbers), strict=True)
    )


def _only_errors_missing(asked: _Asked) -> Explanation | None:
    if asked.failed:
        return None
    return Explanation(Reason.ERRORS_MISSING, ERRORS_MISSING)


def _error_of_all(asked: _Asked) -> Explanation | None:
    """What the error means, where no value came at all."""
    given = [asked.given[n] for n in asked.failed]
    if {asked.wrong[n].reason for n in asked.failed} == {Reason.NOTHING_RETURNED}:
        return Explanation(Reason.NOTHING_RETURNED, advice.NOTHING)
    if any(one.is_value for one in given):
        return None
    return _error(given)


def _error_of_some(asked: _Asked) -> Explanation | None:
    """What the most common error means, where some values came too."""
    return _error([asked.given[n] for n in asked.failed])


def _error(given: Sequence[Answer]) -> Explanation | None:
    words = errors.meaning(given)
    if not words:
        return None
    missing = {one.raised for one in given} == {"NameError"}
    return Explanation(Reason.NAME_MISSING if missing else Reason.ERROR, words)


def _changed_inputs(asked: _Asked) -> Explanation | None:
    """An argument is not what it was before the call."""
    names = {part.name for parts in asked.parts for part in parts}
    changed = sorted(name.split("`")[1] for name in names if is_input(name))
    if not changed:
        return None
    words = IN_PLACE.format(" and ".join(f"`{name}`" for name in changed))
    others = any(not is_input(name) for name in names)
    more = f" {results.FOLLOWS}" if others else ""
    return Explanation(Reason.EDIT, f"{words}{more}")


def _relation(asked: _Asked) -> Explanation | None:
    """An edit of the right results gives the student's."""
    words = results.find(asked.parts)
    values = [
        (case, right.value, given.value)
        for case, right, given in asked.triples(asked.failed)
        if given.is_value
    ]
    if not words and 2 * len(values) > len(asked.failed):
        words = results.find_order(values)
    return Explanation(Reason.EDIT, words) if words else None


def _lost(asked: _Asked) -> Explanation | None:
    """Where results are lost, if that is all: many edits lose the same ones."""
    return _place(asked) if asked.is_lost else None


def _place(asked: _Asked) -> Explanation | None:
    """The student's results are right in some places."""
    words = results.find(asked.parts, places=True)
    return Explanation(Reason.EDIT, words) if words else None


def _edit(asked: _Asked) -> Explanation | None:
    """An edit of arguments or of one step gives the student's answers."""
    with_value = [n for n in asked.failed if _says_much(asked, n)]
    if asked.is_lost or not with_value or asked.edits is None:
        return None
    end = time.process_time() + SECONDS
    edits = asked.edits
    numbers = sorted(asked.valued, key=lambda n: (n not in with_value, edits.key(n)))
    for tried in itertools.islice(edits.all(), MOST):
        if time.process_time() > end:
            return None
        if all(asked.is_given(n, tried.answer(n)) for n in numbers):
            return Explanation(Reason.EDIT, tried.edit.says)
    return None


def _first_edit(asked: _Asked) -> Explanation | None:
    """The edit that explains the first case that fails, and none that passes."""
    if asked.first is None:
        return None
    end = time.process_time() + SECONDS / 3
    numbers = [asked.first, *(n for n in asked.valued if not asked.wrong[n])]
    for known in asked.expected.mistakes:
        if _same(asked, known.answers, numbers):
            words = ONE_CASE.format(known.hint) + FURTHER
            return Explanation(Reason.MISTAKE, words, known.name)
    for tried in asked.edits.tried if asked.edits else ():
        if time.process_time() > end:
            return None
        if all(asked.is_given(n, tried.answer(n)) for n in numbers):
            words = ONE_CASE.format(tried.edit.says) + FURTHER
            return Explanation(Reason.EDIT, words)
    return None


def _first_relation(asked: _Asked) -> Explanation | None:
    """What the results of the first case that fails are."""
    words = asked.first is not None and results.find([asked.parts_of(asked.first)])
    return Explanation(Reason.EDIT, ONE_CASE.format(words) + FURTHER) if words else None


NO_ANSWER = Answer(unreadable="it cannot be made")


@dataclass
class _Tried:
    """An edit with what it has answered so far."""

    edit: Edit
    among: _Edits
    answers: dict[int, Answer] = field(default_factory=dict)

    @cached_property
    def made(self) -> Implementation | None:
        """The wrong version; ``None`` if the edit makes no sense."""
        try:
            return self.edit.make()
        except Exception:
            return None

    def answer(self, number: int) -> Answer:
        """What it answers to a case."""
        if number not in self.answers:
            made = self.made
            came = NO_ANSWER if made is None else self.among.answer(made, number)
            self.answers[number] = came
        return self.answers[number]


class _Edits:
    """All edits of a reference, made when they are asked for.

    Attributes:
        seconds: of the processor, that each case takes with the reference.
        tried: those that were asked for so far.
    """

    def __init__(
        self, reference: Implementation, cases: Sequence[Case], expected: Expected
    ) -> None:
        self._reference, self._cases, self._expected = reference, cases, expected
        self._calls: list[dict[str, Any]] = []
        self.seconds = [self._duration(n) for n in range(len(cases))]
        self._may_be_long = has_loops(reference)
        self.tried: list[_Tried] = []

    def _duration(self, number: int) -> float:
        def call(function: Any, given: dict[str, Any]) -> Any:
            self._calls.append(dict(given))
            return function(**given)

        noting = self._reference
        if called_in(noting) is not None:
            noting = wrapped(noting, call)
        start = time.process_time()
        self._asked(noting, number)
        return time.process_time() - start

    def _asked(self, implementation: Implementation, number: int) -> bytes:
        return answer(self._cases[number], implementation, self._expected.seeds[number])

    def answer(self, made: Implementation, number: int) -> Answer:
        """What a changed version answers to a case, unless that takes too long."""
        came: list[bytes] = []

        def run() -> None:
            came.append(self._asked(made, number))

        if not self._may_be_long:
            run()
        else:
            run_within(LONGER * self.seconds[number] + LEAST, run)
        return decode(came[0]) if came else NO_ANSWER

    def key(self, number: int) -> tuple[bool, bool, float]:
        """What sorts cases: those that tell most versions apart in least time first."""
        constant = self._expected.constant[number]
        tells = _tells_apart(self._expected, number)
        return constant, not tells, self.seconds[number]

    def all(self) -> Iterator[_Tried]:
        """The edits, those of arguments first."""
        both = argument_edits(self._reference, self._calls), step_edits(self._reference)
        for edit in itertools.chain(*both):
            self.tried.append(_Tried(edit, self))
            yield self.tried[-1]


def _tells_apart(expected: Expected, number: int) -> bool:
    """Whether a right answer has so many numbers that none is met by chance."""
    return len(np.unique(_numbers(expected.reference[number].value))) >= 4


def _says_much(asked: _Asked, number: int) -> bool:
    """Whether an answer is a value, and not one number where many are right."""
    given = asked.given[number]
    return given.is_value and (
        not _tells_apart(asked.expected, number)
        or len(np.unique(_numbers(given.value))) > 1
    )


def _is_finite(given: Answer) -> bool:
    """Whether an answer is made of numbers, none of which is infinite or NaN."""
    return given.is_value and bool(np.isfinite(_numbers(given.value)).all())


def _numbers(value: Any) -> np.ndarray:
    """Some numbers of an answer, in a row."""
    if isinstance(value, np.ndarray):
        return value.ravel()[:100].astype(float)
    parts = value.values() if isinstance(value, dict) else value
    found = [_numbers(part) for part in parts] if isinstance(value, list | dict) else []
    return np.concatenate([np.zeros(0), *found])
