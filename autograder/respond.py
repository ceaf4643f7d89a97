"""Runs in the kernel of a submission: answers the examiner's questions.

Nothing here is trusted. A submission may replace all of it; what it can send are
answers, and answers are judged elsewhere.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

CHANNEL = "AUTOGRADER_ANSWERS"  # names the file descriptor that answers are written to
# Before each answer: the number that was drawn for the question, and how many bytes
# follow. Where none follow, the question has been answered.
HEADER = struct.Struct("<QI")
channel: int | None = None  # so that clearing the environment does not lose it
_open = open  # as it is before a cell puts something in its place
TOGETHER = 65536  # bytes; waking the examiner costs more than sending a short answer


def respond(topic: str, name: str, seeds: Sequence[int], question: int) -> None:
    """Send the answer of ``name``, as it is defined now, to each of its cases."""
    from IPython import get_ipython

    from autograder.exercise import load_topic
    from autograder.forbid import answer_by_hand
    from autograder.usual import usual_settings

    exercise = load_topic(topic).exercises[name]
    implementation = get_ipython().user_ns.get(name, _missing(name))
    answered = int(os.environ[CHANNEL]) if channel is None else channel
    with _open(answered, "wb", buffering=TOGETHER, closefd=False) as answers:
        try:
            for case, seed in zip(exercise.cases, seeds, strict=True):
                with usual_settings():
                    given = answer_by_hand(exercise, case, implementation, seed)
                send(answers, question, given)
        finally:
            send(answers, question, b"")


def send(answers: BinaryIO, question: int, data: bytes) -> None:
    """Write one answer with its header."""
    answers.write(HEADER.pack(question, len(data)) + data)


def _missing(name: str) -> Any:
    def missing(*args: Any, **kwargs: Any) -> None:
        raise NameError(f"{name} is not defined")

    return missing
