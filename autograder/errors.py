"""Errors shown to the user, and errors that say who was at fault."""


class AutograderError(Exception):
    """Something that was given cannot be used; the message is one line for its user.

    Attributes:
        exit_status: what a command that stops for it returns to the shell.
    """

    exit_status = 2


class GraderFault(AutograderError):
    """A submission could not be examined, and nothing shows that it is to blame.

    It costs no points: the submission is examined again, alone, and has no mark until
    that succeeds.
    """

    exit_status = 3


class SubmissionFault(Exception):
    """What a submission provably did itself; it may cost points."""
