"""Parse untrusted source, and tell whose fault it is if that fails.

Python's parser raises ``MemoryError`` for a source that is nested too deeply, and for
one of which it has no room left for the tree. The first is a fact about the source; the
second is one about this machine, and is never taken for the first.
"""

from __future__ import annotations

import ast
import math
import sys

from autograder.errors import GraderFault

# What ``parse``, ``ast.unparse`` and ``ast.dump`` raise; the last two depend on the
# stack of who asks.
UNREADABLE = (SyntaxError, ValueError, RecursionError)

# Upper bound on the memory of a syntax tree: a constant, plus bytes per character.
_ROOM, _ROOM_OF_CHARACTER = 32 * 2**20, 500

# Before 3.12, Python looks for the place of each part of an f-string from the beginning
# of its text. Braces times characters, of which a thousand million take a second.
_MOST = 2 * 10**9 if sys.version_info < (3, 12) else math.inf


def parse(source: str) -> ast.Module:
    """The syntax tree of a source.

    Raises:
        SyntaxError, ValueError: it is not Python, or would take too long to read.
        RecursionError: it is nested more deeply than Python can follow.
        GraderFault: this process has too little memory to read it.
    """
    if source.count("{") * len(source) > _MOST:
        raise ValueError("so long a source with so many braces is not read")
    try:
        return ast.parse(source)
    except MemoryError:
        _require(_ROOM + _ROOM_OF_CHARACTER * len(source))
    try:
        return ast.parse(source)
    except MemoryError:
        raise RecursionError("nested too deeply for Python's parser") from None


def _require(room: int) -> None:
    """Make sure that memory can be had; it is given back at once, and not filled."""
    try:
        bytes(room)
    except MemoryError:
        raise GraderFault(
            "this machine has too little memory to read a source: free some, and try "
            "again"
        ) from None


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
