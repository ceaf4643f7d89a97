"""A notebook to trust, made from the master and what a student may write.

Locked cells, metadata, order and kernel come from the master. From the submission
come only the sources of exercise cells, by their grade id, and of the cells that the
student added. So deleting, copying, moving, retagging or unlocking a cell changes
nothing.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.release import METADATA_KEY

MAX_FILE_BYTES = 10 * 2**20
MAX_CELLS = 2000
MAX_SOURCE = 100_000  # characters of one cell
MAX_ADDED = 500_000  # characters of all cells that a student added
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
        too_long: exercises whose answer is longer than ``MAX_SOURCE``.
    """

    notebook: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)
    added: int = 0  # characters of the cells that the student added

    def definitions(self, exercise: str) -> dict[str, set[str]]:
        """The statements that are run before a check, by the names that they bind.

        Answers to exercises are not among them, but what stands beside them is.
        """
        found: dict[str, set[str]] = {}
        for cell, statements in zip(self.notebook.cells, self._statements, strict=True):
            if cell.metadata.role == "check" and cell.metadata.exercise == exercise:
                break
            for names, text in statements:
                for name in names:
                    found.setdefault(name, set()).add(text)
        return found

    @cached_property
    def _statements(self) -> list[list[tuple[set[str], str]]]:
        """Of each cell that the student wrote: the names that a statement binds."""
        return [
            list(_top_level(cell.source, cell.metadata.get("exercise")))
            if cell.metadata.role in (STUDENT, "exercise")
            else []
            for cell in self.notebook.cells
        ]


def read_submission(path: Path) -> dict[str, Any]:
    """The JSON data of a notebook file, checked only as far as we use it.

    Raises:
        Unusable: it is no notebook of format 4, or too large.
    """
    return parse_submission(plain_file(path, MAX_FILE_BYTES, follow=True))


def plain_file(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """The bytes of a regular file.

    Args:
        path: of the file.
        limit: how many bytes it may have.
        follow: whether it may be a link.

    Raises:
        Unusable: it is something else, such as a pipe, or too large, or unreadable.
    """
    name = _printable(path.name, 300)
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
        fd = os.open(path, flags)
    except OSError as error:
        raise Unusable(f"{name} cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{name} is not a plain file")
        if status.st_size > limit:
            raise Unusable(
                f"{name} has {status.st_size / 2**20:.0f} MB; at most "
                f"{limit / 2**20:.0f} MB are read"
            )
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(fd)


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
        given = _printable(data.get("nbformat"), 20)
        raise Unusable(f"notebook format {given}, expected 4")
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
    entry: dict[str, Any]
    tags: Any


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
        metadata = metadata if isinstance(metadata, dict) else {}
        entry = metadata.get("nbgrader")
        entry = entry if isinstance(entry, dict) else {}
        grade_id = entry.get("grade_id")
        yield _Cell(
            str(cell.get("cell_type")),
            source.encode("utf-8", "replace").decode("utf-8"),  # half characters
            grade_id if isinstance(grade_id, str) else None,
            cell.get("id") if isinstance(cell.get("id"), str) else None,
            entry,
            metadata.get("tags", []),
        )


def rebuild(master: NotebookNode, data: dict[str, Any]) -> Rebuilt:
    """Put a submission's answers into the master.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``read_submission``.
    """
    by_id = {
        _grade_id(cell): n
        for n, cell in enumerate(master.cells)
        if _grade_id(cell) is not None
    }
    by_cell_id = {cell.get("id"): n for n, cell in enumerate(master.cells)}
    by_source = {
        cell.source.strip(): n
        for n, cell in enumerate(master.cells)
        if _role(cell) not in ("exercise", "essay")
    }
    released: dict[str, list[_Cell]] = {}  # by grade id, in the student's order
    added: dict[int, list[_Cell]] = {}
    place = -1  # the master cell that an added cell followed
    for cell in _submitted_cells(data):
        if cell.grade_id in by_id:
            released.setdefault(cell.grade_id, []).append(cell)
            place = by_id[cell.grade_id]
        elif cell.source.strip() in by_source:
            place = by_source[cell.source.strip()]
        elif cell.kind == "markdown" and cell.cell_id in by_cell_id:
            place = by_cell_id[cell.cell_id]
        elif cell.source.strip():
            added.setdefault(place, []).append(cell)
    rebuilt = Rebuilt(nbformat.v4.new_notebook(metadata=master.metadata))
    written = {i: [cell.source for cell in cells] for i, cells in released.items()}
    _add_student_cells(rebuilt, added.pop(-1, []))
    for number, cell in enumerate(master.cells):
        _add_master_cell(rebuilt, cell, written)
        _add_student_cells(rebuilt, added.pop(number, []))
    if rebuilt.added > MAX_ADDED:
        rebuilt.notes.append(
            f"your own cells have more than {MAX_ADDED} characters, or one has more "
            f"than {MAX_SOURCE}; what is beyond was not run"
        )
    rebuilt.notes += _irregularities(master, data, released)
    return rebuilt


def _irregularities(
    master: NotebookNode, data: dict[str, Any], released: dict[str, list[_Cell]]
) -> Iterator[str]:
    """What is not as it was released; none of it changes what is examined."""
    put_back, edited, copied, settings = [], [], [], []
    for cell in master.cells:
        name, role = _grade_id(cell), _role(cell)
        if role not in ("setup", "exercise", "check"):
            continue
        found = released.get(name, [])
        if not found and role != "exercise":
            put_back.append(name)
        if len(found) > 1 and role != "exercise":
            copied.append(name)
        if role != "exercise" and any(
            other.source.strip() != cell.source.strip() for other in found
        ):
            edited.append(name)
        if any(
            _settings(other.entry, other.tags) != _settings_of(cell) for other in found
        ):
            settings.append(name)
    for names, what in (
        (put_back, "missing, put back as released"),
        (edited, "edited, used as released"),
        (copied, "copied, one counts"),
        (settings, "other points, tags or settings than released, which hold"),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"
    order = [_grade_id(cell) for cell in master.cells]
    order = [name for name in order if name in released]
    if list(released) != order:
        yield "cells were moved; they are examined in the released order"
    ids = {_grade_id(cell) for cell in master.cells}
    claimed = {
        str(cell.grade_id)
        for cell in _submitted_cells(data)
        if cell.grade_id not in ids and (cell.entry.get("grade") or cell.grade_id)
    }
    if claimed:
        names = ", ".join(_printable(name, 40) for name in sorted(claimed)[:5])
        yield f"cells of your own that claim to be graded count nothing: {names}"
    metadata = data.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    kernel = kernel.get("name") if isinstance(kernel, dict) else None
    if kernel is not None and kernel != master.metadata.kernelspec.name:
        yield f"the notebook names the kernel {_printable(kernel, 40)}; Python 3 ran it"


def _settings_of(cell: NotebookNode) -> tuple[list[Any], Any]:
    return _settings(cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", []))


def _settings(entry: dict[str, Any], tags: Any) -> tuple[list[Any], Any]:
    """What may not be changed in the metadata of a released cell."""
    keys = ("grade", "locked", "points", "schema_version", "solution", "task")
    return [entry.get(key) for key in keys], tags


def _printable(value: Any, length: int) -> str:
    """A short text without anything that a terminal or a page would act on."""
    return "".join(c for c in str(value)[:length] if c.isprintable())


def _add_master_cell(
    rebuilt: Rebuilt, cell: NotebookNode, written: dict[str, list[str]]
) -> None:
    new = nbformat.from_dict(cell)
    role = _role(cell)
    new.metadata = NotebookNode(new.metadata, role=role)
    if role in ("exercise", "check"):
        name = cell.metadata.nbgrader.grade_id.removeprefix("check-")
        new.metadata["exercise"] = name
    if role == "essay":
        _fill_in(new, written.get(_grade_id(cell), []))
    if role == "exercise":
        new.source = _choose(rebuilt, name, cell.source, written.get(name, []))
        rebuilt.answers[name] = new.source
    rebuilt.notebook.cells.append(new)


def _fill_in(essay: NotebookNode, sources: list[str]) -> None:
    """Put in what a student wrote where an instructor's own cell asks for text."""
    changed = [source for source in sources if source.strip() != essay.source.strip()]
    essay.metadata["role"] = "text"
    if changed:
        essay.source = _word_for_word(changed[0][:MAX_SOURCE])


def _word_for_word(text: str) -> str:
    """Markdown that shows a text as it is: an indented block runs and loads nothing."""
    return "\n".join("    " + line for line in text.splitlines())


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
    if changed and len(changed[0]) > MAX_SOURCE:
        rebuilt.too_long.append(name)
        return stub
    return changed[0] if changed else stub


def _add_student_cells(rebuilt: Rebuilt, cells: list[_Cell]) -> None:
    for cell in cells:
        if len(cell.source) > MAX_SOURCE:
            rebuilt.added += MAX_ADDED
            continue
        rebuilt.added += len(cell.source)
        if rebuilt.added > MAX_ADDED:
            continue
        if cell.kind == "code":
            new = nbformat.v4.new_code_cell(cell.source)
        else:
            new = nbformat.v4.new_markdown_cell(_word_for_word(cell.source))
        new.metadata["role"] = STUDENT if cell.kind == "code" else "text"
        rebuilt.notebook.cells.append(new)


def _grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _role(cell: NotebookNode) -> str:
    """What a cell of the master is, by nbgrader's metadata and our tags."""
    entry = cell.metadata.get("nbgrader", {})
    if cell.cell_type != "code":
        return "essay" if entry.get("solution") else "text"
    if entry.get("solution"):
        return "exercise"
    if entry.get("grade"):
        return "check"
    return "demo" if "demo" in cell.metadata.get("tags", []) else "setup"


def reachable_source(rebuilt: Rebuilt, name: str) -> str:
    """The answer to an exercise with every definition of the student that it uses.

    Definitions are followed by name through the cells that the student wrote, but not
    into what answers other exercises.
    """
    definitions = rebuilt.definitions(name)
    # Another cell may define it anew, and what all names may come from counts always.
    waiting = [rebuilt.answers.get(name, "")]
    waiting += sorted(definitions.pop(name, set()) | definitions.pop("*", set()))
    reached: dict[str, None] = {}
    while waiting:
        text = waiting.pop()
        if text not in reached:
            reached[text] = None
            for used in _names(text):
                waiting += sorted(definitions.pop(used, ()))
    return _without_magics("\n".join(reached))


_MAGIC_LINE = re.compile(r"^([ \t]*)([%!?].*|[\w.*]+\?{1,2}[ \t]*)$", re.MULTILINE)
_MAGIC_VALUE = re.compile(r"^([ \t]*[\w.,][\w., ]*=)[ \t]*([%!].*)$", re.MULTILINE)
# Lines that run code, as ``%timeit -n 9 f(x)`` does; and prompts, which IPython drops.
_RUNS = re.compile(r"%\w+(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+(.+)")
_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:)[ ]?", re.MULTILINE)


def _without_magics(source: str) -> str:
    """Python that the parser reads: of IPython's own lines, the Python in them.

    IPython's own translation is not used: it can be kept busy for hours.
    """
    source = _PROMPT.sub("", source)
    source = _MAGIC_LINE.sub(lambda m: m[1] + _python_in(m[2], "pass"), source)
    return _MAGIC_VALUE.sub(lambda m: f"{m[1]} {_python_in(m[2], 'None')}", source)


def _python_in(magic: str, otherwise: str) -> str:
    """The Python that a line of IPython runs, if there is some."""
    runs = _RUNS.fullmatch(magic)
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        if runs and ast.parse(runs[1]).body:
            return runs[1]
    return otherwise


def _top_level(source: str, answer: str | None) -> Iterator[tuple[set[str], str]]:
    """The statements of a cell and the names that they bind, without its answer."""
    for node in _parsed(source).body:
        if answer is not None and getattr(node, "name", None) == answer:
            continue
        bound = {
            n.id
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound = {node.name}
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = {a.asname or a.name.partition(".")[0] for a in node.names}
        if any(_reaches_names(n) for n in ast.walk(node)):
            bound |= {n.value for n in ast.walk(node) if _is_text(n)}
        with contextlib.suppress(RecursionError):
            yield bound - {answer}, ast.unparse(node)


def _reaches_names(node: ast.AST) -> bool:
    """Whether it can bind a name that is given as text, as ``globals()`` can."""
    if isinstance(node, ast.Name):
        return node.id in ("globals", "locals", "vars", "setattr", "exec", "eval")
    return isinstance(node, ast.Attribute) and node.attr in ("__dict__", "user_ns")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(_parsed(source)) if isinstance(node, ast.Name)}


def _parsed(source: str) -> ast.Module:
    """The syntax tree; an empty one of what Python cannot parse either."""
    try:
        return ast.parse(_without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])
