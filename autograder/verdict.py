"""Whether the arguments that a student sent find wrong versions of a function.

The reference and the wrong versions are ours, and run here, in the trusted process, on
arguments that ``specification`` has let through. Nothing of the student's is run.
"""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

import numpy as np

from autograder.answers import Answer, decode
from autograder.break_exercise import BreakCase, BreakExercise, hidden_versions
from autograder.compare import difference
from autograder.exercise import (
    ABSOLUTE_TOLERANCE,
    RELATIVE_TOLERANCE,
    Case,
    Implementation,
    find_topic,
)
from autograder.own_answers import own_answer
from autograder.reasons import Reason
from autograder.specification import NotAllowed, number_of_values, read_arguments

FACTOR = 100  # times the tolerance: the least difference that counts
NOT_ALLOWED = "the specification does not allow these arguments: "
LATER = "judged at grading"
TOO_LARGE = "too large: "
AGREES = "on these arguments, it agrees with the right one, or differs hardly at all"


class Verdict(NamedTuple):
    """Why arguments do not find what they should, in words too; if so, no reason."""

    reason: Reason = Reason.NONE
    says: str = ""


FOUND = Verdict()


def missed(case: BreakCase, right: Answer, given: Answer) -> Verdict | None:
    """The verdict on arguments with another outcome; ``None`` if it is the same.

    Args:
        case: one wrong version, or all of them and a size.
        right: what to compare with: the reference's arguments, or those of a known poor
            test. An empty answer, as an answer key has it, stands for the former.
        given: the arguments of the student.
    """
    ours = FOUND if is_empty(right) else verdict(case, right.value)
    theirs = verdict(case, given.value)
    if theirs == FOUND:
        both = ours == FOUND
        return None if both else Verdict(Reason.DIFFERS, "these find the wrong version")
    alike = ours != FOUND and theirs.reason is not Reason.NOT_ALLOWED
    return None if alike else theirs


def is_empty(given: Answer) -> bool:
    """Whether nothing was returned, and nothing raised."""
    return given.value is None and given.is_value


def verdict(case: BreakCase, sent: Any) -> Verdict:
    """Judge the arguments that were sent.

    Without solutions, as in a course for credit, only what needs none is judged.

    Raises:
        OwnCodeFailed: the reference or a wrong version cannot be run here.
    """
    exercise = case.exercise
    try:
        arguments = read_arguments(exercise.parameters, sent, exercise.rule)
        values = number_of_values(arguments)
        if case.most is not None and values > case.most:
            says = f"{TOO_LARGE}{values} values in total, of at most {case.most}"
            return Verdict(Reason.TOO_LARGE, says)
        if importlib.util.find_spec("solutions") is None:
            return Verdict(Reason.AT_GRADING, LATER)
        right = _right_answer(exercise, arguments)
    except NotAllowed as reason:
        return Verdict(Reason.NOT_ALLOWED, f"{NOT_ALLOWED}{reason}")
    versions = hidden_versions(exercise)
    asked = versions if case.version is None else versions[case.version :][:1]
    agreeing = [
        known
        for known in asked
        if _agree(right, _answer_of(exercise, known.implementation, arguments))
    ]
    if not agreeing:
        return FOUND
    if case.version is not None:
        return Verdict(Reason.NOT_FOUND, AGREES)
    says = f"on these arguments, {len(agreeing)} of the wrong versions still agree"
    return Verdict(Reason.NOT_FOUND, f"{says} with the right one")


def _right_answer(exercise: BreakExercise, arguments: list[Any]) -> Answer:
    """What the reference answers.

    Raises:
        NotAllowed: the specification does not say what the answer is.
    """
    reference = find_topic(exercise.name).reference(exercise.target.name)
    right = _answer_of(exercise, reference, arguments)
    if right.raised:
        raise NotAllowed(f"{right.raised}: {right.detail}")
    if right.unreadable is not None:
        raise NotAllowed(right.unreadable)
    if _has_nan(right.value):
        raise NotAllowed("there is no right answer to them that is a number")
    return right


def _answer_of(
    exercise: BreakExercise, implementation: Implementation, arguments: list[Any]
) -> Answer:
    """What an implementation of ours returns, and what it leaves of its arguments."""
    made = [
        np.array(value) if isinstance(value, np.ndarray) else value
        for value in arguments
    ]

    def run(tried: Implementation, rng: Any) -> list[Any]:
        return [exercise.use(tried, *made), made]

    return decode(own_answer(Case("", 0, run), implementation, seed=0))


def _agree(right: Answer, wrong: Answer) -> bool:
    """Whether two answers are the same within a multiple of the tolerance."""
    if right.raised or wrong.raised or wrong.unreadable is not None:
        return right.raised == wrong.raised and wrong.unreadable is None
    rtol, atol = FACTOR * RELATIVE_TOLERANCE, FACTOR * ABSOLUTE_TOLERANCE
    return difference(right.value, wrong.value, rtol, atol) is None


def _has_nan(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | dict) and any(map(_has_nan, parts))
