"""Lines of a cell that only compare an answer with the library's.

Below an answer that rebuilds a library function, students call that function to see
whether both agree, in tests of all kinds. These are no part of the answer, which uses
nothing of theirs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

# What shows or compares values, by the last part of its name.
_LOOKS = {"print", "display", "allclose", "isclose", "equal", "assert_close"}
_LOOKS |= {"assert_allclose", "assert_equal", "assert_array_equal"}
_LOOKS |= {"assert_almost_equal", "assert_array_almost_equal"}

# What changes the object before the dot.
_CHANGES = {"append", "extend", "insert", "setdefault", "update", "__setattr__"}
_CHANGED = {"out", "inplace"}  # arguments that say what else is changed
_RUNS = {"exec", "eval", "compile", "run_cell", "run_line_magic", "ex", "ev"}

# With these, a name can be looked up that is not written, or only as a text.
_REACHES = {"globals", "locals", "vars", "getattr", "__main__", "modules", "user_ns"}
_REACHES |= {"__dict__", "attrgetter", "methodcaller", *_RUNS}

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp)
_SCOPES += (ast.GeneratorExp,)


def without_comparisons(
    body: list[ast.stmt], answer: str, forbidden: Collection[str] = ()
) -> list[ast.stmt]:
    """The statements that an answer depends on by name, in their order.

    These are its definition, and those that bind or change what it looks up, in turn.
    A test below it, in whatever form, is none of them. What an answer reaches in
    another way is seen when it is called (``guard``).

    Args:
        body: the statements of a cell, or of several.
        answer: the name of the answer.
        forbidden: the names of functions that the answer may not use.
    """
    if not any(answer in names_bound(node) for node in body):
        return [node for node in body if not _looks(node)]  # it is bound elsewhere
    binding: dict[str, list[ast.stmt]] = {}
    kept: set[int] = set()
    waiting = [answer]
    imports = ast.Import | ast.ImportFrom
    made = set().union(*(names_bound(n) for n in body if not isinstance(n, imports)))
    for node in body:
        if _may_bind_anything(node):
            kept.add(id(node))
            waiting += mentioned(node)
            continue
        for name in names_bound(node) | _changed_in(node, made, forbidden):
            binding.setdefault(name, []).append(node)
    while waiting:
        for node in binding.pop(waiting.pop(), ()):
            if id(node) not in kept:
                kept.add(id(node))
                waiting += mentioned(node)
    return [node for node in body if id(node) in kept]


def _may_bind_anything(node: ast.stmt) -> bool:
    """Whether a statement runs text, or brings names in that it does not name."""
    return any(
        (isinstance(part, ast.alias) and part.name == "*")
        or (isinstance(part, ast.Call) and _runs_text(part.func))
        or (_may_change(part) and not _root(part))
        for part in ast.walk(node)
    )


def _runs_text(function: ast.expr) -> bool:
    """Whether a function is one that runs text, and no ``model.eval()``."""
    mode = isinstance(function, ast.Attribute) and function.attr in ("eval", "compile")
    return name_of(function) in _RUNS and (not mode or _root(function) == "builtins")


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
    found: set[str] = set()
    for part in ast.walk(node):
        if _may_change(part):
            found.add(_root(part))
        elif isinstance(part, ast.Global):
            found |= set(part.names)
        elif isinstance(part, ast.NamedExpr):
            found.add(part.target.id)
        elif isinstance(part, ast.keyword) and part.arg in _CHANGED:
            found |= looked_up(part.value)
        elif isinstance(part, ast.Call) and name_of(part.func) in ("setattr", "vars"):
            found |= {_root(argument) for argument in part.args[:1]}
        elif isinstance(part, ast.Expr) and _is_handed(part.value, forbidden):
            found |= {_root(part.value)} & set(made)
    return found - {""}


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


def _root(part: ast.AST) -> str:
    """The name that an expression such as ``layer.weight.data`` begins with, if any."""
    part = part.func if isinstance(part, ast.Call) else part
    while isinstance(part, ast.Attribute | ast.Subscript):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""


def names_bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds at the top level of the notebook."""
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, ast.alias):
            found.add(one.asname or one.name.partition(".")[0])
        elif isinstance(one, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            found |= {one.name} - {None}  # a handler may have none
        if not isinstance(one, _SCOPES):
            waiting += ast.iter_child_nodes(one)
    return found


def looked_up(statement: ast.AST) -> set[str]:
    """The names that code looks up at the top level of the notebook by writing them.

    What a function binds itself, its parameters first of all, does not count.
    """
    return _mentioned(statement)[0]


def mentioned(statement: ast.stmt) -> set[str]:
    """The names that a statement may look up; by a text, too, if it runs some."""
    names, attributes, texts = _mentioned(statement)
    if not _REACHES.isdisjoint(names | attributes):
        names |= attributes.union(*(re.findall(r"\w+", text) for text in texts))
    return names


def _mentioned(statement: ast.AST) -> tuple[set[str], set[str], list[str]]:
    """The names that are looked up, the attributes, and the texts."""
    found: set[str] = set()
    attributes: set[str] = set()
    texts: list[str] = []
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(statement, frozenset())]
    while waiting:
        node, own = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found |= {node.id} - own
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found |= {node.target.id} - own
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found |= set(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
        if isinstance(node, _FUNCTIONS):
            inside = own | _own_names(node)
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            waiting += [(part, inside) for part in body]
            outside = [node.args, getattr(node, "returns", None)]
            outside += getattr(node, "decorator_list", ())
            waiting += [(part, own) for part in outside if part is not None]
        else:
            waiting += [(part, own) for part in ast.iter_child_nodes(node)]
    return found, attributes, texts


def _own_names(function: ast.AST) -> frozenset[str]:
    """The names that a function binds itself, not in what is nested in it."""
    own = {
        one.arg
        for one in ast.iter_child_nodes(function.args)
        if isinstance(one, ast.arg)
    }
    others: set[str] = set()
    waiting = [] if isinstance(function, ast.Lambda) else list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            others |= set(node.names)
        if not isinstance(node, (*_SCOPES, ast.GeneratorExp)):
            waiting += ast.iter_child_nodes(node)
    return frozenset(own - others)


def name_of(function: ast.expr) -> str:
    """The last part of the name of what is called, if it has one."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
