"""What of a submission is not as it was released, for the notes of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nbformat import NotebookNode

from autograder.submissions.cells import Cell, grade_id_of, printable_part, role_of
from autograder.submissions.written import SETTINGS


def irregularities(
    master: NotebookNode, data: dict[str, Any], submitted: Sequence[Cell]
) -> Iterator[str]:
    """What is not as it was released; none of it changes what is examined."""
    ids = {grade_id_of(cell) for cell in master.cells}
    released: dict[str, list[Cell]] = {}  # by grade id, in the student's order
    for cell in submitted:
        if cell.grade_id is not None and cell.grade_id in ids:
            released.setdefault(cell.grade_id, []).append(cell)
    texts = {cell.source.strip() for cell in submitted}  # without metadata, they count
    put_back, edited, copied, settings = [], [], [], []
    for cell in master.cells:
        name, role = grade_id_of(cell), role_of(cell)
        if role not in ("setup", "exercise", "check"):
            continue
        found = released.get(name, [])
        if not found and role != "exercise" and cell.source.strip() not in texts:
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
    order = [grade_id_of(cell) for cell in master.cells]
    order = [name for name in order if name in released]
    if list(released) != order:
        yield "cells were moved; they are examined in the released order"
    claimed = {
        str(cell.grade_id)
        for cell in submitted
        if cell.grade_id not in ids and (cell.entry.get("grade") or cell.grade_id)
    }
    if claimed:
        names = ", ".join(printable_part(name, 40) for name in sorted(claimed)[:5])
        yield f"cells of your own that claim to be graded count nothing: {names}"
    metadata = data.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    kernel = kernel.get("name") if isinstance(kernel, dict) else None
    if kernel is not None and kernel != master.metadata.kernelspec.name:
        name = printable_part(kernel, 40)
        yield f"the notebook names the kernel {name}; Python 3 ran it"


def _settings_of(cell: NotebookNode) -> tuple[list[Any], Any]:
    return _settings(cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", []))


def _settings(entry: dict[str, Any], tags: Any) -> tuple[list[Any], Any]:
    """What may not be changed in the metadata of a released cell."""
    return [entry.get(key) for key in SETTINGS], tags
