"""Sphinx extension: exercises that are written, run and checked where they are printed.

In the chapters that need NumPy alone, a region is put around the stub of an exercise
and its check; ``chapters/_static/in_page`` makes an editor of it. Python comes from the
book itself and is loaded when a reader first runs something: Pyodide, NumPy, and the
modules of ours that ``autograder.in_page`` needs. Scripts carry them, because browsers
let no page read the files beside it. Where Pyodide is not at hand, the book is built
without all this.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from autograder.release.stubs import defined_name
from tools.exercise_notebooks import FOLDER as NOTEBOOKS
from tools.exercise_notebooks import chapter_of
from tools.page_course import archive, topics
from tools.pyodide import LICENCE, PyodideMissing, hashes, read, release

FOLDER = "in_page"  # in the static files
PIECE = 1_000_000  # characters; a page counts pieces to show how far it is
SCRIPTS = (
    *("runtime", "worker", "python", "work", "notebook"),
    *("editor", "exercise", "page"),
)
PACKAGES = ("numpy", "matplotlib")  # the first from the beginning, others when needed
MARK = 'class="in-page"'

ELSEWHERE = """\
<p class="exercise-elsewhere noprint">This exercise needs PyTorch, which no page can
run: solve it in the <a href="{}" download>notebook of this chapter</a>.</p>
"""


class Region(nodes.General, nodes.Element):
    """An exercise: ``name``, and the ``version`` of its stub."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after the extension that writes the notebooks."""
    app.setup_extension("tools.exercise_notebooks")
    app.add_node(Region, html=(_open_region, _close_region), latex=(_nothing, _nothing))
    app.add_config_value("in_page_runs", False, "html", bool)
    app.connect("config-inited", find_runtime)
    app.connect("builder-inited", write_runtime)
    app.connect("doctree-read", mark_exercises)
    app.connect("html-page-context", load_on_pages_with_exercises)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mark_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Put a region around each exercise that a page can run, and its check.

    Where torch is needed, a line below the check says where to go.
    """
    chapter = chapter_of(app.env.docname)
    if chapter is None:
        return
    if chapter not in topics():
        for cell in list(doctree.findall(_is_check)):
            up = "../" * app.env.docname.count("/")
            line = ELSEWHERE.format(f"{up}{NOTEBOOKS}/{chapter}.ipynb")
            place = cell.parent.index(cell) + 1
            cell.parent.insert(place, nodes.raw("", line, format="html"))
        return
    for cell in list(doctree.findall(_is_exercise)):
        stub = next(cell.findall(nodes.literal_block)).astext()
        place = cell.parent.index(cell)
        parts = [cell]
        for other in cell.parent[place + 1 : place + 2]:
            if _is_check(other):
                parts.append(other)
        region = Region(name=defined_name(stub), version=_version(stub.encode()))
        cell.parent[place : place + len(parts)] = [region]
        region += parts


def _is_exercise(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "tag_exercise" in node["classes"]


def _is_check(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "tag_check" in node["classes"]


def find_runtime(app: Sphinx, config: Config) -> None:
    """See whether all that a page loads is at hand.

    Raises:
        ExtensionError: it is not, on a machine that checks the book.
    """
    try:
        read(_all_hashes())
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
        write_pieces(runtime_files(), Path(app.outdir) / "_static" / FOLDER)


def _all_hashes() -> dict[str, str]:
    return hashes() | {k: v for name in PACKAGES for k, v in hashes(name).items()}


def runtime_files() -> dict[str, bytes]:
    """What runs Python in a page, by name.

    Raises:
        PyodideMissing: a file of the release is not at hand.
    """
    return {
        **read(_all_hashes()),
        "pyodide-lock.json": json.dumps(release()["lock"]).encode(),
        "course.zip": archive(),
    }


def write_pieces(files: dict[str, bytes], folder: Path) -> None:
    """Write files as scripts, and a list of them, unless they stand there already."""
    runtime = folder / "runtime.js"
    versions = {name: _version(content) for name, content in files.items()}
    if runtime.exists() and versions == _versions_in(runtime):
        return
    (folder / "python").mkdir(parents=True, exist_ok=True)
    for old in (folder / "python").glob("*.js"):
        old.unlink()
    listed = {}
    for name, content in files.items():
        packed = gzip.compress(content, mtime=0)
        text = base64.b64encode(packed).decode("ascii")
        parts = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        for number, part in enumerate(parts):
            call = (
                f"InPage.receive({json.dumps(name)}, {number}, {json.dumps(part)});\n"
            )
            file = folder / "python" / f"{name}.{number}.js"
            file.write_text(call, encoding="ascii")
        listed[name] = {
            "version": versions[name],
            "pieces": len(parts),
            "packed": len(packed),
        }
    (folder / "python" / "LICENCE.txt").write_text(LICENCE, encoding="utf-8")
    runtime.write_text(f"{_LIST}{json.dumps(_runtime(listed))};\n", encoding="ascii")


def _runtime(listed: dict[str, dict]) -> dict[str, Any]:
    """What a page knows of what it can load: files, and those that packages need."""
    packages = {name: list(hashes(name)) for name in PACKAGES}
    extra = {file for names in packages.values() for file in names}
    core = [name for name in listed if name not in extra]
    return {"files": listed, "core": core, "packages": packages}


_LIST = "(globalThis.InPage ??= {}).runtime = "


def _versions_in(runtime: Path) -> dict[str, str]:
    """The files that a list names, in their versions."""
    text = runtime.read_text(encoding="ascii").removeprefix(_LIST)
    try:
        files = json.loads(text.rstrip(";\n"))["files"]
    except (ValueError, KeyError):  # by another version of this tool
        return {}
    return {name: entry["version"] for name, entry in files.items()}


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
    if not app.config.in_page_runs or MARK not in context.get("body", ""):
        return
    app.add_css_file(f"{FOLDER}/in_page.css")
    for name in SCRIPTS:
        app.add_js_file(f"{FOLDER}/{name}.js", loading_method="defer")


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _open_region(writer: Any, node: Region) -> None:
    name, version = node["name"], node["version"]
    writer.body.append(
        f'<div {MARK} data-exercise="{name}" data-version="{version}">\n'
    )


def _close_region(writer: Any, node: Region) -> None:
    writer.body.append("</div>\n")


def _nothing(writer: Any, node: Region) -> None:
    """Paper shows what is inside and adds nothing."""
