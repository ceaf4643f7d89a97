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
from autograder.submissions.released import is_locked, released_among


class Places:
    """Finds where each cell of a submission belongs among the cells of the master.

    Args:
        master: the notebook as it was released to students.
        by_id: the numbers of its cells with a grade id.
        answered: see ``_answered``.
        cells: of the submission.

    Attributes:
        written: by grade id, what stands where an answer is asked for, in the order in
            which it counts once all cells are placed.
        added: what goes on as cells of the student's own, by the number of the cell of
            the master that they follow; -1 for the beginning.
        writable: cells in which an answer may be found by its name, with that number.
        in_place: tasks of the instructor's own that were written into.
        locked: locked cells to which something was added.
        further: questions of the instructor's own that are answered in several cells.
        above_check: by exercise, how many of ``writable`` stand above its check.
    """

    def __init__(
        self,
        master: NotebookNode,
        by_id: Mapping[str, int],
        answered: Mapping[str, bool],
        cells: Sequence[Cell],
    ) -> None:
        self._master, self._by_id, self._answered = master, by_id, answered
        self._released, self._copied = released_among(master, by_id, cells)
        self._role_of_text: dict[str, str] = {}
        for asked in master.cells:
            if role_of(asked) == "exercise" or is_locked(asked):
                self._role_of_text.setdefault(asked.source.strip(), role_of(asked))
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
        self.above_check: dict[str, int] = {}
        for place, cell in enumerate(cells):
            self._put(place, cell)
        self._arrange()

    def _put(self, place: int, cell: Cell) -> None:
        """Place the next cell; ``place`` is its number in the submission."""
        text, number = cell.source.strip(), self._released.get(place)
        if is_beside(cell, self._answered):
            self._add(self._place, cell)
        elif number is not None:
            self._put_locked(cell, number)
        elif cell.grade_id in self._by_id:
            number = self._by_id[cell.grade_id]
            if is_locked(self._master.cells[number]):
                self._put_copy(cell, number)
            else:
                self._put_released(cell, number)
        elif text and self._role_of_text.get(text, "setup") == "setup":
            self._add(self._place, cell)

    def _add(self, place: int, cell: Cell) -> None:
        self.added.setdefault(place, []).append(cell)
        if cell.kind == "code":
            self.writable.append((place, cell))

    def _put_locked(self, cell: Cell, number: int) -> None:
        asked = self._master.cells[number]
        # A check that is repeated far below must not take along what follows it there.
        if number > self._place or number not in self._copied:
            self._place = number
        if role_of(asked) == "exercise":
            self._bare.append(grade_id_of(asked))
            return
        above, below = self._added_to(cell, asked)
        self._run_beside(number - 1, above)
        if role_of(asked) == "check":
            exercise = grade_id_of(asked).removeprefix("check-")
            self._above[exercise] = len(self.written.get(exercise, []))
            self.above_check[exercise] = len(self.writable)
        self._run_beside(number, below)

    def _put_copy(self, cell: Cell, number: int) -> None:
        """Place a copy of a locked cell, with its grade id.

        A setup that is pasted again may be needed, after ``%reset`` for instance. Any
        other copy does nothing that the released cell does not.
        """
        asked = self._master.cells[number]
        if cell.source.strip() != asked.source.strip():
            for parts in self._added_to(cell, asked):
                self._run_beside(self._place, parts)
        elif role_of(asked) == "setup":
            self._add(self._place, replace(cell, grade_id=None))

    def _added_to(self, cell: Cell, asked: NotebookNode) -> Sequence[Sequence[Cell]]:
        """What was added to a locked cell, above and below what it was released with.

        Each statement is a cell of its own: one that fails stops no other.
        """
        if not asked.cell_type == cell.kind == "code":
            return [], []
        text = cell.source[: MAX_SOURCE + 1]
        found = added_to(text, asked.source, role_of(asked) == "demo")
        self.locked += [grade_id_of(asked)] * any(found)
        return [
            [replace(cell, source=part, grade_id=None) for part in parts]
            for parts in found
        ]

    def _run_beside(self, place: int, parts: Sequence[Cell]) -> None:
        for part in parts:
            self._add(place, part)

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
            if role_of(asked) == "exercise":
                self.writable.append((number, cell))
            elif _answers_in_place(cell, asked):
                self.added.setdefault(number, []).append(cell)
                self.in_place.append(name)

    def _put_attempt(self, cell: Cell, number: int, earlier: list[str]) -> None:
        stub = self._master.cells[number].source
        below = cell.grade_id in self._above
        if below and not all(is_stub(source, stub) for source in earlier):
            if not is_stub(cell.source, stub):  # it is run, as in the notebook
                self._add(self._place, replace(cell, attempt=True))
            return
        self._place = number
        earlier.append(cell.source)
        self._attempts.add(id(cell))
        self._add(number, cell)

    def _arrange(self) -> None:
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
