"""Answers under another name than their stub has, told from what the student wrote.

Such an answer is never called: its stub is, or nothing of its name is there.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nbformat import NotebookNode

from autograder.answers import Answer
from autograder.cells import RENAME, likeliest
from autograder.grading.remarks import NAME, in_reading_time
from autograder.judge import Report
from autograder.magics import parsed
from autograder.reasons import Reason
from autograder.show import STUB
from autograder.statements import only_stubs, parameters_of
from autograder.submissions.rebuild import STUDENT, Rebuilt

MOST_DEFINITIONS = 500  # that are compared with each answer that is not there
Definition = ast.FunctionDef | ast.ClassDef


def name_renamed(
    master: NotebookNode,
    rebuilt: Rebuilt,
    reports: Sequence[Report],
    given: Mapping[str, Sequence[Answer]],
) -> list[Report]:
    """The reports, in which an answer that is not there names what may be meant for it.

    Args:
        master: the notebook as it was released.
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        given: the answers to each exercise.
    """
    lost = {name for name, answers in given.items() if _is_lost(name, answers)}
    absent = [r for r in reports if r.reason is Reason.STUB or _is_told(r, lost)]
    if not absent:
        return list(reports)

    def add_remarks() -> list[Report]:
        stubs, written = _stubs(master), _written(rebuilt)
        return [
            _naming(report, stubs.get(report.name), written)
            if report in absent
            else report
            for report in reports
        ]

    return in_reading_time(reports, add_remarks)


def _is_lost(name: str, answers: Sequence[Answer]) -> bool:
    """Whether there was nothing of this name to call, as ``respond`` says then."""
    said = f"{name} is not defined"  # Python itself puts a name in quotes
    return any(a.raised == "NameError" and a.detail == said for a in answers)


def _is_told(report: Report, lost: set[str]) -> bool:
    """Whether a report says no more than that a name is lost."""
    return report.name in lost and report.reason is Reason.NAME_MISSING


def _stubs(master: NotebookNode) -> dict[str, Definition]:
    cells = (c for c in master.cells if "exercise" in c.metadata.get("tags", []))
    trees = (parsed(cell.source) for cell in cells)
    return {n.name: n for tree in trees if tree for n in _definitions(tree)}


def _written(rebuilt: Rebuilt) -> list[Definition]:
    """What the student defined and did not leave a stub."""
    own = (STUDENT, "exercise")
    cells = [c for c in rebuilt.notebook.cells if c.metadata.get("role") in own]
    trees = (parsed(cell.source) for cell in cells)
    found = (node for tree in trees if tree for node in _definitions(tree))
    return [
        node for node in found if NAME.fullmatch(node.name) and not only_stubs([node])
    ][:MOST_DEFINITIONS]


def _definitions(tree: ast.Module) -> list[Definition]:
    return [node for node in tree.body if isinstance(node, Definition)]


def _naming(
    report: Report, stub: Definition | None, written: Sequence[Definition]
) -> Report:
    """The report with the name that its answer may have."""
    others = {
        node.name: _parameters(node) for node in written if isinstance(node, type(stub))
    }
    best = stub and likeliest(report.name, _parameters(stub), others)
    if report.reason is Reason.STUB:
        if not best:
            return report
        hint = RENAME.format(best, report.name, ", which is still there")
        return replace(report, message=f"{STUB} {hint}")
    hint = f" {RENAME.format(best, report.name, '')}" if best else ""
    reason = Reason.RENAMED if best else Reason.NAME_MISSING
    message = f"{report.name} is not defined.{hint}"
    return replace(report, message=message, reason=reason)


def _parameters(node: Definition) -> list[str]:
    if isinstance(node, ast.ClassDef):
        made = [n for n in node.body if getattr(n, "name", "") == "__init__"]
        return _parameters(made[0])[1:] if made else []
    return parameters_of(node)
