"""A notebook as it was handed in, completed with what nbgrader has to find in it.

As nbgrader's ``OverwriteCells`` does it from the gradebook: released cells that are
locked have their text again, all of them have their metadata, and one that is missing
is put back. What else a student wrote stands where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nbformat import NotebookNode

from autograder.submissions.cells import Cell, HandedIn, grade_id_of, same


class Shown(NamedTuple):
    """A cell of a completed notebook.

    Attributes:
        cell: itself.
        released: the cell of the master that it is, if it is one.
        outputs: of code that was run.
    """

    cell: Cell
    released: NotebookNode | None
    outputs: Sequence[NotebookNode] = ()


def completed(
    handed_in: HandedIn, outputs: Sequence[Sequence[NotebookNode]]
) -> list[Shown]:
    """The cells of a student with those of the master that are missing.

    Args:
        handed_in: the notebook of the student.
        outputs: what its cells have shown.
    """
    master, cells = handed_in.master, handed_in.cells
    graded = [cell for cell in master.cells if grade_id_of(cell) is not None]
    found = _places(graded, handed_in)
    missing: dict[int, list[Shown]] = {}  # by the place of the cell that they follow
    above = -1
    for asked in graded:
        place = found.get(grade_id_of(asked))
        if place is None:
            shown = Shown(Cell(asked.cell_type == "code", asked.source), asked)
            missing.setdefault(above, []).append(shown)
        else:
            above = place
    named = {grade_id_of(cell): cell for cell in graded}
    released = {place: named[name] for name, place in found.items()}
    shown = missing.pop(-1, [])
    for place, cell in enumerate(cells):
        run = outputs[place] if cell.is_code else ()
        shown.append(Shown(cell, released.get(place), run))
        shown += missing.pop(place, [])
    return shown


def _places(graded: Sequence[NotebookNode], handed_in: HandedIn) -> dict[str, int]:
    """Where the released cells with a name are among those of a student.

    Of cells in which an answer is asked for, it is the one that gives it, or the first
    with its grade id; of others, the first with the released text.
    """
    cells = handed_in.cells
    by_text: dict[tuple[bool, str], list[int]] = {}
    by_id: dict[str | None, list[int]] = {}
    for place, cell in enumerate(cells):
        by_text.setdefault((cell.is_code, same(cell.source)), []).append(place)
        by_id.setdefault(cell.grade_id, []).append(place)
    found: dict[str, int] = {}
    taken: set[int] = set()
    for asked in graded:
        name, is_code = grade_id_of(asked), asked.cell_type == "code"
        entry = asked.metadata.nbgrader
        is_asked = entry.get("solution") or entry.get("task")
        places = by_text.get((is_code, same(asked.source)), [])
        if is_asked:
            named = [n for n in by_id.get(name, ()) if cells[n].is_code == is_code]
            answers = [n for n in [handed_in.place_of(name)] if n is not None]
            places = [*answers, *named, *places]
        place = next((n for n in places if n not in taken), None)
        if place is not None:
            taken.add(place)
            found[name] = place
    return found
