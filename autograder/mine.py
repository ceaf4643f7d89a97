"""The reader's own functions, in later cells and in later notebooks.

    shift_right = mine("shift_right")

Of a name, the first of these that there is:

1. what this notebook defines, if it has all its points;
2. what the saved notebook of its chapter holds, if its last check gave all points and
   the answer was not edited since;
3. the book's own version, where solutions are given;
4. what the caller gives, ``mine("shift_right", otherwise=...)``.

A line says which it was. Notebooks are looked for in the folder of this one, and in
folders of their own beside it, as in a course of nbgrader.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from autograder.answer_key import NoKey
from autograder.check import examine_here, self_study
from autograder.errors import AutograderError, GraderFault
from autograder.exercise import Implementation, find_topic
from autograder.files import Unusable
from autograder.notebooks import only_checks, read_notebook, source
from autograder.parsing import UNREADABLE, parse
from autograder.progress import as_run, read_chapter
from autograder.show import names_in_notebook
from autograder.statements import only_defines


class NotSolved(AutograderError):
    """A function is needed that is solved nowhere, in a course without solutions."""

    def _render_traceback_(self) -> list[str]:
        return [f"mine: {self}"]  # how IPython asks an exception for its traceback


def mine(name: str, otherwise: Callable[..., Any] | None = None) -> Implementation:
    """Your own answer to an exercise if it passes its check, else an equivalent.

    Args:
        name: the exercise.
        otherwise: stands in for it in a course without solutions.

    Raises:
        UnknownExercise: there is no such exercise.
        NotSolved: there is nothing that can be used.
    """
    topic = find_topic(name)
    here = names_in_notebook().get(name)
    book = topic.reference(name) if self_study() else None
    if here is not None and here is not book and _passes(name, here):
        return _said(name, "yours", here)
    for path in _notebooks_of(topic.name):
        answer = _saved_answer(path, name)
        if answer is not None:
            return _said(name, f"yours, from {path.name}", answer)
    if book is not None:
        return _said(name, "the book's", book)
    if otherwise is not None:
        return _said(name, "a stand-in, until yours passes its check", otherwise)
    raise NotSolved(f"this needs your {name}: solve it in the chapter {topic.name}")


def _said(name: str, whose: str, implementation: Implementation) -> Implementation:
    print(f"{name}: {whose}")
    return implementation


def _passes(name: str, answer: Implementation) -> bool:
    with suppress(NoKey, GraderFault):
        report = examine_here(find_topic(name).exercises[name], answer).report
        return report.score + report.later >= report.max_score
    return False


def _notebooks_of(chapter: str) -> Iterator[Path]:
    """The saved notebooks of a chapter that are near this one."""
    here, name = Path.cwd(), f"{chapter}.ipynb"
    for folder in (here, here / chapter, here.parent / chapter):
        if (folder / name).is_file():
            yield folder / name


def _saved_answer(path: Path, name: str) -> Implementation | None:
    """The answer in a notebook, if it has all the points that a check can give.

    Only imports, definitions and constants of the notebook are run.
    """
    try:
        chapter = read_chapter(path)
        works = chapter.exercises if chapter else []
        if not any(work.name == name and not work.open for work in works):
            return None
        cells = read_notebook(path)["cells"]
    except Unusable:
        return None
    code = [source(cell) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {"__name__": path.stem}
    texts = as_run(text for text in code if not only_checks(text))
    for number, text in enumerate(texts):
        cell = f"<{path} {number}>"
        lines = text.splitlines(keepends=True)
        linecache.cache[cell] = (len(text), None, lines, cell)  # for inspect.getsource
        with suppress(*UNREADABLE):
            for statement in filter(only_defines, parse(text).body):
                tree = ast.Module([statement], type_ignores=[])
                with suppress(Exception):  # it may need what a cell computed
                    exec(compile(tree, cell, "exec"), names)
    return names.get(name)
