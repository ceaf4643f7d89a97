"""Why an answer is wrong: a known mistake, a relation, two slips, or an error's lesson.

Everything here looks at answers only, and at the reference: it never calls what a
student wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.answers import Answer
from autograder.break_exercise import BreakExercise, shown_by
from autograder.compare import agrees, differences
from autograder.exercise import Case, Exercise
from autograder.expected import AnswersTo, Expected
from autograder.lessons import about_errors, lesson
from autograder.reasons import Reason
from autograder.rows import ASKED_ERROR, disagreement
from autograder.slips import COMPARISON, Trials, find_slip, search_end
from autograder.symptoms.arguments import find_argument_besides, returned
from autograder.symptoms.calls import find_condition, judged_calls
from autograder.symptoms.conditions import Judged, as_array
from autograder.symptoms.counts import counted, find_excess
from autograder.symptoms.outcomes import Outcome
from autograder.symptoms.pairs import (
    Known,
    find_besides,
    find_both,
    find_in_evaluation,
    find_pair,
    find_part,
    find_where,
)
from autograder.symptoms.search import find_cause, find_trace
from autograder.symptoms.structure import NOTHING_RETURNED, different_inputs
from autograder.two_slips import find_two_slips
from autograder.variants import Probe
from autograder.verdict import is_empty

ERRORS_MISSING = (
    "All values are right. Only errors that the docstring asks for are not raised: "
    "look at Raises, and at the titles of the cases that fail."
)
CHANGED_FIRST = "Mend that first; other differences may follow from it."
NOT_REFUSED = (
    "Besides, an error that the docstring asks for is not raised as it should be."
)
FOUND_LATER = (
    "The specification allows your arguments. Which of the wrong versions they find is "
    "judged at grading: only the grader has these versions."
)
STOPPED = (
    "There may be a more exact reason: the search for known slips took too long, and "
    "was stopped."
)
UNKNOWN = "No known mistake alone gives your result."
SMALLEST = (
    "Of the cases that fail, “{}” has the smallest input: work it out by hand, and "
    "compare step by step."
)
BY_HAND = "Work “{}” out by hand, and compare step by step."
NOT_SHOWN = (
    "The titles say where the versions are right. Arguments to which that does not "
    "apply can show where a version is wrong, and one call may do so for several. "
    "Values that differ from each other show more than equal ones."
)
SMALLER = (
    "All of the wrong versions are found. To make the arguments smaller, leave out one "
    "row, one column or another part after the other, as long as all are still found."
)
TO_FIND = "To find {}: {}"  # a version, and which arguments show it
MOST_ADVICE = 2  # on versions that were not found
ANOTHER_TEST = (
    "This advice was written for another test with this outcome, so its details may "
    "not fit yours:"
)


def diagnose(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str, Reason]:
    """Why an answer is wrong: a known mistake and its hint, or else a symptom.

    A mistake that agrees with the student on every case is the cause. One that agrees
    wherever a value was asked for is the cause of what is wrong with the values, and
    the errors that should have been raised are another matter.
    """
    if isinstance(exercise, BreakExercise):
        return _about_test(exercise, given, expected)
    # What known mistakes answer is asked once, for all answers: that does not count.
    mistakes, end = expected.mistakes, search_end() - expected.asking
    valued = [right.raised is None for right in expected.reference]
    for known in mistakes:
        if same_answers(exercise, known.answers, given, expected, [True] * len(valued)):
            return known.name, known.hint, Reason.MISTAKE
    wrong = [
        disagreement(case, right, answer) is not None
        for case, right, answer in zip(
            exercise.cases, expected.reference, given, strict=True
        )
    ]
    if any(w and v for w, v in zip(wrong, valued, strict=True)):
        for known in mistakes:
            if same_answers(exercise, known.answers, given, expected, valued):
                missing = any(w and not v for w, v in zip(wrong, valued, strict=True))
                more = f" {NOT_REFUSED}" if missing else ""
                return known.name, f"{known.hint}{more}", Reason.MISTAKE
        refused = [
            known
            for known in mistakes
            if _same_but_for_words(exercise, known.answers, given, expected, wrong)
        ]
        if len(refused) == 1:
            return refused[0].name, refused[0].hint, Reason.MISTAKE
    told = _symptom(exercise, given, expected, wrong, end)
    return None, told, _reason(told)


def _reason(told: str) -> Reason:
    """The kind of what is told of an unknown mistake."""
    if told in ("", STOPPED) or told.startswith(UNKNOWN):
        return Reason.NONE
    if told == ERRORS_MISSING:
        return Reason.ERRORS_MISSING
    if NOTHING_RETURNED in told:
        return Reason.NOTHING_RETURNED
    return Reason.NAME_MISSING if told.startswith("NameError: ") else Reason.EDIT


def same_answers(
    exercise: Exercise,
    theirs: Sequence[Answer],
    given: Sequence[Answer],
    expected: Expected,
    where: Sequence[bool],
) -> bool:
    """Whether two sets of answers agree on the cases that count, those in ``where``.

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


def _same_but_for_words(
    exercise: Exercise,
    theirs: Sequence[Answer],
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
) -> bool:
    """Whether two sets of answers agree but for what a ValueError says.

    Checks of arguments say it in many ways. Some wrong value has to be the same, which
    then says more than that arguments are refused which should not be.
    """
    some = False
    for case, right, one, other, is_wrong in zip(
        exercise.cases, expected.reference, theirs, given, wrong, strict=True
    ):
        if right.raised is not None or one.raised == other.raised == "ValueError":
            continue
        if disagreement(case, one, other) is not None or one.detail != other.detail:
            return False
        some = some or (is_wrong and other.is_value)
    return some


def _symptom(
    exercise: Exercise,
    given: Sequence[Answer],
    expected: Expected,
    wrong: Sequence[bool],
    end: float,
) -> str:
    """What relation holds between the answers and the right ones, or nothing.

    No slip is tried after ``end``, in processor time without that which the known
    mistakes are asked in, whatever is left to try.
    """
    failed = [
        answer
        for case, answer, right, is_wrong in zip(
            exercise.cases, given, expected.reference, wrong, strict=True
        )
        if is_wrong and not _asks_for_error(case, right, answer)
    ]
    if not failed:
        return ERRORS_MISSING
    told = lesson(failed)
    if told:
        return told
    probe = expected.probe
    outcomes = [
        Outcome(right, answer, case.rtol, case.atol, roles, constant)
        for case, right, answer, roles, constant in zip(
            exercise.cases,
            expected.reference,
            given,
            [probe.roles(n) if probe else {} for n in range(len(given))],
            expected.constant,
            strict=True,
        )
    ]
    told, changed = _usual_error(failed), different_inputs(outcomes)
    if not told:
        told = find_cause(outcomes)
        first = changed and "in place" not in told and NOTHING_RETURNED not in told
        if told and first:
            return f"{changed} {CHANGED_FIRST} {told}"
    if probe and not told:
        told = find_excess(counted(outcomes, probe))
        told = told or find_argument_besides(outcomes, returned(outcomes, probe))
    if not told:
        trials = Trials(exercise, given, expected, wrong, end)
        told = _explanation(trials, outcomes)
        told = told or _trace(trials, outcomes, failed, wrong)
    if told and changed and "in place" not in told:
        return f"{told} Besides, {changed}"
    return told


def _usual_error(failed: Sequence[Answer]) -> str:
    """What causes the one error that most of the wrong cases raise, but not all."""
    raised = [answer for answer in failed if answer.raised is not None]
    told = lesson(raised) if len(failed) / 2 < len(raised) < len(failed) else ""
    return told and f"About the {told}"


def _explanation(trials: Trials, outcomes: Sequence[Outcome]) -> str:
    """What slips, or known mistakes and something besides, explain wrong values."""
    told, part = find_slip(trials)
    if told:
        return told
    asked, known = _by_mistake(outcomes, trials.expected)
    told = find_pair(asked, trials.in_time(known, each=COMPARISON))
    told = told or find_both(asked, known)
    told = told or find_besides(asked, known)
    told = told or find_in_evaluation(asked, known)
    if told:
        return told
    part = find_part(asked, known) or part
    told = "" if part else find_where(asked, known)
    if told:
        return told
    if trials.all_values or not part:
        part = find_two_slips(trials, outcomes) or part
    return part


def _trace(
    trials: Trials,
    outcomes: Sequence[Outcome],
    failed: Sequence[Answer],
    wrong: Sequence[bool],
) -> str:
    """Where and how it shows that something is wrong, or nothing."""
    probe = trials.expected.probe
    raised = sum(answer.raised is not None for answer in failed)
    errors = about_errors(failed)
    told = errors if 2 * raised > len(failed) else ""
    told = told or find_trace(outcomes) or errors
    where = _condition(probe, outcomes, wrong) if probe else ""
    told = " ".join(filter(None, (told, where))) or _start(trials)
    return f"{told} {STOPPED}".strip() if trials.stopped else told


def _start(trials: Trials) -> str:
    """Where to begin if nothing is known of a result; empty if there is none."""
    probe = trials.expected.probe
    if not trials.wrong or probe is None:
        return ""

    def size(number: int) -> tuple[bool, int]:
        arrays = (as_array(x) for call in probe.calls(number) for x in call.values())
        about_inputs = any(role.name for role in probe.roles(number).values())
        return about_inputs, sum(x.size for x in arrays if x is not None)

    smallest = min(trials.wrong, key=size)
    many = trials.failed > 1
    return f"{UNKNOWN} {(SMALLEST if many else BY_HAND).format(trials.title(smallest))}"


def _asks_for_error(case: Case, right: Answer, given: Answer) -> bool:
    """Whether a case that failed asks for an error that was not raised, or another."""
    if right.raised is not None:
        return True
    return given.is_value and any(
        any(str(part).startswith(ASKED_ERROR) for part in path)
        for path, _ in differences(right.value, given.value, case.rtol, case.atol)
    )


def _condition(probe: Probe, outcomes: Sequence[Outcome], wrong: Sequence[bool]) -> str:
    """Which arguments the calls have in common that are wrong, and no others."""
    cases = [
        Judged(
            is_wrong,
            calls,
            judged_calls(outcome, len(calls)) if is_wrong else [False] * len(calls),
        )
        for calls, outcome, is_wrong in zip(
            map(probe.calls, range(len(outcomes))), outcomes, wrong, strict=True
        )
        if outcome.right.raised is None
    ]
    return find_condition(cases, probe.optional)


def _by_mistake(
    outcomes: Sequence[Outcome], expected: Expected
) -> tuple[list[Outcome], list[Known]]:
    """What was answered where a value was asked for, and what known mistakes answer."""
    valued = [n for n, right in enumerate(expected.reference) if right.raised is None]
    mistakes = [
        (known.hint, AnswersTo(valued, known.answers)) for known in expected.mistakes
    ]
    return [outcomes[n] for n in valued], mistakes


def _about_test(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str, Reason]:
    """What is to be said of a test beyond its cases, and the known test it is like.

    Two tests that find the same versions may do so for different reasons, so a hint on
    one of them is only quoted for the other, and only where nothing is known of what
    shows the versions that are left. Of arguments that are not allowed, their
    cases say why, and of versions that are not found, their titles say when. How
    arguments relate to those of the reference explains nothing.
    """
    if all(map(is_empty, given)):
        return None, NOTHING_RETURNED, Reason.NOTHING_RETURNED
    said = [
        disagreement(*pair)
        for pair in zip(exercise.cases, expected.reference, given, strict=True)
    ]
    reasons = [one.reason if one else Reason.NONE for one in said]
    if Reason.AT_GRADING in reasons:
        return None, FOUND_LATER, Reason.ADVICE
    if Reason.NOT_ALLOWED in reasons:
        return None, "", Reason.NONE
    everywhere = [True] * len(given)
    better = (
        shown_by(exercise) if Reason.NOT_FOUND in reasons else ()
    )  # solutions are at hand then
    for known in expected.mistakes:
        if better and not _same_arguments(known.answers, given):
            continue
        if same_answers(exercise, known.answers, given, expected, everywhere):
            return known.name, f"{ANOTHER_TEST} “{known.hint}”", Reason.ADVICE
    if told := lesson(given):
        return None, told, Reason.ERROR
    if Reason.NOT_FOUND in reasons:
        return None, _advice(exercise, reasons), Reason.ADVICE
    if Reason.TOO_LARGE in reasons:
        return None, SMALLER, Reason.ADVICE
    return None, "", Reason.NONE


def _same_arguments(theirs: Sequence[Answer], given: Sequence[Answer]) -> bool:
    """Whether two tests return the same arguments, whatever they find with them."""
    return theirs[0].is_value and agrees(theirs[0].value, given[0].value, 0, 0)


def _advice(exercise: BreakExercise, reasons: Sequence[Reason]) -> str:
    """Which arguments show the first versions that were not found."""
    missed = [
        TO_FIND.format(case.title, advice)
        for case, reason, advice in zip(
            exercise.cases, reasons, shown_by(exercise), strict=False
        )
        if reason is Reason.NOT_FOUND
    ]
    return " ".join(missed[:MOST_ADVICE]) or NOT_SHOWN
