"""The part of the course that pages can run: modules of ours, without torch."""

from __future__ import annotations

import io
import re
import symtable
import sys
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.answer_key import write_key
from autograder.book import chapters_folder, without_code
from autograder.exercise import topic_names
from autograder.page_cells import modules_in, names_made
from tools.own_modules import (
    LOADED_BY_CHECK,
    files_imported,
    files_of_module,
    imports,
)
from tools.pyodide import release

ROOT = Path(__file__).resolve().parents[1]
STARTS = ("autograder.in_page", "toolkit.figures")
NO_USE = {"time"}  # the clock of a browser is too coarse for what chapters measure
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file: the same sources make the same archive


@cache
def topics() -> list[str]:
    """The chapters whose exercises need NumPy alone."""
    return [name for name in topic_names() if not _needs_torch(name)]


def _needs_torch(topic: str) -> bool:
    own = set(_files_of(topic)) - set(_machinery())
    return any("torch" in imports(file.read_text(encoding="utf-8")) for file in own)


def _files_of(topic: str) -> list[Path]:
    return files_imported((f"{package}.{topic}" for package in LOADED_BY_CHECK), ROOT)


@cache
def _machinery() -> list[Path]:
    return files_imported(STARTS, ROOT)


@cache
def _files() -> frozenset[Path]:
    """The modules that pages run."""
    return frozenset(_machinery()).union(*map(_files_of, topics()))


def page_has(code: str) -> bool:
    """Whether all modules that some code imports can be had in a page."""
    packages = release()["lock"]["packages"].values()
    theirs = {name for entry in packages for name in entry["imports"]}
    theirs |= sys.stdlib_module_names - NO_USE
    return all(
        name.partition(".")[0] in theirs
        or (ours := files_of_module(name, ROOT))
        and ours <= _files()
        for name in modules_in(code)
    )


def names_needed(code: str) -> set[str]:
    """Names that some code takes from elsewhere: from cells above it, or built in."""
    scopes = [symtable.symtable(code, "<cell>", "exec")]
    read = {s.get_name() for s in scopes[0].get_symbols() if s.is_referenced()}
    for scope in scopes:
        scopes += scope.get_children()
        symbols = scope.get_symbols()
        read |= {s.get_name() for s in symbols if s.is_global() and s.is_referenced()}
    return read - names_made(code)


def archive(solutions: bool = True) -> bytes:
    """A zip file of the course as the pages have it, always the same for the same code.

    Args:
        solutions: put in the references and the mistakes. Without them come the keys of
            the chapters, which hold answers and hints, and no code.
    """
    files = {file.relative_to(ROOT).as_posix(): file for file in _files()}
    contents = {
        name: file.read_bytes()
        for name, file in files.items()
        if solutions or not name.startswith("solutions/")
    }
    contents |= _outlines()
    if not solutions:
        contents |= _keys()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return buffer.getvalue()


def _outlines() -> dict[str, bytes]:
    """Headings and labels of exercises, by which hints name the section to read."""
    chapters = {topic: chapters_folder() / f"{topic}.md" for topic in topics()}
    return {
        f"chapters/{topic}.md": outline(path.read_text(encoding="utf-8")).encode()
        for topic, path in chapters.items()
    }


def outline(chapter: str) -> str:
    """The headings of a chapter and the labels of its exercises, in their order."""
    prose = without_code(chapter)
    found = re.findall(r"^(?:##? .+|:label: exercise-\w+)$", prose, flags=re.M)
    return "".join(f"{line}\n" for line in found)


def _keys() -> dict[str, bytes]:
    """The keys of the chapters, where the course in the page looks for them."""
    with TemporaryDirectory() as folder:
        for topic in topics():
            write_key(topic, Path(folder, f"{topic}.key"))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
