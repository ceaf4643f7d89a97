"""Files of Python that somebody handed in beside a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autograder.lms.names import Notebook, readings
from autograder.submissions.modules import (
    MAX_MODULES,
    MODULE,
    MOST_MODULES,
    is_module,
)


def modules_beside(notebook: Notebook) -> dict[str, bytes]:
    """The content of these files, by the name that the notebook imports them by.

    Canvas puts the files of everybody into one folder, with the person in each name.
    Elsewhere a folder is one person's.
    """
    found: dict[str, bytes] = {}
    room = MAX_MODULES
    for name, path in sorted(_named(notebook)):
        size = path.stat().st_size
        if is_module(name) and size <= room and len(found) < MOST_MODULES:
            found[name] = path.read_bytes()
            room -= size
    return found


def _named(notebook: Notebook) -> Iterator[tuple[str, Path]]:
    folder = notebook.path.parent
    if notebook.place != notebook.path.name:
        for path in (*folder.glob(f"*{MODULE}"), *folder.glob(f"*/*{MODULE}")):
            yield "/".join(path.relative_to(folder).parts), path
        return
    for path in folder.glob(f"*{MODULE}"):
        for shape in readings(path.name, [notebook.shape.system]):
            if shape.person == notebook.shape.person:
                yield shape.file, path
