"""What a page can run of the course: our modules, for chapters without torch."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

from autograder.exercise import topic_names
from tools.rerun_when_code_changes import LOADED_BY_CHECK, files_imported, imports

ROOT = Path(__file__).resolve().parents[1]
STARTS = ("autograder.in_page", "toolkit.figures")
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


def _machinery() -> list[Path]:
    return files_imported(STARTS, ROOT)


def archive() -> bytes:
    """A zip file with the modules that the pages run, always the same for the same."""
    files = set(_machinery()).union(*map(_files_of, topics()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(files):
            entry = zipfile.ZipInfo(file.relative_to(ROOT).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, file.read_bytes())
    return buffer.getvalue()
