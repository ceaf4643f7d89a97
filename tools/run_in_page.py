"""Sphinx extension: exercises that are solved, run and checked on the page itself.

A region is put around the stub of each exercise that needs NumPy alone, with its check,
and around each demonstration that a page can run;
``chapters/_static/in_page`` gives it an editor and buttons. Python comes from the
book itself and is loaded when a reader first runs something: Pyodide, NumPy, and the
modules of ours that ``autograder.in_page`` needs. Scripts carry them, because browsers
let no page read the files beside it. Where Pyodide is not at hand, the book is built
without all this.
"""

from __future__ import annotations

import ast
import html
import json
import os
import sys
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from autograder.book import chapter_names
from autograder.model_trial import PLACES
from autograder.page_cells import names_made
from autograder.parsing import without_docstrings
from autograder.release.stubs import defined_name
from tools.exercise_card import additions, task_above
from tools.exercise_notebooks import FOLDER as NOTEBOOKS
from tools.exercise_notebooks import chapter_of
from tools.packed_runtime import (
    released_files,
    runtime_files,
    version_of,
    write_pieces,
)
from tools.page_course import names_needed, page_has, solved_in_page, topics
from tools.pyodide import PyodideMissing

FOLDER = "in_page"  # in the static files
SCRIPTS = (
    *("runtime", "worker", "python", "work", "notebook"),
    *("editor", "cell", "demo", "exercise", "page"),
)
PYTHON_ALONE = ("chapters", "runtime", "worker", "python", "work")  # no cell runs
MARK = 'class="in-page"'
CAPSTONE = 'data-playground="yours"'

# What the playground calls the model in which some right answers run.
MODEL = "dates"
ELSEWHERE = """\
<p class="exercise-elsewhere noprint">This exercise needs PyTorch, which no page can
run: solve it in the <a href="{}" download>notebook of this chapter</a>.</p>
"""
# Below the title of a chapter, from the beginning: a script only changes its number.
BAR = """\
<p class="in-page-bar noprint pst-js-only"><span class="in-page-progress">0 of {}
exercises solved</span></p>
"""


class Region(nodes.General, nodes.Element):
    """What surrounds cells that run: ``marks`` are the attributes that name them."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after those that write notebooks and hide solutions."""
    app.setup_extension("tools.exercise_notebooks")
    app.setup_extension("tools.kept_work")
    app.setup_extension("tools.exercise_card")
    app.add_node(Region, html=(_open_region, _close_region), latex=(_nothing, _nothing))
    app.add_config_value("in_page_runs", False, "env", bool)
    app.connect("config-inited", find_runtime)
    app.connect("builder-inited", write_runtime)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", mark_cells)
    app.connect("html-page-context", load_on_pages_with_exercises)
    app.connect("write-started", write_chapters)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the exercises and the demonstrations of a chapter that a page can run.

    Where torch is needed, a line below each check says where to go.
    """
    chapter = chapter_of(app.env.docname)
    if chapter is None:
        return
    for cell in doctree.findall(_tagged("check")):
        for output in list(cell.findall(_is_output)):  # of a reference, not a reader
            output.parent.remove(output)
    here = solved_in_page(chapter)
    for cell in list(doctree.findall(_tagged("exercise"))):
        if defined_name(_code(cell)) not in here:
            up = "../" * app.env.docname.count("/")
            line = ELSEWHERE.format(f"{up}{NOTEBOOKS}/{chapter}.ipynb")
            place = cell.parent.index(cell) + 2  # below the check
            cell.parent.insert(place, nodes.raw("", line, format="html"))
    if here:
        marked = exercises(app.env)[chapter] = mark_exercises(doctree, here)
        title = next(doctree.findall(nodes.title))
        if app.config.in_page_runs and marked:
            bar = nodes.raw("", BAR.format(len(marked)), format="html")
            title.parent.insert(title.parent.index(title) + 1, bar)
        mark_demonstrations(doctree)


def exercises(env: BuildEnvironment) -> dict[str, dict[str, str]]:
    """Versions of stubs by chapter and exercise; kept between builds."""
    if not hasattr(env, "in_page_exercises"):
        env.in_page_exercises = {}
    return env.in_page_exercises


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """A page is read again, or is gone."""
    exercises(env).pop(chapter_of(docname), None)


def mark_exercises(doctree: nodes.document, here: Set[str]) -> dict[str, str]:
    """Put a region around each task that a page can solve, its stub and its check.

    Args:
        doctree: the page.
        here: the names of these exercises.

    Returns:
        The versions of the stubs, by exercise.
    """
    versions = {}
    for cell in list(doctree.findall(_tagged("exercise"))):
        stub = _code(cell)
        if defined_name(stub) not in here:
            continue
        place = cell.parent.index(cell)
        below = [c for c in cell.parent[place + 1 : place + 2] if _tagged("check")(c)]
        name = defined_name(stub)
        marks = {"exercise": name, "version": version_of(stub.encode())}
        marks["stub"] = without_docstrings(stub)
        if name in PLACES:
            marks["model"] = MODEL
        region = _surround([*task_above(cell), cell, *below], marks)
        region += additions(name, stub)
        versions[name] = marks["version"]
    return versions


def mark_demonstrations(doctree: nodes.document) -> None:
    """Put a region around each demonstration that finds all that it needs in a page.

    What a cell makes that cannot run there is missing below it.
    """
    missing = {
        name
        for cell in doctree.findall(_is_setup)
        for statement in ast.parse(_code(cell)).body
        if not page_has(ast.unparse(statement))
        for name in names_made(ast.unparse(statement))
    }
    for number, cell in enumerate(list(doctree.findall(_tagged("demo"))), start=1):
        code = _code(cell)
        if page_has(code) and not names_needed(code) & missing:
            missing -= names_made(code)
            _surround([cell], {"cell": number})
        else:
            missing |= names_made(code)


def _tagged(tag: str) -> Callable[[nodes.Node], bool]:
    def is_one(node: nodes.Node) -> bool:
        return isinstance(node, nodes.container) and f"tag_{tag}" in node["classes"]

    return is_one


def _is_setup(node: nodes.Node) -> bool:
    """Whether this is a cell that runs everywhere, for what is below it."""
    if not isinstance(node, nodes.container) or "cell" not in node["classes"]:
        return False
    tags = [c for c in node["classes"] if c.startswith("tag_")]
    return all(tag.startswith(("tag_hide-", "tag_scroll")) for tag in tags)


def _is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == (
        "cell_code_output"
    )


def _code(cell: nodes.container) -> str:
    return next(cell.findall(nodes.literal_block)).astext()


def _surround(cells: list[nodes.Node], marks: dict[str, Any]) -> Region:
    """Put a region around some cells that follow each other."""
    around = cells[0].parent
    place = around.index(cells[0])
    region = Region(marks=marks)
    around[place : place + len(cells)] = [region]
    region += cells
    return region


def find_runtime(app: Sphinx, config: Config) -> None:
    """See whether all that a page loads is at hand.

    Raises:
        ExtensionError: it is not, on a machine that checks the book.
    """
    try:
        released_files()
    except PyodideMissing as missing:
        if os.environ.get("CI"):
            raise ExtensionError(f"no exercise runs in the pages: {missing}") from None
        line = f"No exercise runs in the pages: {missing}. CONTRIBUTING.md says more."
        print(line, file=sys.stderr)
        config.in_page_runs = False
    else:
        config.in_page_runs = True


def write_runtime(app: Sphinx) -> None:
    """Write what the pages load on the first run."""
    if app.builder.format == "html" and app.config.in_page_runs:
        files = runtime_files(solutions=not app.config.hide_solutions)
        write_pieces(files, Path(app.outdir) / "_static" / FOLDER)


def write_chapters(app: Sphinx, builder: Builder) -> None:
    """Write which exercises the chapters have, for links that lead to them."""
    if builder.format == "html" and app.config.in_page_runs:
        known = exercises(app.env)
        in_order = [name for name in chapter_names() if name in known]
        others = sorted(known.keys() - set(in_order))
        listed = json.dumps({name: known[name] for name in in_order + others})
        text = f"(globalThis.InPage ??= {{}}).chapters = {listed};\n"
        folder = Path(app.outdir) / "_static" / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "chapters.js").write_text(text, "ascii")


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Give the exercise notebooks, which pages fill in, the form of scripts as well."""
    if exception or app.builder.format != "html" or not app.config.in_page_runs:
        return
    folder = Path(app.outdir) / "_static" / FOLDER / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(set(map(chapter_of, app.env.found_docs)) & set(topics())):
        notebook = Path(app.outdir) / NOTEBOOKS / f"{name}.ipynb"
        text = json.dumps(json.loads(notebook.read_text(encoding="utf-8")))
        (folder / f"{name}.js").write_text(f"InPage.blank = {text};\n", "ascii")


def load_on_pages_with_exercises(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Ask for the scripts on pages that need them."""
    if not app.config.in_page_runs:
        return
    if MARK in context.get("body", ""):
        app.add_css_file(f"{FOLDER}/in_page.css")
    for mark, names in {MARK: SCRIPTS, CAPSTONE: PYTHON_ALONE}.items():
        if mark in context.get("body", ""):
            for name in names:
                app.add_js_file(f"{FOLDER}/{name}.js", loading_method="defer")


def _open_region(writer: Any, node: Region) -> None:
    marks = (
        f'data-{name}="{html.escape(str(value))}"'
        for name, value in node["marks"].items()
    )
    writer.body.append(f"<div {MARK} {' '.join(marks)}>\n")


def _close_region(writer: Any, node: Region) -> None:
    writer.body.append("</div>\n")


def _nothing(writer: Any, node: Region) -> None:
    """Paper shows what is inside and adds nothing."""
