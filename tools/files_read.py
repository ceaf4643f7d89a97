"""The files that a process reads, noted while it runs.

The kernel of a chapter calls ``note`` before its first cell. Whatever is opened from
then on, by an import, by ``open`` or by a loop over a folder, is written down: so the
build knows what the outputs of a chapter depend on, and nobody keeps a list.
"""

from __future__ import annotations

import os
import sys
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any


def note(log: str) -> None:
    """Append the path of each file and folder that is read from now on to ``log``.

    A folder counts as read where it is searched for files, but not where a module is
    looked for. A module counts with its source, also where it was compiled before.
    """
    kept, seen = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), set()

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event in ("os.listdir", "os.scandir"):
            path = arguments[0]
            if sys._getframe(1).f_globals["__name__"].startswith("importlib"):
                return
        else:
            return
        if isinstance(path, str | bytes | os.PathLike):
            name = str(Path(os.fsdecode(path)).absolute())
            if name not in seen:
                seen.add(name)
                source = source_from_cache(name) if name.endswith(".pyc") else name
                os.write(kept, os.fsencode(source) + b"\n")

    sys.addaudithook(look)
