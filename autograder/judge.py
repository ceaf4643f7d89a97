"""Compare answers with the reference's and make a report.

The judge runs in a trusted process and sees answers only: it never calls what a
student wrote.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.answers import Answer
from autograder.errors import GraderFault
from autograder.exercise import BUILD_IT_YOURSELF, Exercise
from autograder.expected import Expected
from autograder.reasons import Reason
from autograder.rows import NOT_YET, CaseReport, case_reports

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """The outcome of one exercise.

    Attributes:
        mistake: name of the misconception that explains all answers, if one does.
        message: its hint, or why nothing could be examined, in words.
        reason: the kind of what the message says.
        own_helper: whether it calls another answer of the student's that is wrong or
            was defined anew, so that all that is wrong may be there.
    """

    name: str
    score: int
    max_score: int
    mistake: str | None
    message: str
    cases: list[CaseReport]
    reason: Reason = Reason.NONE
    own_helper: bool = False

    @property
    def later(self) -> int:
        """The points of the cases that are judged at grading, and not before."""
        return sum(case.points for case in self.cases if case.at_grading)

    @property
    def lacks_points(self) -> bool:
        """Whether points are lost, as far as it is known before grading."""
        return self.score + self.later < self.max_score

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as ``check --json`` prints it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """The report of which ``as_dict`` gave the data, which may be from JSON."""
        cases = [
            CaseReport(**{**case, "reason": Reason(case["reason"])})
            for case in data["cases"]
        ]
        return cls(**{**data, "cases": cases, "reason": Reason(data["reason"])})


def judge(exercise: Exercise, given: Sequence[Answer], expected: Expected) -> Report:
    """Mark the answers given, and explain what is wrong with them.

    Args:
        exercise: what was asked.
        given: the answers, to the seeds of ``expected``.
        expected: the right answers, and the mistakes to look among.
    """
    report = mark(exercise, given, expected)
    if report.reason or all(case.passed for case in report.cases):
        return report
    from autograder.explain import search  # a right answer does not need it

    try:
        found = search.explain(exercise, given, expected)
    except GraderFault as fault:  # the marks are known; they stand without a reason
        _log.warning("no reason could be looked for in %s: %s", exercise.name, fault)
        return report
    except Exception:
        _log.exception("no reason could be looked for in %s", exercise.name)
        return report
    return replace(
        report, mistake=found.mistake, message=found.words, reason=found.reason
    )


def mark(exercise: Exercise, given: Sequence[Answer], expected: Expected) -> Report:
    """Compare the answers given with those expected.

    The report says why nothing was examined, if that is so, and nothing else.

    A case whose right answer does not depend on the data can be passed without
    understanding (by always raising ``ValueError``, say), so it is paid only when a
    case whose answer does depend on the data was passed too. One answer for which the
    library was called (see ``forbid``) costs the exercise.
    """
    called = [answered.called for answered in given if answered.called is not None]
    if called:
        named = [name for name in exercise.forbidden if name in called]
        return refuse_calls(exercise, named or exercise.forbidden)
    cases = case_reports(
        exercise.cases,
        expected.reference,
        given,
        expected.constant,
        expected.part_names,
    )
    stub = all(answer.raised == "NotImplementedError" for answer in given)
    stub = stub and not all(case.passed for case in cases)
    return Report(
        exercise.name,
        sum(case.points for case in cases if case.passed),
        exercise.points,
        None,
        NOT_YET if stub else "",
        cases,
        Reason.STUB if stub else Reason.NONE,
    )


def refuse(exercise: Exercise, message: str, reason: Reason = Reason.REFUSED) -> Report:
    """A report of zero points for an answer that is not examined."""
    cases = [
        CaseReport(case.title, case.points, False, judged=False)
        for case in exercise.cases
    ]
    return Report(exercise.name, 0, exercise.points, None, message, cases, reason)


def refuse_calls(exercise: Exercise, used: Sequence[str]) -> Report:
    """A report of zero points for an answer that calls what it should rebuild."""
    why = f"uses {', '.join(used)}, {BUILD_IT_YOURSELF}. {exercise.allowed}"
    return refuse(exercise, re.sub("[*`]", "", why), Reason.FORBIDDEN)
