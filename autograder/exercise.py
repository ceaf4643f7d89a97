"""An exercise: a name, the cases that exercise an implementation, its mistakes.

A case is a plain function of an implementation and a random generator that returns
arrays. It never decides anything: it is run once on the reference and once on the
student's version with the same seed, and the judge compares the two answers.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import linecache
import pkgutil
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder import own_topics
from autograder.errors import AutograderError

RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6
BUILD_IT_YOURSELF = "which this exercise asks you to build yourself"

Implementation = Callable[..., Any]


class UnknownExercise(AutograderError):
    """No exercise or topic has this name."""


class BrokenTopic(AutograderError):
    """A topic of an instructor's own lacks a file, or has one that fails."""


class NoHint(AutograderError):
    """A mistake does not say what it is."""


class BrokenEdit(AutograderError):
    """What an edit replaces is not in the reference, or is there more than once."""


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
        warns: whether it looks for NumPy's warnings, which a browser never gives.
    """

    title: str
    points: int
    run: Callable[[Implementation, Any], Any]
    rtol: float = RELATIVE_TOLERANCE
    atol: float = ABSOLUTE_TOLERANCE
    warns: bool = False


@dataclass
class Exercise:
    """A named task with its cases.

    Args:
        name: the name of the function or class that a student writes.
        forbidden: names of library calls that the exercise rebuilds, and that an
            answer must not use.
        results: what its results are called, if a call returns more than one.
        core: whether it is on the short way through the book.
        right: says in a sentence what is right about a right answer.
        hints: written nudges, from gentle to concrete.
    """

    name: str
    forbidden: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    core: bool = False
    right: str = ""
    hints: tuple[str, ...] = ()
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
        warns: bool = False,
    ) -> Callable[[Callable], Callable]:
        """Add the decorated function ``(implementation, rng) -> answer`` as a case."""

        def add(run: Callable) -> Callable:
            self.cases.append(Case(title, points, run, rtol, atol, warns))
            return run

        return add

    @property
    def allowed(self) -> str:
        """What an answer may use, in one line of markdown for the task."""
        if not self.forbidden:
            return "*May be used:* everything, including a library's own function."
        names = ", ".join(f"`{name}`" for name in self.forbidden)
        return (
            "*May be used:* everything but what you build here, whichever library "
            f"it comes from: {names}."
        )


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation of an exercise, and the hint that explains it."""

    name: str
    exercise: str
    hint: str
    implementation: Implementation


def mistake(exercise: Exercise) -> Callable[[Implementation], Mistake]:
    """Turn the decorated wrong implementation into a ``Mistake`` of ``exercise``.

    The docstring of the implementation is the hint, a paragraph of any line length.

    Raises:
        NoHint: the implementation has no docstring of its own.
    """

    def describe(implementation: Implementation) -> Mistake:
        hint = _hint(exercise, implementation)
        return Mistake(implementation.__name__, exercise.name, hint, implementation)

    return describe


def edit(
    exercise: Exercise, old: str, new: str
) -> Callable[[Callable[[], None]], Mistake]:
    """A ``Mistake`` that is the reference with ``old`` replaced by ``new``.

    It decorates a function without a body: its name is the mistake's, and its docstring
    the hint.

    Args:
        exercise: the exercise whose reference is changed.
        old: a fragment that occurs exactly once below the docstring of the reference.
        new: what a student wrote instead.

    Raises:
        NoHint: the function has no docstring.
        BrokenEdit: the fragment does not occur exactly once.
    """

    def describe(named: Callable[[], None]) -> Mistake:
        reference = find_topic(exercise.name).reference(exercise.name)
        source = inspect.getsource(reference)
        documentation, code = _split_at_docstring(source)
        if (times := code.count(old)) != 1:
            raise BrokenEdit(
                f"{named.__name__}: {old!r} occurs {times} times in the reference of "
                f"{exercise.name}; an edit replaces what occurs once"
            )
        changed = documentation + code.replace(old, new)
        file = f"<{named.__name__} of {exercise.name}>"
        implementation = redefined(reference, changed, file)
        lines = changed.splitlines(keepends=True)
        linecache.cache[file] = (len(changed), None, lines, file)  # for getsource
        hint = _hint(exercise, named)
        return Mistake(named.__name__, exercise.name, hint, implementation)

    return describe


def redefined(reference: Implementation, source: str, file: str) -> Implementation:
    """What another source of a reference defines, among all else in its module.

    Args:
        reference: a function or class at the top level of a module.
        source: defines the same name.
        file: the name of the source in tracebacks.
    """
    scope = dict(vars(sys.modules[reference.__module__]))
    exec(compile(source, file, "exec", dont_inherit=True), scope)
    return scope[reference.__name__]


def _split_at_docstring(source: str) -> tuple[str, str]:
    """The source of a function or class, in front of and below its docstring."""
    lines = source.splitlines(keepends=True)
    ends = ast.parse(source).body[0].body[0].end_lineno
    return "".join(lines[:ends]), "".join(lines[ends:])


def _hint(exercise: Exercise, documented: Callable[..., Any]) -> str:
    hint = " ".join((documented.__doc__ or "").split())
    if not hint:
        raise NoHint(
            f"the mistake {documented.__name__} of {exercise.name} has no hint; write "
            "it as the docstring"
        )
    return hint


@dataclass(frozen=True)
class Topic:
    """The exercises of one chapter, by name, in the order of their file."""

    name: str
    exercises: dict[str, Exercise]

    def reference(self, exercise: str) -> Implementation:
        """The reference implementation, from ``solutions``.

        Raises:
            BrokenTopic: there is none, or its file cannot be imported.
        """
        module = _import(f"solutions.{self.name}")
        if not hasattr(module, exercise):
            raise BrokenTopic(f"{module.__file__} has no reference named {exercise}")
        return getattr(module, exercise)

    def mistakes(self, exercise: str) -> list[Mistake]:
        """Known wrong implementations, from ``solutions.mistakes``.

        A topic of the course may do without.

        Raises:
            BrokenTopic: the file with them cannot be imported.
        """
        if not own_topics.has_module(f"solutions.mistakes.{self.name}"):
            return []
        bank = vars(_import(f"solutions.mistakes.{self.name}")).values()
        return [
            found
            for found in bank
            if isinstance(found, Mistake) and found.exercise == exercise
        ]


def topic_names() -> list[str]:
    """Names of all topics that have exercises, in alphabetical order."""
    folders = own_topics.search_path("autograder.exercises")
    return sorted({module.name for module in pkgutil.iter_modules(folders)})


def require_topic(name: str) -> None:
    """Make sure that there are exercises on topic ``name``, without importing them.

    Raises:
        UnknownExercise: there is no such topic.
    """
    known = topic_names()
    if name not in known:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1)
        meant = f"did you mean {near[0]}? There are" if near else "there are"
        raise UnknownExercise(
            f"there is no chapter {name!r}; {meant} {', '.join(known)}"
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
    definition = re.compile(rf"^{re.escape(exercise)} = \w*Exercise\(", re.MULTILINE)
    for folder in own_topics.search_path("autograder.exercises"):
        for file in sorted(Path(folder).glob("*.py")):
            if definition.search(file.read_text(encoding="utf-8")):
                return load_topic(file.stem)
    raise UnknownExercise(
        f"{exercise} is not the name of an exercise; keep the name that the stub has"
    )


def _import(name: str) -> ModuleType:
    """A module of the book or of the course.

    Raises:
        BrokenTopic: a module of the course is missing or fails when it is imported.
    """
    if name in sys.modules:
        return sys.modules[name]
    package, _, topic = name.rpartition(".")
    folders = own_topics.search_path(package)
    try:
        return importlib.import_module(name)
    except Exception as error:
        if (Path(folders[0]) / f"{topic}.py").is_file():
            raise  # the book's own
        raise BrokenTopic(
            f"{name} cannot be imported from {', '.join(folders[1:]) or folders[0]}: "
            f"{type(error).__name__}: {error}"
        ) from error
