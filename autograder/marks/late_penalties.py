"""Late penalties, according to a course's settings for nbgrader."""

from __future__ import annotations

import logging
from functools import cached_property

from nbgrader.plugins import BasePlugin
from traitlets.config import Config

from autograder.marks.gradebook_errors import GradebookError, first_line


class LatePenalties:
    """nbgrader's ``AssignLatePenalties``, with the plugin of the course.

    Args:
        settings: the course's nbgrader settings.
    """

    def __init__(self, settings: Config) -> None:
        self._settings = settings

    def of(self, student: str, score: float, seconds: float) -> float | None:
        """The points that a student loses, at most those of the notebook.

        Args:
            student: nbgrader's id.
            score: the points of the notebook.
            seconds: how late it was.

        Raises:
            GradebookError: the plugin, which may be the instructor's own, failed.
        """
        try:
            penalty = self._plugin.late_submission_penalty(student, score, seconds)
            return None if penalty is None else min(max(float(penalty), 0.0), score)
        except Exception as error:
            raise GradebookError(
                f"nbgrader_config.py: the penalty of {student} for being late cannot "
                f"be worked out: {type(error).__name__}: {first_line(error)}"
            ) from error

    @cached_property
    def _plugin(self) -> BasePlugin:
        from nbgrader.preprocessors import AssignLatePenalties

        log = logging.getLogger(__name__)  # it would log a line for every late student
        log.setLevel(logging.CRITICAL)
        assign = AssignLatePenalties(config=self._settings, log=log)
        assign.init_plugin()
        return assign.plugin_inst
