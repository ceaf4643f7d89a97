"""Exercises whose answer is a test: arguments on which wrong versions go wrong.

``break_NAME`` takes nothing and returns the arguments for a call of NAME. Each case but
the last is a hidden wrong version of NAME, one of the bank of mistakes; the last asks
for a small test. Only ``solutions.mistakes`` says which versions these are, because
students do not get that package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.errors import AutograderError
from autograder.exercise import Case, Exercise, Implementation, Mistake, find_topic
from autograder.specification import Parameter


class WrongVersions(AutograderError):
    """The wrong versions in the bank do not fit the cases of their exercise."""


@dataclass(frozen=True)
class BreakCase(Case):
    """A wrong version to be found, or a size that is enough to find them all.

    Attributes:
        exercise: what it is a case of.
        version: the number of the wrong version; ``None`` for all of them.
        most: the number of values that the arguments may have.
    """

    exercise: BreakExercise = field(kw_only=True, compare=False, repr=False)
    version: int | None = None
    most: int | None = None


def call(implementation: Implementation, *arguments: Any) -> Any:
    """Call a function with the arguments as they are."""
    return implementation(*arguments)


def anything(*arguments: Any) -> str:
    """Refuse no arguments beyond what their parameters refuse."""
    return ""


@dataclass(kw_only=True)
class BreakExercise(Exercise):
    """A task to find arguments on which hidden wrong versions go wrong.

    Args:
        target: the exercise whose versions are to be told apart.
        parameters: what the arguments may be.
        use: calls an implementation with the arguments; see ``call``.
        rule: a reason to refuse arguments that fit the parameters; see ``anything``.
    """

    target: Exercise
    parameters: Sequence[Parameter]
    use: Callable[..., Any] = call
    rule: Callable[..., str] = anything

    def version(self, when: str, points: int = 1) -> None:
        """Add a wrong version, and say when it is right: "right on zeros", say."""
        number = sum(case.version is not None for case in self.cases)
        self._add(f"the version that is {when}", points, version=number)

    def small(self, most: int, points: int = 1) -> None:
        """Add the case that asks for at most so many values to find all versions."""
        title = f"all of them found with at most {most} values"
        self._add(title, points, most=most)

    def _add(self, title: str, points: int, **more: int) -> None:
        self.cases.append(
            BreakCase(title, points, _arguments_of, exercise=self, **more)
        )


def _arguments_of(implementation: Implementation, rng: Any) -> Any:
    """Run a case: the answer is what the student's function returns."""
    return implementation()


@dataclass(frozen=True)
class Hidden:
    """The wrong versions of an exercise, in the order of its cases."""

    exercise: str
    versions: tuple[Mistake, ...]


def hide(exercise: BreakExercise, *versions: Mistake) -> Hidden:
    """Say in the bank which mistakes are the wrong versions of an exercise.

    Args:
        exercise: the task to find arguments.
        versions: the mistakes, in the order of the cases.

    Raises:
        WrongVersions: they are not as many as the cases.
    """
    asked = sum(case.version is not None for case in exercise.cases)
    if len(versions) != asked:
        raise WrongVersions(
            f"{exercise.name} has {asked} cases for wrong versions, and "
            f"{len(versions)} are hidden; give one mistake for each case"
        )
    return Hidden(exercise.name, versions)


def hidden_versions(exercise: BreakExercise) -> tuple[Mistake, ...]:
    """The wrong versions of an exercise, from ``solutions.mistakes``.

    Raises:
        WrongVersions: the bank names none.
    """
    topic = find_topic(exercise.name).name
    bank = vars(importlib.import_module(f"solutions.mistakes.{topic}")).values()
    for found in bank:
        if isinstance(found, Hidden) and found.exercise == exercise.name:
            return found.versions
    raise WrongVersions(
        f"solutions/mistakes/{topic}.py hides no wrong versions for {exercise.name}"
    )
