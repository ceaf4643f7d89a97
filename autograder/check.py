"""``check(f)``: judge an answer at once, in the notebook where it was written.

This is help for the person at the keyboard, not an examination: it runs in their own
process and uses seeds that never change.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder.answer_key import NoKey, read_key
from autograder.answers import Answer, decode
from autograder.cells import RENAME, Interrupted, not_defined, other_name
from autograder.errors import GraderFault
from autograder.exercise import (
    Exercise,
    Implementation,
    UnknownExercise,
    find_topic,
    load_topic,
)
from autograder.expected import Expected, expect, public_seeds
from autograder.forbid import answer_by_hand
from autograder.judge import Report, judge
from autograder.own_topics import has_module
from autograder.reasons import Reason
from autograder.record import cell_of, record
from autograder.rows import points_in_words
from autograder.show import (
    STUB,
    executed_cells,
    names_in_notebook,
    show,
    show_note,
)
from autograder.usual import usual_settings

# In outputs of this kind, a result tells programs why an answer was not judged.
NOT_JUDGED = "application/vnd.attention-from-scratch.not-judged"


class Points(float):
    """Points earned: a number to nbgrader, a short line to a reader."""

    def __new__(cls, earned: float, of: float, later: float = 0) -> Points:
        """``earned`` points out of ``of``; ``later`` ones are given at grading."""
        points = super().__new__(cls, earned)
        points.of, points.later = of, later
        return points

    def __repr__(self) -> str:
        """Only the number, which nbgrader reads as partial credit."""
        return f"{float(self):g}"

    def _repr_html_(self) -> str:
        words = points_in_words(float(self), self.of, self.later)
        return f"<strong>{words}</strong>"


class NoPoints(Points):
    """Zero points, because the answer was not judged; the grader learns why."""

    def __new__(cls, of: float, why: str) -> NoPoints:
        """None out of ``of``, for the reason ``why``."""
        points = super().__new__(cls, 0, of)
        points.why = why
        return points

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self), "text/html": "<strong>not judged</strong>"}
        return {**shown, NOT_JUDGED: self.why}


def check(implementation: Implementation) -> Points:
    """Check an answer, show what passed and what did not, return the points earned.

    Args:
        implementation: the function or class that an exercise asks for, under the
            name that its stub has.

    Returns:
        The points, a number.
    """
    try:
        exercise = find_exercise(implementation)
    except UnknownExercise as error:
        print(f"check: {error}")
        return Points(0, 0)
    problem = not_defined(exercise.name, implementation, executed_cells())
    if problem:
        show_note(exercise.name, problem)
        return Points(0, exercise.points)
    try:
        judged = examine_here(exercise, implementation)
    except (NoKey, GraderFault) as error:
        print(f"check: {error}")
        return NoPoints(exercise.points, str(error))
    report = with_what_is_seen(judged.report, implementation, names_in_notebook())
    extra = below_verdict(exercise, judged, implementation)
    show(report, extra, record(report, cell_of(implementation)))
    return Points(report.score, report.max_score, report.later)


def below_verdict(exercise: Exercise, judged: Judged, answer: Implementation) -> str:
    """HTML of what a right answer is good for, or of yours beside the expected.

    In a course that keeps what is expected, the latter is empty.
    """
    if not judged.given:
        return ""
    report = judged.report
    if not report.lacks_points and not report.later:
        from autograder import payoffs, torch_payoffs  # noqa: F401, adds to payoffs

        return payoffs.paid(exercise, answer)
    if not self_study():
        return ""
    from autograder.picture import first_difference, side_by_side

    found = first_difference(exercise, report, judged.given, judged.reference)
    return side_by_side(found) if found else ""


def with_what_is_seen(
    report: Report, implementation: Implementation, names: dict[str, Any]
) -> Report:
    """The report with what only shows where the definition is at hand.

    Args:
        report: of the judge.
        implementation: the answer.
        names: what the cells beside it have defined.
    """
    if report.reason is Reason.STUB:
        other = other_name(report.name, implementation, names)
        renamed = RENAME.format(other, report.name, ", which is still there")
        return replace(report, message=f"{STUB} {renamed}") if other else report
    return report


@dataclass(frozen=True)
class Judged:
    """A report on an answer, with the answers given (none if refused) and expected."""

    report: Report
    given: list[Answer]
    reference: list[Answer]


def find_exercise(implementation: Implementation) -> Exercise:
    """The exercise that ``implementation`` answers, by its name.

    Raises:
        UnknownExercise: there is none, or it is no function or class.
    """
    name = getattr(implementation, "__name__", None)
    if name is None:
        raise UnknownExercise(
            f"expected a function or a class, not {type(implementation)}"
        )
    return find_topic(name).exercises[name]


@usual_settings()
def examine_here(exercise: Exercise, implementation: Implementation) -> Judged:
    """Judge an answer in this process, on the public seeds.

    Args:
        exercise: what was asked.
        implementation: the answer.

    Raises:
        NoKey: neither solutions nor a usable key are at hand.
        GraderFault: the solutions cannot be run here, so the answer was not judged.
        Interrupted: by the person at the keyboard.
    """
    expected = expected_here(find_topic(exercise.name).name, exercise.name)
    try:
        given = [
            decode(answer_by_hand(exercise, case, implementation, seed))
            for case, seed in zip(exercise.cases, expected.seeds, strict=True)
        ]
    except KeyboardInterrupt as error:
        raise Interrupted(error) from None
    return Judged(judge(exercise, given, expected), given, expected.reference)


def self_study() -> bool:
    """Whether the solutions are at hand, so that nothing is to be kept from anybody."""
    return importlib.util.find_spec("solutions") is not None


@cache
def expected_here(topic_name: str, exercise_name: str) -> Expected:
    """From the solutions where there are any, else from the key of the chapter."""
    topic = load_topic(topic_name)
    exercise = topic.exercises[exercise_name]
    if not self_study() or not has_module(f"solutions.{topic_name}"):
        return read_key(topic, exercise, Path.cwd())
    return expect(topic, exercise, public_seeds(exercise))
