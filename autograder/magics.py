"""The Python in the lines that only IPython understands."""

from __future__ import annotations

import ast
import contextlib
import re
import textwrap

from autograder.parsing import UNREADABLE, parse

_MAGIC_LINE = re.compile(r"^([ \t]*)([%!?].*|[\w.*]+\?{1,2}[ \t]*)$", re.MULTILINE)
_MAGIC_VALUE = re.compile(r"^([ \t]*[\w.,][\w., ]*=)[ \t]*([%!].*)$", re.MULTILINE)
# Lines that run code, as ``%timeit -n 9 f(x)`` does; and prompts, which IPython drops.
_RUNS = re.compile(r"%\w+(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+(.+)")
_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:)[ ]?", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]*In \[\d+\]:[ ]?", re.MULTILINE)  # valid Python as well
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
    for read in (_without_numbers, without_magics, textwrap.dedent):
        with contextlib.suppress(*UNREADABLE):
            return parse(read(source))
    return None


def _without_numbers(source: str) -> str:
    return _NUMBERED.sub("", source)


def without_magics(source: str) -> str:
    """Python that the parser reads: of IPython's own lines, the Python in them.

    IPython's own translation is not used: it can be kept busy for hours.
    """
    source = _PROMPT.sub("", "\n".join(lines_in(source)))
    source = _MAGIC_LINE.sub(lambda m: m[1] + _python_in(m[2], "pass"), source)
    return _MAGIC_VALUE.sub(lambda m: f"{m[1]} {_python_in(m[2], 'None')}", source)


def _python_in(magic: str, otherwise: str) -> str:
    """The Python that a line of IPython runs, if there is some."""
    runs = _RUNS.fullmatch(magic)
    with contextlib.suppress(*UNREADABLE):
        if runs and parse(runs[1]).body:
            return runs[1]
    return otherwise
