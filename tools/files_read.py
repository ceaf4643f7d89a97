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
    looked for. Python's source counts where it is imported, also where it was compiled
    before, but not where it is only looked through for a name, as ``check`` does.
    """
    kept, seen = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), set()

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "os.listdir", "os.scandir"):
            return
        path, flags = arguments[0], arguments[2] if event == "open" else 0
        written = flags & (os.O_WRONLY | os.O_RDWR)
        if written or not isinstance(path, str | bytes | os.PathLike):
            return
        name = str(Path(os.fsdecode(path)).absolute())
        opener = str(sys._getframe(1).f_globals.get("__name__"))
        imported = opener.startswith("importlib")
        code = event == "open" and name.endswith((".py", ".pyc"))
        if code == imported and name not in seen:
            seen.add(name)
            source = source_from_cache(name) if name.endswith(".pyc") else name
            os.write(kept, os.fsencode(source) + b"\n")

    sys.addaudithook(look)
