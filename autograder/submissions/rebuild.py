"""Build a trusted notebook from the master and the cells that a student may edit.

Locked cells, metadata, order and kernel come from the master. From the submission
come only the sources of exercise cells, by their grade id, and of the cells that the
student added, with what was added to locked cells. So deleting, moving, retagging or
unlocking a cell changes nothing, and of copies, the last above its check counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.demonstrations import CodeCell, taken_over
from autograder.magics import has_cell_magic, parsed
from autograder.origin import lines_of
from autograder.submissions import by_name
from autograder.submissions.absent import absent_in
from autograder.submissions.attempts import (
    MAX_SOURCE,
    answer_among,
    changed_among,
    is_stub,
)
from autograder.submissions.cells import (
    Cell,
    grade_id_of,
    has_name,
    is_task,
    printable_part,
    role_of,
    submitted_cells,
)
from autograder.submissions.irregularities import irregularities
from autograder.submissions.places import Places, is_beside

MAX_ADDED = 500_000  # characters of all cells that a student added
FOLDED = 200  # characters of a line of text
STUDENT = "student"  # the role of a cell that the student added
TAKEN_OVER = "taken over"  # of one with what answers need of a demonstration


@dataclass
class Rebuilt:
    """A trusted notebook and what was noticed while it was made.

    Attributes:
        notebook: the cells to run; ``cell.metadata.role`` says what each one is:
            ``setup``, ``demo``, ``taken over``, ``exercise``, ``check``, ``student`` or
            ``text``, and ``cell.metadata.exercise`` to which exercise it belongs; where
            a student has attempted one that another cell answers,
            ``cell.metadata.attempt`` does.
        answers: the source a student wrote for each exercise.
        by_hand: by grade id, what was written where an answer is asked for and directly
            below it, and below a task. An instructor marks those that are no exercise.
        notes: one line for each irregularity, for the report.
        missing: exercises whose cell is not in the submission.
        too_long: exercises whose answer is longer than ``MAX_SOURCE``.
        not_installed: names that were imported, and the module that is not here.
    """

    notebook: NotebookNode
    answers: dict[str, str] = field(default_factory=dict)
    by_hand: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)
    not_installed: dict[str, str] = field(default_factory=dict)
    added: int = 0  # characters of the cells that the student added

    def code(self) -> list[CodeCell]:
        """The cells, in which demonstrations are told from the others."""
        return [
            CodeCell(cell.source, cell.metadata.role in ("demo", TAKEN_OVER))
            if cell.cell_type == "code"
            else CodeCell("")
            for cell in self.notebook.cells
        ]

    @cached_property
    def lines(self) -> dict[str, set[int]]:
        """All lines of code that the student wrote, and their numbers in the cells.

        Those that were taken over are among them: the student can see them.
        """
        own = (STUDENT, TAKEN_OVER, "exercise")
        cells = [c for c in self.notebook.cells if c.metadata.get("role") in own]
        return lines_of(cell.source for cell in cells)


def rebuild(master: NotebookNode, data: dict[str, Any]) -> Rebuilt:
    """Put a submission's answers into the master.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``notebooks.parse_notebook``.
    """
    by_id = {
        grade_id_of(cell): n
        for n, cell in enumerate(master.cells)
        if grade_id_of(cell) is not None
    }
    rebuilt = Rebuilt(nbformat.v4.new_notebook(metadata=master.metadata))
    submitted = list(submitted_cells(data))
    cells = _pieces_together(rebuilt, by_id, master, submitted)
    answered = _answered(by_id, master, cells)
    cells = [c for c in cells if c.source.strip() or c.grade_id not in answered]
    places = Places(master, by_id, answered, cells)
    written, added = places.written, places.added
    _find_by_name(rebuilt, master, places)
    _add_student_cells(rebuilt, added.pop(-1, []))
    task: str | None = None  # to which what the student adds is the answer
    for number, cell in enumerate(master.cells):
        _add_master_cell(rebuilt, cell, written)
        own = added.pop(number, [])
        _add_student_cells(rebuilt, own)
        task = _task_at(cell, task)
        asked = grade_id_of(cell) if role_of(cell) in ("exercise", "essay") else task
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
    rebuilt.notes += irregularities(master, data, submitted)
    return rebuilt


def _pieces_together(
    rebuilt: Rebuilt,
    by_id: Mapping[str, int],
    master: NotebookNode,
    cells: Iterable[Cell],
) -> list[Cell]:
    """The cells, those that a student split as one again."""
    together: list[Cell] = []
    for (name, _), run in groupby(cells, key=attrgetter("grade_id", "kind")):
        pieces = list(run)
        if name in by_id:
            pieces = _together(rebuilt, master.cells[by_id[name]], pieces)
        together += pieces
    return together


def _together(rebuilt: Rebuilt, stub: NotebookNode, run: list[Cell]) -> list[Cell]:
    """Cells that follow each other with one grade id.

    JupyterLab copies the metadata of a cell that is split, so what was written in one
    exercise cell may stand in several. They count as one if the answer is in one of
    them, be it that its name is given to something defined above; of several answers,
    the last counts. What answers a question of the instructor's own need not have a
    name. A cell magic is understood at the top of a cell only, and applies to all of
    it, so cells with one stay apart.
    """
    name = grade_id_of(stub)
    changed = changed_among([cell.source for cell in run], stub.source)
    if (
        role_of(stub) != "exercise"
        or len(changed) < 2
        or sum(map(len, changed)) > MAX_SOURCE
        or any(map(has_cell_magic, changed))
        or any(
            name in by_name.defined_by(source) and is_stub(source, stub.source)
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
    by_id: Mapping[str, int], master: NotebookNode, cells: Sequence[Cell]
) -> dict[str, bool]:
    """The exercises that are defined in a cell with their grade id.

    Returns:
        Whether code defines it, and not only a cell that was retyped as text, for each
        of them. That code may be in any cell: an attempt was set aside as text, and the
        next one stands elsewhere. A stub defines nothing, even with a comment in it.
    """
    stubs = {name: master.cells[number] for name, number in by_id.items()}
    found: dict[str, bool] = {}
    for cell in cells:
        name, stub, code = cell.grade_id, stubs.get(cell.grade_id), cell.kind == "code"
        if (
            stub is not None
            and role_of(stub) == "exercise"
            and found.get(name, -1) < code  # else it would be read for nothing
            and name in cell.defined
            and not is_stub(cell.source, stub.source)
        ):
            found[name] = code
    for name in _given_by_code(stubs, cells):
        found[name] = True
    return found


def _given_by_code(
    stubs: Mapping[str, NotebookNode], cells: Sequence[Cell]
) -> Iterator[str]:
    """The exercises that only texts have the grade id of, and that other code answers.

    It does if it gives the name to something above the check, by a ``def`` or not.
    """
    as_text = {c.grade_id for c in cells if c.kind != "code" and c.grade_id in stubs}
    as_text -= {
        c.grade_id
        for c in cells
        if c.kind == "code"
        and c.grade_id in as_text
        and not is_stub(c.source, stubs[c.grade_id].source)
    }
    waiting = {name for name in as_text if has_name(stubs[name])}
    checks = {cell.grade_id: place for place, cell in enumerate(cells)}
    released = {stub.source.strip() for stub in stubs.values()}
    length = 0
    for place, cell in enumerate(cells if waiting else ()):
        of_cell = by_name.Cell(cell.source)
        if (
            cell.kind != "code"
            or cell.source.strip() in released
            or len(cell.source) > MAX_SOURCE
            or not of_cell.mentions_any(waiting)
        ):
            continue
        length += len(cell.source)
        if length > MAX_ADDED:
            break
        for name in sorted(waiting):
            is_above = place < checks.get(f"check-{name}", len(cells))
            if is_above and of_cell.binds(name):
                waiting.remove(name)
                yield name


def _task_at(cell: NotebookNode, above: str | None) -> str | None:
    """The task to which cells below a master cell belong; it ends with the next one.

    Args:
        cell: of the master.
        above: the task to which cells above it belong.
    """
    if is_task(cell):
        return grade_id_of(cell)
    entry = cell.metadata.get("nbgrader", {})
    return None if entry.get("grade") or entry.get("solution") else above


def _what_is_beside(cells: Iterable[Cell], answered: Mapping[str, bool]) -> list[str]:
    """A note for each exercise whose grade id such cells have."""
    beside = [cell for cell in cells if is_beside(cell, answered)]
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


def _find_by_name(rebuilt: Rebuilt, master: NotebookNode, places: Places) -> None:
    """Look in other cells of the student for answers that are not in their own.

    Of several, the last above the check counts, or else the first. It is put into
    ``written``. The cell that it comes from leaves ``added``, unless it runs long
    before: others may need what it does. Where the exercise has no cell at all and its
    name was last given to something in another way, as in ``softmax = _softmax`` or
    by ``from answers import *``, it gets an empty one: what is there stands.
    """
    written, added = places.written, places.added
    asked = {
        grade_id_of(cell): n
        for n, cell in enumerate(master.cells)
        if role_of(cell) == "exercise"
    }
    wanted = {
        name: number
        for name, number in asked.items()
        if not any(
            text.strip() and not is_stub(text, master.cells[number].source)
            for text in written.get(name, [])
        )
    }
    without_cell = wanted.keys() - {name for name, texts in written.items() if texts}
    read: list[tuple[int, int, Cell, by_name.Cell]] = []
    length, found = 0, []
    sources = [c.source for _, c in places.writable if len(c.source) <= MAX_SOURCE]
    modules = by_name.names_in_modules(sources if without_cell else ())
    for order, (place, cell) in enumerate(places.writable):
        of_cell = by_name.Cell(cell.source, modules)
        if len(cell.source) > MAX_SOURCE or (
            of_cell.defined.isdisjoint(wanted)
            and not of_cell.mentions_any(without_cell)
        ):
            continue
        length += len(cell.source)
        if length > MAX_ADDED:
            rebuilt.notes.append(
                f"by name, answers were looked for in {MAX_ADDED} characters only"
            )
            break
        read.append((order, place, cell, of_cell))
    for name, number in wanted.items():
        count = places.above_check.get(name)
        above, below = [], []
        for one in read:
            is_above = one[1] <= number if count is None else one[0] < count
            (above if is_above else below).append(one)
        for _, place, cell, of_cell in [*reversed(above), *below]:
            if cell.grade_id == name:
                continue
            before = place < number - 1  # one directly above can be moved
            stub = master.cells[number].source
            answer = of_cell.answer(name, stub, asked, before)
            if answer is not None:
                written[name] = [answer]
                found.append(name)
                if not before:
                    _take_out(cell, place, number, added)
                break
            if name in without_cell and place <= number and of_cell.binds(name):
                written[name] = [""]
                found.append(name)
                break
    if found:
        rebuilt.notes.append(f"found in another cell, by name: {', '.join(found)}")


def _take_out(
    cell: Cell, place: int, number: int, added: dict[int, list[Cell]]
) -> None:
    """Take a cell out of those that are added, to be the cell of an exercise.

    What stands around it there runs in the same order as before: an earlier attempt
    must not run below the answer.

    Args:
        cell: of the student.
        place: the number of the cell of the master that it follows.
        number: that of the exercise.
        added: see ``Places``.
    """
    own = added.get(place, [])
    at = next((n for n, other in enumerate(own) if other is cell), None)
    if at is None:
        return
    above, below = own[:at], own[at + 1 :]
    if place == number:
        added[number - 1] = [*added.get(number - 1, []), *above]
        added[number] = below
    elif place == number - 1:
        added[number - 1] = above
        added[number] = [*below, *added.get(number, [])]
    else:
        added[place] = above + below


def _leave_out_what_is_not_here(rebuilt: Rebuilt) -> None:
    """Take out imports that only the student's own machine has, and what needs them."""
    own = (STUDENT, "exercise")
    cells = [c for c in rebuilt.notebook.cells if c.metadata.get("role") in own]
    absent = absent_in([cell.source for cell in cells])
    for cell in cells:
        cell.source = absent.left_out_of(cell.source)
        if cell.metadata.role == "exercise":
            rebuilt.answers[cell.metadata.exercise] = cell.source
    rebuilt.not_installed = absent.imported
    if absent.modules:
        names = ", ".join(
            printable_part(name, 40) for name in sorted(absent.modules)[:5]
        )
        rebuilt.notes.append(f"left out, because it is not installed here: {names}")


def take_over_demonstrations(rebuilt: Rebuilt, exercises: Collection[str]) -> None:
    """Add cells for what answers need of the demonstrations, which are not run."""
    pieces = taken_over(rebuilt.code(), exercises)
    for number in sorted(pieces, reverse=True):
        cell = nbformat.v4.new_code_cell(pieces[number])
        cell.metadata["role"] = TAKEN_OVER
        rebuilt.notebook.cells.insert(number + 1, cell)


def _add_master_cell(
    rebuilt: Rebuilt, cell: NotebookNode, written: dict[str, list[str]]
) -> None:
    new = nbformat.from_dict(cell)
    role = role_of(cell)
    new.metadata = NotebookNode(new.metadata, role=role)
    if role in ("exercise", "check"):
        name = cell.metadata.nbgrader.grade_id.removeprefix("check-")
        new.metadata["exercise"] = name
    if role == "essay":
        _fill_in(rebuilt, new, written.get(grade_id_of(cell), []))
        rebuilt.by_hand[grade_id_of(cell)] = new.source
    if role == "exercise":
        new.source = _choose(rebuilt, name, cell.source, written.get(name, []))
        rebuilt.answers[name] = rebuilt.by_hand[name] = new.source
    rebuilt.notebook.cells.append(new)


def _fill_in(rebuilt: Rebuilt, essay: NotebookNode, sources: list[str]) -> None:
    """Put in what a student wrote where an instructor's own cell asks for text.

    It may stand in several cells, if one was split or copied; a person reads them all.
    """
    essay.metadata["role"] = "text"
    pieces = list(dict.fromkeys(changed_among(sources, essay.source)))
    if len(pieces) > 1:
        rebuilt.notes.append(
            f"{grade_id_of(essay)}: {len(pieces)} cells have its grade id; they "
            "count as one"
        )
    if pieces:
        essay.source = _word_for_word("\n\n".join(pieces)[:MAX_SOURCE])


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
            f"{name}: {len(sources)} cells are for it; the last one above its check "
            "counts that is no stub and that Python can read"
        )
    chosen = answer_among(sources, stub)
    if len(chosen) > MAX_SOURCE:
        rebuilt.too_long.append(name)
        return stub
    return chosen


def _add_student_cells(rebuilt: Rebuilt, cells: list[Cell]) -> None:
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
