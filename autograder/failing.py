"""A call that goes wrong, for a student to try by hand.

Only the public seeds are ever used, with which ``check`` asks in every notebook.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from autograder.answers import answer, decode
from autograder.break_exercise import BreakExercise
from autograder.check import expected_here
from autograder.exercise import Case, Exercise, Implementation, find_topic
from autograder.expected import public_seeds
from autograder.judge import Report
from autograder.rows import disagreement
from autograder.usual import usual_settings

Arguments = dict[str, Any]  # by the names of the parameters
LONGEST = 400  # characters of a call that is shown as a line of code


def failing_calls(
    exercise: Exercise, implementation: Implementation, report: Report
) -> Iterator[tuple[str, Arguments]]:
    """A call that goes wrong in each test that fails, its arguments made small.

    Where solutions are kept from students, nothing tells which of several calls in a
    test goes wrong; there it is the only call of a test, as it was.

    Args:
        exercise: what was asked.
        implementation: the student's; of a class there are no calls.
        report: on it.

    Yields:
        The title of the case, and the arguments by name.
    """
    if isinstance(exercise, BreakExercise) or isinstance(implementation, type):
        return
    topic = find_topic(exercise.name).name
    reference = expected_here(topic, exercise.name).implementation
    seeds = public_seeds(exercise)
    for case, seed, found in zip(exercise.cases, seeds, report.cases, strict=True):
        calls = _calls(case, implementation, seed) if not found.passed else []
        if reference is not None:
            tried = (_smaller(reference, implementation, one) for one in calls)
            calls = [next(filter(None, tried), {})]
        if len(calls) == 1 and calls[0]:
            yield case.title, calls[0]


def example_call(
    exercise: Exercise, implementation: Implementation, report: Report
) -> tuple[str, str] | None:
    """The shortest of these calls as a line of code, with the title of its case.

    ``None`` if there is none that is short enough to be read.
    """
    lines = [
        (title, f"{exercise.name}({_in_code(arguments)})")
        for title, arguments in failing_calls(exercise, implementation, report)
    ]
    short = [  # nothing like <Generator(PCG64) at ...>
        line for line in lines if "<" not in line[1] and len(line[1]) <= LONGEST
    ]
    return min(short, key=lambda line: len(line[1]), default=None)


@usual_settings()
def _calls(case: Case, implementation: Implementation, seed: int) -> list[Arguments]:
    """What the calls in a case are given; copies from before each call."""
    calls: list[Arguments] = []

    @functools.wraps(implementation)
    def noted(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):  # it has other parameters
            bound = inspect.signature(implementation).bind(*args, **kwargs)
            calls.append(_copied(bound.arguments))
        return implementation(*args, **kwargs)

    answer(case, noted, seed)
    return calls


def _copied(arguments: Arguments) -> Arguments:
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a tensor inside of a graph, say
        return value.detach().clone() if hasattr(value, "detach") else value


@usual_settings()
def _smaller(
    reference: Implementation, implementation: Implementation, arguments: Arguments
) -> Arguments | None:
    """Arguments cut and rounded for as long as the call still goes wrong.

    Equal sizes are cut together, since they are most often those of the same axis.
    ``None`` if the call alone is right.
    """

    def told(tried: Arguments) -> tuple[bool, bool]:
        """Whether the call raises as it should, and whether it goes wrong."""
        case = Case("", 0, lambda function, rng: function(**_copied(tried)))
        right, given = (decode(answer(case, f, 0)) for f in (reference, implementation))
        return right.raised is not None, disagreement(case, right, given) is not None

    raises, is_wrong = told(arguments)
    if raises or not is_wrong:
        return arguments if is_wrong else None
    shapes = [value.shape for value in arguments.values() if hasattr(value, "shape")]
    changes = [
        partial(_cut, size=size, to=to)
        for size in sorted(
            {n for shape in shapes for n in shape if n > 2}, reverse=True
        )
        for to in (2, 3)
        if to < size
    ]
    for change in [*changes, partial(_rounded, digits=2), partial(_rounded, digits=0)]:
        tried = {name: change(value) for name, value in arguments.items()}
        if told(tried) == (False, True):
            arguments = tried
    return arguments


def _cut(value: Any, size: int, to: int) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(to if n == size else n) for n in value.shape)]


def _rounded(value: Any, digits: int) -> Any:
    is_real = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.round(digits) + 0.0 if is_real else value  # -0 is 0


def _in_code(arguments: Arguments) -> str:
    with np.printoptions(nanstr="np.nan", infstr="np.inf"):
        return ", ".join(
            f"{name}={_value_in_code(value)}" for name, value in arguments.items()
        )


def _value_in_code(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return (
            f"<{value!r}>" if type(value).__repr__ is object.__repr__ else repr(value)
        )
    text = re.sub(r"\s+", " ", repr(value)).replace("[ ", "[")
    return re.sub(r"dtype=(\w+)", r"dtype='\1'", f"np.{text}")
