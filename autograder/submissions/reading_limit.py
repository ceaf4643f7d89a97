"""A limit to the processor time that showing one student's notebook may take."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from autograder.errors import SubmissionFault

AGAIN_SECONDS = 0.2  # Python drops what is raised while an object is finalised


class _TimeIsUp(BaseException):
    """Not an ``Exception``: code that expects some must not take it for one."""


def _give_up(*_: object) -> None:
    raise _TimeIsUp


@contextlib.contextmanager
def reading_limit(seconds: float) -> Iterator[None]:
    """Bound the processor time that the body may use, in a main thread.

    Processor time of this process is proof: no neighbour can use it up.

    Raises:
        SubmissionFault: the body used more.
    """
    before = signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
    try:
        yield
    except _TimeIsUp:
        raise SubmissionFault(f"reading it takes more than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
