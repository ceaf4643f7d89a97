"""The source that an answer reaches: its own, and whatever of the student's it uses.

An exercise forbids what it rebuilds. So its answer is read together with every
definition of the student that it may use, followed by name through the cells.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from nbformat import NotebookNode

from autograder.magics import (
    lines_in,
    never_runs,
    parsed,
    python_in,
    rows_of,
    sharing_lines,
)
from autograder.parsing import UNREADABLE
from autograder.statements import bound_by, looked_up, mentioned_at_once
from autograder.submissions.rebuild import STUDENT, TAKEN_OVER, Rebuilt


@dataclass(eq=False)
class _Statement:
    """A statement of a student's, or all of a cell that cannot be read.

    Attributes:
        node: its syntax tree, if there is one.
        names: which it may bind.
        source: its lines, with the statements that share them; or all of its cell.
        place: the numbers of its cell and of its statement in it.
    """

    node: ast.stmt | None
    names: set[str]
    source: str
    place: tuple[int, int]

    @cached_property
    def text(self) -> str:
        """Its own source, written out when an answer reaches it."""
        if self.node is None:
            return python_in(self.source)
        try:
            return ast.unparse(self.node)
        except UNREADABLE:  # what is read is not always what can be written out
            return python_in(self.source)

    @cached_property
    def used(self) -> set[str]:
        """The names that it may use, from its tree: parsing again would be slow."""
        return _words(self.source) if self.node is None else looked_up(self.node)


class StudentCode:
    """What the cells of a student define, parsed once for all exercises that ask.

    Args:
        rebuilt: a rebuilt notebook.
    """

    def __init__(self, rebuilt: Rebuilt) -> None:
        self._rebuilt = rebuilt

    @cached_property
    def _cells(self) -> list[tuple[NotebookNode, list[_Statement]]]:
        cells = enumerate(self._rebuilt.notebook.cells)
        return [(cell.metadata, _definitions(cell, n)) for n, cell in cells]

    def reachable(self, exercise: str) -> str:
        """The answer to an exercise with every definition of the student that it uses.

        Definitions are followed by name through the cells that the student wrote, but
        not into what answers other exercises. They stand in the order in which they
        run: which of several of one name counts is decided in ``comparisons``.
        """
        definitions = self._before_the_check(exercise)
        definitions[exercise] = [
            *definitions.get(exercise, ()),
            *self._attempts(exercise),
        ]
        answer = self._rebuilt.answers.get(exercise, "")
        reached = {self._place_of(exercise): python_in(answer)}
        names = ["*", *sorted(_names(answer) - {exercise})]  # * may bring in any name
        if _needs_earlier(answer, exercise):
            names.append(exercise)
        waiting = self._below(exercise)  # these define it anew
        while waiting or names:
            for one in waiting or definitions.pop(names.pop(), ()):
                if one.place not in reached:
                    reached[one.place] = one.text
                    names += sorted(one.used & definitions.keys())
            waiting = []
        return "\n".join(reached[place] for place in sorted(reached))

    def _place_of(self, exercise: str) -> tuple[int, int]:
        """The place of an answer."""
        for number, (metadata, _) in enumerate(self._cells):
            if metadata.role == "exercise" and metadata.exercise == exercise:
                return number, 0
        return -1, 0

    def _before_the_check(self, exercise: str) -> dict[str, list[_Statement]]:
        """The statements that run before a check, by the names that they bind.

        Answers to exercises are not among them, nor earlier attempts at them, but what
        stands beside them is.
        """
        found: dict[str, list[_Statement]] = {}
        for metadata, statements in self._cells:
            if metadata.get("exercise") == exercise:
                if metadata.role == "check":
                    break
                continue  # the cell of the answer is read whole
            for statement in statements:
                for name in statement.names:
                    found.setdefault(name, []).append(statement)
        return found

    def _below(self, exercise: str) -> list[_Statement]:
        """The statements between an answer and its check that bind its name."""
        found: list[_Statement] = []
        is_below = False
        for metadata, statements in self._cells:
            if metadata.get("exercise") == exercise:
                is_below = metadata.role == "exercise"
            elif is_below:
                found += [one for one in statements if exercise in one.names]
        return found

    def _attempts(self, exercise: str) -> Iterator[_Statement]:
        """The statements of earlier attempts at an exercise that define its answer."""
        for number, cell in enumerate(self._rebuilt.notebook.cells):
            if cell.metadata.get("attempt") == exercise:
                for statement in _top_level(cell.source, None, number):
                    if exercise in statement.names:
                        yield statement


def _needs_earlier(answer: str, exercise: str) -> bool:
    """Whether an answer looks up an earlier definition of its own name.

    It does if it has none. Names in the body of a function are looked up when it is
    called, and by then they are those of the answer itself; so are those below it.
    """
    tree = parsed(answer)
    body = tree.body if tree else []
    places = [n for n, node in enumerate(body) if exercise in may_bind(node)]
    if not places:
        return True
    above = body[: places[-1] + 1]
    return any(
        exercise in mentioned_at_once(node) or any(map(_reaches_names, ast.walk(node)))
        for node in above
    )


def _definitions(cell: NotebookNode, number: int) -> list[_Statement]:
    """The statements of a cell that the student wrote, or took from the book."""
    metadata = cell.metadata
    if metadata.role not in (STUDENT, TAKEN_OVER, "exercise"):
        return []
    answer = metadata.get("exercise", metadata.get("attempt"))
    return list(_top_level(cell.source, answer, number))


def _top_level(source: str, answer: str | None, number: int) -> Iterator[_Statement]:
    """The statements of a cell, without its answer.

    What cannot be read, but may run, may bind every word that is in it.
    """
    tree = parsed(source)
    if tree is None:
        if not never_runs(source):
            yield _Statement(None, _words(source) - {answer}, source, (number, 0))
        return
    lines, places = lines_in(source), count()
    for group in sharing_lines(tree.body):
        text = "\n".join(lines[rows_of(group)])
        for node in group:
            place = number, next(places)
            if answer is None or getattr(node, "name", None) != answer:
                yield _Statement(node, may_bind(node) - {answer}, text, place)


def may_bind(node: ast.stmt) -> set[str]:
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


def _names(source: str) -> set[str]:
    tree = parsed(source)
    return _words(source) if tree is None else looked_up(tree)


def _words(source: str) -> set[str]:
    return set(re.findall(r"\w+", source))
