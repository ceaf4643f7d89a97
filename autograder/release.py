"""From a chapter to the notebook that instructors keep and the one students get.

``source_notebook`` has the reference bodies between nbgrader's solution markers;
nbgrader strips them. Grade ids, points and all nbgrader metadata are derived from the
names of the exercises.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config

from autograder.exercise import Topic, load_topic, topic_names
from autograder.plain import EQUATION_LABEL, plain_markdown

STUB = "raise NotImplementedError"
CODE_TAGS = ("exercise", "check", "demo")
METADATA_KEY = "attention_from_scratch"


class BrokenChapter(ValueError):
    """A chapter does not follow the pattern; the message says where."""


def chapters_folder() -> Path:
    """The folder of the chapters in this checkout."""
    return Path(__file__).resolve().parents[1] / "chapters"


def chapter_names() -> list[str]:
    """Topics whose chapters are in the table of contents, in its order."""
    contents = (chapters_folder().parent / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^\s*- file: chapters/(\w+)\s*$", contents, re.MULTILINE)
    return [name for name in listed if name in topic_names()]


def source_notebook(name: str) -> NotebookNode:
    """The instructor's notebook of chapter ``name``, for ``source/`` of a course.

    Raises:
        BrokenChapter: the chapter does not follow the pattern.
    """
    from myst_nb.core.read import read_myst_markdown_notebook

    path = chapters_folder() / f"{name}.md"
    chapter = read_myst_markdown_notebook(path.read_text(encoding="utf-8"), path=path)
    topic = load_topic(name)
    cells = list(_cells(chapter, topic))
    for number, cell in enumerate(cells):
        cell["id"] = f"{name[:40]}-{number}"
    graded = [cell.metadata.nbgrader for cell in cells if "nbgrader" in cell.metadata]
    ids = [entry.grade_id for entry in graded if entry.solution or entry.grade]
    expected = [i for e in topic.exercises for i in (e, f"check-{e}")]
    if sorted(ids) != sorted(expected):
        wrong = sorted(set(ids) ^ set(expected)) or ids
        raise BrokenChapter(f"{path.name}: stub or check of {', '.join(wrong)}")
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.update(
        kernelspec={
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        language_info={"name": "python"},
    )
    notebook.metadata[METADATA_KEY] = {"chapter": name}
    return notebook


def _cells(chapter: NotebookNode, topic: Topic) -> Iterator[NotebookNode]:
    """The cells of the source notebook."""
    names = visible_names(chapter)

    def text_cells(source: str) -> Iterator[NotebookNode]:
        text = plain_markdown(source, chapters_folder() / "references.bib", names)
        if text:
            yield nbformat.v4.new_markdown_cell(text)

    counts: dict[str, int] = {}
    for cell in chapter.cells:
        tags = cell.metadata.get("tags", [])
        if "book-only" in tags:
            continue
        if cell.cell_type == "markdown":
            yield from text_cells(cell.source)
            continue
        kind = next((tag for tag in CODE_TAGS if tag in tags), "setup")
        new = nbformat.v4.new_code_cell(cell.source)
        if kind == "exercise":
            name = defined_name(cell.source)
            new.source = with_solution(cell.source, _reference_source(topic), name)
            new.metadata["nbgrader"] = _nbgrader(name, solution=True)
            new.metadata[METADATA_KEY] = {"stub": cell.source}
        elif kind == "check":
            name = checked_name(cell.source)
            points = topic.exercises[name].points if name in topic.exercises else 0
            new.metadata["nbgrader"] = _nbgrader(f"check-{name}", points=points)
        else:
            counts[kind] = counts.get(kind, 0) + 1
            new.metadata["nbgrader"] = _nbgrader(f"{kind}-{counts[kind]}")
            if "hide-input" in tags:
                new.metadata["jupyter"] = {"source_hidden": True}
        new.metadata["tags"] = [kind]
        yield new
        if figure := _figure(cell):
            number = names[figure["name"]]
            yield from text_cells(f"**{number}.** {figure['caption']}")


def visible_names(chapter: NotebookNode) -> dict[str, str]:
    """What a reader of the notebook sees for each label: figures, equations, chapters.

    Figures and equations are counted within the notebook.
    """
    figures = [figure["name"] for cell in chapter.cells if (figure := _figure(cell))]
    equations = [
        match["label"]
        for cell in chapter.cells
        if cell.cell_type == "markdown"
        for match in EQUATION_LABEL.finditer(cell.source)
    ]
    return {
        **{name: f"Figure {n}" for n, name in enumerate(figures, start=1)},
        **{label: f"({n})" for n, label in enumerate(equations, start=1)},
        **_titles(),
    }


def _figure(cell: NotebookNode) -> dict[str, str] | None:
    """Name and caption of the figure that a cell draws."""
    return cell.metadata.get("mystnb", {}).get("figure")


@cache
def _titles() -> dict[str, str]:
    """The title of every page, in quotation marks, by the name of its file."""
    titles = {}
    for path in sorted(chapters_folder().glob("*.md")):
        title = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if title:
            titles[path.stem] = f"“{title[1].strip()}”"
    return titles


def _nbgrader(grade_id: str, solution: bool = False, points: int | None = None) -> dict:
    entry = {
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return entry if points is None else {**entry, "points": points}


def defined_name(source: str) -> str:
    """The name of the one function or class that a stub defines."""
    body = ast.parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.ClassDef):
        raise BrokenChapter(f"a stub defines one function or class, not:\n{source}")
    return body[0].name


def checked_name(source: str) -> str:
    """The name in ``check(name)``."""
    tree = ast.parse(source, mode="exec").body
    match tree:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], []))]:
            return name
    raise BrokenChapter(f"a check cell is `check(name)`, not:\n{source}")


def _reference_source(topic: Topic) -> str:
    module = sys.modules[topic.reference(next(iter(topic.exercises))).__module__]
    return Path(module.__file__).read_text(encoding="utf-8")


def with_solution(stub: str, reference: str, name: str) -> str:
    """The stub, its bodies replaced by the reference's between solution markers.

    Args:
        stub: source of a function or class whose bodies are a docstring and
            ``raise NotImplementedError``.
        reference: source of the module that defines the reference.
        name: what to look for in it.

    Raises:
        BrokenChapter: the two have different functions.
    """
    lines = stub.rstrip().splitlines()
    bodies = dict(_bodies(ast.parse(reference), name))
    stubs = dict(_bodies(ast.parse(stub), name))
    if set(bodies) != set(stubs):
        wrong = ", ".join(sorted(set(bodies) ^ set(stubs)))
        raise BrokenChapter(f"stub and reference of {name} differ in: {wrong}")
    reference_lines = reference.splitlines()
    for function, body in reversed(stubs.items()):
        start, end = body
        if [line.strip() for line in lines[start:end]] != [STUB]:
            raise BrokenChapter(f"the body of the stub {function} is not `{STUB}`")
        indent = lines[start][: -len(lines[start].lstrip())]
        first, last = bodies[function]
        lines[start:end] = [
            f"{indent}### BEGIN SOLUTION",
            *_trimmed(reference_lines[first:last]),
            f"{indent}### END SOLUTION",
        ]
    return "\n".join(lines)


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines


def _bodies(module: ast.Module, name: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Lines of the body, after its docstring, of a function or each method."""
    for node in module.body:
        if getattr(node, "name", None) != name:
            continue
        functions = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in functions:
            if isinstance(function, ast.FunctionDef):
                first = function.body[0]
                has_docstring = ast.get_docstring(function) is not None
                start = first.end_lineno if has_docstring else first.lineno - 1
                yield function.name, (start, function.end_lineno)


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


def tests_in(notebook: NotebookNode) -> dict[str, float]:
    """The cells that nbgrader takes for tests: points by grade id."""
    entries = [
        cell.metadata.get("nbgrader", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    return {
        entry["grade_id"]: entry["points"]
        for entry in entries
        if entry.get("grade") and not entry.get("solution")
    }


def points_in(notebook: NotebookNode) -> dict[str, float]:
    """The points of the exercises in a notebook, by name."""
    tests = tests_in(notebook).items()
    return {grade_id.removeprefix("check-"): points for grade_id, points in tests}


def write_notebooks(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write the exercise notebook of every chapter into ``folder``.

    A notebook in which somebody has worked stays as it is.

    Returns:
        The notebooks that were written, and those that were left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, kept = [], []
    for name in chapter_names():
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


if __name__ == "__main__":
    written, kept = write_notebooks(Path(sys.argv[1]))
    for path in written:
        print(path)
    for path in kept:
        print(f"{path} was left as you have it (rename it to get a new one)")
