"""What the course's own code answers: references, and wrong versions of them.

An answer that is expected has to come from the code alone. An error caused by a lack of
memory, files or threads says something about this machine and nothing about the
exercise, and would make every right answer wrong.
"""

from __future__ import annotations

import re

from autograder.answers import decode, encode_error, encode_outcome, outcome
from autograder.errors import GraderFault
from autograder.exercise import Case, Implementation

_OF_THE_MACHINE = (MemoryError, OSError, SystemError, ImportError)
# What torch and threading say with a RuntimeError.
_LACKS_SOMETHING = re.compile(
    r"can't (?:allocate memory|start new thread)|not enough memory"
    r"|cannot allocate memory|resource temporarily unavailable",
    re.IGNORECASE,
)


class OwnCodeFailed(GraderFault):
    """The course's own code could not be run here, so nothing is known of an answer."""


def reference_answer(case: Case, reference: Implementation, seed: int) -> bytes:
    """What a reference answers to inputs that a case draws.

    Args:
        case: the case.
        reference: the reference implementation.
        seed: seed of the case's random generator.

    Returns:
        The encoded answer, see ``answers.decode``.

    Raises:
        OwnCodeFailed: it raised anything but the ``ValueError`` that a task asks for,
            or what it returned cannot be sent.
    """
    encoded = own_answer(case, reference, seed)
    came = decode(encoded)
    if came.raised not in (None, "ValueError"):
        raise _failed(reference, f"{came.raised}: {came.detail}")
    if came.unreadable is not None:  # equal to anything else that cannot be sent
        raise _failed(reference, f"what it returns cannot be read: {came.unreadable}")
    return encoded


def own_answer(case: Case, implementation: Implementation, seed: int) -> bytes:
    """What a wrong version answers, or a reference to arguments of a student's.

    As ``reference_answer``, but any error that the code alone accounts for is one.

    Raises:
        OwnCodeFailed: the machine accounts for it.
    """
    try:
        return encode_outcome(outcome(case, implementation, seed))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) or _is_of_the_machine(error):
            said = " ".join(str(error).split())[:100]
            raise _failed(implementation, f"{type(error).__name__}: {said}") from error
        return encode_error(error, traced=False)  # a key would give lines away


def _failed(code: Implementation, what: str) -> OwnCodeFailed:
    return OwnCodeFailed(
        f"the course's own {getattr(code, '__name__', 'code')} could not be run here "
        f"({what.removesuffix(': ')}), so no answer can be compared with it, and none "
        "loses points; free memory or restart, and try again"
    )


def _is_of_the_machine(error: BaseException) -> bool:
    """Whether an error reports a lack of resources."""
    if isinstance(error, RuntimeError):
        return _LACKS_SOMETHING.search(str(error)) is not None
    return isinstance(error, _OF_THE_MACHINE)
