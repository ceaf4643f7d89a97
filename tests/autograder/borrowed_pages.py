"""Try everything that pages and released notebooks define as the answer to everything.

    python -m tests.autograder.borrowed_pages [FILE ...]

Prints a line of JSON, [name, exercise, points], for each that earns points: of all
pages, and of the files named. But a page may compute with what an earlier chapter asks
for, since no notebook needs the answers to another one. A page is not executed, which
would take minutes; its imports, definitions and constants are. Stubs stay stubs, as in
a released notebook.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import nbformat
import torch
from myst_nb.core.read import read_myst_markdown_notebook

from autograder.book import chapter_names, chapters_folder
from autograder.exercise import find_topic
from tests.autograder.borrowed import Candidate, callables, earners

ANSWERS = "book-only"  # the tag of cells that import the references; on no page


def code_of(path: Path) -> list[str]:
    """The code cells that readers of a page, or of its notebook, see."""
    text = path.read_text(encoding="utf-8")
    if "{code-cell}" not in text:
        return []
    notebook: nbformat.NotebookNode = read_myst_markdown_notebook(text, path=path)
    return [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and ANSWERS not in cell.metadata.get("tags", [])
    ]


def definitions(source: str) -> Iterator[ast.stmt]:
    """The statements of a cell that define a name, and need no computed data."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    for node in ast.parse(source).body:
        if isinstance(node, kinds) or _is_constant(node):
            yield node


def _is_constant(node: ast.stmt) -> bool:
    """Whether a lambda or a literal gets a name."""
    if not isinstance(node, ast.Assign):
        return False
    if not isinstance(node.value, ast.Lambda):
        try:
            ast.literal_eval(node.value)
        except (ValueError, TypeError):
            return False
    return True


def module_of(path: Path) -> types.ModuleType:
    """What a page defines, as a module of its own."""
    module = types.ModuleType(path.stem)
    for source in code_of(path):
        for node in definitions(source):
            tree = ast.Module([node], type_ignores=[])
            with contextlib.suppress(Exception):  # it may need what was computed
                exec(compile(tree, path.name, "exec"), vars(module))
    return module


def main(others: list[str]) -> None:
    """Try all pages and those in other files.

    What a page imports is left out: the toolkit is tried with the wheel.
    """
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    candidates = {}
    for path in [*sorted(chapters_folder().glob("*.md")), *map(Path, others)]:
        for name, value in callables(module_of(path)).items():
            if getattr(value, "__module__", None) in (path.stem, None):
                candidates[f"{path.stem}.{name}"] = Candidate(value)
    order = chapter_names()
    for name, exercise, points in earners(candidates):
        page, asked_in = name.partition(".")[0], find_topic(exercise).name
        if asked_in not in order[: order.index(page) if page in order else 0]:
            print(json.dumps([name, exercise, points]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
