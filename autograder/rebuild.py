"""A notebook to trust, made from the master and what a student may write.

Locked cells, metadata, order and kernel come from the master. From the submission
come only the sources of exercise cells, by their grade id, and of the cells that the
student added. So deleting, copying, moving, retagging or unlocking a cell changes
nothing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.release import METADATA_KEY

MAX_FILE_BYTES = 10 * 2**20
MAX_CELLS = 2000
STUDENT = "student"  # the role of a cell that the student added


class Unusable(ValueError):
    """A file that cannot be taken for a submission; the message says why."""


@dataclass
class Rebuilt:
    """A trusted notebook and what was noticed while it was made.

    Attributes:
        notebook: the cells to run; ``cell.metadata.role`` says what each one is:
            ``setup``, ``demo``, ``exercise``, ``check``, ``student`` or ``text``, and
            ``cell.metadata.exercise`` to which exercise it belongs.
        answers: the source a student wrote for each exercise.
        notes: one line for each irregularity, for the report.
        missing: exercises whose cell is not in the submission.
    """

    notebook: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def read_submission(path: Path) -> dict[str, Any]:
    """The JSON data of a notebook file, checked only as far as we use it.

    Raises:
        Unusable: it is no notebook of format 4, or too large.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= MAX_FILE_BYTES else b""
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from None
    if size > MAX_FILE_BYTES:
        raise Unusable(
            f"the file has {size / 2**20:.0f} MB; at most "
            f"{MAX_FILE_BYTES // 2**20} MB are read"
        )
    return parse_submission(content)


def parse_submission(content: bytes) -> dict[str, Any]:
    """The JSON data of a notebook, checked only as far as we use it.

    Raises:
        Unusable: it is no notebook of format 4.
    """
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unusable("the file is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise Unusable("the file is not JSON, so it is no notebook") from None
    if not isinstance(data, dict) or ("cells" not in data and "nbformat" not in data):
        raise Unusable("the file is JSON, but no notebook")
    if data.get("nbformat") != 4:
        raise Unusable(f"notebook format {str(data.get('nbformat'))[:20]}, expected 4")
    if not isinstance(data.get("cells"), list):
        raise Unusable("the notebook has no list of cells")
    if len(data["cells"]) > MAX_CELLS:
        raise Unusable(f"the notebook has more than {MAX_CELLS} cells")
    return data


def chapter_of(data: dict[str, Any], path: Path) -> str:
    """The chapter a notebook belongs to, by its metadata, else by its file name."""
    metadata = data.get("metadata")
    ours = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    named = ours.get("chapter") if isinstance(ours, dict) else None
    return named if isinstance(named, str) else path.stem


@dataclass(frozen=True)
class _Cell:
    """What we take of a submitted cell."""

    kind: str
    source: str
    grade_id: str | None
    cell_id: str | None


def _submitted_cells(data: dict[str, Any]) -> Iterator[_Cell]:
    for cell in data["cells"]:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source")
        if isinstance(source, list) and all(isinstance(part, str) for part in source):
            source = "".join(source)
        if not isinstance(source, str):
            continue
        metadata = cell.get("metadata")
        entry = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        grade_id = entry.get("grade_id") if isinstance(entry, dict) else None
        yield _Cell(
            str(cell.get("cell_type")),
            source,
            grade_id if isinstance(grade_id, str) else None,
            cell.get("id") if isinstance(cell.get("id"), str) else None,
        )


def rebuild(master: NotebookNode, data: dict[str, Any]) -> Rebuilt:
    """Put a submission's answers into the master.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``read_submission``.
    """
    ids = [_grade_id(cell) for cell in master.cells]
    exercises = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in master.cells
        if _role(cell) == "exercise"
    }
    by_id = {i: n for n, i in enumerate(ids) if i is not None}
    by_cell_id = {cell.get("id"): n for n, cell in enumerate(master.cells)}
    by_source = {
        cell.source.strip(): n
        for n, cell in enumerate(master.cells)
        if _role(cell) != "exercise"
    }
    written: dict[str, list[str]] = {}
    added: dict[int, list[_Cell]] = {}
    place = -1  # the master cell that an added cell followed
    for cell in _submitted_cells(data):
        if cell.grade_id in exercises:
            written.setdefault(cell.grade_id, []).append(cell.source)
            place = by_id[cell.grade_id]
        elif cell.grade_id in by_id:
            place = by_id[cell.grade_id]
        elif cell.source.strip() in by_source:
            place = by_source[cell.source.strip()]
        elif cell.kind == "markdown" and cell.cell_id in by_cell_id:
            place = by_cell_id[cell.cell_id]
        elif cell.source.strip():
            added.setdefault(place, []).append(cell)
    rebuilt = Rebuilt(nbformat.v4.new_notebook(metadata=master.metadata))
    _add_student_cells(rebuilt, added.pop(-1, []))
    for number, cell in enumerate(master.cells):
        _add_master_cell(rebuilt, cell, written)
        _add_student_cells(rebuilt, added.pop(number, []))
    return rebuilt


def _add_master_cell(
    rebuilt: Rebuilt, cell: NotebookNode, written: dict[str, list[str]]
) -> None:
    new = nbformat.from_dict(cell)
    role = _role(cell)
    new.metadata = NotebookNode(new.metadata, role=role)
    if role in ("exercise", "check"):
        name = cell.metadata.nbgrader.grade_id.removeprefix("check-")
        new.metadata["exercise"] = name
    if role == "exercise":
        new.source = _choose(rebuilt, name, cell.source, written.get(name, []))
        rebuilt.answers[name] = new.source
    rebuilt.notebook.cells.append(new)


def _choose(rebuilt: Rebuilt, name: str, stub: str, sources: list[str]) -> str:
    """The source that counts: the first that is not the stub."""
    if not sources:
        rebuilt.missing.append(name)
        rebuilt.notes.append(f"{name}: its exercise cell is not in the notebook")
        return stub
    changed = [source for source in sources if source.strip() != stub.strip()]
    if len(sources) > 1:
        rebuilt.notes.append(
            f"{name}: {len(sources)} cells have its grade id; the first that is not "
            "the stub counts"
        )
    return changed[0] if changed else stub


def _add_student_cells(rebuilt: Rebuilt, cells: list[_Cell]) -> None:
    for cell in cells:
        if cell.kind == "code":
            new = nbformat.v4.new_code_cell(cell.source)
        else:  # shown word for word: an indented block runs and loads nothing
            lines = ["    " + line for line in cell.source.splitlines()]
            new = nbformat.v4.new_markdown_cell("\n".join(lines))
        new.metadata["role"] = STUDENT if cell.kind == "code" else "text"
        rebuilt.notebook.cells.append(new)


def _grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _role(cell: NotebookNode) -> str:
    """What a cell of the master is, by nbgrader's metadata and our tags."""
    if cell.cell_type != "code":
        return "text"
    entry = cell.metadata.get("nbgrader", {})
    if entry.get("solution"):
        return "exercise"
    if entry.get("grade"):
        return "check"
    return "demo" if "demo" in cell.metadata.get("tags", []) else "setup"


def reachable_source(rebuilt: Rebuilt, name: str) -> str:
    """The answer to an exercise with every definition of the student that it uses.

    Definitions are followed by name through the cells that the student wrote, but not
    into other exercises' answers.
    """
    definitions: dict[str, list[str]] = {}
    for cell in rebuilt.notebook.cells:
        if cell.metadata.role == STUDENT:
            for names, text in _top_level(cell.source):
                for bound in names:
                    definitions.setdefault(bound, []).append(text)
    reached, waiting = [], [rebuilt.answers.get(name, "")]
    while waiting:
        text = waiting.pop()
        reached.append(text)
        for used in _names(text):
            waiting += definitions.pop(used, [])
    return _without_magics("\n".join(reached))


def _without_magics(source: str) -> str:
    """Python that the parser reads: IPython's own lines are replaced by ``pass``."""
    return re.sub(r"^([ \t]*)[%!?].*$", r"\1pass", source, flags=re.MULTILINE)


def _top_level(source: str) -> Iterator[tuple[set[str], str]]:
    try:
        tree = ast.parse(_without_magics(source))
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        bound = {
            n.id
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound = {node.name}
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = {a.asname or a.name.partition(".")[0] for a in node.names}
        yield bound, ast.unparse(node)


def _names(source: str) -> set[str]:
    try:
        tree = ast.parse(_without_magics(source))
    except (SyntaxError, ValueError):
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
