"""A limit to the processor time that reading one student's files may take.

The code that reads them takes linear time, and their length is limited. This limit
catches text that breaks the rule in some unforeseen way: such text costs the class
seconds and not the whole run.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from autograder.errors import SubmissionFault

READING_SECONDS = 20.0  # a stage; the worst of the longest took ten on a busy machine
AGAIN_SECONDS = 0.2


@contextlib.contextmanager
def reading_limit(seconds: float = READING_SECONDS) -> Iterator[None]:
    """Bound the processor time that the body may use.

    Processor time of this process is proof: no neighbour can use it up. Signals reach
    the main thread alone and do not exist on Windows; elsewhere nothing is bounded.
    Memory that this process does not get is no proof, and stays a ``MemoryError``.

    Args:
        seconds: of processor time of the whole process.

    Raises:
        SubmissionFault: the body used more, or what it reads is nested more deeply
            than Python can follow.
    """
    try:
        with _bounded(seconds):
            yield
    except _TimeIsUp:
        raise SubmissionFault(f"reading it takes more than {seconds:g} s") from None
    except RecursionError as error:
        raise SubmissionFault("its source is nested too deeply to be read") from error


class _TimeIsUp(BaseException):
    """Not an ``Exception``: code that expects some must not take it for one."""


@contextlib.contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "SIGPROF")):
        yield
        return
    is_up = done = False

    def give_up(*_: object) -> None:
        nonlocal is_up
        is_up = True
        if not done:
            raise _TimeIsUp

    before = signal.signal(signal.SIGPROF, give_up)
    try:
        # Again and again: Python drops what is raised while an object is finalised.
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
        try:
            yield
        except Exception as error:
            # Python's parser, interrupted, tells of its own recursion depth instead.
            if is_up:
                raise _TimeIsUp from error
            raise
        finally:
            done = True
        if is_up:
            raise _TimeIsUp
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
