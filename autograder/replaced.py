"""Notices that a cell has put something else in the place of a library's function."""

from __future__ import annotations

import re
import sys
from typing import Any

_LIBRARIES = ("numpy", "numpy.random", "torch", "torch.nn", "torch.nn.functional")
_usual: dict[str, dict[str, Any]] = {}


def remember() -> None:
    """Note the functions and types of those libraries that are loaded by now."""
    for library in _LIBRARIES:
        if library in sys.modules and library not in _usual:
            _usual[library] = {
                name: value
                for name, value in vars(sys.modules[library]).items()
                if callable(value) and not name.startswith("_")
            }


def replaced_in(line: str) -> str:
    """What of a library is another by now, and may be behind an error; or nothing.

    Args:
        line: the student's own in which the error was raised; empty if it was none of
            theirs, so that anything may be behind it.
    """
    words = set(re.findall(r"\w+", line))
    for library, usual in _usual.items():
        module = sys.modules.get(library)
        for name, value in usual.items():
            if module is None or line and name not in words:
                continue
            if getattr(module, name, None) is not value:
                return f"{library}.{name}"
    return ""
