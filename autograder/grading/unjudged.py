"""Keeps ``nbgrader autograde`` from recording a zero where nothing was judged.

There, ``check`` runs in the process of the student, and the number that it returns is
the mark. Where it cannot judge, that number is 0, which nbgrader cannot tell from the
mark of a wrong answer. The ``nbgrader_config.py`` of a course puts this class behind
the execution of a notebook; nbgrader then reports the submission as one that failed,
goes on with the next, and ends with an error.

What is known comes from the process of the student, so a submission can pretend that it
was not judged. It gains no mark, and a line in the log of each run names it. Where
``check`` is missing, more can be known: that counts only if the first cell, which is
the course's and imports it, failed before any code of the student could run.
"""

from __future__ import annotations

from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_locked

from autograder.check import NOT_JUDGED
from autograder.files import printable

_UNAVAILABLE = "name 'check' is not defined"
_LONGEST = 300  # characters of a reason


class NotJudged(NbGraderException):
    """Nothing is recorded of a submission; the message says whose, and why."""


class RefuseUnjudged(NbGraderPreprocessor):
    """Refuses a notebook in which ``check`` could not judge an answer."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Leave a notebook as it is, if all its answers were judged.

        Raises:
            NotJudged: some were not.
        """
        of = resources["nbgrader"]
        lacks_check = _failed_to_import(nb, Path(resources["metadata"]["path"]))
        for cell in filter(is_grade, nb.cells):
            if (why := _why_not_judged(cell, lacks_check)) is not None:
                self._forget(of)
                name = cell.metadata.nbgrader.grade_id
                raise self._told(
                    f"not recorded: {of['student']}: {of['assignment']}, {name} could "
                    f"not be judged; look at the notebook, which says: {why[:_LONGEST]}"
                )
        return nb, resources

    def _told(self, line: str) -> NotJudged:
        """The error, whose line is also logged by itself: nbgrader logs a traceback."""
        line = printable(line)
        self.log.error(line)
        return NotJudged(line)

    def _forget(self, of: dict[str, str]) -> None:
        """Take back the entry that nbgrader has just made, which counts as a zero.

        One with scores from an earlier run stays.
        """
        assignment, student = of["assignment"], of["student"]
        with Gradebook(of["db_url"]) as book:
            try:
                submission = book.find_submission(assignment, student)
            except MissingEntry:
                return
            grades = [grade for n in submission.notebooks for grade in n.grades]
            if all(g.auto_score is g.manual_score is None for g in grades):
                book.remove_submission(assignment, student)


def _failed_to_import(nb: NotebookNode, folder: Path) -> bool:
    """Whether the course's first cell failed before any code of the student ran.

    nbgrader restores the source of such a cell, but not its position, and a file beside
    the notebook may be taken for one of the modules that it imports.
    """
    first = next((c for c in nb.cells if c.cell_type == "code" and c.source), None)
    return (
        first is not None
        and is_locked(first)
        and "grade_id" in first.metadata.nbgrader  # nbgrader takes unknown ones away
        and "autograder.check" in first.source
        and any(output.output_type == "error" for output in first.outputs)
        and not any(map(_is_read_by_imports, folder.iterdir()))
    )


def _is_read_by_imports(path: Path) -> bool:
    """Whether Python, or a library when it is imported, may read this."""
    name, *_ = path.name.split(".")
    is_module = path.is_dir() or path.name.endswith(tuple(all_suffixes()))
    return path.name == "matplotlibrc" or (name.isidentifier() and is_module)


def _why_not_judged(cell: NotebookNode, lacks_check: bool) -> str | None:
    """Why an answer was not judged by a cell that checks it; ``None`` if it was."""
    for output in cell.get("outputs", ()):
        if output.output_type == "execute_result" and NOT_JUDGED in output.data:
            return str(output.data[NOT_JUDGED])
        is_error = output.output_type == "error"
        if lacks_check and is_error and output.evalue == _UNAVAILABLE:
            return "the course's `check` could not be imported; see the first cell"
    return None
