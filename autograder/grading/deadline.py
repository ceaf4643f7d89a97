"""A deadline for what this process does with what a student wrote.

It is read by code that takes time in proportion to its length, and the length is
limited. The deadline is for text that breaks this rule in a way nobody thought of: it
costs the class seconds, and not the run.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from autograder.errors import SubmissionFault

READING_SECONDS = 20.0  # for each stage; the longest notebook allowed takes under two


@contextlib.contextmanager
def deadline(seconds: float = READING_SECONDS) -> Iterator[None]:
    """Bound the processor time that the body may use.

    Processor time of this process is proof: no neighbour can use it up. Signals reach
    the main thread alone and do not exist on Windows; elsewhere nothing is bounded.

    Args:
        seconds: of processor time of the whole process.

    Raises:
        SubmissionFault: the body used more, or what it reads is nested more deeply
            than Python can follow.
    """
    try:
        with _bounded(seconds):
            yield
    except (RecursionError, MemoryError) as error:
        raise SubmissionFault("its source is nested too deeply to be read") from error


@contextlib.contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    main = threading.current_thread() is threading.main_thread()
    if not (main and hasattr(signal, "SIGPROF")):
        yield
        return

    def give_up(*_: object) -> None:
        raise SubmissionFault(f"reading it takes more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, give_up)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
