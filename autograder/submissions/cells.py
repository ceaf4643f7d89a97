"""What we take of a submitted cell, and what a cell of the master asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nbformat import NotebookNode

from autograder.magics import lines_in
from autograder.submissions import by_name


@dataclass(frozen=True)
class Cell:
    """What we take of a submitted cell."""

    kind: str
    source: str
    grade_id: str | None
    cell_id: str | None
    entry: dict[str, Any]
    tags: Any
    attempt: bool = False  # at an exercise that another cell answers

    @cached_property
    def defined(self) -> set[str]:
        """The functions and classes that it defines when it runs."""
        return by_name.defined_by(self.source)


def submitted_cells(data: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a notebook, those that are cells at all."""
    for cell in data["cells"]:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source")
        if isinstance(source, list) and all(isinstance(part, str) for part in source):
            source = "".join(source)
        if not isinstance(source, str):
            continue
        metadata = cell.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        entry = metadata.get("nbgrader")
        entry = entry if isinstance(entry, dict) else {}
        grade_id = entry.get("grade_id")
        yield Cell(
            str(cell.get("cell_type")),
            _as_read_by_python(source),
            grade_id if isinstance(grade_id, str) else None,
            cell.get("id") if isinstance(cell.get("id"), str) else None,
            entry,
            metadata.get("tags", []),
        )


def _as_read_by_python(source: str) -> str:
    """A source with Python's own line ends, and no half characters."""
    whole = source.encode("utf-8", "replace").decode("utf-8")
    return "\n".join(lines_in(whole))


def grade_id_of(cell: NotebookNode) -> str | None:
    """What nbgrader calls a cell of the master."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def role_of(cell: NotebookNode) -> str:
    """What a cell of the master is, by nbgrader's metadata and our tags."""
    entry = cell.metadata.get("nbgrader", {})
    if cell.cell_type != "code":
        return "essay" if entry.get("solution") else "text"
    if entry.get("solution"):
        return "exercise"
    if entry.get("grade"):
        return "check"
    return "demo" if "demo" in cell.metadata.get("tags", []) else "setup"


def is_task(cell: NotebookNode) -> bool:
    """Whether an instructor asks for cells of the student's own, to mark by hand."""
    return bool(cell.metadata.get("nbgrader", {}).get("task"))


def has_name(asked: NotebookNode) -> bool:
    """Whether a cell asks for something by its grade id, as all exercises do."""
    return role_of(asked) == "exercise" and grade_id_of(asked) in by_name.defined_by(
        asked.source
    )


def printable_part(value: Any, length: int) -> str:
    """A short text without anything that a terminal or a page would act on."""
    return "".join(c for c in str(value)[:length] if c.isprintable())
