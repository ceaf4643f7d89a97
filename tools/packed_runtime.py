"""The files that run Python in a page, and the scripts that carry them.

A page opened from a folder may not read the files beside it, but it may load scripts. A
list of all files, ``runtime.js``, comes with a page; the files follow on the first run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from tools.page_course import archive
from tools.pyodide import LICENCE, hashes, read, release

PACKAGES = ("numpy", "matplotlib")  # the first from the beginning, others when needed
PIECE = 1_000_000  # characters; a page counts pieces to show how far it is
LIST = "(globalThis.InPage ??= {}).runtime = "  # how runtime.js begins


def released_files() -> dict[str, bytes]:
    """What is not ours, by name.

    Raises:
        PyodideMissing: a file of the release is not at hand.
    """
    wanted = hashes()
    for name in PACKAGES:
        wanted = wanted | hashes(name)
    return read(wanted)


def runtime_files(solutions: bool = True) -> dict[str, bytes]:
    """What runs Python in a page, by name.

    Args:
        solutions: of the course; without them, answers are checked from keys.

    Raises:
        PyodideMissing: a file of the release is not at hand.
    """
    return {
        **released_files(),
        "pyodide-lock.json": json.dumps(release()["lock"]).encode(),
        "course.zip": archive(solutions),
    }


def write_pieces(files: dict[str, bytes], folder: Path) -> None:
    """Write files as scripts, and a list of them, unless they stand there already."""
    runtime = folder / "runtime.js"
    versions = {name: version_of(content) for name, content in files.items()}
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
        listed[name] = {"version": versions[name], "pieces": len(parts)}
    (folder / "python" / "LICENCE.txt").write_text(LICENCE, encoding="utf-8")
    runtime.write_text(f"{LIST}{json.dumps(_runtime(listed))};\n", encoding="ascii")


def version_of(content: bytes) -> str:
    """A name for this content and no other."""
    return hashlib.sha256(content).hexdigest()[:12]


def _runtime(listed: dict[str, dict]) -> dict[str, Any]:
    """What a page knows of what it can load: files, and those that packages need."""
    packages = {name: list(hashes(name)) for name in PACKAGES}
    extra = {file for names in packages.values() for file in names}
    core = [name for name in listed if name not in extra]
    return {"files": listed, "core": core, "packages": packages}


def _versions_in(runtime: Path) -> dict[str, str]:
    """The files that a list names, in their versions."""
    try:
        files = _read_list(runtime)["files"]
    except (ValueError, KeyError):  # by another version of this tool
        return {}
    return {name: entry["version"] for name, entry in files.items()}


def _read_list(runtime: Path) -> dict[str, Any]:
    text = runtime.read_text(encoding="ascii").removeprefix(LIST)
    return json.loads(text.rstrip(";\n"))
