"""What statements bind and look up, as far as their source shows it."""

from __future__ import annotations

import ast
import builtins
import re

# What runs a text.
RUNS = {"exec", "eval", "compile", "run_cell", "run_line_magic", "ex", "ev"}

# With these, a name can be looked up that is not written, or only as a text.
_REACHES = {"globals", "locals", "vars", "__main__", "modules", "user_ns"}
_REACHES |= {"__dict__", *RUNS}

IMPORTS = ast.Import | ast.ImportFrom
_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | IMPORTS
_QUICK = ("float", "int", "complex", "bool", "str")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)


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

    What a function binds itself, its parameters first of all, does not count, nor what
    a comprehension does.
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
        elif isinstance(node, _COMPREHENSIONS):
            first, *others = node.generators
            inside = own | _targets(node.generators)
            waiting += [(first.iter, own), (first.target, inside)]
            inner = [*first.ifs, *others]
            inner += [p for p in ast.iter_child_nodes(node) if p not in node.generators]
            waiting += [(part, inside) for part in inner]
        else:
            waiting += [(part, own) for part in ast.iter_child_nodes(node)]
    return found, attributes, texts


def _targets(generators: list[ast.comprehension]) -> frozenset[str]:
    """The names that a comprehension binds, which are its own."""
    parts = [part for one in generators for part in ast.walk(one.target)]
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


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
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return frozenset(own - others)


def name_of(function: ast.expr) -> str:
    """The last part of the name of what is called, if it has one."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def only_defines(node: ast.stmt) -> bool:
    """Whether a statement does nothing but define or import, or names a constant."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return names_bound(node).isdisjoint(dir(builtins)) and not _calls(node)
    return isinstance(node, _DEFINITIONS)


def _calls(node: ast.stmt) -> bool:
    """Whether anything is called that may take long."""
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            name = part.func.id if isinstance(part.func, ast.Name) else ""
            if name not in _QUICK:
                return True
        if not isinstance(part, ast.Lambda):
            waiting += ast.iter_child_nodes(part)
    return False
