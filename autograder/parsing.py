"""Read source that anybody may have written, and tell whose fault it is if that fails.

Python's parser raises ``MemoryError`` for a source that is nested too deeply, and for
one of which it has no room left for the tree. The first is a fact about the source; the
second is one about this machine, and is never taken for the first.
"""

from __future__ import annotations

import ast

from autograder.errors import GraderFault

# What ``parse``, ``ast.unparse`` and ``ast.dump`` raise; the last two depend on the
# stack of who asks.
UNREADABLE = (SyntaxError, ValueError, RecursionError)

# More than a tree takes that the parser can make: bytes in all, and for each character.
_ROOM, _ROOM_OF_CHARACTER = 32 * 2**20, 500


def parse(source: str) -> ast.Module:
    """The syntax tree of a source.

    Raises:
        SyntaxError, ValueError: it is not Python.
        RecursionError: it is nested more deeply than Python can follow.
        GraderFault: this process has too little memory to read it.
    """
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
