"""Anonymous examples of wrong answers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path

from autograder.files import Unusable
from autograder.lms.upload_ids import people_in
from autograder.magics import parsed
from autograder.notebooks import grade_id, read_notebook, source
from autograder.parsing import UNREADABLE
from autograder.tables import BadTable

LOOKED_AT = 8  # answers from which the shortest is taken
MAX_LINES, MAX_COLUMNS = 40, 100  # that are shown
MAX_SOURCE = 20_000  # characters of a cell that is looked at
_SHORT = 4  # letters from which a part of a name is no usual word of code


class Examples:
    """Answers from the examined notebooks of a chapter.

    Args:
        course: folder of the course.
        chapter: its name.
    """

    def __init__(self, course: Path, chapter: str) -> None:
        self._folder = course / "autograded"
        self._chapter = chapter
        self._cells: dict[str, dict[str, str]] = {}
        try:
            self._people = people_in(course, chapter)
        except BadTable:  # said elsewhere; names are only looked for to leave them out
            self._people = {}

    def of(self, exercise: str, students: Sequence[str]) -> str:
        """The shortest of some students' answers; empty if none can be shown.

        Only the definition itself is shown, without comments and docstrings. An answer
        in which the student's id or a part of the name occurs is left out.
        """
        found = [self._anonymous(exercise, name) for name in students[:LOOKED_AT]]
        return min(filter(None, found), key=lambda text: (len(text), text), default="")

    def _anonymous(self, exercise: str, student: str) -> str:
        text = definition(self._cells_of(student).get(exercise, ""), exercise)
        folded = text.casefold()
        if any(word in folded for word in self._words(student)):
            return ""
        return text

    def _words(self, student: str) -> set[str]:
        """What would tell who somebody is."""
        person = self._people.get(student)
        parts = person.name.split() if person else []
        parts += person.ids.values() if person else []
        return {student.casefold()} | {
            part.casefold() for part in parts if len(part) >= _SHORT
        }

    def _cells_of(self, student: str) -> dict[str, str]:
        """The source of each exercise of a student, by name."""
        if student not in self._cells:
            path = self._folder / student / self._chapter / f"{self._chapter}.ipynb"
            try:
                cells = read_notebook(path)["cells"]
                self._cells[student] = {grade_id(c): source(c) for c in cells}
            except (Unusable, AttributeError, KeyError, TypeError):
                self._cells[student] = {}  # it was removed, or somebody changed it
        return self._cells[student]


def definition(cell: str, name: str) -> str:
    """The definition of a name in a cell, without comments and docstrings.

    Returns:
        It, written anew and cut; empty if the cell has none that can be read.
    """
    tree = parsed(cell) if len(cell) <= MAX_SOURCE else None
    try:
        own = [node for node in tree.body if getattr(node, "name", None) == name]
        text = "\n\n\n".join(ast.unparse(bare(node)) for node in own)
    except (AttributeError, *UNREADABLE):
        return ""
    lines = text.splitlines()
    shown = [_cut(line) for line in lines[:MAX_LINES]]
    return "\n".join([*shown, *(["..."] if len(lines) > MAX_LINES else [])])


def bare(tree: ast.AST) -> ast.AST:
    """A definition without docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = list(_without_texts(node.body)) or [ast.Pass()]
    return tree


def _without_texts(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    for node in body:
        value = getattr(node, "value", None) if isinstance(node, ast.Expr) else None
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            yield node


def _cut(line: str) -> str:
    return line if len(line) <= MAX_COLUMNS else line[:MAX_COLUMNS] + " ..."
