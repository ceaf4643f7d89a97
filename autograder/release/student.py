"""The exercise notebooks that students get, made from the source notebooks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config

from autograder.book import capstone_names, chapter_names
from autograder.notebooks import METADATA_KEY
from autograder.release.source import source_notebook
from autograder.release.stubs import STUB


def student_notebook(source: NotebookNode) -> NotebookNode:
    """What nbgrader makes of a source notebook for students, without a course."""
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    notebook = nbformat.from_dict(source)
    for kind in (
        LockCells,
        ClearSolutions,
        ClearOutput,
        CheckCellMetadata,
        ComputeChecksums,
    ):
        notebook, _ = kind(config=config).preprocess(notebook, {})
    return notebook


def write_notebooks(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write the exercise notebook of every chapter, and the capstones, into ``folder``.

    A notebook in which somebody has worked stays as it is.

    Returns:
        The notebooks that were written, and those that were left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, kept = [], []
    for name in [*chapter_names(), *capstone_names()]:
        path = folder / f"{name}.ipynb"
        if path.exists() and not _is_as_written(path):
            kept.append(path)
            continue
        notebook = student_notebook(source_notebook(name))
        notebook.metadata[METADATA_KEY]["written"] = _digest(notebook)
        nbformat.write(notebook, path)
        written.append(path)
    return written, kept


def _is_as_written(path: Path) -> bool:
    """Whether nobody has changed or run anything in a notebook that we wrote."""
    try:
        notebook = nbformat.read(path, as_version=4)
        written = notebook.metadata[METADATA_KEY]["written"]
    except Exception:  # whatever it is, it is not ours to overwrite
        return False
    was_run = any(cell.get("outputs") for cell in notebook.cells)
    return not was_run and written == _digest(notebook)


def _digest(notebook: NotebookNode) -> str:
    text = "\0".join(cell.source for cell in notebook.cells)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
