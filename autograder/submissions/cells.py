"""The cells of a notebook as it was handed in, and what each one is.

Text and names decide, not metadata: copying, Colab and some converters lose those, and
students can change them. Nothing is parsed: what Python makes of a cell is found out
in the sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from nbformat import NotebookNode

from autograder.demonstrations import needed
from autograder.magics import lines_in
from autograder.notebooks import checked_in, only_checks

_DEFINED = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_ASSIGNED = re.compile(r"^(\w+)[ \t]*=(?!=)", re.MULTILINE)
MAX_PICTURES = 3_000_000  # characters of all pictures in texts; others are told


class Role(Enum):
    """What a cell is, for whoever runs the notebook."""

    SETUP = "as released: imports, as a rule"
    DEMO = "as released: a demonstration, of which only definitions count"
    STUB = "as released: nothing was written"
    CHECK = "asks for exercises, and does nothing else"
    EXERCISE = "answers an exercise, or was meant to"
    ADDED = "any other code"
    TEXT = "is not run"


@dataclass(frozen=True)
class Cell:
    """A cell of a student.

    Attributes:
        is_code: or else it is a text, in whatever format.
        source: with Python's own line ends.
        grade_id: of the released cell that it says to be, if there is one.
        pictures: those in its text, as base64, by type; empty where there are too many.
        role: what it is.
        exercises: which it answers.
        asks: the exercises that are asked for below it: at the last check of each.
        definitions: the source in which to look for what it defines: of a
            demonstration, what something uses.
    """

    is_code: bool
    source: str
    grade_id: str | None = None
    pictures: tuple[tuple[str, str], ...] = ()
    role: Role = Role.TEXT
    exercises: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    definitions: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is code that the student wrote."""
        return self.role in (Role.EXERCISE, Role.ADDED)


@dataclass(frozen=True)
class HandedIn:
    """A notebook as it was handed in.

    Attributes:
        master: the notebook as it was released.
        cells: those of the student, in the student's order.
        setup: what runs before them: files that were handed in with it, and released
            code, so that nothing is lost with a setup cell that was deleted.
        stubs: of all exercises, which are defined before them. A stub that stands below
            an answer, as it was released, takes nothing away.
    """

    master: NotebookNode
    cells: list[Cell]
    setup: list[str]
    stubs: str

    def place_of(self, exercise: str) -> int | None:
        """The number of the cell that answers an exercise: the last above its check.

        Where some have its grade id, as released, the others only define it as well.
        """
        code = [n for n, c in enumerate(self.cells) if exercise in c.exercises]
        named = [n for n in code if self.cells[n].grade_id == exercise]
        asked = [n for n, c in enumerate(self.cells) if exercise in c.asks]
        places = named or code
        above = [n for n in places if not asked or n <= asked[-1]]
        return next(iter((above or places)[-1:]), None)

    def defined_again(self, exercise: str) -> bool:
        """Whether an answer is defined again below the check that counts."""
        asked = [n for n, cell in enumerate(self.cells) if exercise in cell.asks]
        below = self.cells[asked[-1] + 1 :] if asked else []
        return any(c.is_own and exercise in defined_in(c.source) for c in below)


def as_handed_in(
    master: NotebookNode,
    data: dict[str, Any],
    exercises: Collection[str],
    modules: Iterable[tuple[str, str]] = (),
) -> HandedIn:
    """Read the cells of a submission, without outputs and most metadata.

    A file of 40 MB may take a gigabyte once it is read. Nobody should hold its data
    while the cells run.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``parse_notebook``.
        exercises: their names.
        modules: files that were handed in with it, by name, with their text.
    """
    released: dict[str, Role] = {}
    setup, stubs = [_writing(*module) for module in modules], []
    for cell in master.cells:
        role = released_role(cell)
        if role is not Role.TEXT:
            released.setdefault(same(cell.source), role)
        if role is Role.STUB:
            stubs.append(cell.source)
        elif role is Role.SETUP and not stubs:
            setup.append(cell.source)
    names = {*exercises, *map(grade_id_of, master.cells)}
    cells = [_with_role(c, released, exercises) for c in _cells(data, names)]
    demos = {n: c.source for n, c in enumerate(cells) if c.role is Role.DEMO}
    used = needed(demos, (c.source for c in cells if c.is_own))
    first = next((n for n, cell in enumerate(cells) if cell.is_own), len(cells))
    has_run = {n for n, c in enumerate(cells[:first]) if c.source in setup}
    not_run = (demos.keys() - used.keys()) | has_run
    last = {name: n for n, cell in enumerate(cells) for name in cell.asks}
    cells = [
        replace(
            cell,
            asks=tuple(name for name in cell.asks if last[name] == n),
            role=Role.TEXT if n in not_run else cell.role,
            definitions=used.get(n, cell.source),
        )
        for n, cell in enumerate(cells)
    ]
    return HandedIn(master, cells, setup, "\n\n\n".join(stubs))


def _writing(name: str, text: str) -> str:
    """Code that writes a file."""
    path = f"__import__('pathlib').Path({name!r})"
    return (
        f"{path}.parent.mkdir(parents=True, exist_ok=True)\n"
        f"{path}.write_text({text!r}, encoding='utf-8')"
    )


def _with_role(
    cell: Cell, released: Mapping[str, Role], exercises: Collection[str]
) -> Cell:
    """The cell with what its text says about it."""
    if not cell.is_code:
        return cell
    role = released.get(same(cell.source))
    asks = [name for name in checked_in(cell.source) if name in exercises]
    if role is None and asks and only_checks(cell.source):
        role = Role.CHECK
    answers: tuple[str, ...] = ()
    ways = (defined_in(cell.source), _ASSIGNED.findall(cell.source), [cell.grade_id])
    for names in ways if role is None else ():
        answers = answers or tuple(name for name in exercises if name in names)
    role = role or (Role.EXERCISE if answers else Role.ADDED)
    return replace(cell, role=role, exercises=answers, asks=tuple(asks))


def defined_in(source: str) -> set[str]:
    """The names of functions and classes that a text defines, not inside others."""
    return set(_DEFINED.findall(source))


def same(source: str) -> str:
    """What two sources share that differ in blanks at the ends of lines only."""
    return "\n".join(line.rstrip() for line in lines_in(source)).strip()


def _cells(data: dict[str, Any], names: Collection[str | None]) -> Iterator[Cell]:
    """The cells of a notebook, those that are cells at all."""
    room = MAX_PICTURES
    for cell in data["cells"]:
        source = joined(cell.get("source")) if isinstance(cell, dict) else None
        if source is None:
            continue
        grade_id = part_of(cell.get("metadata"), "nbgrader").get("grade_id")
        is_named = isinstance(grade_id, str) and grade_id in names
        is_code, pictures = cell.get("cell_type") == "code", []
        for bundle in part_of(cell, "attachments").values() if not is_code else ():
            for kind, value in bundle.items() if isinstance(bundle, dict) else ():
                picture = joined(value) or ""
                room -= len(kind) + len(picture)
                pictures.append((kind, picture) if room >= 0 else ("", ""))
        yield Cell(
            is_code,
            "\n".join(lines_in(source)),
            grade_id if is_named else None,
            tuple(pictures),
        )


def joined(value: Any) -> str | None:
    """A text that a notebook holds whole or in lines; None if it is none.

    Half characters, which no file can hold, are replaced.
    """
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "".join(value)
    if not isinstance(value, str):
        return None
    return value.encode("utf-8", "replace").decode("utf-8")


def part_of(value: Any, key: str) -> dict[str, Any]:
    """What an object holds by this key, if both are objects."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def released_role(cell: NotebookNode) -> Role:
    """What a cell of the master is, by nbgrader's metadata and our tags."""
    entry = cell.metadata.get("nbgrader", {})
    if cell.cell_type != "code":
        return Role.TEXT
    if entry.get("solution"):
        return Role.STUB
    if entry.get("grade"):
        return Role.CHECK
    return Role.DEMO if "demo" in cell.metadata.get("tags", []) else Role.SETUP


def grade_id_of(cell: NotebookNode) -> str | None:
    """What nbgrader calls a cell of the master."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")
