"""Try everything that ships to students as the answer to every exercise.

    python -m tests.autograder.borrowed [MODULE or PAGE.md ...]

Prints a line of JSON, [callable, exercise, points], for each that earns points: of the
modules that ship, of the pages, and of those named. Run it where nothing can be broken:
what is called may close files, or end the process.

A page is not executed, which would take minutes; its imports, definitions and constants
are. It may compute with what an earlier chapter asks for, since no notebook needs the
answers to another one. Stubs stay stubs, as in a released notebook.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import select
import signal
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from myst_nb.core.read import read_myst_markdown_notebook

import autograder
import toolkit
from autograder.answers import answer, decode, encode_outcome, outcome
from autograder.book import chapter_names, chapters_folder
from autograder.exercise import Case, Exercise, find_topic, load_topic, topic_names
from autograder.expected import Expected, expect, public_seeds
from autograder.forbid import answer_by_hand
from autograder.judge import judge
from autograder.rows import disagreement

SHIPPED, ROOMS = (autograder, toolkit), ("exercises", "explain")
ANSWERS = "book-only"  # the tag of cells that import the references; on no page
SECONDS = 1  # of a processor, for one exercise; a right answer needs a tenth of it
SILENCE = 8  # seconds after which what was called is not waited for
MARK = b"earned: "  # begins a result: what was called may write to any descriptor


class Called(Exception):
    """Ends a case as soon as it has called an implementation."""


@dataclass(frozen=True)
class Asked:
    """An exercise, what is expected, and how each case calls an implementation."""

    exercise: Exercise
    expected: Expected
    calls: set[tuple[int, tuple[str, ...]]]  # arguments, and names of the others
    is_class: bool

    def takes(self, candidate: Callable, signature: inspect.Signature | None) -> bool:
        """Whether a candidate can be called as some case does, whatever the values.

        What a class makes is an object of its own, and no array.
        """
        if isinstance(candidate, type) and not self.is_class:
            return False
        if signature is None:
            return True
        for number, names in self.calls:
            with contextlib.suppress(TypeError):
                signature.bind(*[None] * number, **dict.fromkeys(names))
                return True
        return False

    def points(self, candidate: Callable) -> int:
        """What a candidate earns as the answer to this exercise.

        Cases whose right answer is always the same are paid only beside another one.
        So the others come first, and who gets none of them right is asked no more.
        """
        cases = list(zip(self.exercise.cases, self.expected.seeds, strict=True))
        constant = self.expected.constant
        telling = [n for n, same in enumerate(constant) if not same or all(constant)]
        if not any(self._is_right(n, *cases[n], candidate) for n in telling):
            return 0
        given = [
            decode(answer_by_hand(self.exercise, case, candidate, seed))
            for case, seed in cases
        ]
        return judge(self.exercise, given, self.expected).score

    def _is_right(self, n: int, case: Case, seed: int, candidate: Callable) -> bool:
        right = self.expected.reference[n]
        if right.raised is not None:
            given = decode(answer(case, candidate, seed))
        else:  # without looking for the line that an error came from, which takes long
            try:
                given = decode(encode_outcome(outcome(case, candidate, seed)))
            except TimeoutError:
                raise
            except BaseException:
                return False
        return disagreement(case, right, given) is None


def signature_of(candidate: Callable) -> inspect.Signature | None:
    """How a candidate is called, if it says so."""
    try:
        return inspect.signature(candidate)
    except (TypeError, ValueError):
        return None


def first_call(case: Case, seed: int) -> tuple[int, tuple[str, ...]]:
    """With how many arguments, and which names, a case calls an implementation."""
    seen = []

    def spy(*args: Any, **kwargs: Any) -> None:
        seen.append((len(args), tuple(kwargs)))
        raise Called

    with contextlib.suppress(Called):
        case.run(spy, np.random.default_rng(seed))
    return seen[0]


def all_asked() -> Iterator[Asked]:
    """Every exercise of the course."""
    for name in topic_names():
        topic = load_topic(name)
        for exercise in topic.exercises.values():
            seeds = public_seeds(exercise)
            calls = {*map(first_call, exercise.cases, seeds)}
            is_class = isinstance(topic.reference(exercise.name), type)
            yield Asked(exercise, expect(topic, exercise, seeds), calls, is_class)


# What ships ---------------------------------------------------------------------------


def modules() -> Iterator[types.ModuleType]:
    """Every module that ships, but for the rooms that grade: they compute nothing."""
    for package in SHIPPED:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.count(".") == 1 or found.name.split(".")[1] in ROOMS:
                yield importlib.import_module(found.name)


def page(path: Path) -> types.ModuleType:
    """What the code cells define that readers of a page, or of its notebook, see."""
    module = types.ModuleType(path.stem)
    text = path.read_text(encoding="utf-8")
    cells = read_myst_markdown_notebook(text, path=path).cells
    for cell in cells if "{code-cell}" in text else []:
        if cell.cell_type == "code" and ANSWERS not in cell.metadata.get("tags", []):
            for node in filter(is_definition, ast.parse(cell.source).body):
                tree = ast.Module([node], type_ignores=[])
                with contextlib.suppress(Exception):  # it may need what was computed
                    exec(compile(tree, path.name, "exec"), vars(module))
    return module


def is_definition(node: ast.stmt) -> bool:
    """Whether a statement defines a name, and needs no computed data."""
    if isinstance(node, ast.Assign):
        with contextlib.suppress(ValueError, TypeError):
            return isinstance(node.value, ast.Lambda) or bool(
                [ast.literal_eval(node.value)]
            )
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    return isinstance(node, kinds)


def callables(module: types.ModuleType) -> dict[str, Callable]:
    """What can be called of a module, by name: functions, classes, their methods.

    What a module imports from elsewhere does not count.
    """
    found: dict[str, Callable] = {}

    def add(name: str, value: Any) -> None:
        if callable(value):
            found[f"{module.__name__}.{name}"] = value

    for name, value in vars(module).items():
        home = getattr(value, "__module__", None) or type(value).__module__
        if home != module.__name__:
            continue
        add(name, value)
        kind = value if isinstance(value, type) else type(value)
        for attribute in vars(kind) if kind.__module__ == module.__name__ else ():
            if not attribute.startswith("__") or attribute == "__call__":
                with contextlib.suppress(Exception):  # a property may need more
                    add(f"{name}.{attribute}", getattr(value, attribute))
    return found


# Trying it ----------------------------------------------------------------------------


def earners(candidates: dict[str, Callable]) -> Iterator[list[Any]]:
    """Those that earn points: name, exercise, points.

    They are tried in a process of their own, and in another one where that ends.
    """
    asked = list(all_asked())
    todo = [
        (name, candidate, one)
        for name, candidate in candidates.items()
        for signature in [signature_of(candidate)]
        for one in asked
        if one.takes(candidate, signature)
    ]
    while todo:
        done = try_in_a_child(todo)
        yield from (line for line in done if line[2])
        todo = todo[len(done) + 1 :]


def try_in_a_child(todo: list[tuple[str, Callable, Asked]]) -> list[list[Any]]:
    """What came back, up to the one at which the child ended or fell silent."""
    reading, writing = os.pipe()
    gc.freeze()  # or its garbage collector would copy all that was imported
    child = os.fork()
    if child == 0:
        try:
            _try(todo, writing)
        finally:
            os._exit(0)
    os.close(writing)
    text = b""
    while select.select([reading], [], [], SILENCE)[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    lines = text.split(b"\n")[:-1]
    return [json.loads(line[len(MARK) :]) for line in lines if line.startswith(MARK)]


def _try(todo: list[tuple[str, Callable, Asked]], writing: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    for name, candidate, asked in todo:
        points = 0
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        with contextlib.suppress(TimeoutError):
            points = asked.points(candidate)
        signal.setitimer(signal.ITIMER_PROF, 0)
        line = json.dumps([name, asked.exercise.name, points])
        os.write(writing, b"\n" + MARK + line.encode() + b"\n")


def main(names: list[str]) -> None:
    """Try all that ships and what is named; what several of them name is tried once."""
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    pages = sorted(chapters_folder().glob("*.md"))
    pages += [Path(name) for name in names if name.endswith(".md")]
    named = [importlib.import_module(n) for n in names if not n.endswith(".md")]
    tried = [*modules(), *named, *map(page, pages)]
    found = functools.reduce(dict.__or__, map(callables, tried))
    order = chapter_names()
    for name, exercise, points in earners(found):
        topic, asked_in = name.partition(".")[0], find_topic(exercise).name
        if asked_in not in order[: order.index(topic) if topic in order else 0]:
            print(json.dumps([name, exercise, points]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
