"""From a chapter to the notebook that instructors keep.

It has the reference bodies between nbgrader's solution markers; nbgrader strips them.
Grade ids, points and all nbgrader metadata are derived from the names of the exercises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.book import (
    capstone_names,
    chapter_file,
    chapter_title,
    chapters_folder,
)
from autograder.exercise import Topic, load_topic
from autograder.notebooks import METADATA_KEY
from autograder.release.myst_to_markdown import EQUATION_LABEL, plain_markdown
from autograder.release.stubs import (
    BrokenChapter,
    checked_name,
    defined_name,
    with_solution,
)

CODE_TAGS = ("exercise", "check", "demo")


def source_notebook(name: str) -> NotebookNode:
    """The instructor's notebook of chapter ``name``, for ``source/`` of a course.

    Raises:
        BrokenChapter: the chapter does not follow the pattern.
    """
    from myst_nb.core.read import (
        MystMetadataParsingError,
        read_myst_markdown_notebook,
    )

    path = chapter_file(name)
    if not path.is_file():
        raise BrokenChapter(f"{path} is missing")
    text = path.read_text(encoding="utf-8")
    try:
        chapter = read_myst_markdown_notebook(text, path=path)
    except MystMetadataParsingError as error:
        where = str(error).partition(":")[0]
        raise BrokenChapter(f"{path.name}: {where}: its options are no YAML") from None
    topic = Topic(name, {}) if name in capstone_names() else load_topic(name)
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
            if name in topic.exercises:
                yield from text_cells(topic.exercises[name].allowed)
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
    pages = [path.stem for path in chapters_folder().glob("*.md")]
    return {
        **{name: f"Figure {n}" for n, name in enumerate(figures, start=1)},
        **{label: f"({n})" for n, label in enumerate(equations, start=1)},
        **{page: f"“{chapter_title(page)}”" for page in pages},
    }


def _figure(cell: NotebookNode) -> dict[str, str] | None:
    """Name and caption of the figure that a cell draws."""
    return cell.metadata.get("mystnb", {}).get("figure")


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


def _reference_source(topic: Topic) -> str:
    module = sys.modules[topic.reference(next(iter(topic.exercises))).__module__]
    return Path(module.__file__).read_text(encoding="utf-8")
