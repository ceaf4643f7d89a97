"""Sphinx extension: execute a chapter again when the code that it uses has changed.

jupyter-cache keeps the outputs of a notebook as long as the notebook's own cells stay
the same. A chapter also shows what ``solutions``, ``toolkit`` and ``autograder`` do. So
before chapters are read, the files that each imports, directly or not, are hashed; when
they are not those of its last execution, its record is taken out of the cache.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from jupyter_cache import get_cache
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PACKAGES = ("autograder", "solutions", "toolkit")
# What ``check`` loads by the name of the topic, so that no import statement shows it.
LOADED_BY_CHECK = ("autograder.exercises", "solutions", "solutions.mistakes")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("env-before-read-docs", forget_outdated_outputs)
    app.connect("source-read", note_code)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def forget_outdated_outputs(
    app: Sphinx, env: BuildEnvironment, docnames: list[str]
) -> None:
    """Drop the cached outputs of chapters whose code is not what they ran with."""
    root, cache_folder = Path(app.srcdir), Path(env.mystnb_config.execution_cache_path)
    known = CodeDigests(cache_folder / "code_digests.json")
    for docname in docnames:
        chapter = Path(env.doc2path(docname)).absolute()
        source = chapter.read_text(encoding="utf-8")
        if not is_myst_markdown_notebook(source):
            continue
        digest = digest_of(code_used_by(source, chapter.stem, root), root)
        if known.get(docname) != digest:
            remove_outputs(chapter, cache_folder)
            known.set(docname, digest)


def note_code(app: Sphinx, docname: str, source: list[str]) -> None:
    """Note the code of a chapter as dependencies of its page.

    So Sphinx reads the page again, and comes here, when a file of it changes.
    """
    if is_myst_markdown_notebook(source[0]):
        topic = Path(app.env.doc2path(docname)).stem
        for file in code_used_by(source[0], topic, Path(app.srcdir)):
            app.env.note_dependency(str(file))


def code_used_by(source: str, topic: str, root: Path) -> list[Path]:
    """The files under ``root`` that a chapter imports, directly or through others."""
    names = set(imports_of_notebook(source))
    if "autograder.check" in names:
        names |= {f"{package}.{topic}" for package in LOADED_BY_CHECK}
    return files_imported(names, root)


def files_imported(names: Iterable[str], root: Path) -> list[Path]:
    """The files under ``root`` of some modules and of those that they import."""
    files: set[Path] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        for file in files_of_module(name, root) - files:
            files.add(file)
            waiting |= imports(file.read_text(encoding="utf-8"))
    return sorted(files)


def imports_of_notebook(source: str) -> Iterator[str]:
    """Names of the modules that the code cells of a MyST notebook import."""
    for cell in read_myst_markdown_notebook(source).cells:
        if cell.cell_type == "code":
            yield from imports(python_of(cell.source))


def python_of(cell: str) -> str:
    """The source of a cell with empty lines in place of those for IPython alone."""
    lines = cell.splitlines()
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)


@cache
def imports(code: str) -> frozenset[str]:
    """Names of the modules that Python code may import, inside functions as well.

    Of ``from package import name``, ``package.name`` is given too: it may be a module.
    The same files are asked about for every chapter, so each text is parsed once.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def files_of_module(name: str, root: Path) -> set[Path]:
    """The file of a module of ours and those of the packages around it."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return set()
    candidates = [root.joinpath(*parts).with_suffix(".py")]
    for depth in range(1, len(parts) + 1):
        candidates.append(root.joinpath(*parts[:depth], "__init__.py"))
    return {file for file in candidates if file.is_file()}


def digest_of(files: list[Path], root: Path) -> str:
    """A hash of the names and contents of files."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def remove_outputs(chapter: Path, cache_folder: Path) -> None:
    """Take the records of a chapter out of the jupyter-cache."""
    cache = get_cache(str(cache_folder))
    for record in cache.list_cache_records():
        if record.uri == str(chapter):
            cache.remove_cache(record.pk)


class CodeDigests:
    """The digest of the code that each chapter was last executed with, in a file."""

    def __init__(self, path: Path) -> None:
        """Read ``path`` if it exists."""
        self.path = path
        self.digests = json.loads(path.read_text()) if path.exists() else {}

    def get(self, docname: str) -> str | None:
        """The digest of a chapter, None when it has never been executed."""
        return self.digests.get(docname)

    def set(self, docname: str, digest: str) -> None:
        """Remember the digest of a chapter."""
        self.digests[docname] = digest
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.digests, indent=1, sort_keys=True))
