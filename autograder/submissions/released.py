"""Which cells of a submission are the released ones, and which are copies of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from nbformat import NotebookNode

from autograder.submissions.cells import Cell, grade_id_of, is_task, role_of


def is_locked(asked: NotebookNode) -> bool:
    """Whether students are not asked to write into a cell of the master."""
    return role_of(asked) not in ("exercise", "essay") and not is_task(asked)


def released_among(
    master: NotebookNode, by_id: Mapping[str, int], cells: Sequence[Cell]
) -> tuple[dict[int, int], set[int]]:
    """Find the released cells in a submission: locked ones, and stubs without metadata.

    A grade id goes before the id of a cell, and that before the text. Students copy
    checks to work attempt by attempt, so of several, the last is the released one. Of
    other cells it is the first that stands between those that have no copies.

    Args:
        master: the notebook as it was released to students.
        by_id: the numbers of its cells with a grade id.
        cells: of the submission.

    Returns:
        By the place of a cell in the submission, its number in the master; and the
        numbers of those with copies.
    """
    found = _candidates(master, by_id, cells)
    shared: dict[tuple[int, ...], list[int]] = {}
    for number in sorted(found):
        shared.setdefault(tuple(found[number]), []).append(number)
    alone = {
        numbers[0]: places[0]
        for places, numbers in shared.items()
        if len(places) == len(numbers) == 1
    }
    ends, following = {}, len(cells)
    for number in reversed(range(len(master.cells))):
        ends[number] = following
        following = alone.get(number, following)
    released: dict[int, int] = {}
    start = -1
    after = dict.fromkeys(shared, 0)  # which of them may be taken next
    for number in range(len(master.cells)):
        start = alone.get(number, start)
        places = tuple(found.get(number, ()))
        if not places:
            continue
        if role_of(master.cells[number]) == "check":
            released[places[-1]] = number
            continue
        if number in alone:
            released[start] = number
            continue
        which = max(after[places], bisect_right(places, start))
        if which < len(places) and places[which] < ends[number]:
            after[places] = which + 1
            released[places[which]] = number
        elif len(shared[places]) == 1:  # it was moved
            released[places[0]] = number
    copied = {
        number
        for places, numbers in shared.items()
        for number in numbers
        if len(places) > len(numbers)
    }
    return released, copied


def _candidates(
    master: NotebookNode, by_id: Mapping[str, int], cells: Sequence[Cell]
) -> dict[int, list[int]]:
    """By the number of a cell in the master, the places of what may be that cell."""
    by_grade_id: dict[str, list[int]] = {}
    by_cell_id: dict[str, list[int]] = {}
    by_text: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        if cell.grade_id in by_id:
            by_grade_id.setdefault(cell.grade_id, []).append(place)
            continue
        by_text.setdefault(cell.source.strip(), []).append(place)
        if cell.kind == "markdown" and cell.cell_id is not None:
            by_cell_id.setdefault(cell.cell_id, []).append(place)
    found: dict[int, list[int]] = {}
    for number, asked in enumerate(master.cells):
        role, name = role_of(asked), grade_id_of(asked)
        if role == "exercise":
            if name not in by_grade_id:
                found[number] = by_text.get(asked.source.strip(), [])
        elif is_locked(asked):
            found[number] = (
                by_grade_id.get(name, [])
                or (role == "text" and by_cell_id.get(asked.get("id"), []))
                or by_text.get(asked.source.strip(), [])
            )
    return {number: places for number, places in found.items() if places}
