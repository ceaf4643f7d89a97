"""Which modules of ours some code imports, directly or through others."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGES = ("autograder", "solutions", "toolkit")
# What ``check`` loads by the name of the topic, so that no import statement shows it.
LOADED_BY_CHECK = ("autograder.exercises", "solutions", "solutions.mistakes")


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
