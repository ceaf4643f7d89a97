"""Examine one submission where there is no queue that would examine it again."""

from __future__ import annotations

from typing import Any

from autograder.errors import GraderFault
from autograder.grading.examine import Examination, examine


def examine_single(*arguments: Any, **options: Any) -> Examination:
    """Examine a submission, and once more if it had no outcome.

    As in a class: what may have another cause, such as a kernel that was killed or one
    that was idle until its time was up, is no proof the first time. The second time,
    idle time counts; and who is killed again has no mark.

    Args:
        arguments: of ``examine``.
        options: of ``examine``, without ``alone``.

    Raises:
        GraderFault: see ``examine``; it had no outcome twice.
    """
    try:
        return examine(*arguments, **options, alone=False)
    except GraderFault:
        return examine(*arguments, **options, alone=True)
