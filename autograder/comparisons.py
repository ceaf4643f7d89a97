"""Lines of a cell that only compare an answer with the library's.

Below an answer that rebuilds a library function, students call that function to see
whether both agree. Such lines are no part of the answer, which uses nothing of theirs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

# What shows or compares values, by the last part of its name.
_LOOKS = {"print", "display", "allclose", "isclose", "equal"}
_LOOKS |= {"assert_close", "assert_allclose", "assert_equal", "assert_array_equal"}
_LOOKS |= {"assert_almost_equal", "assert_array_almost_equal"}
_LOOKS |= {"help", "type", "dir", "getsource", "signature"}
_LOOKS |= {"plot", "hist", "imshow", "scatter", "legend", "title", "show", "pprint"}
_LOOKS |= {"info", "debug", "warn", "warning", "backward", "numel", "numpy", "tolist"}
_LOOKS |= {"abs", "all", "any", "item", "max", "mean", "min", "norm", "round"}
_LOOKS |= {"std", "sum"}

# What changes things that have no name in the statement, or runs text.
_CHANGES = {"append", "extend", "insert", "setdefault", "update", "setattr"}
_CHANGED = {"out", "inplace"}  # arguments that say what else is changed
_RUNS = {"exec", "eval", "compile", "run_cell", "run_line_magic", "ex", "ev"}

_BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)
_ENDS = (ast.Assert, ast.Pass, ast.Break, ast.Continue, ast.Return, ast.Raise)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp)
_OTHERS = (ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Delete, ast.ClassDef, ast.Match)
_OTHERS += (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
_OTHERS += (ast.Yield, ast.YieldFrom, ast.While)

_PARTS = ("body", "orelse", "handlers", "finalbody")  # what a statement may hold


@dataclass
class _Statement:
    """A statement at the top level of a cell.

    Attributes:
        node: its syntax tree.
        mentions: the names that it may look up at the top level of the notebook.
        binds: the names that it binds; or ``None`` if an answer may depend on it
            without using any of them.
    """

    node: ast.stmt
    mentions: set[str]
    binds: set[str] | None


def without_comparisons(
    body: list[ast.stmt], answer: str, forbidden: Collection[str] = ()
) -> list[ast.stmt]:
    """The statements that an answer may depend on, in their order.

    Left out are those that look at values, and those that bind names (of which at least
    one is used) if nothing that stays uses these. Beside an answer, imports need not be
    used, since another cell may compare with them, and a forbidden function may be
    called for nothing, as in ``%timeit F.softmax(x)``.

    Args:
        body: the statements of a cell, or of several.
        answer: the name of the answer.
        forbidden: the names of functions that the answer may not use.
    """
    if not any(answer in names_bound(node) for node in body):
        forbidden = ()
    made = _made_in(body) - {answer} if forbidden else set()
    statements = [
        _Statement(node, mentioned(node), _bound(node, forbidden, made))
        for node in body
    ]
    tests = {s.node.name for s in statements if isinstance(s.node, ast.FunctionDef)}
    for s in statements:  # what is bound in another way, too, may do anything
        if s.binds is None or not isinstance(s.node, ast.FunctionDef):
            tests -= names_bound(s.node) | {getattr(s.node, "name", "")}
    used = {name for s in statements for name in s.mentions}
    waiting = [answer]
    by_name: dict[str, list[_Statement]] = {}
    for s in statements:
        called = _called(s.node)
        if called in tests:
            s.binds = {called}  # it stays if that function does
        elif called in forbidden:
            pass
        elif forbidden and isinstance(s.node, ast.Import | ast.ImportFrom):
            pass  # it stays if something that stays uses it
        elif called is not None or (
            s.binds and not s.binds & used and not isinstance(s.node, ast.For)
        ):
            s.binds = None
        if s.binds is None:
            waiting += s.mentions
        for name in s.binds or ():
            by_name.setdefault(name, []).append(s)
    while waiting:
        for s in by_name.pop(waiting.pop(), ()):
            if s.binds is not None:
                s.binds = None
                waiting += s.mentions
    return [s.node for s in statements if s.binds is None]


def _called(node: ast.stmt) -> str | None:
    """The name of a function of which a statement is no more than a call."""
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return None if value.func.id in _LOOKS else value.func.id
    return None


def _made_in(body: list[ast.stmt]) -> set[str]:
    """The names of objects that are made in a cell, as ``layer = nn.LayerNorm(8)``."""
    kinds = ast.Call | ast.Dict | ast.List
    return {
        target.id
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, kinds)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _bound(
    node: ast.stmt, forbidden: Collection[str], made: Collection[str]
) -> set[str] | None:
    """The names that a statement binds; ``None`` if it may do more than bind and look.

    A statement that calls a function, and no more, is taken for one that looks. One
    that changes an object that the cell has made counts as one that binds its name.
    """
    parts = list(ast.walk(node))
    if any(_does_more(part) and _root(part) not in made for part in parts):
        return None
    changed = {_root(part) for part in parts if _may_change(part)} & set(made)
    if _called(node) or _only_binds_and_looks(node, forbidden, made):
        return names_bound(node) | changed
    return None


def _may_change(part: ast.AST) -> bool:
    """Whether a part may change the object at its root, as ``layer.eval()``."""
    return isinstance(part, ast.Call) or _does_more(part)


def _root(part: ast.AST) -> str:
    """The name that an expression such as ``layer.weight.data`` begins with, if any."""
    part = part.func if isinstance(part, ast.Call) else part
    while isinstance(part, ast.Attribute | ast.Subscript):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""


def _is_tried(node: ast.stmt, forbidden: Collection[str]) -> bool:
    """Whether a statement calls a forbidden function, or the layer of a class."""
    call = node.value if isinstance(node, ast.Expr) else None
    while isinstance(call, ast.Call):
        if name_of(call.func) in forbidden:
            return True
        call = call.func
    return False


def _only_binds_and_looks(
    node: ast.stmt, forbidden: Collection[str], made: Collection[str]
) -> bool:
    if isinstance(node, ast.Expr):
        call = node.value
        return (
            not isinstance(call, ast.Call)
            or name_of(call.func) in _LOOKS
            or (isinstance(call.func, ast.Attribute) and _root(call) in made)
            or _is_tried(node, forbidden)
        )
    holds = ast.For | ast.If | ast.With | ast.FunctionDef | ast.Try | ast.ExceptHandler
    if isinstance(node, holds):
        parts = [part for name in _PARTS for part in getattr(node, name, ())]
        return all(_only_binds_and_looks(part, forbidden, made) for part in parts)
    return isinstance(node, (*_BINDS, *_ENDS))


def _does_more(node: ast.AST) -> bool:
    """Whether a part of a statement may leave behind more than names."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        changes = isinstance(node, ast.Attribute) and node.attr in _CHANGES
        return changes or not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Name):
        return node.id in _CHANGES | _RUNS
    if isinstance(node, ast.FunctionDef):
        return bool(node.decorator_list)
    if isinstance(node, ast.alias):
        return node.name == "*"
    if isinstance(node, ast.keyword):
        return node.arg in _CHANGED
    return isinstance(node, _OTHERS)


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
    """The names that a statement may look up, also by an attribute or a text."""
    names, attributes, texts = _mentioned(statement)
    found = names | attributes
    runs_text = bool(found & _RUNS)
    for text in texts:
        if runs_text or re.fullmatch(r"[\w.]+", text):  # "expected", not a sentence
            found |= set(re.findall(r"\w+", text))
    return found


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
