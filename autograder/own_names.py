"""Names in a source that are its author's own, although a library has the same ones.

Somebody who writes out a step calls it what the field calls it. So a variable may be
called ``zscore``, and a method ``layer_norm``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class OwnNames:
    """What a source defines under a name, and where that name is looked up.

    Args:
        tree: of the source.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        nodes = list(ast.walk(tree))
        stored = {n.id for n in nodes if _is_stored(n)}
        functions = {n.name for n in nodes if isinstance(n, _FUNCTIONS)}
        classes = {n.name for n in nodes if isinstance(n, ast.ClassDef)}
        given = {n.arg for n in nodes if isinstance(n, ast.arg)}
        self._names = stored | functions | classes | given
        others = stored | functions | given | {m for n in nodes for m in _caught(n)}
        others |= {name for n in nodes for name in _imported(n)}
        self._methods = {  # of classes whose names mean nothing else
            n.name: {inner.name for inner in n.body if isinstance(inner, _FUNCTIONS)}
            for n in nodes
            if isinstance(n, ast.ClassDef) and n.name not in others
        }
        self._objects = self._made()

    def looked_up(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether what a node looks up is defined in the source.

        A name may be a variable, a parameter, a function or a class; an attribute, a
        method of a class, looked up in the class or in an object of it.
        """
        if isinstance(node, ast.Name):
            return node.id in self._names
        value = node.value
        if isinstance(value, ast.Name) and value.id in self._methods:
            return node.attr in self._methods[value.id]
        of = self._class_of(value) or self._objects.get(_place(value) or "")
        return of is not None and node.attr in self._methods[of]

    def _made(self) -> dict[str, str]:
        """The variables that hold an object of a class, and nothing else, with it."""
        found: dict[str, set[str | None]] = {}
        for place, value in _assignments(self._tree):
            found.setdefault(place, set()).add(self._class_of(value))
        return {
            place: of
            for place, kinds in found.items()
            for of in kinds
            if of is not None and len(kinds) == 1
        }

    def _class_of(self, value: ast.expr | None) -> str | None:
        """The class whose object a call makes."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return value.func.id if value.func.id in self._methods else None
        return None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Each variable that is bound, with what it holds then; None if that is unclear."""
    plain: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain |= {id(target) for target in targets}
            yield from ((p, node.value) for t in targets if (p := _place(t)))
    for node in ast.walk(tree):
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if stored and id(node) not in plain and (place := _place(node)):
            yield place, None
        if isinstance(node, ast.arg):
            yield node.arg, None
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node.name, None
        yield from ((name, None) for name in (*_imported(node), *_caught(node)))


def _place(node: ast.expr) -> str | None:
    """A name, or an attribute of ``self``, as it is written."""
    if isinstance(node, ast.Name):
        return node.id
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return f"self.{node.attr}" if own and node.value.id == "self" else None


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _imported(node: ast.AST) -> Iterator[str]:
    """The names that an import binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]


def _caught(node: ast.AST) -> Iterator[str]:
    """The names that an ``except`` or a pattern of ``match`` binds."""
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    if isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
