"""The Python in the lines that only IPython understands."""

from __future__ import annotations

import ast
import contextlib
import re

from autograder.parsing import UNREADABLE, parse

_MAGIC_LINE = re.compile(r"^([ \t]*)([%!?].*|[\w.*]+\?{1,2}[ \t]*)$", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_in(source: str) -> list[str]:
    """The lines of a source as Python's parser counts them.

    ``str.splitlines`` also ends a line at a form feed or at U+2028.
    """
    return _LINE_END.split(source)


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a cell; ``None`` if it cannot be read.

    First as Python reads it: there a line such as ``% 2)`` goes on with the line above.
    """
    for text in (source, without_magics(source)):
        with contextlib.suppress(*UNREADABLE):
            return parse(text)
    return None


def without_magics(source: str) -> str:
    """Python that the parser reads: with ``pass`` for each of IPython's own lines.

    IPython's own translation is not used: it can be kept busy for hours.
    """
    return _MAGIC_LINE.sub(r"\1pass", "\n".join(lines_in(source)))
