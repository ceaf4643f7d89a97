"""Stubs of exercises: find their names, and put solutions into them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import dropwhile

from autograder.errors import AutograderError

STUB = "raise NotImplementedError"


class BrokenChapter(AutograderError):
    """A chapter does not follow the pattern; the message says where."""


def defined_name(source: str) -> str:
    """The name of the one function or class that a stub defines."""
    body = ast.parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.ClassDef):
        raise BrokenChapter(f"a stub defines one function or class, not:\n{source}")
    return body[0].name


def checked_name(source: str) -> str:
    """The name in ``check(name)``."""
    tree = ast.parse(source, mode="exec").body
    match tree:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], []))]:
            return name
    raise BrokenChapter(f"a check cell is `check(name)`, not:\n{source}")


def with_solution(stub: str, reference: str, name: str) -> str:
    """The stub, its bodies replaced by the reference's between solution markers.

    Args:
        stub: source of a function or class whose bodies are a docstring and
            ``raise NotImplementedError``.
        reference: source of the module that defines the reference.
        name: what to look for in it.

    Raises:
        BrokenChapter: the two have different functions.
    """
    lines = stub.rstrip().splitlines()
    bodies = dict(_bodies(ast.parse(reference), name))
    stubs = dict(_bodies(ast.parse(stub), name))
    if set(bodies) != set(stubs):
        wrong = ", ".join(sorted(set(bodies) ^ set(stubs)))
        raise BrokenChapter(f"stub and reference of {name} differ in: {wrong}")
    reference_lines = reference.splitlines()
    for function, body in reversed(stubs.items()):
        start, end = body
        if [line.strip() for line in lines[start:end]] != [STUB]:
            raise BrokenChapter(f"the body of the stub {function} is not `{STUB}`")
        indent = lines[start][: -len(lines[start].lstrip())]
        first, last = bodies[function]
        lines[start:end] = [
            f"{indent}### BEGIN SOLUTION",
            *dropwhile(lambda line: not line.strip(), reference_lines[first:last]),
            f"{indent}### END SOLUTION",
        ]
    return "\n".join(lines)


def _bodies(module: ast.Module, name: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Lines of the body, after its docstring, of a function or each method."""
    for node in module.body:
        if getattr(node, "name", None) != name:
            continue
        functions = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in functions:
            if isinstance(function, ast.FunctionDef):
                first = function.body[0]
                has_docstring = ast.get_docstring(function) is not None
                start = first.end_lineno if has_docstring else first.lineno - 1
                yield function.name, (start, function.end_lineno)
