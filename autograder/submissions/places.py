"""Where each cell of a submission belongs among the cells of the master."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nbformat import NotebookNode

from autograder.submissions.attempts import (
    MAX_SOURCE,
    answer_among,
    can_be_read,
    changed_among,
    is_stub,
    latest_first,
)
from autograder.submissions.cells import Cell, grade_id_of, has_name, is_task, role_of
from autograder.submissions.locked import added_to


class Places:
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
        below: exercises that are attempted below their checks as well.
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
            if role_of(cell) == "exercise":
                self._by_stub[cell.source.strip()] = number
            elif role_of(cell) != "essay":
                self._by_source.setdefault(cell.source.strip(), []).append(number)
        self._place = -1  # the cell of the master that the next one follows
        self._attempts: set[int] = set()  # which cells are some, by their identity
        self._above: dict[str, int] = {}  # attempts above the last check of an exercise
        self._bare: list[str] = []  # exercises whose stub has lost its metadata
        self.written: dict[str, list[str]] = {}
        self.added: dict[int, list[Cell]] = {}
        self.writable: list[tuple[int, Cell]] = []
        self.in_place: list[str] = []
        self.locked: list[str] = []
        self.further: list[str] = []
        self.below: list[str] = []

    def put(self, cell: Cell) -> None:
        """Place the next cell."""
        text = cell.source.strip()
        if is_beside(cell, self._answered):
            self._add(self._place, cell)
        elif cell.grade_id in self._by_id:
            self._put_released(cell, self._by_id[cell.grade_id])
        elif text in self._by_stub:
            self._place = self._by_stub[text]
            self._bare.append(grade_id_of(self._master.cells[self._place]))
        elif text in self._by_source:
            numbers = self._by_source[text]
            self._place = next((n for n in numbers if n > self._place), numbers[0])
        elif cell.kind == "markdown" and cell.cell_id in self._by_cell_id:
            self._place = self._by_cell_id[cell.cell_id]
        elif text:
            self._add(self._place, cell)

    def _add(self, place: int, cell: Cell) -> None:
        self.added.setdefault(place, []).append(cell)
        if cell.kind == "code":
            self.writable.append((place, cell))

    def _put_released(self, cell: Cell, number: int) -> None:
        name, asked = cell.grade_id, self._master.cells[number]
        earlier = self.written.setdefault(name, [])
        if _goes_on(cell, earlier, asked):
            self._place = number
            self.added.setdefault(number, []).append(cell)
            self.further.append(name)
        elif has_name(asked):
            self._put_attempt(cell, number, earlier)
        else:
            self._place = number
            earlier.append(cell.source)
            self._put_what_was_added(cell, number)

    def _put_attempt(self, cell: Cell, number: int, earlier: list[str]) -> None:
        stub = self._master.cells[number].source
        below = cell.grade_id in self._above
        if below and not all(is_stub(source, stub) for source in earlier):
            if not is_stub(cell.source, stub):  # it is run, as in the notebook
                self._add(self._place, replace(cell, attempt=True))
                self.below.append(cell.grade_id)
            return
        self._place = number
        earlier.append(cell.source)
        self._attempts.add(id(cell))
        self._add(number, cell)

    def _put_what_was_added(self, cell: Cell, number: int) -> None:
        released = self._master.cells[number]
        if role_of(released) == "exercise":
            self.writable.append((number, cell))
        elif _answers_in_place(cell, released):
            self.added.setdefault(number, []).append(cell)
            self.in_place.append(cell.grade_id)
        elif released.cell_type == cell.kind == "code":
            text, demo = cell.source[: MAX_SOURCE + 1], role_of(released) == "demo"
            texts = added_to(text, released.source, demo)
            for place, parts in zip((number - 1, number), texts, strict=True):
                for part in parts:  # each alone: one that fails stops no other
                    self._add(place, replace(cell, source=part, grade_id=None))
                    self.locked.append(cell.grade_id)
        if role_of(released) == "check":
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
            if has_name(self._master.cells[self._by_id[name]]):
                latest_first(sources, self._above.get(name, len(sources)))
                self._run_around(name, sources)

    def _run_around(self, name: str, sources: list[str]) -> None:
        number = self._by_id[name]
        stub, own = self._master.cells[number].source, self.added.pop(number, [])
        chosen = answer_among(sources, stub)
        attempts = [n for n, c in enumerate(own) if id(c) in self._attempts]
        place = max((n for n in attempts if own[n].source == chosen), default=-1)
        left_out = {
            n
            for n in attempts
            if own[n].kind != "code"
            or own[n].source == chosen
            or is_stub(own[n].source, stub)
            or not can_be_read(own[n].source)
        }
        for n, cell in enumerate(own):
            if n not in left_out:
                at = number - 1 if n < place else number
                own_cell = replace(cell, attempt=True) if n in attempts else cell
                self.added.setdefault(at, []).append(own_cell)


def is_beside(cell: Cell, answered: Mapping[str, bool]) -> bool:
    """Whether a cell has a grade id only because it was split off or copied.

    Then it is like any cell that the student added. So is an attempt that was set
    aside as text, where a cell with code answers the exercise.
    """
    name = cell.grade_id
    if name not in answered:
        return False
    aside = answered[name] and cell.kind != "code"
    return aside or name not in cell.defined


def _answers_in_place(cell: Cell, asked: NotebookNode) -> bool:
    """Whether a student wrote into the cell of a task, and not below it."""
    return is_task(asked) and cell.source.strip() != asked.source.strip()


def _goes_on(cell: Cell, earlier: Sequence[str], asked: NotebookNode) -> bool:
    """Whether a cell goes on with what answers a question of the instructor's own.

    An answer that has a name is in one cell; of several, one counts. A text is put
    together, see ``_fill_in``.

    Args:
        cell: of the submission.
        earlier: what the cells above it with its grade id say.
        asked: the cell of the master with this grade id.
    """
    own_question = role_of(asked) == "exercise" and not has_name(asked)
    return own_question and bool(changed_among([*earlier], asked.source))
