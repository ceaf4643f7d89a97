"""Build altered references, from code whose loops end under every alteration."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from autograder.exercise import Implementation
from autograder.steps.changes import Change, changes

MOST = 160  # alterations of one reference: a check has to end within a second
_ORIGINAL = "original_class"  # a name that no definition has

Place = tuple[ast.AST, str, int | None]  # a node, its field, and an index if it is one


@dataclass(frozen=True, eq=False)
class _Definition:
    """The syntax tree of a function or a class, and where each of its nodes stands.

    The tree counts lines from 1; the first of them is line ``first`` of the file.
    """

    tree: ast.FunctionDef | ast.ClassDef
    places: dict[int, Place]
    first: int

    def compiled(self, *changes: Change) -> CodeType:
        """The code of the definition; changed, of a class, that of changed methods."""
        nodes = {old: new for change in changes for old, new in change.nodes.items()}
        top = self.tree
        if changes and isinstance(top, ast.ClassDef):
            base = ast.Name(_ORIGINAL, ast.Load())
            methods = list({id(c.function): c.function for c in changes}.values())
            top = ast.ClassDef(top.name, [base], [], methods, [])
            ast.fix_missing_locations(ast.copy_location(top, self.tree))
        for old, new in nodes.items():
            ast.fix_missing_locations(ast.copy_location(new, self._at(old)))
        kept = {old: self._at(old) for old in nodes}
        try:
            for old, new in nodes.items():
                self._put(old, new)
            return compile(ast.Module([top], []), "<altered>", "exec")
        finally:
            for old, node in kept.items():
                self._put(old, node)

    def lines(self, old: int) -> range:
        """Lines of the file, of which one is reached if a node is."""
        node = self._at(old)
        while not isinstance(node, ast.stmt) or _runs_nothing(node):
            node = self.places[id(node)][0]
        last = node.end_lineno
        if isinstance(node, ast.If | ast.For | ast.With):  # what follows is on its own
            last = max(node.lineno, node.body[0].lineno - 1)
        return range(self.first + node.lineno - 1, self.first + last)

    def _at(self, old: int) -> ast.AST:
        parent, field, index = self.places[old]
        value = getattr(parent, field)
        return value if index is None else value[index]

    def _put(self, old: int, node: ast.AST) -> None:
        parent, field, index = self.places[old]
        if index is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[index] = node


@dataclass(frozen=True)
class Step:
    """One alteration of one definition."""

    definition: _Definition
    change: Change

    @property
    def says(self) -> str:
        """How it is told."""
        return self.change.says

    def may_be_in(self, lines: Set[int]) -> bool:
        """Whether a run that reached these lines of the file may have come to it.

        If no line is known, it may.
        """
        altered = map(self.definition.lines, self.change.nodes)
        return not lines or any(not lines.isdisjoint(some) for some in altered)


def steps_of(reference: Implementation) -> Iterator[Step]:
    """All alterations of a single step, up to a number.

    Args:
        reference: a function or a class of a module whose text is at hand. Functions of
            its module that it calls are altered as well. What has a loop with a
            condition is not: it might not come to an end.
    """
    found = (
        Step(definition, change)
        for definition in _definitions(reference)
        if not any(isinstance(node, ast.While) for node in ast.walk(definition.tree))
        for change in changes(definition.tree)
    )
    return itertools.islice(found, MOST)


def with_steps(reference: Implementation, *steps: Step) -> Implementation | None:
    """The reference with one or more of its steps altered.

    Returns:
        ``None`` if that makes no sense, as where two steps alter one place.
    """
    altered = [node for step in steps for node in step.change.nodes]
    if len(set(altered)) < len(altered):
        return None
    try:
        return _made(reference, steps)
    except Exception:  # an alteration that makes no sense explains nothing
        return None


@cache
def _definitions(reference: Implementation) -> list[_Definition]:
    """The definition of the reference, then those of functions that it calls."""
    namespace = _namespace(reference)
    found: dict[str, _Definition] = {}
    waiting = [reference]
    while waiting:
        one = waiting.pop(0)
        definition = _definition(one)
        if definition is None or one.__name__ in found:
            continue
        found[one.__name__] = definition
        names = {n.id for n in ast.walk(definition.tree) if isinstance(n, ast.Name)}
        for name in sorted(names):
            other = namespace.get(name)
            if inspect.isfunction(other) and other.__module__ == one.__module__:
                waiting.append(other)
    return list(found.values())


@cache
def _definition(one: Any) -> _Definition | None:
    """The definition, in which ``super`` has its arguments."""
    try:
        lines, first = _source_lines(one)
        (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    if getattr(tree, "name", None) != one.__name__:
        return None
    tree.decorator_list = [d for d in tree.decorator_list if not _enters_a_bank(d)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node) == "super()":
            node.args = [ast.Name(_ORIGINAL, ast.Load()), ast.Name("self", ast.Load())]
    return _Definition(ast.fix_missing_locations(tree), _places(tree), first)


def _source_lines(one: Any) -> tuple[list[str], int]:
    """The lines of a definition, and the number of the first.

    For a class, inspect reads the whole file again, and a bank has a hundred of them.

    Raises:
        OSError, TypeError: they are not to be had.
    """
    if isinstance(one, type):
        lines, places = _classes_in(inspect.getsourcefile(one) or "")
        if (place := places.get(one.__qualname__)) is not None:
            return lines[place.start : place.stop], place.start + 1
    return inspect.getsourcelines(one)


@cache
def _classes_in(file: str) -> tuple[list[str], dict[str, range]]:
    """The lines of a file, and where the classes that are defined once stand in it."""
    lines = linecache.getlines(file)
    found: dict[str, range] = {}
    several = set()
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ClassDef):
            several |= {node.name} & set(found)
            first = min(n.lineno for n in (node, *node.decorator_list))
            found[node.name] = range(first - 1, node.end_lineno)
    return lines, {n: place for n, place in found.items() if n not in several}


def _runs_nothing(statement: ast.stmt) -> bool:
    """Whether no line is reached where a statement stands, as at a docstring."""
    said = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return said or isinstance(statement, ast.Global | ast.Nonlocal | ast.AnnAssign)


def _enters_a_bank(decorator: ast.expr) -> bool:
    """Whether a decorator turns a wrong version into a ``Mistake``."""
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "mistake"


def _places(tree: ast.AST) -> dict[int, Place]:
    places: dict[int, Place] = {}
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.AST):
                places[id(value)] = parent, field, None
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    places[id(item)] = parent, field, index
    return places


def file_of(reference: Implementation) -> str | None:
    """The file of a function or a class, as its code names it, if that is known."""
    try:
        return inspect.getfile(inspect.unwrap(reference))
    except (OSError, TypeError, ValueError):
        return None


def _namespace(reference: Implementation) -> dict[str, Any]:
    module = inspect.getmodule(reference)
    return {} if module is None else vars(module)


def _made(reference: Implementation, steps: Sequence[Step]) -> Implementation:
    """The reference in which definitions are altered, with names of its own."""
    name, is_class = reference.__name__, isinstance(reference, type)
    namespace = {**_namespace(reference), _ORIGINAL: reference}
    altered: dict[str, list[Change]] = {}
    for step in steps:
        altered.setdefault(step.definition.tree.name, []).append(step.change)
    own = altered.pop(name, [])
    if altered:  # what calls an altered definition has to be defined beside it
        for definition in _definitions(reference):
            changed = altered.get(definition.tree.name)
            exec(
                definition.compiled(*changed) if changed else _as_it_is(definition),
                namespace,
            )
        if is_class:
            namespace[_ORIGINAL] = namespace[name]
    if own:
        exec(_definition(reference).compiled(*own), namespace)
    return namespace[name]


@cache
def _as_it_is(definition: _Definition) -> CodeType:
    return definition.compiled()
