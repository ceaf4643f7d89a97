"""Names in a source that are its author's own, although a library has the same ones.

Somebody who writes out a step calls it what the field calls it. So a variable may be
called ``zscore``, and a method ``layer_norm``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from autograder.installed import is_here
from autograder.statements import bound_by, name_of, names_bound

# Of what these bind, somebody else is the author.
_NOT_OWN = ast.alias | ast.ExceptHandler
_NAMESPACE = "SimpleNamespace"  # like a class, with what it is given


class OwnNames:
    """What a source defines under a name, and where that name is looked up.

    Args:
        tree: of the source.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        nodes = list(ast.walk(tree))
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        others = {
            name
            for node in nodes
            if not isinstance(node, ast.ClassDef)
            for name in _given_or_bound(node)
        }
        self._names = {
            name
            for node in nodes
            if not isinstance(node, _NOT_OWN)
            for name in _given_or_bound(node)
        }
        self._modules = _own_modules(nodes)
        self._attributes = {  # of classes whose names mean nothing else
            _NAMESPACE: _given_to_namespaces(nodes),
            **{n.name: _attributes_of(n) for n in classes if n.name not in others},
        }
        for node in classes:  # those above are complete by now
            bases = [b.id for b in node.bases if isinstance(b, ast.Name)]
            for base in bases if node.name in self._attributes else ():
                self._attributes[node.name] |= self._attributes.get(base, set())
        self._objects = self._made()
        self._attributes_of_objects = {  # that are stored outside of the class
            (of, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and (of := self._objects.get(_place(node.value) or ""))
        }

    def looked_up(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether what a node looks up is defined in the source.

        A name may be a variable, a parameter, a function or a class; an attribute, one
        of a class, of an object of it, or of a module that is no library.
        """
        if isinstance(node, ast.Name):
            return node.id in self._names
        value = node.value
        if _root(value) in self._modules or _is_super(value):
            return True
        of = self._class_of(value) or self._objects.get(_place(value) or "")
        if of is None and isinstance(value, ast.Name) and value.id in self._attributes:
            of = value.id
        return of is not None and (
            node.attr in self._attributes.get(of, ())
            or (of, node.attr) in self._attributes_of_objects
        )

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
        if not isinstance(value, ast.Call):
            return None
        if name_of(value.func) == _NAMESPACE or isinstance(value.func, ast.Name):
            name = name_of(value.func)
            return name if name in self._attributes else None
        return None


def _own_modules(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that modules have which are no library, and nothing else has."""
    found: set[str] = set()
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                (others if is_here(alias.name) else found).update(bound_by(alias))
        elif isinstance(node, ast.ImportFrom):
            own = node.level or not is_here(node.module or "")
            (found if own else others).update(*map(bound_by, node.names))
        elif not isinstance(node, ast.alias):
            others |= _given_or_bound(node)
    return found - others


def _given_to_namespaces(nodes: Sequence[ast.AST]) -> set[str]:
    """The attributes that a ``SimpleNamespace`` is made with somewhere."""
    calls = (n for n in nodes if isinstance(n, ast.Call))
    made = (call for call in calls if name_of(call.func) == _NAMESPACE)
    return {key.arg for call in made for key in call.keywords if key.arg}


def _root(value: ast.expr) -> str:
    """The name that an expression such as ``package.module`` begins with, if any."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _is_super(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and name_of(value.func) == "super"


def _attributes_of(node: ast.ClassDef) -> set[str]:
    """What a class defines in its body, or its methods store in an object of it."""
    found = set().union(*map(names_bound, node.body))
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    return found | {
        part.attr
        for part in stored
        if isinstance(part.ctx, ast.Store) and (_place(part) or "").startswith("self.")
    }


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    """Each variable that is bound, with what it holds then; None if that is unclear."""
    plain: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain |= {id(target) for target in targets}
            yield from ((p, node.value) for t in targets if (p := _place(t)))
    for node in ast.walk(tree):
        if id(node) in plain:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from ((place, None) for place in filter(None, [_place(node)]))
        yield from ((name, None) for name in _given_or_bound(node))


def _given_or_bound(node: ast.AST) -> set[str]:
    """The names that one node binds, be it as a parameter."""
    return {node.arg} if isinstance(node, ast.arg) else bound_by(node)


def _place(node: ast.expr) -> str | None:
    """A name, or an attribute of ``self``, as it is written."""
    if isinstance(node, ast.Name):
        return node.id
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return f"self.{node.attr}" if own and node.value.id == "self" else None
