"""The arguments of the first call that goes wrong, for a student to try by hand.

Only the public seeds are ever used, with which ``check`` asks in every notebook.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from autograder.answers import answer, decode
from autograder.break_exercise import BreakExercise
from autograder.compare import Path, differences
from autograder.errors import AutograderError
from autograder.exercise import Case, Exercise, Implementation, find_topic
from autograder.expected import public_seeds
from autograder.judge import Report
from autograder.rows import disagreement
from autograder.usual import usual_settings

Arguments = dict[str, Any]  # by the names of the parameters
LONGEST = 400  # characters of a call that is shown as a line of code


@dataclass(eq=False)  # arrays have no single answer
class _Call:
    arguments: Arguments
    method: str = ""
    built: Arguments = field(default_factory=dict)  # what its object was made with
    result: Any = None
    raised: bool = False


def failing_call(
    exercise: Exercise, implementation: Implementation, report: Report, expected: list
) -> tuple[str, Arguments] | None:
    """What the first call was given that goes wrong on the public seeds.

    Args:
        exercise: what was asked.
        implementation: the student's.
        report: on it, with a case that failed.
        expected: the right answers.

    Returns:
        The title of the case and the arguments, copies from before the call: those of
        a function by name; those of a class by method, ``__init__`` first. ``None`` if
        no call was made, or calls take no arguments.
    """
    for title, call in _wrong_calls(exercise, implementation, report, expected):
        if not call.method:
            return title, call.arguments
        return title, {"__init__": call.built, call.method: call.arguments}
    return None


def example_call(
    exercise: Exercise, implementation: Implementation, report: Report, expected: list
) -> tuple[str, str] | None:
    """The smallest call of a function that goes wrong, as a line of code.

    Args:
        exercise: what was asked.
        implementation: the student's.
        report: on it, with a case that failed.
        expected: the right answers.

    Returns:
        The title of the case and the line; ``None`` if there is none that is small
        enough to be read.
    """
    found = []
    for title, call in _wrong_calls(exercise, implementation, report, expected):
        if not call.method:
            arguments = _smaller(exercise, implementation, call.arguments)
            if arguments is None:
                continue
            code = f"{exercise.name}({_in_code(arguments)})"
            if "<" not in code and len(code) <= LONGEST:  # <Generator(PCG64) at ...>
                found.append((title, code))
    return min(found, key=lambda one: len(one[1]), default=None)


def _smaller(
    exercise: Exercise, implementation: Implementation, arguments: Arguments
) -> Arguments | None:
    """Arguments cut and rounded for as long as the call still goes wrong.

    Equal sizes are cut together, since they are most often those of the same axis.
    ``None`` if the call alone is right.
    """
    try:
        reference = find_topic(exercise.name).reference(exercise.name)
    except (AutograderError, ImportError):  # a course that keeps its solutions
        return arguments

    def told(tried: Arguments) -> tuple[bool, bool]:
        """Whether the call raises as it should, and whether it goes wrong."""
        case = Case("", 0, lambda function, rng: function(**copy.deepcopy(tried)))
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


@usual_settings()
def _wrong_calls(
    exercise: Exercise, implementation: Implementation, report: Report, expected: list
) -> list[tuple[str, _Call]]:
    """A call that goes wrong of each case that failed; those not judged come last."""
    if isinstance(exercise, BreakExercise):
        return []
    rows = list(zip(exercise.cases, public_seeds(exercise), expected, strict=True))
    order = sorted(range(len(rows)), key=lambda number: not report.cases[number].judged)
    found = []
    for number in order:
        if not report.cases[number].passed:
            case, seed, right = rows[number]
            call = _wrong_call(implementation, case, seed, right)
            found += [(case.title, call)] if call else []
    return found


def _wrong_call(
    implementation: Implementation, case: Case, seed: int, right: Any
) -> _Call | None:
    calls: list[_Call] = []
    came: list[Any] = []  # what the case returned, if it did

    def run(watched: Implementation, rng: Any) -> Any:
        came.append(case.run(watched, rng))
        return came[0]

    given = decode(
        answer(replace(case, run=run), _recorded(implementation, calls), seed)
    )
    if not calls or (given.raised and calls[-1].raised):
        return calls[-1] if calls else None
    if given.value is not None and right.value is not None:
        found = next(
            differences(right.value, given.value, case.rtol, case.atol), ((), "")
        )
        results = _along(came[0], found[0])
        for call in calls:
            if any(call.result is part for part in results):
                return call
    return calls[0]


def _along(value: Any, path: Path) -> list[Any]:
    """A value and the parts of it that a path leads through."""
    passed = [value]
    for step in path:
        with contextlib.suppress(Exception):
            passed.append(passed[-1][step])
    return passed


def _recorded(implementation: Implementation, calls: list[_Call]) -> Implementation:
    """An implementation that notes its calls, with copies of what they are given.

    That an object was made is no call of its own, unless it failed.
    """

    def noted(function: Callable, method: str = "") -> Callable:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            call = _Call(_named(function, args, kwargs), method)
            if method:
                if method == "__init__":
                    made[id(args[0])] = call.arguments
                call.built = made.get(id(args[0]), {})
            calls.append(call)
            try:
                call.result = function(*args, **kwargs)
            except BaseException:
                call.raised = True
                raise
            if method == "__init__":
                calls.remove(call)
            return call.result

        return recorded

    made: dict[int, Arguments] = {}  # what objects were made with, by their ids
    if not isinstance(implementation, type):
        return noted(implementation)
    methods = {
        name: noted(method, name)
        for name, method in vars(implementation).items()
        if inspect.isfunction(method) and (name == "__init__" or name[0] != "_")
    }
    return type(implementation.__name__, (implementation,), methods)


def _named(function: Callable, args: tuple, kwargs: Arguments) -> Arguments:
    """Copies of arguments by the names of their parameters, as far as they fit."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"argument {n}": value for n, value in enumerate(args)} | kwargs
    return {name: _copy(value) for name, value in bound.items() if name != "self"}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a tensor inside of a graph, say
        return value.detach().clone() if hasattr(value, "detach") else value
