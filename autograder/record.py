"""What ``check`` leaves in a notebook, so that progress can be read from the file.

The outputs of a check cell hold the points it gave. Beside them stands a fingerprint of
the cell that defined the answer: when that cell is edited later, the points are known
to be of an older answer.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
from typing import Any

from autograder.exercise import Implementation
from autograder.judge import Report
from autograder.parsing import UNREADABLE, parse
from autograder.statements import only_stubs

RECORD = "autograder"  # the key in the metadata of an output


def record(report: Report, source: str) -> dict[str, Any]:
    """Metadata for the output that shows ``report`` on an answer.

    Args:
        report: what the check found.
        source: the notebook cell that defines the answer; empty if there is none.
    """
    entry = {
        "exercise": report.name,
        "score": report.score,
        "max_score": report.max_score,
        "later": report.later,
        "cell": fingerprint(source),
        "report": report.as_dict(),
    }
    return {RECORD: entry}


def fingerprint(source: str) -> str:
    """A short text that changes when a cell does; space at line ends does not count."""
    lines = [line.rstrip() for line in source.strip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]


def cell_of(implementation: Implementation) -> str:
    """Source of the cell in which a notebook defines it; empty if none does.

    ``inspect`` finds no class that is defined in a notebook, so the methods are asked
    where they are from.
    """
    if getattr(implementation, "__module__", None) != "__main__":
        return ""
    own = vars(implementation) if isinstance(implementation, type) else {}
    for part in (implementation, *own.values()):
        function = getattr(part, "__func__", part)  # of a class or static method
        code = getattr(function, "__code__", None)
        lines = linecache.getlines(code.co_filename) if inspect.iscode(code) else []
        if lines:
            return "".join(lines)
    return ""


def is_stub(source: str) -> bool:
    """Whether a cell still is what a student was given: nothing but stubs."""
    try:
        return only_stubs(parse(source).body)
    except UNREADABLE:
        return False
