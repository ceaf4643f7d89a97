"""What statements bind and look up, as far as their source shows it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS |= ast.Import | ast.ImportFrom
_QUICK = ("float", "int", "complex", "bool", "str")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)
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


def names_bound(node: ast.AST) -> set[str]:
    """The names that code binds in its scope, as at the top level of the notebook."""
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        found |= bound_by(one)
        if isinstance(one, _COMPREHENSIONS):  # a walrus binds outside of it
            walruses = (n for n in ast.walk(one) if isinstance(n, ast.NamedExpr))
            found |= {walrus.target.id for walrus in walruses}
        elif not isinstance(one, _SCOPES):
            waiting += ast.iter_child_nodes(one)
    return found


def looked_up(statement: ast.AST) -> set[str]:
    """The names that code looks up at the top level of the notebook by writing them.

    What a function binds itself, its parameters first of all, does not count, nor what
    a class binds for its own body, or a comprehension.
    """
    found: set[str] = set()
    nothing: frozenset[str] = frozenset()
    # Each node with the names of its scope, and those that scopes inside it see.
    waiting: list[tuple[ast.AST, frozenset[str], frozenset[str]]]
    waiting = [(statement, nothing, nothing)]
    while waiting:
        node, own, seen = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found |= {node.id} - own
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found |= {node.target.id} - own
        if isinstance(node, _FUNCTIONS):
            inside = _inside(node, seen)
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            waiting += [(part, inside, inside) for part in body]
            outside = [node.args, getattr(node, "returns", None)]
            outside += getattr(node, "decorator_list", ())
            waiting += [(part, own, seen) for part in outside if part is not None]
        elif isinstance(node, ast.ClassDef):
            inside = own | _names_of_class(node)
            waiting += [(part, inside, seen) for part in node.body]
            outside = [*node.bases, *node.keywords, *node.decorator_list]
            waiting += [(part, own, seen) for part in outside]
        elif isinstance(node, _COMPREHENSIONS):
            first, *others = node.generators
            inside = seen.union(*(names_bound(g.target) for g in node.generators))
            waiting += [(first.iter, own, seen), (first.target, inside, inside)]
            inner = [*first.ifs, *others]
            inner += [p for p in ast.iter_child_nodes(node) if p not in node.generators]
            waiting += [(part, inside, inside) for part in inner]
        else:
            waiting += [(part, own, seen) for part in ast.iter_child_nodes(node)]
    return found


def _names_of_class(node: ast.ClassDef) -> frozenset[str]:
    """The names that the body of a class binds before it looks them up."""
    bound: set[str] = set()
    before: set[str] = set()
    for statement in node.body:
        loaded = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
        before |= {n.id for n in loaded if isinstance(n.ctx, ast.Load)} - bound
        bound |= names_bound(statement)
    return frozenset(bound - before)


def _inside(function: ast.AST, seen: frozenset[str]) -> frozenset[str]:
    """The names in a function that are not looked up at the top level.

    Args:
        function: a ``def`` or a lambda.
        seen: the names of the scopes around it.
    """
    arguments = ast.iter_child_nodes(function.args)
    own = {one.arg for one in arguments if isinstance(one, ast.arg)}
    if isinstance(function, ast.Lambda):
        return seen | own | names_bound(function.body)
    own = own.union(*map(names_bound, function.body))
    others = set().union(*(_from_elsewhere(n, ast.Nonlocal) for n in function.body))
    top = set().union(*(_from_elsewhere(n, ast.Global) for n in function.body))
    return (seen | (own - others)) - top


def _from_elsewhere(node: ast.stmt, kind: type[ast.stmt]) -> set[str]:
    """The names that a function says are not its own."""
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            found |= set(one.names)
        if not isinstance(one, _SCOPES):
            waiting += ast.iter_child_nodes(one)
    return found


def name_of(function: ast.expr) -> str:
    """The last part of the name of what is called, if it has one."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def only_defines(node: ast.stmt) -> bool:
    """Whether a statement does nothing but define or import, or names a constant."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return names_bound(node).isdisjoint(dir(builtins)) and not _calls(node)
    return isinstance(node, DEFINITIONS)


def _calls(node: ast.stmt) -> bool:
    """Whether anything is called that may take long."""
    functions = (call.func for call in _calls_at_once(node))
    return any(not isinstance(f, ast.Name) or f.id not in _QUICK for f in functions)


def _calls_at_once(node: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement as it runs, in a decorator for instance.

    Those in the body of a function come later.
    """
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            yield part
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*part.decorator_list, part.args]
        elif not isinstance(part, ast.Lambda):
            waiting += ast.iter_child_nodes(part)


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
