"""Answers that read a value of the notebook in place of an argument.

A demonstration made it, or a test of the student's own, under the name that a parameter
should have, or as a size of its own example. The answer runs, so that all that can be
seen in what comes out would be said of a function that nobody meant to write.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nbformat import NotebookNode

from autograder.answers import Answer
from autograder.grading.meant_parameters import (
    Meant,
    meant_by,
    parameters_in,
    parameters_of_stubs,
)
from autograder.grading.remarks import NAME, in_reading_time
from autograder.judge import Report
from autograder.magics import keeps_names, parsed
from autograder.reasons import Reason
from autograder.statements import DEFINITIONS, looked_up, names_bound
from autograder.submissions.rebuild import STUDENT, TAKEN_OVER, Rebuilt

_MOST = 20  # values of which it is asked whether a parameter is meant
_SIZES = range(2, 10_000)  # 0 and 1 are axes more often, 10,000 the base of positions
# D, d_k, num_heads, embed_dim, seq_len: not a limit such as max_len.
_SIZE = re.compile(
    r"[A-Za-z]|(?!max)(?:(?:[A-Za-z]|num|len|size|dim)_\w+"
    r"|\w*(?:dim|len|length|size|heads|tokens|features))"
)
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_PARAMETER = (
    "`{}` is not a parameter of `{}`: it is what {} made. Its parameter {} may be "
    "meant."
)
_SET = "`{}` uses `{}`, which {}: compute it from your arguments."
_BY_DEMONSTRATION = "a demonstration of the book set for its own example"
_BY_STUDENT = "a cell of yours set"


def name_outside_values(
    master: NotebookNode,
    rebuilt: Rebuilt,
    reports: Sequence[Report],
    given: Mapping[str, Sequence[Answer]],
    not_run: Collection[str] = (),
) -> list[Report]:
    """The reports, in which a wrong answer is first told of a value from outside.

    A known mistake explains all that came out, so what it says stands alone. An answer
    that misses a name is told so elsewhere.

    Args:
        master: the notebook as it was released.
        rebuilt: the notebook that was examined.
        reports: on all of its exercises.
        given: the answers to each exercise.
        not_run: exercises that were refused, or whose cell stopped.
    """
    asked = {
        report.name
        for report in reports
        if report.score < report.max_score
        and report.mistake is None
        and report.reason is not Reason.STUB
        and report.name not in not_run
        and all(answer.raised != "NameError" for answer in given.get(report.name, ()))
    }
    if not asked:
        return list(reports)

    def add_remarks() -> list[Report]:
        stubs = parameters_of_stubs(master)
        exercises = [report.name for report in reports]
        first = {
            name: _Outside(name, top, exercises, stubs).remark()
            for name, top in _at_checks(rebuilt, asked)
        }
        return [_telling(report, first.get(report.name, "")) for report in reports]

    return in_reading_time(reports, add_remarks)


def _telling(report: Report, first: str) -> Report:
    """The report with a remark before what it says of the answer as it ran."""
    if not first:
        return report
    more = f" With that value: {report.message}" if report.reason.is_told else ""
    reason = report.reason or Reason.OUTSIDE_VALUE
    return replace(report, message=first + more, reason=reason)


@dataclass(frozen=True, eq=False)
class _Binding:
    """A statement that binds a name at the top level.

    Attributes:
        node: its syntax tree.
        role: of its cell.
        exercise: in whose cell it stands, if in any.
    """

    node: ast.stmt
    role: str
    exercise: str | None

    @cached_property
    def values(self) -> set[str]:
        """The names that it gives to values, and not to functions or modules."""
        inner = [n for n in ast.walk(self.node) if isinstance(n, DEFINITIONS)]
        return names_bound(self.node).difference(*map(names_bound, inner))

    @cached_property
    def given(self) -> dict[str, ast.expr]:
        """What it assigns to names, as far as it is written beside them."""
        if isinstance(self.node, ast.AnnAssign) and self.node.value is not None:
            return dict(_pairs(self.node.target, self.node.value))
        if isinstance(self.node, ast.Assign):
            targets, value = self.node.targets, self.node.value
            return {name: v for t in targets for name, v in _pairs(t, value)}
        return {}


@dataclass(frozen=True, eq=False)
class _TopLevel:
    """What names stand for at the top level.

    Attributes:
        last: the statement that bound each name last.
        not_values: the names that were a function or a module, or that the book set, at
            any time: code may mean that one, whatever the name stands for now.
    """

    last: dict[str, _Binding] = field(default_factory=dict)
    not_values: set[str] = field(default_factory=set)

    def run(self, binding: _Binding) -> None:
        names = names_bound(binding.node)
        if isinstance(binding.node, ast.Delete):
            for name in names:
                self.last.pop(name, None)
            return
        self.last.update(dict.fromkeys(names, binding))
        set_by_book = binding.role == "setup"
        self.not_values.update(names if set_by_book else names - binding.values)


def _at_checks(
    rebuilt: Rebuilt, exercises: Collection[str]
) -> Iterator[tuple[str, _TopLevel]]:
    """The top level as it is at the checks of these exercises, one after the other."""
    now = _TopLevel()
    for cell in rebuilt.notebook.cells:
        role, exercise = cell.metadata.role, cell.metadata.get("exercise")
        if role == "check" and exercise in exercises:
            yield exercise, now
        runs = role in ("setup", STUDENT, TAKEN_OVER, "exercise")
        tree = parsed(cell.source) if runs and keeps_names(cell.source) else None
        for node in tree.body if tree else ():
            now.run(_Binding(node, role, exercise))


class _Outside:
    """What an answer reads that is neither its argument nor its own.

    Args:
        exercise: its name.
        top: the top level at its check.
        exercises: the names of all answers.
        stubs: the parameters in the stubs, from ``parameters_in``.
    """

    def __init__(
        self,
        exercise: str,
        top: _TopLevel,
        exercises: Collection[str],
        stubs: Mapping[tuple[str, str], Sequence[str]],
    ) -> None:
        self._exercise, self._top, self._stubs = exercise, top, stubs
        self._others = set(exercises) - {exercise}

    def remark(self) -> str:
        """What to say of the first such value; empty if none surely is one."""
        found = [
            (name, meant)
            for node in self._functions()
            for name in self._values_read_by(node)
            if (meant := meant_by(name, [_module(node)], self._stubs))
        ][:_MOST]
        remarks = [self._instead_of_parameter(*one) for one in found]
        remarks += [self._of_an_example(*one) for one in found]
        return next(filter(None, remarks), "")

    def _functions(self) -> Iterable[ast.stmt]:
        """The definition of the answer, and those of the student's that it uses.

        Those that answer other exercises have reports of their own.
        """
        waiting, reached = [self._exercise], {self._exercise}
        while waiting:
            name = waiting.pop()
            binding = self._top.last.get(name)
            if binding is None or binding.role not in (STUDENT, "exercise"):
                continue
            is_function = isinstance(binding.node, _FUNCTIONS)
            if is_function:
                yield binding.node
            if is_function or name == self._exercise:  # softmax = _softmax
                more = looked_up(binding.node) - reached - self._others
                reached |= more
                waiting += sorted(more, reverse=True)

    def _values_read_by(self, node: ast.stmt) -> list[str]:
        """The names of values that a function looks up at the top level.

        What it calls is a function, however it was made, and what it declares
        ``global`` it may set itself. One without arguments cannot compute from them.
        """
        own = {p for ps in parameters_in([_module(node)]).values() for p in ps}
        if own <= {"self", "cls"}:
            return []
        inner = list(ast.walk(node))
        called = {n.func.id for n in inner if _calls_a_name(n)}
        declared = {n for g in inner if isinstance(g, ast.Global) for n in g.names}
        names = looked_up(node) & self._top.last.keys() - called - declared - own
        return [
            name
            for name in sorted(names - self._top.not_values)
            if NAME.fullmatch(name)
        ][:_MOST]

    def _instead_of_parameter(self, name: str, meant: Meant) -> str:
        """The remark if a parameter that is not used has such a name."""
        if meant.unused:
            return ""
        parameters = [
            f"`{p}`"
            for p in meant.parameters
            if p in meant.not_used and not self._only_begins(p, name)
        ]
        if not parameters:
            return ""
        of_book = self._top.last[name].role == TAKEN_OVER
        who = "a demonstration of the book" if of_book else "a cell of yours"
        return _PARAMETER.format(name, meant.function, who, " or ".join(parameters))

    def _only_begins(self, parameter: str, name: str) -> bool:
        """Whether a parameter of a stub is but the first letter of a name.

        That is chance, as with ``d`` and ``device``, unless the student chose it.
        """
        is_letter = len(parameter) == 1 < len(name.rstrip("s"))
        return is_letter and any(parameter in own for own in self._stubs.values())

    def _of_an_example(self, name: str, meant: Meant) -> str:
        """The remark if the value belongs to an example, of the book or the student."""
        if len(name) > 1 and name.isupper():
            return ""  # a constant, as PAD is
        binding = self._top.last[name]
        value = binding.given.get(name)
        if binding.role == TAKEN_OVER:
            is_float = type(getattr(value, "value", None)) is float
            who = "" if is_float else _BY_DEMONSTRATION
        else:
            is_beside = binding.exercise == self._exercise  # and may be meant so
            who = "" if is_beside or not _is_size(name, value) else _BY_STUDENT
        return who and _SET.format(meant.function, name, who)


def _module(node: ast.stmt) -> ast.Module:
    return ast.Module([node], [])


def _calls_a_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each name of a target with what it is given; of a shape, all get that."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        values = [value] * len(target.elts)
        if isinstance(value, ast.Tuple | ast.List):
            values = value.elts
        elif not _is_shape(value):
            return
        if len(values) == len(target.elts):
            for one, its_value in zip(target.elts, values, strict=True):
                if isinstance(one, ast.Name):
                    yield one.id, its_value


def _is_size(name: str, value: ast.expr | None) -> bool:
    """Whether a name is given a size: an entry of a shape, or a number named so."""
    if isinstance(value, ast.Constant):
        is_whole = type(value.value) is int and value.value in _SIZES
        return is_whole and _SIZE.fullmatch(name) is not None
    return value is not None and _is_shape(value)


def _is_shape(value: ast.expr) -> bool:
    """Whether it is the shape of something, or an entry of one."""
    if isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Attribute) and value.attr == "shape"
