"""Names that an answer misses here, and had in the student's session.

A cell below the check had run before, a demonstration had, or a module was installed.
Nothing in the answer shows that, and Python's own words sound like a typo.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nbformat import NotebookNode

from autograder.answers import Answer
from autograder.demonstrations import made_by_demonstrations
from autograder.grading.meant_parameters import Meant, meant_by, parameters_of_stubs
from autograder.grading.remarks import in_reading_time
from autograder.judge import Report
from autograder.magics import keeps_names, parsed
from autograder.reasons import Reason
from autograder.statements import DEFINITIONS, bound_by, names_bound
from autograder.submissions.cells import printable_part
from autograder.submissions.rebuild import STUDENT, Rebuilt

_MISSING = re.compile(r"name '([A-Za-z_]\w{0,59})' is not defined\b.*", re.ASCII)
_MAGIC = re.compile(r"\s*(%%\w{1,30})", re.ASCII)
_BELOW = (
    "is set in a cell below the check, and cells are graded from top to bottom. Move "
    "that cell above the check."
)
_VALUE_BELOW = (
    "is set in a cell below the check, and cells are graded from top to bottom. "
    "Compute it from your arguments or, if it does not depend on them, move that cell "
    "above the check."
)
_NOT_SET = (
    "is set above, in a line that did not run through here: see what the notes say "
    "about your cells."
)
_OF_A_DEMONSTRATION = (
    "is made by a demonstration of the book. These are not run in grading: make what "
    "your answer needs in a cell of your own."
)
_VALUE_OF_A_DEMONSTRATION = (
    "is made by a demonstration of the book. These are not run in grading: compute it "
    "from your arguments or, if it does not depend on them, make it in a cell of your "
    "own."
)
_NOT_INSTALLED = (
    "comes from {}, which is not installed where your work is graded. Do without it."
)
_UNDER_A_MAGIC = (
    "is defined in a cell that starts with `{}`. That keeps it from all other cells: "
    "take that line away."
)


def name_missing_names(
    master: NotebookNode,
    rebuilt: Rebuilt,
    reports: Sequence[Report],
    given: Mapping[str, Sequence[Answer]],
) -> list[Report]:
    """The reports, in which an answer that misses a name is told where it is.

    Args:
        master: the notebook as it was released.
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        given: the answers to each exercise.
    """
    missing = {
        report.name: _missing_in(report.name, given.get(report.name, ()))
        for report in reports
        if report.reason is Reason.NAME_MISSING
    }
    if not any(missing.values()):
        return list(reports)

    def add_remarks() -> list[Report]:
        reasons = _Reasons(master, rebuilt)
        return [
            _telling(report, missing.get(report.name, set()), reasons)
            for report in reports
        ]

    return in_reading_time(reports, add_remarks)


def note_answers_below(rebuilt: Rebuilt, reports: Sequence[Report]) -> list[str]:
    """A note on each answer that lacks points and is defined again below its check."""
    lacking = [report.name for report in reports if report.score < report.max_score]
    if not lacking:
        return []

    def look() -> list[str]:
        places = _bound(rebuilt, (STUDENT,))  # a helper beside another answer is none
        return [
            f"{name}: it is defined again below its check, which does not count"
            for name in lacking
            if name in places[name].below
        ]

    return in_reading_time([], look)


def _missing_in(exercise: str, answers: Sequence[Answer]) -> set[str]:
    """The names that were not found; that of the exercise if there is no answer."""
    told = [a.detail for a in answers if a.raised == "NameError"]
    found = {match[1] for match in map(_MISSING.fullmatch, told) if match}
    return found | {exercise for detail in told if detail == _lost(exercise)}


def _lost(exercise: str) -> str:
    """What is said where there is no answer to call; Python puts a name in quotes."""
    return f"{exercise} is not defined"


def _telling(report: Report, missing: set[str], reasons: _Reasons) -> Report:
    """The report with the first of these names of which something is known."""
    for name in sorted(missing):
        if says := reasons.of(name, report.name):
            return replace(report, message=f"NameError: `{name}` {says}")
    return report


class _Reasons:
    """Why names are missing that were there in the student's session.

    Args:
        master: the notebook as it was released.
        rebuilt: the notebook that was examined.
    """

    def __init__(self, master: NotebookNode, rebuilt: Rebuilt) -> None:
        self._rebuilt = rebuilt
        self._bound = _bound(rebuilt)
        self._made = _made_by_demonstrations(rebuilt)
        self._values = _values_of(rebuilt)
        self._stubs = parameters_of_stubs(master)

    def of(self, name: str, exercise: str) -> str:
        """The reason, to be read behind the name; empty if none is known."""
        if name in self._rebuilt.not_installed:
            module = self._rebuilt.not_installed[name]
            return _NOT_INSTALLED.format(printable_part(module, 40))
        bound = self._bound[exercise]
        if name in bound.under_magics and name not in bound.above:
            return _UNDER_A_MAGIC.format(bound.under_magics[name])
        if name == exercise:
            return ""  # why there is no answer is told elsewhere
        if name in bound.above:
            return _NOT_SET
        is_value = name in self._values
        where = source = ""
        if name in bound.below:
            where = _VALUE_BELOW if is_value else _BELOW
            source = f" `{name}` itself is set in a cell below the check."
        elif name in self._made[exercise]:
            where = _VALUE_OF_A_DEMONSTRATION if is_value else _OF_A_DEMONSTRATION
            source = (
                f" `{name}` itself is made by a demonstration of the book, and these "
                "are not run in grading."
            )
        if where and not is_value:
            return where
        meant = self._meant(name, exercise)
        if not meant or not meant.parameters or (meant.unused and not where):
            return where
        return f"{_says(meant, name)}{source}"

    def _meant(self, name: str, exercise: str) -> Meant | None:
        """The parameter for which an answer, or what it calls, may have the name."""
        own = [
            cell
            for cell in self._rebuilt.notebook.cells
            if cell.metadata.role in (STUDENT, "exercise")
        ]
        own.sort(key=lambda cell: cell.metadata.get("exercise") != exercise)
        return meant_by(name, _trees(cell.source for cell in own), self._stubs)


def _says(meant: Meant, name: str) -> str:
    parameters = " or ".join(f"`{one}`" for one in meant.parameters)
    says = f"is not defined in `{meant.function}`. Its parameter {parameters}"
    if not meant.unused:
        return f"{says} may be meant."
    return (
        f"{says} is not used there: it may be meant, or compute `{name}` from your "
        "arguments."
    )


def _trees(sources: Iterable[str]) -> Iterator[ast.Module]:
    return filter(None, map(parsed, sources))


@dataclass
class _Names:
    """What cells of the student bind above and below a check.

    ``under_magics`` are those above that other cells do not see, with the magic.
    """

    above: set[str] = field(default_factory=set)
    below: set[str] = field(default_factory=set)
    under_magics: dict[str, str] = field(default_factory=dict)


def _bound(
    rebuilt: Rebuilt, roles: Collection[str] = (STUDENT, "exercise")
) -> dict[str, _Names]:
    """The names that cells of these roles bind around the check of each exercise."""
    found: dict[str, _Names] = defaultdict(_Names)
    above: set[str] = set()
    under_magics: dict[str, str] = {}
    for cell in rebuilt.notebook.cells:
        if cell.metadata.role == "check":
            found[cell.metadata.exercise] = _Names(
                above=set(above), under_magics=dict(under_magics)
            )
        elif cell.metadata.role in roles:
            tree = parsed(cell.source)
            names = set().union(*map(_may_bind, tree.body if tree else ()))
            magic = None if keeps_names(cell.source) else _MAGIC.match(cell.source)
            if magic:
                under_magics |= dict.fromkeys(names, magic[1])
            else:
                above |= names
            for places in found.values():
                places.below |= names
    return found


def _made_by_demonstrations(rebuilt: Rebuilt) -> dict[str, frozenset[str]]:
    """The names that only a demonstration has made, by the check of each exercise."""
    cells = rebuilt.code()
    return {
        cell.metadata.exercise: made_by_demonstrations(cells, number)
        for number, cell in enumerate(rebuilt.notebook.cells)
        if cell.metadata.role == "check"
    }


def _values_of(rebuilt: Rebuilt) -> set[str]:
    """The names that are given to values somewhere, not to functions or modules."""
    return {
        name
        for tree in _trees(cell.source for cell in rebuilt.code())
        for node in tree.body
        if not isinstance(node, DEFINITIONS)
        for name in names_bound(node)
    }


def _may_bind(node: ast.stmt) -> set[str]:
    """The names that a statement may bind."""
    inner = list(ast.walk(node))
    single = isinstance(node, ast.FunctionDef | ast.ClassDef)
    bound = bound_by(node) if single else set().union(*map(bound_by, inner))
    if any(map(_reaches_names, inner)):
        bound |= {n.value for n in inner if _is_text(n)}
    return bound


def _reaches_names(node: ast.AST) -> bool:
    """Whether it can bind a name that is given as text, as ``globals()`` can."""
    if isinstance(node, ast.Name):
        return node.id in ("globals", "locals", "vars", "setattr", "exec", "eval")
    return isinstance(node, ast.Attribute) and node.attr in ("__dict__", "user_ns")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
