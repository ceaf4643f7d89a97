"""Files of Python that a student handed in beside a notebook."""

from __future__ import annotations

import re
from pathlib import Path

from autograder.files import Unusable, plain_file

MODULE = ".py"
MAX_MODULES = 200_000  # bytes of all files of one student
MOST_MODULES = 10
_MODULE = re.compile(r"(?:[A-Za-z_]\w{0,59}/)?[A-Za-z_]\w{0,59}\.py", re.ASCII)


def is_module(name: str) -> bool:
    """Whether a file, or one in a folder, is called as a module of Python is."""
    return _MODULE.fullmatch(name) is not None


def modules_named_in(path: Path, content: bytes) -> tuple[tuple[str, str], ...]:
    """Files of Python beside a notebook, or in packages there, which it names.

    What these name in turn is among them.

    Args:
        path: of the notebook.
        content: of it.

    Returns:
        The name of each file, as a path from the notebook's folder, and its text.
    """
    files = [*path.parent.glob(f"*{MODULE}"), *path.parent.glob(f"*/*{MODULE}")]
    waiting = {
        name: file
        for file in sorted(files)
        if is_module(name := str(file.relative_to(path.parent)))
        and not file.parent.is_symlink()
    }
    found: dict[str, str] = {}
    said, room = content, MAX_MODULES
    while named := [n for n in waiting if re.split(r"[/.]", n)[0].encode() in said]:
        said = b""
        for name in named[: MOST_MODULES - len(found)]:
            try:
                text = plain_file(waiting[name], room)
                found[name] = text.decode("utf-8-sig")
            except (Unusable, UnicodeDecodeError):
                continue
            said += text
            room -= len(text)
        waiting = {n: file for n, file in waiting.items() if n not in named}
    return tuple(found.items())
