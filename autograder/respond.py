"""Runs in the kernel of a submission: answers the examiner's questions.

Nothing here is trusted. A submission may replace all of it; what it can send are
answers, and answers are judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MIME_TYPE = "application/vnd.attention-from-scratch.answers+json"
TOGETHER = 100_000  # characters; a message costs more than a short answer


def respond(topic: str, name: str, seeds: Sequence[int]) -> None:
    """Send the answer of ``name``, as it is defined now, to each of its cases."""
    from IPython import get_ipython
    from IPython.display import display

    from autograder.answers import answer
    from autograder.exercise import load_topic

    exercise = load_topic(topic).exercises[name]
    implementation = get_ipython().user_ns.get(name, _missing(name))
    ready: dict[int, str] = {}
    for number, (case, seed) in enumerate(zip(exercise.cases, seeds, strict=True)):
        ready[number] = answer(case, implementation, seed)
        last = number == len(seeds) - 1
        if last or sum(map(len, ready.values())) > TOGETHER:
            display({MIME_TYPE: ready}, raw=True)
            ready = {}


def _missing(name: str) -> Any:
    def missing(*args: Any, **kwargs: Any) -> None:
        raise NameError(f"{name} is not defined")

    return missing
