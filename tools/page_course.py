"""The part of the course that pages can run: what needs no PyTorch."""

from __future__ import annotations

import ast
import io
import symtable
import sys
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.answer_key import write_key
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
# The clock of a browser is too coarse for what chapters measure, and of processor time
# it says 0 for ever.
NO_USE = {"os", "time"}
_DATE = (1980, 1, 1, 0, 0, 0)  # of every file: the same sources make the same archive


@cache
def topics() -> list[str]:
    """The chapters that have exercises for a page: those that need NumPy alone."""
    return [name for name in topic_names() if solved_in_page(name)]


@cache
def solved_in_page(topic: str) -> frozenset[str]:
    """The exercises of a chapter whose reference and cases come without PyTorch."""
    cases = ROOT / "autograder" / "exercises" / f"{topic}.py"
    reference = ROOT / "solutions" / f"{topic}.py"
    return frozenset(
        name
        for name in _exercises(cases)
        if not _needs_torch(cases, name)
        and not _needs_torch(reference, name)
        and not _needs_torch(reference, name.removeprefix("break_"))
    )


def _exercises(cases: Path) -> list[str]:
    made = [
        node for node in _definitions(cases).values() if isinstance(node, ast.Assign)
    ]
    return [
        node.targets[0].id
        for node in made
        if isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id.endswith("Exercise")
    ]


def _needs_torch(file: Path, name: str) -> bool:
    """Whether what a module calls ``name`` mentions anything of PyTorch's.

    What it mentions of the same module, or of one of ours, is followed. The cases of an
    exercise belong to it.
    """
    seen, waiting = set(), {(file, name)}
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        file, name = at
        made = _definitions(file)
        node = made.get(name)
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or node.names[0].name
            if module.partition(".")[0] == "torch":
                return True
            own = ROOT.joinpath(*module.split(".")).with_suffix(".py")
            if isinstance(node, ast.ImportFrom) and own.is_file():
                waiting |= {(own, alias.name) for alias in node.names}
        elif node is not None:
            parts = [node, *_cases_of(name, made)]
            waiting |= {(file, n.id) for p in parts for n in ast.walk(p) if _is_name(n)}
    return False


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


@cache
def _definitions(file: Path) -> dict[str, ast.stmt]:
    """What a module defines or imports, by name."""
    made = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            made[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            made |= {
                alias.asname or alias.name.partition(".")[0]: node
                for alias in node.names
            }
        elif isinstance(node, ast.Assign):
            names = [n for target in node.targets for n in ast.walk(target)]
            made |= {n.id: node for n in names if isinstance(n, ast.Name)}
    return made


def _cases_of(name: str, made: dict[str, ast.stmt]) -> list[ast.FunctionDef]:
    """The functions that ``@name.case(...)`` or the like decorates."""
    return [
        node
        for node in made.values()
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(n, ast.Name) and n.id == name
            for decorator in node.decorator_list
            for n in ast.walk(decorator)
        )
    ]


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
        and not any(_imports_torch(file) for file in files_imported([name], ROOT))
        for name in modules_in(code)
    )


def _imports_torch(file: Path) -> bool:
    return "torch" in imports(file.read_text(encoding="utf-8"))


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
    if not solutions:
        contents |= _keys()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return buffer.getvalue()


def _keys() -> dict[str, bytes]:
    """The keys of the chapters, where the course in the page looks for them."""
    with TemporaryDirectory() as folder:
        for topic in topics():
            write_key(topic, Path(folder, f"{topic}.key"))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
