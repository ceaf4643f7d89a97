"""Keep only the needed parts of a submitted notebook while its code runs.

A file of 40 MB may take a gigabyte once it is read, and is in memory until the last
cell has ended. Outputs and most metadata are dropped before the first cell runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograder.notebooks import METADATA_KEY
from autograder.submissions.cells import joined, part_of

LONGEST = 1000  # characters of a name; those of the book are far shorter
MAX_PICTURES = 3_000_000  # characters of all pictures in texts; others are told


def written_in(
    data: dict[str, Any], modules: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """A notebook without outputs, and without metadata that are not looked at.

    Args:
        data: of the notebook, from ``notebooks.parse_notebook``.
        modules: files that were handed in with it.

    Returns:
        The notebook; its ``files`` are the code that writes these.
    """
    files = []
    for name, text in modules:
        path = f"__import__('pathlib').Path({name!r})"
        files.append(f"{path}.parent.mkdir(parents=True, exist_ok=True)")
        files.append(f"{path}.write_text({text!r}, encoding='utf-8')")
    room, cells = MAX_PICTURES, []
    for cell in data["cells"]:
        if isinstance(cell, dict):
            cells.append(_cell(cell, room))
            bundles = cells[-1]["attachments"].values()
            room -= sum(len(text) for bundle in bundles for text in bundle.values())
    chapter = part_of(data.get("metadata"), METADATA_KEY).get("chapter")
    named = {"chapter": chapter} if isinstance(chapter, str) else {}
    return {
        "files": ["\n".join(files)] if files else [],
        "cells": cells,
        "metadata": {METADATA_KEY: named},
    }


def _cell(cell: dict[str, Any], room: int) -> dict[str, Any]:
    grade_id = part_of(cell.get("metadata"), "nbgrader").get("grade_id")
    named = isinstance(grade_id, str)
    pictures: dict[str, dict[str, str]] = {}
    for name, bundle in part_of(cell, "attachments").items():
        for kind, data in bundle.items() if isinstance(bundle, dict) else ():
            text = joined(data) or ""
            room -= len(text)
            kept = text if room >= 0 else ""
            pictures.setdefault(name[:LONGEST], {})[kind[:LONGEST]] = kept
    return {
        "cell_type": cell["cell_type"] if cell.get("cell_type") == "code" else "text",
        "source": joined(cell.get("source")),
        "metadata": {"nbgrader": {"grade_id": grade_id[:LONGEST]} if named else {}},
        "attachments": pictures,
    }
