"""Keep only the needed parts of a submitted notebook while its code runs.

A file of 40 MB may take a gigabyte once it is read, and is in memory until the last
cell has ended. Anything that is not needed again is dropped before the first cell runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograder.notebooks import METADATA_KEY

LONGEST = 1000  # characters of a name; those of the book are far shorter
MAX_TAGS = 100
OTHER = "?"  # stands for any value that no released notebook contains
# What nbgrader says of a cell.
SETTINGS = ("grade", "locked", "points", "schema_version", "solution", "task")


def written_in(
    data: dict[str, Any], modules: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """A notebook without outputs, and without metadata that are not looked at.

    Args:
        data: of the notebook, from ``notebooks.parse_notebook``.
        modules: files that were handed in with it; a cell above all writes each.
    """
    sources = []
    for name, text in modules:
        folder = name.rpartition("/")[0]
        if folder:
            sources.append(f"__import__('os').makedirs({folder!r}, exist_ok=True)")
        touch = f"__import__('pathlib').Path({name!r}).touch()"
        sources.append(f"%%writefile {name}\n{text}" if text.strip() else touch)
    files = [{"cell_type": "code", "source": source} for source in sources]
    cells = [*files, *data["cells"]]
    return {
        "cells": [_cell(cell) for cell in cells if isinstance(cell, dict)],
        "metadata": {
            key: {name: _plain(_part(data.get("metadata"), key).get(name))}
            for key, name in (("kernelspec", "name"), (METADATA_KEY, "chapter"))
        },
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(part, str) for part in source):
        source = "".join(source)
    metadata = _part(cell, "metadata")
    entry = _part(metadata, "nbgrader")
    kept: dict[str, Any] = {}
    if entry:
        kept["nbgrader"] = {n: _plain(entry[n]) for n in SETTINGS if n in entry}
        if isinstance(entry.get("grade_id"), str):
            kept["nbgrader"]["grade_id"] = _plain(entry["grade_id"])
    if "tags" in metadata:
        kept["tags"] = _tags(metadata["tags"])
    return {
        "cell_type": _plain(cell.get("cell_type")),
        "source": source if isinstance(source, str) else None,
        "id": _plain(cell.get("id")),
        "metadata": kept,
    }


def _part(value: Any, key: str) -> dict[str, Any]:
    """What an object holds by this key, if both are objects."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _plain(value: Any) -> Any:
    """A value that is small, as it is."""
    if isinstance(value, str):
        return value[:LONGEST]
    return value if value is None or isinstance(value, bool | int | float) else OTHER


def _tags(tags: Any) -> Any:
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        return OTHER
    return [_plain(tag) for tag in tags]
