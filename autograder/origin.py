"""Where in a student's code an exception came from, and what the shapes there were.

``origin_of`` runs in the process of the student. Its text is parsed by ``read_origin``
on the trusted side, which accepts only names, shapes and dtypes in the form defined
here.
"""

from __future__ import annotations

import dis
import linecache
import re
import sys
import sysconfig
from collections import ChainMap
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
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
    r"|(None|(?:list|tuple|dict) of \d{1,5}|= -?\d{1,5}|from (?:numpy|torch)"
    r"|not a module))"
)
# Names of Python's that libraries have, too; ``from torch import *`` replaces them.
_PYTHONS = ("abs", "all", "any", "bool", "complex", "float", "int", "max", "min")
_PYTHONS += ("pow", "range", "round", "sum")
# Names that notebooks give to modules, and other cells to a size or an array.
_MODULES = ("np", "numpy", "torch", "nn", "F", "math")
_NO_MODULE = "not a module"


@dataclass(frozen=True)
class Variable:
    """A variable as the failing line found it.

    ``shape`` and ``dtype`` speak of an array; else ``kind`` says what it is: ``None``,
    ``list of 3``, ``= 8`` for a whole number, ``from torch`` for a function whose name
    is otherwise that of Python's own, or ``not a module`` in place of one.
    """

    name: str
    shape: str = ""
    dtype: str = ""
    kind: str = ""

    @property
    def replaces_pythons(self) -> bool:
        """Whether it has taken the name of a function of Python's own."""
        return self.kind.startswith("from ")

    @property
    def replaces_a_module(self) -> bool:
        """Whether it has taken the name that a module had."""
        return self.kind == _NO_MODULE


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
        before; of the variables, the arrays in that line, if they are small, and what
        has taken a name of Python's or of a module.

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
            if (
                variable.shape
                or variable.replaces_pythons
                or variable.replaces_a_module
            )
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
            else f"`{v.name}` is the one {v.kind}"
            if v.replaces_pythons
            else f"`{v.name}` is {v.kind}"
            if v.kind
            else f"`{v.name}` has shape {v.shape}" + (f" ({v.dtype})" if mixed else "")
            for v in self.variables
        ]
        return f" There, {listed(told)}."


def is_raised_by_statement(error: BaseException) -> bool:
    """Whether a ``raise`` outside of libraries raised it, as a stub does.

    What is written in C raises from the line that calls it, without such a statement.
    """
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or at.tb_frame.f_code.co_filename.startswith(_INSTALLED):
        return at is None
    code = at.tb_frame.f_code.co_code
    return dis.opname[code[at.tb_lasti]] == "RAISE_VARARGS"


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
        line, number, names, called = _own_frame(error.__traceback__)
        told = _replaced(line, names, called, error) or _no_module(line, names)
        told += _described(line, names.maps[0])
        return [line, number, "; ".join(told[:MAX_VARIABLES])]
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


def _own_frame(
    trace: TracebackType | None,
) -> tuple[str, str, ChainMap[str, Any], str]:
    """The line, its number, the names there, and the function that it called."""
    own: tuple[str, str, ChainMap[str, Any], str] = "", "", ChainMap(), ""
    for _ in range(MAX_FRAMES):
        if trace is None:
            break
        frame, number = trace.tb_frame, trace.tb_lineno
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES):
            line = linecache.getline(file, number, frame.f_globals).strip()
            if not line and not own[0]:
                own = "", str(number), ChainMap(), ""
            if line:
                inner = trace.tb_next
                called = inner.tb_frame.f_code.co_name if inner else ""
                names = ChainMap(frame.f_locals, frame.f_globals)
                own = in_short(line), str(number), names, called
        trace = trace.tb_next
    return own


def _replaced(
    line: str, names: ChainMap[str, Any], called: str, error: BaseException
) -> list[str]:
    """A function that a line calls, and that raised, if its name was Python's own."""
    for name in re.findall(r"(?<![\w.])([a-z]+)\(", line):
        for library in ("numpy", "torch") if name in _PYTHONS else ():
            theirs = getattr(sys.modules.get(library), name, ...)
            no_function = library == "torch" and "torch.dtype' obj" in str(error)
            if names.get(name) is theirs and (
                called == name
                or str(error).startswith(f"{name}()")
                or (no_function and not callable(theirs))
            ):
                return [f"{name} from {library}"]
    return []


def _no_module(line: str, names: ChainMap[str, Any]) -> list[str]:
    """A name that is usually a module's, and stands for something else in the notebook.

    A function may call its own variables as it likes.
    """
    local = names.maps[0]
    for name in re.findall(r"(?<![\w.])([A-Za-z]+)\.", line):
        known = name in _MODULES and name in names and name not in local
        if known and not isinstance(names[name], ModuleType):
            return [f"{name} {_NO_MODULE}"]
    return []


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
