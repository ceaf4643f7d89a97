"""What a database or nbgrader raises, in one line that says what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from nbgrader.api import InvalidEntry, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from autograder.errors import AutograderError


class GradebookError(AutograderError):
    """The gradebook cannot be used; the message says why and what to do."""


@contextlib.contextmanager
def _told(done: str, hint: str) -> Iterator[None]:
    """Turn what is raised in the block into a ``GradebookError``."""
    try:
        yield
    except (SQLAlchemyError, InvalidEntry, MissingEntry) as error:
        said = f"{first_line(error)}; {hint}"
        raise GradebookError(f"the gradebook cannot be {done}: {said}") from error


reading = partial(
    _told,
    "read",
    "one of an older nbgrader is brought up to date by `nbgrader db upgrade`",
)
writing = partial(_told, "written", "run the same command again when it can")


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or the error of the database behind it.

    SQLAlchemy may begin with a line about its own part in it, and nbgrader repeats
    that.
    """
    if isinstance(error, InvalidEntry) and error.__context__ is not None:
        error = error.__context__
    error = getattr(error, "orig", None) or error
    return (str(error).splitlines() or [type(error).__name__])[0]
