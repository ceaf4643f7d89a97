"""Remarks that are added to reports, from what a student wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from autograder.errors import SubmissionFault
from autograder.judge import Report
from autograder.parsing import UNREADABLE
from autograder.submissions.reading_limit import reading_limit

NAME = re.compile(r"[A-Za-z_]\w{0,59}", re.ASCII)  # that a remark may repeat


def in_reading_time(
    reports: Sequence[Report], add_remarks: Callable[[], list[Report]]
) -> list[Report]:
    """The reports with remarks; as they were if the notebook takes too long to read.

    No remark changes a mark, so whatever cannot be read costs nothing.

    Args:
        reports: on all exercises of a notebook.
        add_remarks: reads what the student wrote; returns the reports with remarks.
    """
    try:
        with reading_limit():
            return add_remarks()
    except (SubmissionFault, MemoryError, *UNREADABLE):
        return list(reports)
