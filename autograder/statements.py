"""What statements bind, as far as their source shows it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS |= ast.Import | ast.ImportFrom
_QUICK = ("float", "int", "complex", "bool", "str")
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
_NAMED += (ast.MatchAs, ast.MatchStar)


def bound_by(node: ast.AST) -> set[str]:
    """The names that one node of a tree binds, without those inside it."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.alias):
        return {node.asname or node.name.partition(".")[0]}
    if isinstance(node, _NAMED):
        return {node.name} - {None}  # a handler or a pattern may have none
    return {node.rest} - {None} if isinstance(node, ast.MatchMapping) else set()


def names_bound(node: ast.stmt) -> set[str]:
    """The names that a definition, an import or an assignment is there to bind."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for target in targets for part in ast.walk(target)]
    else:
        parts = [node, *getattr(node, "names", ())]
    return set().union(*map(bound_by, parts))


def only_defines(node: ast.stmt) -> bool:
    """Whether a statement does nothing but define or import, or names a constant."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return names_bound(node).isdisjoint(dir(builtins)) and not _calls(node)
    return isinstance(node, DEFINITIONS)


def _calls(node: ast.stmt) -> bool:
    """Whether anything is called that may take long."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") not in _QUICK:
            return True
        if not isinstance(part, ast.Lambda):  # which runs later
            waiting += ast.iter_child_nodes(part)
    return False


def only_stubs(body: Sequence[ast.stmt]) -> bool:
    """Whether statements are nothing but stubs, in whatever form."""
    functions = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            if any(_may_do_it(base) for base in node.bases):
                return False
            functions += node.body
        else:
            functions.append(node)
    return all(_does_nothing(node) for node in functions)


def _may_do_it(base: ast.expr) -> bool:
    """Whether a class may have its methods from another one."""
    name = getattr(base, "attr", getattr(base, "id", ""))
    return name not in ("Module", "object")


def _does_nothing(node: ast.stmt) -> bool:
    """A place to fill in, or a function that at most raises NotImplementedError."""
    if isinstance(node, ast.FunctionDef):
        return all(_is_place(n) or _is_not_implemented(n) for n in node.body)
    return _is_place(node)


def _is_place(node: ast.stmt) -> bool:
    """A docstring, an ellipsis or ``pass``."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def _is_not_implemented(node: ast.stmt) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    error = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(error, ast.Name) and error.id == "NotImplementedError"
