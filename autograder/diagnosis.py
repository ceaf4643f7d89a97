"""Why an answer is wrong: a known mistake, a relation, two slips, or an error's lesson.

Everything here looks at answers only, and at the reference: it never calls what a
student wrote.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from autograder.answers import Answer
from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.expected import Expected
from autograder.lessons import about_errors, lesson
from autograder.rows import disagreement
from autograder.symptoms.calls import find_condition
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.pairs import LEAST_CASES, find_pair, find_part
from autograder.symptoms.search import find_cause, find_trace
from autograder.symptoms.structure import NOTHING_RETURNED
from autograder.variants import Probe, Variant
from autograder.verdict import LATER, NOT_ALLOWED, is_empty

ERRORS_MISSING = (
    "All values are right. Only errors that the docstring asks for are not raised: "
    "look at Raises, and at the titles of the cases that fail."
)
NOT_REFUSED = (
    "Besides, an error that the docstring asks for is not raised as it should be."
)
FOUND_LATER = (
    "The specification allows your arguments. Which of the wrong versions they find is "
    "judged at grading: only the grader has these versions."
)
ANOTHER_TEST = (
    "This advice was written for another test with this outcome, so its details may "
    "not fit yours:"
)


def diagnose(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str]:
    """Why an answer is wrong: a known mistake and its hint, or else a symptom.

    A mistake that agrees with the student on every case is the cause. One that agrees
    wherever a value was asked for is the cause of what is wrong with the values, and
    the errors that should have been raised are another matter.
    """
    if isinstance(exercise, BreakExercise):
        return _about_test(exercise, given, expected)
    valued = [right.raised is None for right in expected.reference]
    for known in expected.mistakes:
        if _agrees(exercise, known.answers, given, expected, [True] * len(valued)):
            return known.name, known.hint
    wrong = [
        disagreement(case, right, answer) is not None
        for case, right, answer in zip(
            exercise.cases, expected.reference, given, strict=True
        )
    ]
    if any(w and v for w, v in zip(wrong, valued, strict=True)):
        for known in expected.mistakes:
            if _agrees(exercise, known.answers, given, expected, valued):
                missing = any(w and not v for w, v in zip(wrong, valued, strict=True))
                more = f" {NOT_REFUSED}" if missing else ""
                return known.name, f"{known.hint}{more}"
    return None, _symptom(exercise, given, expected, wrong)


def _agrees(
    exercise: Exercise,
    theirs: Sequence[Answer],
    given: Sequence[Answer],
    expected: Expected,
    where: Sequence[bool],
) -> bool:
    """Whether two sets of answers agree on the cases that count.

    An error where a value was asked for may have any reason; two of them are the same
    only if they say the same.
    """
    return all(
        disagreement(case, one, other) is None
        and (right.raised is not None or one.detail == other.detail)
        for case, right, one, other, counts in zip(
            exercise.cases, expected.reference, theirs, given, where, strict=True
        )
        if counts
    )


def _symptom(
    exercise: Exercise,
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
) -> str:
    """What relation holds between the answers and the right ones, or nothing."""
    failed = [
        answer
        for answer, right, is_wrong in zip(
            given, expected.reference, wrong, strict=True
        )
        if is_wrong and right.raised is None
    ]
    if not failed:
        return ERRORS_MISSING
    told = lesson(failed)
    if told:
        return told
    probe = expected.probe
    outcomes = [
        Outcome(right, answer, case.rtol, case.atol, roles)
        for case, right, answer, roles in zip(
            exercise.cases,
            expected.reference,
            given,
            [probe.roles(n) if probe else {} for n in range(len(given))],
            strict=True,
        )
    ]
    told = find_cause(outcomes)
    if told:
        return told
    part = ""
    if probe and any(answer.raised is None for answer in failed):
        most = LEAST_CASES - 1
        for variant in itertools.chain(probe.variants, probe.steps):
            count = _explained(exercise, variant, given, expected, wrong)
            if count == len(failed):
                return variant.says
            if count > most:
                most, part = count, _in_part(variant, count, len(failed))
    told = _two_slips(outcomes, expected) or part
    if told:
        return told
    told = find_trace(outcomes) or about_errors(failed)
    where = _condition(probe, expected, wrong) if probe else ""
    return " ".join(filter(None, (told, where)))


def _condition(probe: Probe, expected: Expected, wrong: Sequence[bool]) -> str:
    """Which arguments the cases that ask for a value have in common if they fail."""
    asked = [n for n, right in enumerate(expected.reference) if right.raised is None]
    calls = [probe.calls(number) for number in asked]
    return find_condition(calls, [wrong[number] for number in asked], probe.optional)


def _two_slips(outcomes: Sequence[Outcome], expected: Expected) -> str:
    """A known mistake with something besides, or one that explains the most."""
    valued = [n for n, right in enumerate(expected.reference) if right.raised is None]
    mistakes = [
        (known.hint, [known.answers[n] for n in valued]) for known in expected.mistakes
    ]
    wanted = [outcomes[n] for n in valued]
    return find_pair(wanted, mistakes) or find_part(wanted, mistakes)


def _about_test(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str]:
    """What is to be said of a test beyond its cases, and the known test it is like.

    Two tests that find the same versions may do so for different reasons, so a hint on
    one of them is only quoted for the other. Of arguments that are not allowed, their
    cases say why. How arguments relate to those of the reference explains nothing.
    """
    if all(map(is_empty, given)):
        return None, NOTHING_RETURNED
    said = [
        disagreement(*pair) or ""
        for pair in zip(exercise.cases, expected.reference, given, strict=True)
    ]
    if LATER in said:
        return None, FOUND_LATER
    if any(words.startswith(NOT_ALLOWED) for words in said):
        return None, ""
    everywhere = [True] * len(given)
    for known in expected.mistakes:
        if _agrees(exercise, known.answers, given, expected, everywhere):
            return known.name, f"{ANOTHER_TEST} “{known.hint}”"
    return None, lesson(given)


def _explained(
    exercise: Exercise,
    variant: Variant,
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
) -> int:
    """In how many wrong cases an altered reference answers as the student does.

    In none, if it differs in the first of them, as most alterations do, in half of
    them, or in one that is right. Cases that ask for an error do not count.
    """
    asked = [n for n, right in enumerate(expected.reference) if right.raised is None]
    asked.sort(key=lambda n: (not wrong[n], given[n].raised is not None))
    of = sum(wrong[number] for number in asked)
    agreed = missed = 0
    for number in asked:
        case, seed = exercise.cases[number], expected.seeds[number]
        theirs = variant.answer(number, case, seed)
        if (
            theirs.raised is None
            and theirs.unreadable is None
            and disagreement(case, theirs, given[number]) is None
        ):
            agreed += wrong[number]
            continue
        missed += 1
        if not agreed or not wrong[number] or 2 * missed >= of:
            return 0
    return agreed


def _in_part(variant: Variant, count: int, of: int) -> str:
    """What is said of an altered reference that explains most of the wrong cases."""
    others = "the other" if of - count == 1 else "the others"
    return (
        f"In {count} of the {of} failing cases that ask for a value, this holds: "
        f"{variant.says} It does not explain {others}."
    )
