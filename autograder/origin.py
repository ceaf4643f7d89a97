"""Where in a student's code an exception came from, and what the shapes there were.

``origin_of`` runs in the process of the student, and so may say anything: its words are
shown as theirs, in one short line, and decide nothing.
"""

from __future__ import annotations

import linecache
import re
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from autograder.encoding import clean
from autograder.without_torch import loaded_torch

MAX_LINE = 100  # characters of a line of code
MAX_VARIABLES = 4
LARGEST = 10**6  # below which a whole number is told
MAX_FRAMES = 2000  # that are looked at, from the outermost
# In Pyodide, these begin with two slashes, and the names of files with one.
_INSTALLED = tuple(
    sysconfig.get_path(name).replace("//", "/")
    for name in ("stdlib", "purelib", "platlib")
)
_LIBRARIES = (*_INSTALLED, str(Path(__file__).parent.parent))
_NAMES = r"(?<![\w.])(?:self\.)?[A-Za-z_][A-Za-z_0-9]{0,29}\b"  # those in a line


@dataclass(frozen=True)
class Origin:
    """A line of the student's, its number in the cell, and what its variables are.

    ``there`` is a sentence: "`q` has shape (3,) and `mask` is None".
    """

    line: str = ""
    number: int = 0
    there: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether no line of the student's was reached, known or unknown."""
        return not self.line and not self.number

    def said(self) -> str:
        """The place in words, to follow the name of an exception; empty if unknown."""
        if not self.line:
            return ""
        where = f"your line {self.number}, `{self.line}`"
        return f" in {where}" if self.number else f" in your line `{self.line}`"

    def shapes(self) -> str:
        """The variables in words, a sentence of its own; empty if there are none."""
        return f" There, {self.there}." if self.there else ""


def listed(parts: Sequence[str]) -> str:
    """Words as an enumeration: one, two and three."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def origin_of(error: BaseException) -> list[str]:
    """The innermost line, not of a library, that an exception went through.

    Returns:
        The line, its number, and a sentence on its variables; three empty texts if
        there is none, and a number alone if the text of the line is unknown.
    """
    try:
        line, number, local = _own_frame(error.__traceback__)
        told = _described(line, local)[:MAX_VARIABLES]
        return [line, number, listed(told) if told else ""]
    except KeyboardInterrupt:
        raise
    except BaseException:  # a student's code may have put anything in its place
        return ["", "", ""]


def read_origin(line: str, number: str, there: str) -> Origin:
    """Read what ``origin_of`` told, trusting nothing about it."""
    known = re.fullmatch(r"[1-9]\d{0,4}", number, re.ASCII)
    return Origin(clean(line)[:MAX_LINE], int(number) if known else 0, clean(there))


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
                own = clean(line)[:MAX_LINE], str(number), frame.f_locals
        trace = trace.tb_next
    return own


def _described(line: str, local: Mapping[str, Any]) -> list[str]:
    """The variables that a line names, in words, those first that stand first."""
    known: dict[str, Any] = {}
    for name in re.findall(_NAMES, line, re.ASCII):
        if name.startswith("self."):
            known[name] = getattr(local.get("self"), name.removeprefix("self."), ...)
        else:
            known[name] = local.get(name, ...)
    mixed = len({str(value.dtype) for value in known.values() if _is_array(value)}) > 1
    told = ((name, _kind(value, mixed)) for name, value in known.items())
    return [f"`{name}` {what}" for name, what in told if what]


def _is_array(value: Any) -> bool:
    torch = loaded_torch()
    return isinstance(value, np.ndarray) or (
        torch is not None and isinstance(value, torch.Tensor)
    )


def _kind(value: Any, with_dtype: bool) -> str:
    """What a value is, in words; empty if it is not told."""
    if _is_array(value):
        dtype = f" ({str(value.dtype).removeprefix('torch.')})" if with_dtype else ""
        return f"has shape {tuple(value.shape)}{dtype}"
    if value is None:
        return "is None"
    if type(value) in (list, tuple, dict):
        return f"is {type(value).__name__} of {len(value)}"
    return f"= {value}" if type(value) is int and abs(value) < LARGEST else ""
