"""Keeps ``nbgrader autograde`` from recording a zero where nothing was judged.

There, ``check`` runs in the process of the student, and the number that it returns is
the mark. Where it cannot judge, that number is 0, which nbgrader cannot tell from the
mark of a wrong answer. The ``nbgrader_config.py`` of a course puts this class behind
the execution of a notebook; nbgrader then reports the submission as one that failed,
goes on with the next, and ends with an error.

What is known comes from the process of the student, so a submission can pretend that it
was not judged. It gains no mark, and a line in the log of each run names it.
"""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade

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
        for cell in filter(is_grade, nb.cells):
            if (why := _why_not_judged(cell)) is not None:
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


def _why_not_judged(cell: NotebookNode) -> str | None:
    """Why an answer was not judged by a cell that checks it; ``None`` if it was."""
    for output in cell.get("outputs", ()):
        if output.output_type == "execute_result" and NOT_JUDGED in output.data:
            return str(output.data[NOT_JUDGED])
        if output.output_type == "error" and output.evalue == _UNAVAILABLE:
            return "`check` is not there: see the first cell"
    return None
