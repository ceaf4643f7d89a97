"""Why points are missing, as data. What a person reads of it is worded beside it."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why an answer, or a case of one, has not all of its points.

    Reports on disk hold the values, so these never change.
    """

    NONE = ""  # nothing is missing, or nobody knows why
    STUB = "not implemented"
    REFUSED = "refused"  # for what the message says, and not examined
    FORBIDDEN = "forbidden"  # it calls what the exercise rebuilds
    NAME_MISSING = "name missing"  # a name is not defined where the answer runs
    RENAMED = "renamed"  # it may be there under another name
    OUTSIDE_VALUE = "outside value"  # it reads a value that is no argument of it
    NOTHING_RETURNED = "nothing returned"
    MISTAKE = "mistake"  # of the bank
    EDIT = "edit"  # the right answer with one thing changed
    ERROR = "error"  # an error whose meaning is known
    ERRORS_MISSING = "errors missing"  # all values are right
    ADVICE = "advice"  # how to go on, for an answer that is a test

    # Of a case:
    RAISED = "raised"
    DIFFERS = "differs"
    REPEATED = "repeated"  # the same error as in a case above
    TOO_EASY = "too easy"  # right, and no case that depends on the data is
    AT_GRADING = "at grading"  # not judged before
    NOT_ALLOWED = "not allowed"  # arguments that the specification excludes
    TOO_LARGE = "too large"  # more arguments than the case lets pass
    NOT_FOUND = "not found"  # the wrong version agrees with the right one

    @property
    def is_told(self) -> bool:
        """Whether the message of a report says why a written answer is wrong."""
        return self not in (Reason.NONE, Reason.STUB)


OF_A_TEST = (Reason.NOT_ALLOWED, Reason.TOO_LARGE, Reason.NOT_FOUND)
