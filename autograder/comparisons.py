"""Lines of a cell that only compare an answer with the library's.

Below an answer that rebuilds a library function, students call that function to see
whether both agree, in tests of all kinds. These are no part of the answer, which uses
nothing of theirs.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from copy import copy

from autograder.statements import (
    RUNS,
    calls_at_once,
    looked_up,
    mentioned,
    mentioned_at_once,
    name_by_name,
    name_of,
    names_bound,
)

# What shows or compares values, by the last part of its name.
_LOOKS = {"print", "display", "allclose", "isclose", "equal", "assert_close"}
_LOOKS |= {"assert_allclose", "assert_equal", "assert_array_equal"}
_LOOKS |= {"assert_almost_equal", "assert_array_almost_equal"}

# What changes the object before the dot.
_CHANGES = {"append", "extend", "insert", "setdefault", "update", "__setattr__"}
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CALLED_BY_OTHERS = ("forward",)  # by nn.Module
_WHEN_CALLED, _EVER = -1, -2  # in place of the place of a statement
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
    parts = [
        (place, part) for place, node in enumerate(body) for part in _name_by_name(node)
    ]
    bindings = _Bindings(parts, answer, forbidden)
    kept: set[int] = set()
    waiting: list[tuple[str, int, bool]] = [(answer, _WHEN_CALLED, False)]
    for _, node in parts:
        if _may_bind_anything(node):
            kept.add(id(node))
            waiting += [(name, _EVER, True) for name in mentioned(node)]
    followed: set[tuple[int, bool]] = set()
    while waiting:
        name, when, ever = waiting.pop()
        for place, node in bindings.of(name, when, ever):
            if (id(node), ever) not in followed:
                followed.add((id(node), ever))
                kept.add(id(node))
                now, later = _mentioned_by(node)
                # What is called at once looks up its names at once as well.
                called = any(calls_at_once(node))
                waiting += [(name, place, ever or called) for name in now]
                ever_later = ever or (called and not isinstance(node, _DEFINITIONS))
                when = _EVER if ever_later else _WHEN_CALLED
                waiting += [(name, when, ever_later) for name in later]
    return _without_idle_methods([node for _, node in parts if id(node) in kept])


def _name_by_name(node: ast.stmt) -> list[ast.stmt]:
    """An import, or ``a, b = 1, 2``, with a statement for each name.

    Not all of them may be needed.
    """
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        sides = node.targets[0], node.value
        if all(isinstance(side, ast.Tuple | ast.List) for side in sides):
            pairs = list(zip(sides[0].elts, sides[1].elts, strict=False))
            equal = len(sides[0].elts) == len(sides[1].elts)
            if equal and not any(isinstance(n, ast.Starred) for p in pairs for n in p):
                parts = (ast.Assign([target], value) for target, value in pairs)
                return [ast.copy_location(part, node) for part in parts]
    return name_by_name(node)


class _Bindings:
    """Which statements bind or change the object that a name stands for, and when.

    Args:
        parts: statements in their order, each with the number of its place.
        answer: the name of the answer.
        forbidden: the names of functions that the answer may not use.
    """

    def __init__(
        self,
        parts: Sequence[tuple[int, ast.stmt]],
        answer: str,
        forbidden: Collection[str],
    ) -> None:
        imports = ast.Import | ast.ImportFrom
        made = set().union(
            *(names_bound(node) for _, node in parts if not isinstance(node, imports))
        )
        # By name: what was bound or changed each time since it was surely bound anew.
        self._runs: dict[str, list[list[tuple[int, ast.stmt]]]] = {}
        # What functions bind, whenever they are called.
        self._by_calls: dict[str, list[tuple[int, ast.stmt]]] = {}
        self._told: dict[tuple[str, int, bool], int] = {}  # how many, of each run
        for place, node in parts:
            if _may_bind_anything(node):
                continue
            changed = _changed_in(node, made, forbidden) - {answer}
            for name in names_bound(node) | changed:
                runs = self._runs.setdefault(name, [])
                if not runs or _surely_binds(node, name):
                    runs.append([])
                runs[-1].append((place, node))
            for name in _global_in(node):
                self._by_calls.setdefault(name, []).append((place, node))

    def of(self, name: str, when: int, ever: bool) -> Iterator[tuple[int, ast.stmt]]:
        """The statements on which the meaning of a name depends, with their places.

        None is given twice for the same run of statements and the same ``ever``.

        Args:
            name: that is looked up.
            when: the place of the statement that does so; or ``_WHEN_CALLED`` for the
                time at which the answer is called; or ``_EVER``.
            ever: what the caller keeps apart.
        """
        yield from self._by_calls.get(name, ())
        runs = self._runs.get(name, [])
        last = len(runs)
        if when >= 0:
            last = bisect_left(runs, when, key=lambda run: run[0][0])
        for number in range(0 if when == _EVER else max(0, last - 1), last):
            run = runs[number]
            end = len(run)
            if when >= 0:
                end = bisect_left(run, when, key=lambda entry: entry[0])
            told = self._told.get((name, number, ever), 0)
            self._told[name, number, ever] = max(told, end)
            yield from run[told:end]


def _surely_binds(node: ast.stmt, name: str) -> bool:
    """Whether a statement binds a name whatever happens, if it runs through."""
    if isinstance(node, ast.Assign):
        return name in set().union(*map(names_bound, node.targets))
    if isinstance(node, ast.AugAssign):  # it looks up what was there before
        return name in names_bound(node.target)
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    kinds = _DEFINITIONS | ast.AnnAssign | ast.Import | ast.ImportFrom
    return isinstance(node, kinds) and name in names_bound(node)


def _mentioned_by(node: ast.stmt) -> tuple[set[str], set[str]]:
    """What a statement looks up as it runs, and when what it defines is called."""
    now = mentioned_at_once(node)
    return now, mentioned(node) - now


def _without_idle_methods(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, without the methods of classes whose names nothing else mentions.

    Nobody calls these by name; a test of a class may be one of its methods.
    """
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    if not classes:
        return body
    used = Counter(name for node in body for name in _words_in(node))
    shorter: dict[int, ast.stmt] = {}
    for node in classes:
        busy = [
            part
            for part in node.body
            if not (_is_plain_method(part) and _is_idle(part, used))
        ]
        if len(busy) < len(node.body):
            shorter[id(node)] = copy(node)
            shorter[id(node)].body = busy
    return [shorter.get(id(node), node) for node in body]


def _is_plain_method(node: ast.stmt) -> bool:
    """Whether it is a method that is called by its name alone."""
    return (
        isinstance(node, ast.FunctionDef)
        and node.name not in _CALLED_BY_OTHERS
        and not node.name.startswith("__")
        and all(
            name_of(d) in ("staticmethod", "classmethod") for d in node.decorator_list
        )
    )


def _is_idle(method: ast.FunctionDef, used: Counter[str]) -> bool:
    own = sum(name == method.name for name in _words_in(method))
    return used[method.name] == own


def _words_in(node: ast.AST) -> Iterator[str]:
    """The names and attributes that code mentions, and the words in its texts."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from re.findall(r"\w+", part.value)


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
