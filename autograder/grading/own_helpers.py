"""Answers that call the student's own answer to another exercise, where that is wrong.

An answer is examined with the functions that the student wrote, since the references
never enter the sandbox. So one mistake may cost points twice, and the report has to say
so.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from autograder.diagnosis import OWN_HELPER
from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.rows import NOT_YET
from autograder.submissions.reachable import StudentCode
from autograder.submissions.rebuild import Rebuilt


def name_wrong_helpers(
    rebuilt: Rebuilt, reports: Sequence[Report], not_run: Sequence[str] = ()
) -> list[Report]:
    """The reports, in which a wrong answer names the wrong ones that it calls.

    One that looks like a known mistake does too: a mistake in a function that it calls
    may give the same values.

    Args:
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        not_run: exercises that were refused, with the reason as their message.
    """
    wrong = {report.name for report in reports if report.score < report.max_score}

    def add_remarks() -> list[Report]:
        code = StudentCode(rebuilt)
        return [
            report
            if report.name not in wrong
            or report.message == NOT_YET
            or report.name in not_run
            else _naming(report, code, wrong - {report.name})
            for report in reports
        ]

    return in_reading_time(reports, add_remarks)


def _naming(report: Report, code: StudentCode, wrong: set[str]) -> Report:
    """A report with the wrong answers to other exercises that this one calls."""
    called = sorted(_used_in(code.reachable(report.name)) & wrong)
    if not called:
        return report
    names = " and ".join(f"`{name}`" for name in called)
    itself = "lost points itself" if len(called) == 1 else "lost points themselves"
    says = (
        f"{OWN_HELPER}{names}, which {itself}: correct that first, "
        "since it may be all that is wrong here."
    )
    return replace(report, message=f"{report.message} {says}".strip())


def _used_in(source: str) -> set[str]:
    """The names that some code uses and does not define itself."""
    tree = parsed(source)
    if tree is None:
        return set()
    used, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name)
    return used - bound
