"""Runs in the kernel of a submission: answers the examiner's questions.

Nothing here is trusted. A submission may replace all of it; what it can send are
answers, and answers are judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.exercise import Exercise


def respond(
    topic: str, name: str, seeds: Sequence[int], send: Callable[[bytes], None]
) -> None:
    """Send what ``name`` reads from outside, and its answer to each of its cases.

    It is asked as it is defined now.
    """
    from IPython import get_ipython

    from autograder.exercise import load_topic
    from autograder.forbid import answer_by_hand
    from autograder.usual import usual_settings

    exercise = load_topic(topic).exercises[name]
    names = get_ipython().user_ns
    implementation = names.get(name, _missing(name))
    send(_aside(implementation, exercise, topic, names))
    for case, seed in zip(exercise.cases, seeds, strict=True):
        with usual_settings():
            given = answer_by_hand(exercise, case, implementation, seed)
        send(given)


def _aside(
    implementation: Any, exercise: Exercise, topic: str, names: dict[str, Any]
) -> bytes:
    """What explains an answer and is none: names alone, see ``grading.remarks``."""
    from autograder.cells import other_name
    from autograder.encoding import encode
    from autograder.exercise import load_topic
    from autograder.outside import read_by
    from autograder.record import cell_of

    name = exercise.name
    try:
        read = read_by(implementation, name, names, load_topic(topic).exercises)
        is_stub = name not in names or "NotImplemented" in cell_of(implementation)
        meant = other_name(name, implementation, names) if is_stub else ""
        return encode(read | {"meant": [meant] if meant else []})
    except Exception:  # a value may do anything while it is looked at
        return encode({})


def _missing(name: str) -> Any:
    def missing(*args: Any, **kwargs: Any) -> None:
        raise NameError(f"{name} is not defined")

    return missing
