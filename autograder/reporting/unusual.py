"""Point a reader at the parts of a student's definitions that no formula needs.

This is no protection against harmful code; it only names what is unusual.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

# What a formula needs; anything else that an answer imports is pointed out.
_USUAL = {"numpy", "torch", "math", "typing", "collections", "functools", "itertools"}
# Names that lead out of a formula, alone or within a library: ``torch.os`` is ``os``.
_REACHES_OUT = {
    *("open", "eval", "exec", "compile", "getattr", "setattr", "delattr", "globals"),
    *("locals", "vars", "input", "breakpoint", "get_ipython", "get_type_hints"),
    *("os", "sys", "posix", "nt", "io", "pathlib", "shutil", "tempfile", "glob"),
    *("subprocess", "multiprocessing", "threading", "socket", "urllib", "requests"),
    *("ctypes", "ctypeslib", "cffi", "importlib", "builtins", "inspect", "gc"),
    *("pickle", "marshal", "runpy", "f2py", "cpp_extension", "hub", "distributed"),
    *("load", "loadtxt", "genfromtxt", "fromfile", "memmap", "DataSource"),
    *("save", "savez", "savez_compressed", "savetxt", "tofile", "dump"),
    *("load_library", "load_inline", "jit", "package", "serialization", "storage"),
}
_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


def unusual(imports: Sequence[ast.stmt], nodes: Sequence[ast.stmt]) -> Iterator[str]:
    """What no formula needs, and first what runs as soon as a file is imported.

    Args:
        imports: the import statements of an answer.
        nodes: its definitions and constants.
    """
    for node in nodes:
        yield from (f"{text} (at import)" for text in _called_at_import(node))
    for node in imports:
        if any(map(_is_unusual_path, _imported(node))):
            yield ast.unparse(node)
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, _IMPORTS):
                yield ast.unparse(inner)
            elif isinstance(inner, ast.Name) and _reaches_out(inner.id):
                yield inner.id
            elif isinstance(inner, ast.Attribute) and not _is_own(inner):
                if _reaches_out(inner.attr) or inner.attr.startswith("_"):
                    yield inner.attr
            elif isinstance(inner, _FUNCTIONS) and _is_pythons(inner.name):
                yield f"def {inner.name}"
    if not all(ast.unparse(node).isascii() for node in nodes):
        yield "letters outside ASCII"


def _imported(node: ast.stmt) -> list[str]:
    """The full names of what a statement imports; a dot first for what is beside."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return [f"{module}.{name}" for name in names]
    return names


def _is_unusual_path(path: str) -> bool:
    root, *parts = path.split(".")
    return root not in _USUAL or any(
        _reaches_out(part) or part.startswith("_") for part in parts
    )


def _reaches_out(name: str) -> bool:
    return name in _REACHES_OUT or _is_pythons(name)


def _is_pythons(name: str) -> bool:
    """Whether a name is one that Python itself uses, and may call at any time.

    Every module has an ``__init__``, which runs only where it is seen to be called.
    """
    return name.startswith("__") and name != "__init__"


def _is_own(node: ast.Attribute) -> bool:
    """Whether it belongs to a class of the student: ``self._scale``."""
    if node.attr == "__init__":  # of super()
        return True
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return own and not _is_pythons(node.attr)


def _called_at_import(node: ast.stmt) -> Iterator[str]:
    """What is called when a statement runs, and not only when what it defines does."""
    for part in run_at_import(node):
        if isinstance(part, ast.Call):
            yield ast.unparse(part)
        elif isinstance(part, _DEFINITIONS):
            yield from (f"@{ast.unparse(one)}" for one in part.decorator_list)
        if isinstance(part, ast.ClassDef):
            yield from map(ast.unparse, part.keywords)


def run_at_import(node: ast.stmt) -> Iterator[ast.AST]:
    """All nodes of a statement but those in the bodies of functions."""
    waiting: list[ast.AST] = [node]
    for part in waiting:
        yield part
        inside = ("body",) if isinstance(part, (*_FUNCTIONS, ast.Lambda)) else ()
        for name, value in ast.iter_fields(part):
            if name not in inside:
                found = value if isinstance(value, list) else [value]
                waiting += [one for one in found if isinstance(one, ast.AST)]
