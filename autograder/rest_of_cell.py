"""What is left of a cell below the line at which it stopped.

Jupyter drops it. But a cell that ran through on a student's machine may stop on another
one, at a file, a folder, a GPU or an extension that is not there, and what it defines
further down is needed all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from autograder.magics import (
    has_cell_magic,
    keeps_names,
    lines_in,
    parsed,
    rows_of,
    sharing_lines,
)
from autograder.parsing import UNREADABLE
from autograder.statements import name_by_name, only_defines

MOST_STOPS = 20  # of one cell; after the last, it is only asked what it defines
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
# In a kernel, or elsewhere; of a frame in a function, ", in f(x)" follows.
_AT = re.compile(
    r"^\s*(?:Cell In\[\d{1,9}\], line |File <ipython-input-\d{1,9}-\w{1,20}>:)"
    r"(\d{1,6})\s*$",
    re.MULTILINE,
)


def stopped_in_line(traceback: Iterable[str]) -> int:
    """The line in which a cell stopped; 0 if IPython's traceback names none."""
    for part in traceback:
        found = _AT.search(_COLOUR.sub("", part[:4000]))
        if found:
            return int(found[1])
    return 0


def rest_below(source: str, line: int, stops: int = 0) -> str:
    """The statements below one that failed, on the lines on which they stand.

    Of a statement that imports several names, those that can be had are not lost: it
    is to be tried again, name by name. If it is not known which statement failed, the
    rest is what imports and defines, which does no harm a second time. Below a magic
    such as ``%%time`` it is all of the cell: without the magic, IPython tells the line.

    Args:
        source: of a cell.
        line: in which it failed, as IPython counts, or 0.
        stops: how often the cell had stopped before.

    Returns:
        What is to be run instead; empty if that is nothing.
    """
    if stops >= MOST_STOPS:
        return ""
    if has_cell_magic(source):
        return _without_its_magic(source)
    if not line or stops == MOST_STOPS - 1:
        rest = definitions_in(source)
        return rest if rest != source else ""
    tree, lines = parsed(source), lines_in(source)
    groups = [(rows_of(g), g) for g in sharing_lines(tree.body if tree else [])]
    line += next((n for n, text in enumerate(lines) if text.strip()), 0)
    below = [pair for pair in groups if pair[0].stop >= line]
    if not below:
        return ""
    (rows, failed), *others = below
    kept = [(other, lines[other]) for other, _ in others]
    with suppress(*UNREADABLE):
        names = name_by_name(failed[0])
        again = [*(names if len(names) > 1 else ()), *failed[1:]]
        if again:
            kept.insert(0, (rows, ["; ".join(map(ast.unparse, again))]))
    return "\n".join(_on_their_lines(kept))


def definitions_in(source: str) -> str:
    """What a cell imports and defines, on the lines on which it stands."""
    if has_cell_magic(source):
        source = _without_its_magic(source)
    tree, lines = parsed(source), lines_in(source)
    groups = [(rows_of(g), g) for g in sharing_lines(tree.body if tree else [])]
    kept = [
        (rows, lines[rows]) for rows, group in groups if all(map(only_defines, group))
    ]
    return "\n".join(_on_their_lines(kept))


def _without_its_magic(source: str) -> str:
    """A cell below a magic that runs it as it is; of another one, nothing."""
    lines = lines_in(source)
    first = next(n for n, text in enumerate(lines) if text.strip())
    return "\n".join(["#", *lines[first + 1 :]]) if keeps_names(source) else ""


def _on_their_lines(pieces: Iterable[tuple[slice, list[str]]]) -> Iterator[str]:
    """The lines of pieces of a source; a comment in the place of each that is left out.

    IPython drops empty lines above the first statement, and would count anew.
    """
    at = 0
    for rows, texts in pieces:
        yield from ["#"] * (rows.start - at)
        yield from texts
        at = rows.start + len(texts)
