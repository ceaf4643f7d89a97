"""Look for slips in the cells of a notebook before an answer is judged.

A cell that does not compile leaves the definition before it in place, and a function
under another name leaves the stub: without a warning, the wrong thing would be judged.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from types import FunctionType
from typing import Any

from autograder.encoding import clean
from autograder.exercise import Implementation, UnknownExercise, find_topic
from autograder.origin import origin_of, read_origin
from autograder.record import cell_of, fingerprint, is_stub

CLOSE = 0.75  # how alike two names are, as difflib counts
RENAME = "If {0} is your answer: it has to be called {1}, as in the stub{2}."
# What Python adds to a SyntaxError; IPython and ipykernel name a cell in these ways.
_FILE = re.compile(r" \((?:<[^<>]{1,60}>|\d{1,20}\.py), line (\d{1,6})\)$")


class Interrupted(KeyboardInterrupt):
    """The answer was interrupted; shown with the student's line and no frame of ours.

    ``_render_traceback_`` is how IPython asks an exception for its own traceback.
    """

    def __init__(self, error: BaseException) -> None:
        where = read_origin(*origin_of(error))
        place = where.said() or " before a line of yours was reached"
        super().__init__(
            f"interrupted{place}.{where.shapes()} If it does not end by itself, look "
            "for a loop whose condition never becomes false."
        )

    def _render_traceback_(self) -> list[str]:
        return [f"check: {self}"]


def not_defined(name: str, implementation: Implementation, cells: list[str]) -> str:
    """Why the last definition of an answer is not the one at hand; empty if it is.

    Args:
        name: of the exercise.
        implementation: what the name stands for now.
        cells: the cells that were run, in this order.
    """
    current = fingerprint(cell_of(implementation))
    definition = re.compile(rf"^(def|class)\s+{re.escape(name)}\b", re.MULTILINE)
    # As IPython has a cell with a magic: its code is a literal.
    in_magic = re.compile(
        r"get_ipython\(\)\.run_cell_magic\('(\w+)', .*"
        rf"(?:['\"]|\\n)(?:def|class)\s+{re.escape(name)}\b"
    )
    stub = is_stub(cell_of(implementation))
    defined = [c for c in cells if definition.search(c) or stub and in_magic.match(c)]
    known = [fingerprint(cell) for cell in defined]
    if current not in known or known[-1] == current:
        return ""
    last = defined[-1]
    before = f"{name} is still the version before, so nothing is judged."
    if found := in_magic.match(last):
        return f"What a cell under %%{found[1]} defines does not outlast it. {before}"
    try:
        tree = ast.parse(last)
    except SyntaxError as error:
        kind = type(error).__name__
        line = f" in its line {error.lineno}" if error.lineno else ""
        return (
            f"The last cell that defines {name} did not run: {kind}{line}: "
            f"{clean(str(error.msg))}. {before}"
        )
    except ValueError:
        return ""
    if any(getattr(node, "name", "") == name for node in tree.body):
        return (
            f"The last cell that defines {name} stopped with an error before the "
            f"definition. {before}"
        )
    return ""


def other_name(name: str, stub: Implementation, names: dict[str, Any]) -> str:
    """The name that an answer may have by mistake; empty if none.

    Args:
        name: of the exercise.
        stub: which is still there under this name.
        names: what the cells of the notebook have defined.
    """
    kind = type if isinstance(stub, type) else FunctionType
    wanted = _parameters(stub)
    alike = [
        other
        for other, value in names.items()
        if isinstance(value, kind)
        and other == getattr(value, "__name__", "")
        and not is_stub(cell_of(value) or "raise NotImplementedError")
        and (_parameters(value) == wanted != [] or _ratio(name, other) >= CLOSE)
        and not _is_exercise(other)
    ]
    return max(alike, key=lambda other: _ratio(name, other), default="")


def without_file(error: str) -> str:
    """A SyntaxError in a line, without the name that a cell has as a file."""
    return _FILE.sub(r" (line \1)", error)


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _is_exercise(name: str) -> bool:
    try:
        find_topic(name)
    except UnknownExercise:
        return False
    return True
