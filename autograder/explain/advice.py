"""What is said of an answer that is a test: which wrong versions it misses, and why."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.answers import Answer
from autograder.break_exercise import BreakExercise
from autograder.expected import Expected
from autograder.explain import errors
from autograder.reasons import Reason
from autograder.rows import disagreement
from autograder.verdict import is_empty

FOUND_LATER = (
    "The specification allows your arguments. Which of the wrong versions they find is "
    "judged at grading: only the grader has these versions."
)
NOT_SHOWN = (
    "The titles say where the versions are right. Arguments to which that does not "
    "apply can show where a version is wrong, and one call may do so for several. "
    "Values that differ from each other show more than equal ones."
)
SMALLER = (
    "All of the wrong versions are found. To make the arguments smaller, leave out one "
    "row, one column or another part after the other, as long as all are still found."
)
NOTHING = (
    "Nothing was returned. What a function prints or computes is lost unless it ends "
    "with a return statement."
)
ANOTHER_TEST = (
    "This advice was written for another test with this outcome, so its details may "
    "not fit yours:"
)


def on_test(
    exercise: BreakExercise, given: Sequence[Answer], expected: Expected
) -> tuple[Reason, str, str | None]:
    """What is to be said of a test beyond its cases, and the known test it is like.

    Two tests that find the same versions may do so for different reasons, so a hint on
    one of them is only quoted for the other. Of arguments that are not allowed, their
    cases say why.
    """
    if all(map(is_empty, given)):
        return Reason.NOTHING_RETURNED, NOTHING, None
    said = [
        disagreement(*each)
        for each in zip(exercise.cases, expected.reference, given, strict=True)
    ]
    reasons = [one.reason if one else Reason.NONE for one in said]
    if Reason.AT_GRADING in reasons:
        return Reason.ADVICE, FOUND_LATER, None
    if Reason.NOT_ALLOWED in reasons:
        return Reason.NONE, "", None
    for known in expected.mistakes:
        triples = zip(exercise.cases, known.answers, given, strict=True)
        if all(disagreement(*each) is None for each in triples):
            return Reason.ADVICE, f"{ANOTHER_TEST} “{known.hint}”", known.name
    if told := errors.meaning(given):
        return Reason.ERROR, told, None
    if Reason.NOT_FOUND in reasons:
        return Reason.ADVICE, NOT_SHOWN, None
    if Reason.TOO_LARGE in reasons:
        return Reason.ADVICE, SMALLER, None
    return Reason.NONE, "", None
