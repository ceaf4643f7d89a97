"""Parse source that students wrote, and show it without parts."""

from __future__ import annotations

import ast

# What ``parse``, ``ast.unparse`` and ``ast.dump`` raise; the last two depend on the
# stack of who asks.
UNREADABLE = (SyntaxError, ValueError, RecursionError)


def parse(source: str) -> ast.Module:
    """The syntax tree of a source.

    No mark depends on it: what Python makes of a submission is found out in a sandbox.

    Raises:
        SyntaxError, ValueError: it is not Python.
        RecursionError: it is nested more deeply than Python can follow.
    """
    try:
        return ast.parse(source)
    except MemoryError:  # which is how the parser says it
        raise RecursionError("nested too deeply for Python's parser") from None


def without_docstrings(source: str) -> str:
    """Some code without the docstrings of its functions and classes.

    A body that is a docstring alone is left, and so is what cannot be read.
    """
    try:
        nodes = list(ast.walk(parse(source)))
    except UNREADABLE:
        return source
    lines = source.splitlines(keepends=True)
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or len(node.body) < 2:
            continue
        if ast.get_docstring(node) is not None:
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (
                said.end_lineno - said.lineno + 1
            )
    return "".join(lines)


def with_blanks(source: str) -> str:
    """Some code with dots in place of what is assigned and returned."""
    lines = source.splitlines()
    values = [
        node.value
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return) and node.value
    ]
    for value in sorted(values, key=lambda value: value.lineno, reverse=True):
        first, last = value.lineno - 1, value.end_lineno - 1
        before = lines[first].encode()[: value.col_offset]
        after = lines[last].encode()[value.end_col_offset :]
        lines[first : last + 1] = [f"{before.decode()}...{after.decode()}"]
    return "\n".join(lines)
