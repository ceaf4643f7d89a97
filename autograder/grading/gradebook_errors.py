"""What a database or nbgrader raises, in one line that says what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from nbgrader.api import InvalidEntry, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from autograder.errors import AutograderError


class GradebookError(AutograderError):
    """The gradebook cannot be used; the message says why and what to do."""


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Turn what is raised in the block, which reads, into a ``GradebookError``."""
    try:
        yield
    except SQLAlchemyError as error:
        raise GradebookError(
            f"the gradebook cannot be read: {first_line(error)} (one of an older "
            "nbgrader is brought up to date by `nbgrader db upgrade`)"
        ) from error


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn what is raised in the block, which writes, into a ``GradebookError``."""
    try:
        yield
    except (SQLAlchemyError, InvalidEntry, MissingEntry) as error:
        raise GradebookError(
            f"the gradebook cannot be written: {first_line(error)}; "
            "run the same command again when it can"
        ) from error


def first_line(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]
