"""Made-up classes: submissions that are right, blank or mistaken.

What the students "wrote" comes from the references and the mistakes bank, turned back
into the source of a notebook cell.
"""

from __future__ import annotations

import ast
import inspect
import json
import random
import textwrap
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from autograder.exercise import Mistake, load_topic


def cell_source(implementation: Any, name: str) -> str:
    """Source of a notebook cell that defines ``implementation`` under ``name``.

    Everything that it uses from its own module comes along.
    """
    if isinstance(implementation, Mistake):
        implementation = implementation.implementation
    parts: dict[str, str] = {}
    _collect(implementation, name, parts)
    return "\n\n\n".join(parts.values())


def _collect(implementation: Callable, name: str, parts: dict[str, str]) -> None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(implementation)))
    node = tree.body[0]
    if isinstance(node, ast.Assign):  # name = lambda ...
        node.targets = [ast.Name(name, ast.Store())]
    else:
        node.decorator_list = []
        node.name = name
    module = vars(inspect.getmodule(implementation))
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {name}
    for other in sorted(used & set(module) - set(parts)):
        value = module[other]
        if isinstance(value, Mistake):
            value = value.implementation
        if isinstance(value, types.ModuleType):
            parts[other] = _imported_module(value, other)
        elif getattr(value, "__module__", "").split(".")[0] in ("solutions", "tests"):
            parts[other] = ""  # seen, so that two functions may call each other
            _collect(value, other, parts)
        elif inspect.isroutine(value) or inspect.isclass(value):
            parts[other] = f"from {value.__module__} import {value.__name__} as {other}"
        else:
            parts[other] = f"{other} = {value!r}"
    parts.pop(name, None)
    parts[name] = ast.unparse(tree)


def _imported_module(module: types.ModuleType, name: str) -> str:
    """An import; of one of our own modules, which no student has, its text."""
    if not module.__name__.startswith(("solutions", "tests")):
        return f"import {module.__name__} as {name}"
    text = inspect.getsource(module)
    return (
        f"import types\n{name} = types.ModuleType({name!r})\n"
        f"exec({text!r}, {name}.__dict__)"
    )


def submission(master: Mapping[str, Any], answers: Mapping[str, str]) -> dict[str, Any]:
    """The released notebook with some exercise cells filled in.

    Args:
        master: the student notebook.
        answers: source of the cell of each exercise that was solved.
    """
    data = json.loads(json.dumps(master))
    for cell in data["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell["source"] = answers[name]
    return data


def right_answers(topic_name: str) -> dict[str, str]:
    """The references as a student would have written them."""
    topic = load_topic(topic_name)
    return {name: cell_source(topic.reference(name), name) for name in topic.exercises}


def make_class(
    topic_name: str, master: Mapping[str, Any], size: int
) -> dict[str, dict[str, Any]]:
    """Submissions of ``size`` students by name, always the same ones.

    A quarter is right in everything, one is blank; the others made one or two mistakes
    of the bank, in turn.
    """
    topic = load_topic(topic_name)
    right = right_answers(topic_name)
    chance = random.Random(f"{topic_name}/{size}")
    mistakes = [
        (name, found) for name in topic.exercises for found in topic.mistakes(name)
    ]
    chance.shuffle(mistakes)
    students: dict[str, dict[str, Any]] = {"blank": submission(master, {})}
    number = 0
    while len(students) < size:
        answers = dict(right)
        if number % 4:
            for _ in range(1 + number % 2):
                name, found = mistakes[0]
                mistakes.append(mistakes.pop(0))
                answers[name] = cell_source(found, name)
        students[f"student_{number:03}"] = submission(master, answers)
        number += 1
    return students


def hand_in(course: Path, topic_name: str, students: Mapping[str, Any]) -> None:
    """Write submissions where nbgrader collects them."""
    for student, data in students.items():
        folder = course / "submitted" / student / topic_name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{topic_name}.ipynb"
        path.write_text(json.dumps(data), encoding="utf-8")
