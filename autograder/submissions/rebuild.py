"""Build a trusted notebook from the master and the cells that a student may edit.

Locked cells, metadata, order and kernel come from the master. From the submission
come only the sources of exercise cells, by their grade id, and of the cells that the
student added. So deleting, copying, moving, retagging or unlocking a cell changes
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.origin import lines_of
from autograder.parsing import UNREADABLE
from autograder.submissions import by_name
from autograder.submissions.absent import Absent, modules_made_in
from autograder.submissions.locked import added_to
from autograder.submissions.magics import has_cell_magic, parsed
from autograder.submissions.written import SETTINGS

MAX_SOURCE = 100_000  # characters of one cell
MAX_ADDED = 500_000  # characters of all cells that a student added
FOLDED = 200  # characters of a line of text
STUDENT = "student"  # the role of a cell that the student added


@dataclass
class Rebuilt:
    """A trusted notebook and what was noticed while it was made.

    Attributes:
        notebook: the cells to run; ``cell.metadata.role`` says what each one is:
            ``setup``, ``demo``, ``exercise``, ``check``, ``student`` or ``text``, and
            ``cell.metadata.exercise`` to which exercise it belongs; where a student has
            attempted one that another cell answers, ``cell.metadata.attempt`` does.
        answers: the source a student wrote for each exercise.
        by_hand: by grade id, what was written where an answer is asked for and directly
            below it, and below a task. An instructor marks those that are no exercise.
        notes: one line for each irregularity, for the report.
        missing: exercises whose cell is not in the submission.
        too_long: exercises whose answer is longer than ``MAX_SOURCE``.
    """

    notebook: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    by_hand: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)
    added: int = 0  # characters of the cells that the student added

    @cached_property
    def lines(self) -> dict[str, set[int]]:
        """All lines of code that the student wrote, and their numbers in the cells."""
        own = (STUDENT, "exercise")
        cells = [c for c in self.notebook.cells if c.metadata.get("role") in own]
        return lines_of(cell.source for cell in cells)


@dataclass(frozen=True)
class _Cell:
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
        return by_name.defined_by(self.source)


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
            source.encode("utf-8", "replace").decode("utf-8"),  # lone surrogates
            grade_id if isinstance(grade_id, str) else None,
            cell.get("id") if isinstance(cell.get("id"), str) else None,
            entry,
            metadata.get("tags", []),
        )


class _Places:
    """Finds where each cell of a submission belongs among the cells of the master.

    Args:
        master: the notebook as it was released to students.
        by_id: the numbers of its cells with a grade id.
        answered: see ``_answered``.

    Attributes:
        written: by grade id, what stands where an answer is asked for, in the order in
            which it counts once all cells are placed.
        added: what goes on as cells of the student's own, by the number of the cell of
            the master that they follow; -1 for the beginning.
        writable: cells in which an answer may be found by its name, with that number.
        in_place: tasks of the instructor's own that were written into.
        locked: locked cells to which something was added.
        further: questions of the instructor's own that are answered in several cells.
    """

    def __init__(
        self,
        master: NotebookNode,
        by_id: Mapping[str, int],
        answered: Mapping[str, bool],
    ) -> None:
        self._master, self._by_id, self._answered = master, by_id, answered
        self._by_cell_id = {cell.get("id"): n for n, cell in enumerate(master.cells)}
        self._by_stub: dict[str, int] = {}
        self._by_source: dict[str, list[int]] = {}  # "May be used" stands often
        for number, cell in enumerate(master.cells):
            if _role(cell) == "exercise":
                self._by_stub[cell.source.strip()] = number
            elif _role(cell) != "essay":
                self._by_source.setdefault(cell.source.strip(), []).append(number)
        self._place = -1  # the cell of the master that the next one follows
        self._attempts: list[_Cell] = []
        self._above: dict[str, int] = {}  # attempts above the last check of an exercise
        self._bare: list[str] = []  # exercises whose stub has lost its metadata
        self.written: dict[str, list[str]] = {}
        self.added: dict[int, list[_Cell]] = {}
        self.writable: list[tuple[int, _Cell]] = []
        self.in_place: list[str] = []
        self.locked: list[str] = []
        self.further: list[str] = []

    def put(self, cell: _Cell) -> None:
        """Place the next cell."""
        text = cell.source.strip()
        if _is_beside(cell, self._answered):
            self._add(self._place, cell)
        elif cell.grade_id in self._by_id:
            self._put_released(cell, self._by_id[cell.grade_id])
        elif text in self._by_stub:
            self._place = self._by_stub[text]
            self._bare.append(_grade_id(self._master.cells[self._place]))
        elif text in self._by_source:
            numbers = self._by_source[text]
            self._place = next((n for n in numbers if n > self._place), numbers[0])
        elif cell.kind == "markdown" and cell.cell_id in self._by_cell_id:
            self._place = self._by_cell_id[cell.cell_id]
        elif text:
            self._add(self._place, cell)

    def _add(self, place: int, cell: _Cell) -> None:
        self.added.setdefault(place, []).append(cell)
        if cell.kind == "code":
            self.writable.append((place, cell))

    def _put_released(self, cell: _Cell, number: int) -> None:
        name, asked = cell.grade_id, self._master.cells[number]
        earlier = self.written.setdefault(name, [])
        if _goes_on(cell, earlier, asked):
            self._place = number
            self.added.setdefault(number, []).append(cell)
            self.further.append(name)
        elif _has_name(asked):
            self._put_attempt(cell, number, earlier)
        else:
            self._place = number
            earlier.append(cell.source)
            self._put_what_was_added(cell, number)

    def _put_attempt(self, cell: _Cell, number: int, earlier: list[str]) -> None:
        stub = self._master.cells[number].source
        below = cell.grade_id in self._above
        if below and not all(_is_stub(source, stub) for source in earlier):
            if not _is_stub(cell.source, stub):  # it is run, as in the notebook
                self._add(self._place, replace(cell, attempt=True))
            return
        self._place = number
        earlier.append(cell.source)
        self._attempts.append(cell)
        self._add(number, cell)

    def _put_what_was_added(self, cell: _Cell, number: int) -> None:
        released = self._master.cells[number]
        if _role(released) == "exercise":
            self.writable.append((number, cell))
        elif _answers_in_place(cell, released):
            self.added.setdefault(number, []).append(cell)
            self.in_place.append(cell.grade_id)
        elif released.cell_type == cell.kind == "code":
            text, demo = cell.source[: MAX_SOURCE + 1], _role(released) == "demo"
            texts = added_to(text, released.source, demo)
            for place, parts in zip((number - 1, number), texts, strict=True):
                for part in parts:  # each alone: one that fails stops no other
                    self._add(place, replace(cell, source=part, grade_id=None))
                    self.locked.append(cell.grade_id)
        if _role(released) == "check":
            exercise = cell.grade_id.removeprefix("check-")
            self._above[exercise] = len(self.written.get(exercise, []))

    def arrange(self) -> None:
        """Have each exercise answered by the attempt that counts, after the last cell.

        Other attempts are run as well, and so is what stands between them: what they
        define may be used.
        """
        for name in self._bare:
            stub = self._master.cells[self._by_id[name]].source
            self.written.setdefault(name, []).append(stub)
        for name, sources in self.written.items():
            if _has_name(self._master.cells[self._by_id[name]]):
                _latest_first(sources, self._above.get(name, len(sources)))
                self._run_around(name, sources)

    def _run_around(self, name: str, sources: list[str]) -> None:
        number = self._by_id[name]
        stub, own = self._master.cells[number].source, self.added.pop(number, [])
        chosen = _chosen(sources, stub)
        attempts = [n for n, c in enumerate(own) if any(c is a for a in self._attempts)]
        place = max((n for n in attempts if own[n].source == chosen), default=-1)
        left_out = {
            n
            for n in attempts
            if own[n].kind != "code"
            or own[n].source == chosen
            or _is_stub(own[n].source, stub)
            or not _can_be_read(own[n].source)
        }
        for n, cell in enumerate(own):
            if n not in left_out:
                at = number - 1 if n < place else number
                own_cell = replace(cell, attempt=True) if n in attempts else cell
                self.added.setdefault(at, []).append(own_cell)


def rebuild(master: NotebookNode, data: dict[str, Any]) -> Rebuilt:
    """Put a submission's answers into the master.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``notebooks.parse_notebook``.
    """
    by_id = {
        _grade_id(cell): n
        for n, cell in enumerate(master.cells)
        if _grade_id(cell) is not None
    }
    rebuilt = Rebuilt(nbformat.v4.new_notebook(metadata=master.metadata))
    submitted = list(_submitted_cells(data))
    cells = _pieces_together(rebuilt, by_id, master, submitted)
    answered = _answered(by_id, master, cells)
    cells = [c for c in cells if c.source.strip() or c.grade_id not in answered]
    places = _Places(master, by_id, answered)
    for cell in cells:
        places.put(cell)
    places.arrange()
    written, added = places.written, places.added
    _find_by_name(rebuilt, master, written, places.writable, added)
    _add_student_cells(rebuilt, added.pop(-1, []))
    task: str | None = None  # to which what the student adds is the answer
    for number, cell in enumerate(master.cells):
        _add_master_cell(rebuilt, cell, written)
        own = added.pop(number, [])
        _add_student_cells(rebuilt, own)
        task = _task_at(cell, task)
        asked = _grade_id(cell) if _role(cell) in ("exercise", "essay") else task
        if asked is not None:
            parts = [rebuilt.by_hand.get(asked, ""), *(c.source for c in own)]
            rebuilt.by_hand[asked] = "\n\n".join(filter(None, parts))
    _leave_out_what_is_not_here(rebuilt)
    if rebuilt.added > MAX_ADDED:
        rebuilt.notes.append(
            f"your own cells have more than {MAX_ADDED} characters, or one has more "
            f"than {MAX_SOURCE}; what is beyond was not run"
        )
    for names, what in (
        (places.in_place, "what was written into the task stands below it"),
        (places.locked, "what was added to this locked cell is run beside it"),
        (places.further, "several cells have its grade id; the later ones stand below"),
    ):
        rebuilt.notes += [f"{name}: {what}" for name in dict.fromkeys(names)]
    rebuilt.notes += _what_is_beside(cells, answered)
    rebuilt.notes += _irregularities(master, data, submitted)
    return rebuilt


def _pieces_together(
    rebuilt: Rebuilt,
    by_id: Mapping[str, int],
    master: NotebookNode,
    cells: Iterable[_Cell],
) -> list[_Cell]:
    """The cells, those that a student split as one again."""
    together: list[_Cell] = []
    for (name, _), run in groupby(cells, key=attrgetter("grade_id", "kind")):
        pieces = list(run)
        if name in by_id:
            pieces = _together(rebuilt, master.cells[by_id[name]], pieces)
        together += pieces
    return together


def _together(rebuilt: Rebuilt, stub: NotebookNode, run: list[_Cell]) -> list[_Cell]:
    """Cells that follow each other with one grade id.

    JupyterLab copies the metadata of a cell that is split, so what was written in one
    exercise cell may stand in several. They count as one if the answer is in one of
    them, be it that its name is given to something defined above; of several answers,
    the last counts. What answers a question of the instructor's own need not have a
    name. A cell magic is understood at the top of a cell only, and applies to all of
    it, so cells with one stay apart.
    """
    name = _grade_id(stub)
    changed = _changed([cell.source for cell in run], stub.source)
    if (
        _role(stub) != "exercise"
        or len(changed) < 2
        or sum(map(len, changed)) > MAX_SOURCE
        or any(map(has_cell_magic, changed))
        or any(
            name in by_name.defined_by(source) and _is_stub(source, stub.source)
            for source in changed
        )
        or any(parsed(source) is None for source in changed)
    ):
        return run
    answers = sum(name in by_name.defined_by(source) for source in changed)
    answers = answers or sum(by_name.assigns(source, name) for source in changed)
    if answers != (name in by_name.defined_by(stub.source)):
        return run
    rebuilt.notes.append(
        f"{name}: {len(run)} cells that follow each other have its grade id; they "
        "count as one"
    )
    return [replace(run[0], source="\n\n".join(changed))]


def _answered(
    by_id: Mapping[str, int], master: NotebookNode, cells: Iterable[_Cell]
) -> dict[str, bool]:
    """The exercises that are defined in a cell with their grade id.

    Returns:
        Whether code defines it, and not only a cell that was retyped as text, for each
        of them. A stub defines nothing, even with a comment in it.
    """
    stubs = {name: master.cells[number] for name, number in by_id.items()}
    found: dict[str, bool] = {}
    for cell in cells:
        name, stub, code = cell.grade_id, stubs.get(cell.grade_id), cell.kind == "code"
        if (
            stub is not None
            and _role(stub) == "exercise"
            and found.get(name, -1) < code  # else it would be read for nothing
            and name in cell.defined
            and not _is_stub(cell.source, stub.source)
        ):
            found[name] = code
    return found


def _is_beside(cell: _Cell, answered: Mapping[str, bool]) -> bool:
    """Whether a cell has a grade id only because it was split off or copied.

    Then it is like any cell that the student added. So is an attempt that was set
    aside as text, where a cell with code answers the exercise.
    """
    name = cell.grade_id
    if name not in answered:
        return False
    aside = answered[name] and cell.kind != "code"
    return aside or name not in cell.defined


def _answers_in_place(cell: _Cell, asked: NotebookNode) -> bool:
    """Whether a student wrote into the cell of a task, and not below it."""
    return _is_task(asked) and cell.source.strip() != asked.source.strip()


def _goes_on(cell: _Cell, earlier: Sequence[str], asked: NotebookNode) -> bool:
    """Whether a cell goes on with what answers a question of the instructor's own.

    An answer that has a name is in one cell; of several, one counts. A text is put
    together, see ``_fill_in``.

    Args:
        cell: of the submission.
        earlier: what the cells above it with its grade id say.
        asked: the cell of the master with this grade id.
    """
    own_question = _role(asked) == "exercise" and not _has_name(asked)
    return own_question and bool(_changed([*earlier], asked.source))


def _has_name(asked: NotebookNode) -> bool:
    """Whether a cell asks for something by its grade id, as all exercises do."""
    return _role(asked) == "exercise" and _grade_id(asked) in by_name.defined_by(
        asked.source
    )


def _is_task(cell: NotebookNode) -> bool:
    """Whether an instructor asks for cells of the student's own, to mark by hand."""
    return bool(cell.metadata.get("nbgrader", {}).get("task"))


def _task_at(cell: NotebookNode, above: str | None) -> str | None:
    """The task to which cells below a master cell belong; it ends with the next one.

    Args:
        cell: of the master.
        above: the task to which cells above it belong.
    """
    if _is_task(cell):
        return _grade_id(cell)
    entry = cell.metadata.get("nbgrader", {})
    return None if entry.get("grade") or entry.get("solution") else above


def _what_is_beside(cells: Iterable[_Cell], answered: Mapping[str, bool]) -> list[str]:
    """A note for each exercise whose grade id such cells have."""
    beside = [cell for cell in cells if _is_beside(cell, answered)]
    code = dict.fromkeys(c.grade_id for c in beside if c.kind == "code")
    text = dict.fromkeys(c.grade_id for c in beside if c.kind != "code")
    return [
        f"{name}: a cell with its grade id does not define it, and is run as one of "
        "your own"
        for name in code
    ] + [
        f"{name}: a cell with its grade id is text, and is no part of the answer"
        for name in text
    ]


def _find_by_name(
    rebuilt: Rebuilt,
    master: NotebookNode,
    written: dict[str, list[str]],
    writable: list[tuple[int, _Cell]],
    added: dict[int, list[_Cell]],
) -> None:
    """Look in other cells of the student for answers that are not in their own.

    Of several, the last above the check counts, or else the first. It is put into
    ``written``. The cell that it comes from leaves ``added``, unless it runs long
    before: others may need what it does.
    """
    asked = {
        _grade_id(cell): n
        for n, cell in enumerate(master.cells)
        if _role(cell) == "exercise"
    }
    wanted = {
        name: number
        for name, number in asked.items()
        if not any(
            text.strip() and not _is_stub(text, master.cells[number].source)
            for text in written.get(name, [])
        )
    }
    read: list[tuple[int, _Cell, by_name.Cell]] = []
    length, found = 0, []
    for place, cell in writable:
        of_cell = by_name.Cell(cell.source)
        if of_cell.defined.isdisjoint(wanted) or len(cell.source) > MAX_SOURCE:
            continue
        length += len(cell.source)
        if length > MAX_ADDED:
            rebuilt.notes.append(
                f"by name, answers were looked for in {MAX_ADDED} characters only"
            )
            break
        read.append((place, cell, of_cell))
    for name, number in wanted.items():
        ordered = sorted(read, key=lambda found: found[0] > number)  # above it, below
        above = sum(place <= number for place, _, _ in read)
        for place, cell, of_cell in _latest_first(ordered, above):
            if cell.grade_id == name:
                continue
            before = place < number - 1  # one directly above can be moved
            stub = master.cells[number].source
            answer = of_cell.answer(name, stub, asked, before)
            if answer is not None:
                written[name] = [answer]
                found.append(name)
                if not before and cell in added.get(place, []):
                    added[place].remove(cell)
                break
    if found:
        rebuilt.notes.append(f"found in another cell, by name: {', '.join(found)}")


def _leave_out_what_is_not_here(rebuilt: Rebuilt) -> None:
    """Take out imports that only the student's own machine has, and what needs them."""
    own = (STUDENT, "exercise")
    cells = [c for c in rebuilt.notebook.cells if c.metadata.get("role") in own]
    absent = Absent(made=modules_made_in([cell.source for cell in cells]))
    for cell in cells:
        cell.source = absent.left_out_of(cell.source)
        if cell.metadata.role == "exercise":
            rebuilt.answers[cell.metadata.exercise] = cell.source
    if absent.modules:
        names = ", ".join(_printable(name, 40) for name in sorted(absent.modules)[:5])
        rebuilt.notes.append(f"left out, because it is not installed here: {names}")


def _irregularities(
    master: NotebookNode, data: dict[str, Any], submitted: Sequence[_Cell]
) -> Iterator[str]:
    """What is not as it was released; none of it changes what is examined."""
    ids = {_grade_id(cell) for cell in master.cells}
    released: dict[str, list[_Cell]] = {}  # by grade id, in the student's order
    for cell in submitted:
        if cell.grade_id is not None and cell.grade_id in ids:
            released.setdefault(cell.grade_id, []).append(cell)
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
    claimed = {
        str(cell.grade_id)
        for cell in submitted
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
    return [entry.get(key) for key in SETTINGS], tags


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
        _fill_in(rebuilt, new, written.get(_grade_id(cell), []))
        rebuilt.by_hand[_grade_id(cell)] = new.source
    if role == "exercise":
        new.source = _choose(rebuilt, name, cell.source, written.get(name, []))
        rebuilt.answers[name] = rebuilt.by_hand[name] = new.source
    rebuilt.notebook.cells.append(new)


def _fill_in(rebuilt: Rebuilt, essay: NotebookNode, sources: list[str]) -> None:
    """Put in what a student wrote where an instructor's own cell asks for text.

    It may stand in several cells, if one was split or copied; a person reads them all.
    """
    essay.metadata["role"] = "text"
    pieces = list(dict.fromkeys(_changed(sources, essay.source)))
    if len(pieces) > 1:
        rebuilt.notes.append(
            f"{_grade_id(essay)}: {len(pieces)} cells have its grade id; they count as "
            "one"
        )
    if pieces:
        essay.source = _word_for_word("\n\n".join(pieces)[:MAX_SOURCE])


def _changed(sources: list[str], stub: str) -> list[str]:
    return [source for source in sources if source.strip() != stub.strip()]


def _begun(sources: list[str], stub: str) -> Iterator[str]:
    """Those that are more than a stub; if there is none, those with other words.

    There may be very many, and telling takes time, so they are read as they are needed.
    """
    changed = _changed(sources, stub)
    begun = (source for source in changed if not _is_stub(source, stub))
    first = next(begun, None)
    return iter(changed) if first is None else chain([first], begun)


def _is_stub(source: str, stub: str) -> bool:
    """Whether a source is the stub, or one in other words."""
    if source.strip() == stub.strip():
        return True
    return len(source) <= MAX_SOURCE and by_name.is_stub(source, stub)


def _latest_first(found: list[Any], count: int) -> list[Any]:
    """Put what stands above a check in the order in which it counts: the last is run.

    Args:
        found: cells that may answer an exercise; their order is changed.
        count: how many of them stand above its check; all if it is not there.
    """
    found[:count] = found[:count][::-1]
    return found


def _word_for_word(text: str) -> str:
    """Markdown that shows a text as it is: an indented block runs and loads nothing.

    Long lines are folded: rewriting links in a page takes quadratic time in the length
    of a line.
    """
    return "\n".join(
        "    " + line[start : start + FOLDED]
        for line in text.splitlines()
        for start in range(0, max(1, len(line)), FOLDED)
    )


def _choose(rebuilt: Rebuilt, name: str, stub: str, sources: list[str]) -> str:
    """The source of an exercise that counts."""
    if not sources:
        rebuilt.missing.append(name)
        rebuilt.notes.append(f"{name}: its exercise cell is not in the notebook")
        return stub
    if len(sources) > 1:
        rebuilt.notes.append(
            f"{name}: {len(sources)} cells have its grade id; the last one above its "
            "check counts that is no stub and that Python can read"
        )
    chosen = _chosen(sources, stub)
    if len(chosen) > MAX_SOURCE:
        rebuilt.too_long.append(name)
        return stub
    return chosen


def _chosen(sources: list[str], stub: str) -> str:
    """The first that is no stub, and that Python can read; the stub if there is none.

    Args:
        sources: in the order in which they count.
        stub: what was released.
    """
    begun = _begun(sources, stub)
    first = next(begun, stub)
    if len(sources) == 1 or _can_be_read(first):
        return first
    return next(filter(_can_be_read, begun), first)


def _can_be_read(source: str) -> bool:
    """Whether Python runs a cell at all: it would not define anything else."""
    if len(source) > MAX_SOURCE:
        return True
    tree = parsed(source)
    try:
        compile(tree or "(", "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except UNREADABLE:
        return False
    return True


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
        if cell.attempt:
            new.metadata["attempt"] = cell.grade_id
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
