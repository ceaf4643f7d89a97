"""An exercise: a name, the cases that exercise an implementation, its mistakes.

A case is a plain function of an implementation and a random generator that returns
arrays. It never decides anything: it is run once on the reference and once on the
student's version with the same seed, and the judge compares the two answers.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6

Implementation = Callable[..., Any]


class UnknownExercise(LookupError):
    """No exercise or topic has this name."""


@dataclass(frozen=True)
class Case:
    """One question put to an implementation, worth ``points``.

    Attributes:
        title: the behaviour that is looked at, as a student reads it.
        points: what a right answer earns.
        run: ``run(implementation, rng)`` returns the answer; ``rng`` is a
            ``numpy.random.Generator``.
        rtol: relative tolerance of the comparison.
        atol: absolute tolerance of the comparison.
    """

    title: str
    points: int
    run: Callable[[Implementation, Any], Any]
    rtol: float = RELATIVE_TOLERANCE
    atol: float = ABSOLUTE_TOLERANCE


@dataclass
class Exercise:
    """A named task with its cases.

    Args:
        name: the name of the function or class that a student writes.
        forbidden: names of library calls that the exercise rebuilds, and that an
            answer must not use.
    """

    name: str
    forbidden: tuple[str, ...] = ()
    cases: list[Case] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Points of all cases together."""
        return sum(case.points for case in self.cases)

    def case(
        self,
        *,
        title: str,
        points: int = 1,
        rtol: float = RELATIVE_TOLERANCE,
        atol: float = ABSOLUTE_TOLERANCE,
    ) -> Callable[[Callable], Callable]:
        """Add the decorated function ``(implementation, rng) -> answer`` as a case."""

        def add(run: Callable) -> Callable:
            self.cases.append(Case(title, points, run, rtol, atol))
            return run

        return add

    def forbidden_calls(self, source: str) -> list[str]:
        """Names in ``source`` that this exercise forbids, in order of appearance.

        The syntax tree is read, so comments, docstrings and the definition of a
        function of the same name do not count.
        """
        if not self.forbidden:
            return []
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # ask the text, in case it runs all the same
            return [
                name
                for name in self.forbidden
                if re.search(rf"(?<!def )(?<!class )\b{name}\b", source)
            ]
        own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        if any("*" in _names_used(node) for node in ast.walk(tree)):
            own = set()  # before the definition, the name may be the library's
        found = []
        for node in ast.walk(tree):
            names = _names_used(node)
            if isinstance(node, ast.Name):
                names -= own
            found += [name for name in self.forbidden if name in names]
        return list(dict.fromkeys(found))


def _names_used(node: ast.AST) -> set[str]:
    """The library names that one node of a syntax tree brings in."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.ImportFrom | ast.Import):
        return {alias.name.rpartition(".")[2] for alias in node.names}
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value.rpartition(".")[2]}  # getattr(F, "layer_norm")
    return set()


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation of an exercise, and the hint that explains it."""

    name: str
    exercise: str
    hint: str
    implementation: Implementation


def mistake(exercise: Exercise, hint: str) -> Callable[[Implementation], Mistake]:
    """Turn the decorated wrong implementation into a ``Mistake`` of ``exercise``."""

    def describe(implementation: Implementation) -> Mistake:
        return Mistake(implementation.__name__, exercise.name, hint, implementation)

    return describe


@dataclass(frozen=True)
class Topic:
    """The exercises of one chapter, by name, in the order of their file."""

    name: str
    exercises: dict[str, Exercise]

    def reference(self, exercise: str) -> Implementation:
        """The reference implementation, from ``solutions``."""
        return getattr(_import(f"solutions.{self.name}"), exercise)

    def mistakes(self, exercise: str) -> list[Mistake]:
        """Known wrong implementations, from ``solutions.mistakes``."""
        bank = vars(_import(f"solutions.mistakes.{self.name}")).values()
        return [
            found
            for found in bank
            if isinstance(found, Mistake) and found.exercise == exercise
        ]


def topic_names() -> list[str]:
    """Names of all topics that have exercises, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules([_exercise_folder()]))


def require_topic(name: str) -> None:
    """Make sure that there are exercises on topic ``name``, without importing them.

    Raises:
        UnknownExercise: there is no such topic.
    """
    if name not in topic_names():
        raise UnknownExercise(
            f"there is no chapter {name!r}; there are {', '.join(topic_names())}"
        )


@cache
def load_topic(name: str) -> Topic:
    """The exercises of topic ``name``.

    Raises:
        UnknownExercise: there is no such topic.
    """
    require_topic(name)
    module = _import(f"autograder.exercises.{name}")
    found = [value for value in vars(module).values() if isinstance(value, Exercise)]
    return Topic(name, {exercise.name: exercise for exercise in found})


@cache
def find_topic(exercise: str) -> Topic:
    """The topic to which the exercise of this name belongs.

    Only the files are searched and only one is imported, so that a NumPy chapter
    does not wait for torch.

    Raises:
        UnknownExercise: no topic has such an exercise.
    """
    definition = re.compile(rf"^{re.escape(exercise)} = Exercise\(", re.MULTILINE)
    for name in topic_names():
        source = Path(_exercise_folder(), f"{name}.py").read_text(encoding="utf-8")
        if definition.search(source):
            return load_topic(name)
    raise UnknownExercise(
        f"{exercise} is not the name of an exercise; keep the name that the stub has"
    )


def _exercise_folder() -> str:
    return str(Path(__file__).parent / "exercises")


def _import(name: str) -> ModuleType:
    return importlib.import_module(name)
