"""Edits of lines: a definition with one step of one line changed, as it is written.

The operators are those of ``steps``; here their edits keep the text, so that the result
can be shown.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.explain import steps
from autograder.parsing import without_docstrings

OPERATORS = {
    kind: steps.OPERATORS[kind]
    for kind in (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
    + (ast.Attribute, ast.Subscript, ast.Tuple)
}


@dataclass(frozen=True)
class LineEdit:
    """A definition with one line changed.

    Attributes:
        says: what is wrong now, in words.
        line: the number of the line in the source, from zero.
        before: what the line was.
        after: what it has become.
        source: the whole definition with it.
    """

    says: str
    line: int
    before: str
    after: str
    source: str


def source_of(reference: object) -> str:
    """The source of a function or a class without its docstrings."""
    return without_docstrings(inspect.getsource(reference))


def line_edits(source: str) -> Iterator[LineEdit]:
    """All edits of one line each of the functions that some source defines.

    Functions with ``while`` are left alone: they might not end.
    """
    tree = ast.parse(source)
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        if any(isinstance(node, ast.While) for node in ast.walk(function)):
            continue
        steps.mark_parameters(function)
        for node in [
            n for statement in function.body for n in steps.steps_of(statement)
        ]:
            if isinstance(node, tuple(OPERATORS)) and node.lineno == node.end_lineno:
                for operator in OPERATORS[type(node)]:
                    for says, other in operator(node):
                        meant = _with(tree, node, other)
                        if after := _line(source, node, other, meant):
                            yield _edit(source, node.lineno - 1, after, says)


def _with(tree: ast.Module, node: ast.AST, other: ast.AST) -> str:
    """What a tree is with another node, to compare; empty if that is no Python."""
    steps.Replace({node: other}).visit(tree)
    try:
        return ast.dump(ast.parse(ast.unparse(tree)))
    except SyntaxError:
        return ""
    finally:
        steps.Replace({other: node}).visit(tree)


def _line(source: str, node: ast.AST, other: ast.AST, meant: str) -> str | None:
    """The line with the other node; ``None`` if text cannot say what is meant."""
    number, put = node.lineno - 1, ast.unparse(other)
    text = source.splitlines()[number].encode()
    bare = [put[1:-1]] if isinstance(other, ast.Tuple) else []
    for inside in (*bare, put, f"({put})"):
        parts = (text[: node.col_offset], inside.encode(), text[node.end_col_offset :])
        after = b"".join(parts).decode()
        with contextlib.suppress(SyntaxError):
            changed = _edit(source, number, after, "").source
            compile(changed, "<edit>", "exec", dont_inherit=True)
            if ast.dump(ast.parse(changed)) == meant:
                return after
    return None


def _edit(source: str, number: int, after: str, says: str) -> LineEdit:
    lines = source.splitlines()
    changed = "\n".join([*lines[:number], after, *lines[number + 1 :]])
    return LineEdit(says, number, lines[number], after, changed)
