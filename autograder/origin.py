"""Where in a student's code an exception came from, and what the shapes there were.

``origin_of`` runs in the process of the student. Its text is parsed by ``read_origin``
on the trusted side, which accepts only names, shapes and dtypes in the form defined
here.
"""

from __future__ import annotations

import linecache
import re
import sysconfig
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from autograder.encoding import clean
from autograder.without_torch import loaded_torch

MAX_LINE = 100  # characters of a line of code
MAX_VARIABLES = 4
MAX_FRAMES = 2000  # that are looked at, from the outermost
# In Pyodide, these begin with two slashes, and the names of files with one.
_INSTALLED = tuple(
    sysconfig.get_path(name).replace("//", "/")
    for name in ("stdlib", "purelib", "platlib")
)
_LIBRARIES = (*_INSTALLED, str(Path(__file__).parent.parent))
_NAME = r"(?:self\.)?[A-Za-z_][A-Za-z_0-9]{0,29}"
_SHAPE = r"\((?:|\d{1,5},|\d{1,5}(?:, \d{1,5}){1,5})\)"
_DTYPE = r"bool|u?int(?:8|16|32|64)|b?float(?:16|32|64)|complex(?:64|128)"
_NAMES = rf"(?<![\w.]){_NAME}\b"  # those in a line
_VARIABLE = re.compile(
    rf"({_NAME}) (?:({_SHAPE}) ({_DTYPE})"
    r"|(None|(?:list|tuple|dict) of \d{1,5}|= -?\d{1,5}))"
)


@dataclass(frozen=True)
class Variable:
    """A variable as the failing line found it.

    ``shape`` and ``dtype`` speak of an array; else ``kind`` says what it is: ``None``,
    ``list of 3``, or ``= 8`` for a whole number.
    """

    name: str
    shape: str = ""
    dtype: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Origin:
    """A line of the student's, its number in the cell, and the variables in it."""

    line: str = ""
    number: int = 0
    variables: tuple[Variable, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether no line of the student's was reached, known or unknown."""
        return not self.line and not self.number

    def within(self, written: Mapping[str, Container[int]]) -> Origin:
        """What of it may be shown where the questions are to stay unknown.

        The line and its number have to be those of something that the student wrote
        before; of the variables, the arrays in that line, if they are small.

        Args:
            written: the numbers at which each line stands, from ``lines_of``.
        """
        if not self.line or self.line not in written:
            return Origin(number=0 if self.is_ours else 1)
        number = self.number if self.number in written[self.line] else 0
        names = set(re.findall(_NAMES, self.line, re.ASCII))
        shapes = tuple(
            variable
            for variable in self.variables
            if variable.shape
            and variable.name in names
            and not re.search(r"\d{4}", variable.shape)
        )
        return Origin(self.line, number, shapes)

    def said(self) -> str:
        """The place in words, to follow the name of an exception; empty if unknown."""
        if not self.line:
            return ""
        where = f"your line {self.number}, `{self.line}`"
        return f" in {where}" if self.number else f" in your line `{self.line}`"

    def shapes(self) -> str:
        """The variables in words, a sentence of its own; empty if there are none."""
        if not self.variables:
            return ""
        mixed = len({v.dtype for v in self.variables if v.dtype}) > 1
        told = [
            f"`{v.name}` {v.kind}"
            if v.kind.startswith("=")
            else f"`{v.name}` is {v.kind}"
            if v.kind
            else f"`{v.name}` has shape {v.shape}" + (f" ({v.dtype})" if mixed else "")
            for v in self.variables
        ]
        return f" There, {listed(told)}."


def in_short(line: str) -> str:
    """A line of code as reports show it; shortened once more, it stays as it is."""
    return clean(line)[:MAX_LINE].rstrip()


def lines_of(sources: Iterable[str]) -> dict[str, set[int]]:
    """The lines of some cells, in the form that an origin has, and their numbers."""
    found: dict[str, set[int]] = {}
    for text in sources:
        for number, line in enumerate(text.splitlines(), start=1):
            found.setdefault(in_short(line), set()).add(number)
    return found


def listed(parts: Sequence[str]) -> str:
    """Words as an enumeration: one, two and three."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def origin_of(error: BaseException) -> list[str]:
    """The innermost line, not of a library, that an exception went through.

    Returns:
        The line, its number, and its variables, as ``read_origin`` takes them; three
        empty texts if there is none, and a number alone if its text is unknown.
    """
    try:
        line, number, local = _own_frame(error.__traceback__)
        told = _described(line, local)[:MAX_VARIABLES]
        return [line, number, "; ".join(told)]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a student's code may have put anything in its place
        return ["", "", ""]


def read_origin(line: str, number: str, variables: str) -> Origin:
    """Read what ``origin_of`` told, trusting nothing about it."""
    known = re.fullmatch(r"[1-9]\d{0,4}", number, re.ASCII)
    found = [_VARIABLE.fullmatch(text) for text in variables.split("; ")]
    if not all(found) or len(found) > MAX_VARIABLES:
        found = []
    return Origin(
        in_short(line),
        int(number) if known else 0,
        tuple(Variable(*(part or "" for part in match.groups())) for match in found),
    )


def _own_frame(trace: TracebackType | None) -> tuple[str, str, Mapping[str, Any]]:
    """The line, its number, and the variables of its function."""
    own: tuple[str, str, Mapping[str, Any]] = "", "", {}
    for _ in range(MAX_FRAMES):
        if trace is None:
            break
        frame, number = trace.tb_frame, trace.tb_lineno
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES):
            line = linecache.getline(file, number, frame.f_globals).strip()
            if not line and not own[0]:
                own = "", str(number), {}
            if line:
                own = in_short(line), str(number), frame.f_locals
        trace = trace.tb_next
    return own


def _described(line: str, local: Mapping[str, Any]) -> list[str]:
    """The variables that a line names, those first that stand first."""
    told = []
    for name in dict.fromkeys(re.findall(_NAMES, line, re.ASCII)):
        if name.startswith("self."):
            value = _attribute(local.get("self"), name.removeprefix("self."))
        else:
            value = local.get(name, ...)
        what = _kind(value)
        if what and _VARIABLE.fullmatch(f"{name} {what}"):
            told.append(f"{name} {what}")
    return told


def _attribute(owner: Any, name: str) -> Any:
    """An attribute, or a parameter of a module; no code of the owner runs."""
    held = vars(owner) if hasattr(owner, "__dict__") else {}
    for names in (held, held.get("_parameters"), held.get("_buffers")):
        if isinstance(names, dict) and name in names:
            return names[name]
    return ...


def _kind(value: Any) -> str:
    """What a value is, in the words that ``read_origin`` takes; empty if not told."""
    if value is None:
        return "None"
    torch = loaded_torch()
    if isinstance(value, np.ndarray) or (
        torch is not None and isinstance(value, torch.Tensor)
    ):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if type(value) in (list, tuple, dict):
        return f"{type(value).__name__} of {len(value)}"
    return f"= {value}" if type(value) is int else ""
