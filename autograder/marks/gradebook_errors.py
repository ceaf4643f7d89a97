"""What a database or nbgrader raises, in one line that says what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from nbgrader.api import InvalidEntry, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from autograder.errors import AutograderError


class GradebookError(AutograderError):
    """The gradebook cannot be used; the message says why and what to do."""


# What is raised for an invalid time, or for text in a numeric column.
_STRANGE = (ValueError, TypeError, OverflowError)
_STRANGER = "it holds something that nbgrader never writes; restore a copy"


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
    except _STRANGE as error:
        raise GradebookError(
            f"the gradebook cannot be read: {_STRANGER} ({first_line(error)})"
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
    except _STRANGE as error:
        raise GradebookError(
            f"the gradebook cannot be written: {_STRANGER} ({first_line(error)})"
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or the error of the database behind it.

    SQLAlchemy may begin with a line about its own part in it, and nbgrader repeats
    that.
    """
    if isinstance(error, InvalidEntry) and error.__context__ is not None:
        error = error.__context__
    error = getattr(error, "orig", None) or error
    return (str(error).splitlines() or [type(error).__name__])[0]
