"""Makes the altered references, of definitions whose loops end whatever is altered."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from autograder.exercise import Implementation
from autograder.steps.changes import Change, changes

MOST = 160  # alterations of one reference: a check has to end within a second
_ORIGINAL = "original_class"  # a name that no definition has

Place = tuple[ast.AST, str, int | None]  # a node, its field, and an index if it is one


@dataclass(frozen=True)
class _Definition:
    """The syntax tree of a function or a class, and where each of its nodes stands."""

    tree: ast.FunctionDef | ast.ClassDef
    places: dict[int, Place]

    def compiled(self, change: Change | None = None) -> CodeType:
        """The code of the definition; changed, of a class, that of the one method."""
        nodes = {} if change is None else change.nodes
        top = self.tree
        if change is not None and isinstance(top, ast.ClassDef):
            base = ast.Name(_ORIGINAL, ast.Load())
            top = ast.ClassDef(top.name, [base], [], [change.function], [])
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


def altered_steps(reference: Implementation) -> Iterator[tuple[str, Implementation]]:
    """The reference with one step altered, and how that is told.

    Args:
        reference: a function or a class of a module whose text is at hand. Functions of
            its module that it calls are altered as well. What has a loop with a
            condition is not: it might not come to an end.

    Yields:
        The sentence about what is altered, and the altered reference. Nothing is run,
        and nothing is yielded where the text of the reference is not to be had.
    """
    found = (
        (definition, change)
        for definition in _definitions(reference)
        if not any(isinstance(node, ast.While) for node in ast.walk(definition.tree))
        for change in changes(definition.tree)
    )
    for definition, change in itertools.islice(found, MOST):
        try:
            altered = _made(reference, definition, change)
        except Exception:  # an alteration that makes no sense explains nothing
            continue
        yield change.says, altered


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
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    if getattr(tree, "name", None) != one.__name__:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node) == "super()":
            node.args = [ast.Name(_ORIGINAL, ast.Load()), ast.Name("self", ast.Load())]
    return _Definition(ast.fix_missing_locations(tree), _places(tree))


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


def _namespace(reference: Implementation) -> dict[str, Any]:
    module = inspect.getmodule(reference)
    return {} if module is None else vars(module)


def _made(
    reference: Implementation, definition: _Definition, change: Change
) -> Implementation:
    """The reference in which one definition is altered, with names of its own."""
    name, is_class = reference.__name__, isinstance(reference, type)
    namespace = {**_namespace(reference), _ORIGINAL: reference}
    if definition.tree.name != name:  # it has to call what is altered
        exec(_definition(reference).compiled(), namespace)
    exec(definition.compiled(change), namespace)
    if is_class and definition.tree.name != name:
        namespace[_ORIGINAL] = namespace[name]
    return namespace[name]
