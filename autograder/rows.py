"""What is said of each case: passed, failed with what differed, or not judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from autograder.answers import Answer
from autograder.break_exercise import BreakCase
from autograder.compare import Path, at, differences
from autograder.exercise import Case
from autograder.parts import is_input, name_of
from autograder.reasons import Reason
from autograder.verdict import missed

NOT_YET = "not implemented yet"  # what is said of a stub
TOO_EASY = "counts once a case that depends on the data passes"
SAME_ERROR = "the same {} as above"
UNCHANGED = "unchanged"  # in the title of a case that looks at inputs after the call

Names = Mapping[Path, str]  # of the parts of an answer, see ``parts``


@dataclass(frozen=True)
class CaseReport:
    """The outcome of one case; ``message`` says what differed, ``reason`` the kind.

    It is not ``judged`` if it cannot show what its title says: it earns nothing then,
    although what the title says may well be right.
    """

    title: str
    points: int
    passed: bool
    message: str = ""
    judged: bool = True
    reason: Reason = Reason.NONE

    @property
    def at_grading(self) -> bool:
        """Whether it is judged at grading, and not before."""
        return self.reason is Reason.AT_GRADING


def points_in_words(score: float, of: float, later: float = 0) -> str:
    """How many points an answer has, or may have: some are given only at grading."""
    if later:
        return f"{later:g} of {of:g} points are judged at grading"
    return f"{score:g} of {of:g} points"


def case_reports(
    cases: Sequence[Case],
    reference: Sequence[Answer],
    given: Sequence[Answer],
    constant: Sequence[bool],
    names: Callable[[int], Names],
) -> list[CaseReport]:
    """Compare the answers to all cases of an exercise.

    Args:
        cases: what was asked.
        reference: the right answers.
        given: those of the student.
        constant: of which cases the right answer never changes.
        names: called with the number of a case that failed.
    """
    rows: list[CaseReport] = []
    errors: set[tuple] = set()
    for number, (case, right, answer) in enumerate(
        zip(cases, reference, given, strict=True)
    ):
        if disagreement(case, right, answer) is None:
            rows.append(CaseReport(case.title, case.points, True))
            continue
        reason, message = disagreement(case, right, answer, names(number))
        judged = reason is not Reason.AT_GRADING
        error = _error(answer) or _refused(reason, message)
        if error in errors:
            message = SAME_ERROR.format(answer.raised or "arguments")
            reason = reason if reason is Reason.STUB else Reason.REPEATED
            judged = False
        elif any(not row.passed for row in rows) and _only_results_differ(
            case, right, answer, names(number)
        ):
            message, judged = f"nothing was changed, but {message}", False
        errors.update({error} if error else ())
        rows.append(CaseReport(case.title, case.points, False, message, judged, reason))
    understood = all(constant) or any(
        row.passed and not always for row, always in zip(rows, constant, strict=True)
    )
    if understood:
        return rows
    return [
        CaseReport(row.title, row.points, False, TOO_EASY, False, Reason.TOO_EASY)
        if row.passed
        else row
        for row in rows
    ]


def _error(given: Answer) -> tuple:
    """What makes two errors the same to a reader; empty if there is none.

    The text of an error in one line may differ from case to case, as sizes do.
    """
    if given.raised is None:
        return ()
    if given.origin.line:
        return given.raised, given.origin.line, given.origin.number
    return given.raised, given.detail


def _refused(reason: Reason, message: str) -> tuple:
    """What makes two refusals of arguments the same to a reader; empty if none is."""
    return (message,) if reason is Reason.NOT_ALLOWED else ()


def _only_results_differ(
    case: Case, right: Answer, given: Answer, names: Names
) -> bool:
    """Whether a case about unchanged inputs found them so, and a wrong result."""
    if UNCHANGED not in case.title or given.value is None or right.value is None:
        return False
    if not any(map(is_input, names.values())):
        return False
    wrong = [
        path for path, _ in differences(right.value, given.value, case.rtol, case.atol)
    ]
    return all(path in names and not is_input(names[path]) for path in wrong)


class Disagreement(NamedTuple):
    """Why an answer is not the right one: the kind, and the words for a reader."""

    reason: Reason
    words: str


def disagreement(
    case: Case, right: Answer, given: Answer, names: Names | None = None
) -> Disagreement | None:
    """What differs between two answers to ``case``; ``None`` if nothing.

    Neither an expected value nor anything that one could be worked out from is part of
    the message, such as how large an error is: otherwise, a student who returns zeros
    could work out the answers.
    """
    if given.unreadable is not None and right.raised is None:
        if right.unreadable is not None:
            return None
        return Disagreement(Reason.DIFFERS, given.unreadable)
    if right.unreadable is not None:
        words = f"expected what cannot be read: {right.unreadable}"
        return Disagreement(Reason.DIFFERS, words)
    if given.raised == "NotImplementedError" != right.raised:
        return Disagreement(Reason.STUB, NOT_YET)
    if right.raised is not None:
        if given.raised is None:
            words = f"expected a {right.raised}, but nothing was raised"
            return Disagreement(Reason.DIFFERS, words)
        if given.raised != right.raised:
            words = f"expected a {right.raised}, but {_raised(given)}"
            return Disagreement(Reason.RAISED, words)
        return None
    if given.raised is not None:
        return Disagreement(Reason.RAISED, _raised(given))
    if isinstance(case, BreakCase):
        verdict = missed(case, right, given)
        return verdict and Disagreement(*verdict)
    found = differences(right.value, given.value, case.rtol, case.atol)
    if names and UNCHANGED in case.title:  # inputs first, since that is its title
        found = iter(sorted(found, key=lambda one: not is_input(names.get(one[0], ""))))
    first = next(found, None)
    if first is None:
        return None
    path, words = first
    where = name_of(path, names or {})
    nothing = at(path, given.value) is None
    reason = Reason.NOTHING_RETURNED if nothing else Reason.DIFFERS
    return Disagreement(reason, f"{where}: {words}" if where else words)


def _raised(given: Answer) -> str:
    said = f": {given.detail}" if given.detail else "."
    words = f"{given.raised} was raised{given.origin.said()}{said}"
    shapes = given.origin.shapes()
    if not shapes:
        return words.removesuffix(".")
    return f"{words.rstrip('.')}.{shapes}"
