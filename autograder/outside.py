"""What an answer reads from outside itself, asked in the kernel where it is defined.

``inspect.getclosurevars`` would do, but it takes the names of attributes for those of
variables; so the instructions are read that look up a global name.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

MOST = 10  # names of a kind


def read_by(
    answer: Any, name: str, names: Mapping[str, Any], exercises: Collection[str]
) -> dict[str, list[str]]:
    """The global names that an answer looks up, itself or through functions beside it.

    Args:
        answer: a function or class.
        name: of the exercise.
        names: what the notebook has defined.
        exercises: their names.

    Returns:
        Those that are not defined (``missing``), those of other answers
        (``exercises``), and those of values (``values``).
    """
    found: dict[str, list[str]] = {"missing": [], "exercises": [], "values": []}
    waiting, seen = [*_functions_in(answer)], {name}
    while waiting:
        function = waiting.pop(0)
        known = function.__globals__
        for read in _globals_of(function.__code__) if known is names else ():
            if read in seen:
                continue
            seen.add(read)
            value = known.get(read, function.__builtins__.get(read, ...))
            if value is ...:
                found["missing"].append(read)
            elif read in exercises:
                found["exercises"].append(read)
            elif read in known and not callable(value):
                found["values"] += [] if isinstance(value, ModuleType) else [read]
            else:
                waiting += _functions_in(value)
    return {kind: some[:MOST] for kind, some in found.items()}


def _functions_in(value: Any) -> Iterator[FunctionType]:
    """A function, or those of a class."""
    parts = vars(value).values() if isinstance(value, type) else [value]
    for part in parts:
        part = getattr(part, "__func__", getattr(part, "fget", part))
        if isinstance(part, FunctionType):
            yield part


def _globals_of(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)
