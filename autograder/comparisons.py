"""Lines of a cell that only compare an answer with the library's.

Below an answer that rebuilds a library function, students call that function to see
whether both agree, in tests of all kinds. These are no part of the answer, which uses
nothing of theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from autograder.statements import (
    RUNS,
    looked_up,
    mentioned,
    mentioned_at_once,
    name_of,
    names_bound,
)

# What shows or compares values, by the last part of its name.
_LOOKS = {"print", "display", "allclose", "isclose", "equal", "assert_close"}
_LOOKS |= {"assert_allclose", "assert_equal", "assert_array_equal"}
_LOOKS |= {"assert_almost_equal", "assert_array_almost_equal"}

# What changes the object before the dot.
_CHANGES = {"append", "extend", "insert", "setdefault", "update", "__setattr__"}
_NAMESPACES = {"globals", "locals", "vars", "get_ipython", "__import__"}
_NAMESPACES |= {"import_module"}
_CHANGED = {"out", "inplace"}  # arguments that say what else is changed


def without_comparisons(
    body: list[ast.stmt], answer: str, forbidden: Collection[str] = ()
) -> list[ast.stmt]:
    """The statements that an answer depends on by name, in their order.

    These are its definition, and those that bind or change what it looks up, in turn.
    A test below it, in whatever form, is none of them, nor what had a name before, and
    has lost it when the answer is called. What an answer reaches in another way is seen
    when it is called (``guard``).

    Args:
        body: the statements of a cell, or of several, in the order in which they run.
        answer: the name of the answer.
        forbidden: the names of functions that the answer may not use.
    """
    if not any(answer in names_bound(node) for node in body):
        return [node for node in body if not _looks(node)]  # it is bound elsewhere
    body = [one for node in body for one in _name_by_name(node)]
    bindings = _Bindings(body, answer, forbidden)
    kept: set[int] = set()
    waiting = [(answer, False)]
    for node in body:
        if _may_bind_anything(node):
            kept.add(id(node))
            waiting += [(name, True) for name in mentioned(node)]
    followed: set[tuple[str | int, bool]] = set()
    while waiting:
        name, at_once = waiting.pop()
        if (name, at_once) in followed:
            continue
        followed.add((name, at_once))
        for node in bindings.of(name, at_once):
            if (id(node), at_once) not in followed:
                followed.add((id(node), at_once))
                kept.add(id(node))
                now, later = _mentioned_by(node)
                waiting += [(name, True) for name in now]
                waiting += [(name, at_once) for name in later]
    return [node for node in body if id(node) in kept]


def _name_by_name(node: ast.stmt) -> list[ast.stmt]:
    """An import, with a statement for each of its names: not all may be needed."""
    if isinstance(node, ast.Import):
        parts: list[ast.stmt] = [ast.Import([alias]) for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        where = node.module, node.level
        parts = [ast.ImportFrom(where[0], [n], where[1]) for n in node.names]
    else:
        return [node]
    return [ast.copy_location(part, node) for part in parts]


class _Bindings:
    """Which statements bind or change the object that a name stands for."""

    def __init__(
        self, body: list[ast.stmt], answer: str, forbidden: Collection[str]
    ) -> None:
        imports = ast.Import | ast.ImportFrom
        made = set().union(
            *(names_bound(node) for node in body if not isinstance(node, imports))
        )
        self._all: dict[str, list[ast.stmt]] = {}
        self._lasting: dict[str, list[ast.stmt]] = {}  # since it was bound last
        later: dict[str, list[ast.stmt]] = {}  # in a function, whenever that is called
        for node in body:
            if _may_bind_anything(node):
                continue
            changed = _changed_in(node, made, forbidden) - {answer}
            for name in names_bound(node) | changed:
                self._all.setdefault(name, []).append(node)
                if _surely_binds(node, name):
                    self._lasting[name] = []
                self._lasting.setdefault(name, []).append(node)
            for name in _global_in(node):
                later.setdefault(name, []).append(node)
        for name, nodes in later.items():
            self._lasting.setdefault(name, []).extend(nodes)

    def of(self, name: str, at_once: bool) -> Sequence[ast.stmt]:
        """The statements, in their order.

        Args:
            name: that is looked up.
            at_once: whether this is before the answer is called, when the name may
                have stood for anything that it was bound to.
        """
        return (self._all if at_once else self._lasting).get(name, ())


def _surely_binds(node: ast.stmt, name: str) -> bool:
    """Whether a statement binds a name whatever happens, if it runs through."""
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.AnnAssign
    return isinstance(node, kinds | ast.Import | ast.ImportFrom) and (
        name in names_bound(node)
    )


def _mentioned_by(node: ast.stmt) -> tuple[set[str], set[str]]:
    """What a statement looks up as it runs, and when what it defines is called."""
    names = mentioned(node)
    defines = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    now = mentioned_at_once(node) if isinstance(node, defines) else names
    return now, names - now


def _global_in(node: ast.stmt) -> set[str]:
    """The names that a function inside a statement binds at the top level."""
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Global))
    return set().union(*(part.names for part in parts))


def _may_bind_anything(node: ast.stmt) -> bool:
    """Whether a statement runs text, or brings names in that it does not name."""
    return any(
        (isinstance(part, ast.alias) and part.name == "*")
        or (isinstance(part, ast.Call) and _runs_text(part.func))
        or (_may_change(part) and _source(part) in _NAMESPACES)
        for part in ast.walk(node)
    )


def _runs_text(function: ast.expr) -> bool:
    """Whether a function is one that runs text, and no ``model.eval()``."""
    mode = isinstance(function, ast.Attribute) and function.attr in ("eval", "compile")
    return name_of(function) in RUNS and (not mode or _root(function) == "builtins")


def _looks(node: ast.stmt) -> bool:
    """Whether a statement shows or compares values, and does no more."""
    value = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(value, ast.Call)
        and name_of(value.func) in _LOOKS
        and not _changed_in(node)
    )


def _changed_in(
    node: ast.stmt, made: Collection[str] = (), forbidden: Collection[str] = ()
) -> set[str]:
    """The names of objects that a statement changes, and those it binds elsewhere.

    Args:
        node: the statement.
        made: the names of objects that may keep what they are handed.
        forbidden: what they may be handed that is not allowed.
    """
    found = _global_in(node)
    called = _only_calls(node, forbidden)
    for part in ast.walk(node):
        if isinstance(part, ast.NamedExpr):
            found.add(part.target.id)
        elif called:
            continue
        elif _may_change(part):
            found.add(_root(part))
        elif isinstance(part, ast.keyword) and part.arg in _CHANGED:
            found |= looked_up(part.value)
        elif isinstance(part, ast.Call) and name_of(part.func) in ("setattr", "vars"):
            found |= {_root(argument) for argument in part.args[:1]}
        elif isinstance(part, ast.Expr) and _is_handed(part.value, forbidden):
            found |= {_root(part.value)} & set(made)
    return found - {""}


def _only_calls(node: ast.stmt, forbidden: Collection[str]) -> bool:
    """Whether forbidden functions are called here, so that their results are kept."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    calls = {id(part.func) for part in parts if isinstance(part, ast.Call)}
    named = [part for part in parts if name_of(part) in forbidden]
    return bool(named) and all(id(part) in calls for part in named)


def _may_change(part: ast.AST) -> bool:
    """Whether something is written into an object, or put into it by a method."""
    written = isinstance(part, ast.Attribute | ast.Subscript)
    return written and (
        not isinstance(part.ctx, ast.Load) or getattr(part, "attr", "") in _CHANGES
    )


def _is_handed(call: ast.expr, forbidden: Collection[str]) -> bool:
    """Whether an object is handed a forbidden function, or what it gives."""
    if not isinstance(call, ast.Call) or name_of(call.func) in _LOOKS:
        return False
    arguments = [*call.args, *call.keywords]
    parts = [part for argument in arguments for part in ast.walk(argument)]
    names = {name_of(part) for part in parts if isinstance(part, ast.expr)}
    return isinstance(call.func, ast.Attribute) and not names.isdisjoint(forbidden)


def _source(part: ast.AST) -> str:
    """The name of the call that gives an object, as ``globals()["a"]`` has one."""
    while isinstance(part, ast.Attribute | ast.Subscript):
        part = part.value
    return name_of(part.func) if isinstance(part, ast.Call) else ""


def _root(part: ast.AST) -> str:
    """The name that an expression such as ``layer.weight.data`` begins with, if any."""
    part = part.func if isinstance(part, ast.Call) else part
    while isinstance(part, ast.Attribute | ast.Subscript):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""
