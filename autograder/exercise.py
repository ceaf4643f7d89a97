"""An exercise: a name, the cases that exercise an implementation, its mistakes.

A case is a plain function of an implementation and a random generator that returns
arrays. It never decides anything: it is run once on the reference and once on the
student's version with the same seed, and the judge compares the two answers.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder import own_topics
from autograder.comparisons import without_comparisons
from autograder.errors import AutograderError
from autograder.installed import is_here
from autograder.own_names import OwnNames
from autograder.parsing import UNREADABLE, parse
from autograder.statements import name_of

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
    """

    name: str
    forbidden: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
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
            return "*May be used:* everything, a library's own function as well."
        names = ", ".join(f"`{name}`" for name in self.forbidden)
        return (
            "*May be used:* everything but what you build here, from whatever library "
            f"it comes: {names}."
        )

    def forbidden_lines(self, source: str) -> dict[str, str]:
        """The lines where names that this exercise forbids first occur, by these names.

        The syntax tree is read, so comments, docstrings and the definition of a
        function of the same name do not count, nor does text that nothing looks up.
        Nor do lines below an answer that compare it with the library's.
        """
        if not self.forbidden:
            return {}
        try:
            tree = parse(source)
        except UNREADABLE:  # ask the text, in case it runs all the same
            words = {
                name: re.search(rf"(?<!def )(?<!class )\b{name}\b.*", source)
                for name in self.forbidden
            }
            return {name: "" for name, word in words.items() if word}
        if not self._found(tree):
            return {}
        tree.body = without_comparisons(tree.body, self.name, self.forbidden)
        lines = re.split(r"\r\n?|\n", source)  # as Python counts them
        return {n: lines[row - 1].strip() for n, row in self._found(tree).items()}

    def _found(self, tree: ast.Module) -> dict[str, int]:
        """The numbers of the lines in which something forbidden stands."""
        nodes = list(ast.walk(tree))
        own, calls_nothing = OwnNames(tree), _that_call_nothing(nodes)
        # Before the definition, what has the name may be the library's.
        brought = {n for n in self.forbidden if any(_may_bring(x, n) for x in nodes)}
        found: dict[str, int] = {}
        for node in nodes:
            names = set() if id(node) in calls_nothing else _names_used(node)
            if isinstance(node, ast.Name | ast.Attribute) and own.looked_up(node):
                names &= brought
            for name in self.forbidden:
                if name in names:
                    found.setdefault(name, node.lineno)
        return found


def _names_used(node: ast.AST) -> set[str]:
    """The library names that one node of a syntax tree brings in."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return set() if own else {node.attr}
    if isinstance(node, ast.ImportFrom) and _is_of_ones_own(node):
        return set()  # in it, the guard sees what is called
    if isinstance(node, ast.ImportFrom | ast.Import):
        return {alias.name.rpartition(".")[2] for alias in node.names}
    if isinstance(node, ast.Call) and _looks_up(node.func):
        looked_up: list[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
    elif isinstance(node, ast.Subscript) and _is_namespace(node.value):
        looked_up = [node.slice]  # vars(F)["layer_norm"]
    else:
        return set()
    return {
        text.value.rpartition(".")[2]
        for argument in looked_up
        for text in ast.walk(argument)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }


def _that_call_nothing(nodes: Iterable[ast.AST]) -> set[int]:
    """The nodes, by their ids, that only say of which kind something is."""
    kinds: list[ast.AST | None] = []
    for node in nodes:
        if isinstance(node, ast.arg | ast.AnnAssign):
            kinds.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            kinds.append(node.returns)
        elif isinstance(node, ast.Call) and name_of(node.func) in _ASK_FOR_A_KIND:
            kinds += node.args[1:]
    return {id(part) for kind in kinds if kind is not None for part in ast.walk(kind)}


def _may_bring(node: ast.AST, name: str) -> bool:
    """Whether it is an ``import *`` that may bring a name in."""
    if not isinstance(node, ast.ImportFrom) or node.names[0].name != "*":
        return False
    module = node.module or ""
    if _is_of_ones_own(node) or module.partition(".")[0] in sys.stdlib_module_names:
        return False
    loaded = sys.modules.get(module)
    return loaded is None or hasattr(loaded, name)


def _is_of_ones_own(node: ast.ImportFrom) -> bool:
    """Whether a module is the student's, and of no library that is installed."""
    return bool(node.level) or not is_here(node.module or "")


_ASK_FOR_A_KIND = ("isinstance", "issubclass")
_LOOKS_UP = ("getattr", "attrgetter", "methodcaller", "eval", "exec")


def _looks_up(function: ast.expr) -> bool:
    """Whether a function is one that looks up the names in its arguments."""
    if isinstance(function, ast.Attribute) and function.attr in ("get", "pop"):
        return _is_namespace(function.value)
    return name_of(function) in _LOOKS_UP


def _is_namespace(value: ast.expr) -> bool:
    """Whether a dictionary is that of a module or of an object, and no other."""
    if isinstance(value, ast.Attribute):
        return value.attr == "__dict__"
    names = ("vars", "globals", "locals")
    return isinstance(value, ast.Call) and name_of(value.func) in names


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
        name = implementation.__name__
        hint = " ".join((implementation.__doc__ or "").split())
        if not hint:
            raise NoHint(
                f"the mistake {name} of {exercise.name} has no hint; write it as the "
                "docstring (python -OO drops docstrings: run without it)"
            )
        return Mistake(name, exercise.name, hint, implementation)

    return describe


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
    package, _, topic = name.rpartition(".")
    folders = own_topics.search_path(package)
    if (Path(folders[0]) / f"{topic}.py").is_file():
        return importlib.import_module(name)  # the book's own
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise BrokenTopic(
            f"{name} cannot be imported from {', '.join(folders[1:]) or folders[0]}: "
            f"{type(error).__name__}: {error}"
        ) from error
