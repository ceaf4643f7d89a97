"""Answers that call the student's own answer to another exercise.

An answer is examined with the functions that the student wrote, since the references
never enter the sandbox. So one mistake may cost points twice, and so may a function
that was defined anew below its check, to try something out. The report has to say so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.reasons import Reason
from autograder.statements import looked_up
from autograder.submissions.in_effect import definitions_in_effect
from autograder.submissions.rebuild import Rebuilt

_OWN_HELPER = "Your answer calls your own "


def name_own_helpers(
    rebuilt: Rebuilt, reports: Sequence[Report], not_run: Sequence[str] = ()
) -> list[Report]:
    """The reports, in which a wrong answer names what may be wrong in its place.

    These are other answers that it calls, if they are wrong or were defined anew. One
    that looks like a known mistake names them too: a mistake in a function that it
    calls may give the same values.

    Args:
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        not_run: exercises that were refused, with the reason as their message.
    """
    wrong = {report.name for report in reports if report.score < report.max_score}
    asked = [
        report
        for report in reports
        if report.name in wrong
        and report.reason is not Reason.STUB
        and report.name not in not_run
    ]
    if not asked:
        return list(reports)

    def add_remarks() -> list[Report]:
        calls = _Calls(rebuilt, {report.name for report in reports}, wrong)
        return [
            _naming(report, calls) if report in asked else report for report in reports
        ]

    return in_reading_time(reports, add_remarks)


class _Calls:
    """Which answers call which others.

    Args:
        rebuilt: the notebook that was examined.
        names: of its exercises.
        wrong: those that lost points.
    """

    def __init__(
        self, rebuilt: Rebuilt, names: Collection[str], wrong: Collection[str]
    ) -> None:
        self._answers, self._names, self._wrong = rebuilt.answers, names, wrong
        self._at_check = definitions_in_effect(rebuilt, names)
        self._used_by = cache(self._find_used_by)

    def by(self, answer: str) -> tuple[set[str], set[str]]:
        """The wrong answers that an answer calls, and those that are defined anew.

        The second may be called by answers that it calls. One that is right would be
        right with what was defined by then, so only what came later can matter there.
        """
        at_check = self._at_check.get(answer, {})
        wrong: set[str] = set()
        anew: set[str] = set()
        waiting, seen = [answer], {answer}
        while waiting:
            caller = waiting.pop()
            for name in self._used_by(caller) & at_check.keys() - {answer}:
                since = name if caller in self._wrong else caller
                now, then = at_check[name], self._at_check[since].get(name)
                if now is not None and now.exercise == answer:
                    continue  # a function of its own, which only has the same name
                if not (now is None or then is None or now.equals(then)):
                    anew.add(name)
                    continue
                if caller == answer and name in self._wrong:
                    wrong.add(name)
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return wrong, anew

    def _find_used_by(self, answer: str) -> set[str]:
        tree = parsed(self._answers.get(answer, ""))
        return set() if tree is None else looked_up(tree).intersection(self._names)


def _naming(report: Report, calls: _Calls) -> Report:
    """A report with the answers to other exercises that may be wrong in its place."""
    wrong, anew = calls.by(report.name)
    message = report.message
    if anew:  # first: what else is said may be untrue of the answer itself
        message = _defined_anew(anew, message)
    if wrong:
        itself = "lost points itself" if len(wrong) == 1 else "lost points themselves"
        message += (
            f" {_OWN_HELPER}{_listed(wrong)}, which {itself}: correct that first, "
            "since it may be all that is wrong here."
        )
    return replace(report, message=message.strip(), own_helper=bool(wrong or anew))


def _defined_anew(names: Collection[str], message: str) -> str:
    """What is said first of an answer that calls what was defined anew.

    Args:
        names: of these other answers.
        message: what the report says of the answer as it was examined.
    """
    where = "which a cell of yours below its check defines anew"
    that = "that definition"
    if len(names) > 1:
        where = "which cells of yours below their checks define anew"
        that = "those definitions"
    first = (
        f"{_OWN_HELPER}{_listed(names)}, {where}: remove or rename {that} first, "
        "since it may be all that is wrong here."
    )
    return f"{first} With {that}: {message}" if message else first


def _listed(names: Collection[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))
