"""The files of an untrusted archive, within limits; nothing is written here.

No name in an archive becomes a path on this machine.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from autograder.errors import AutograderError
from autograder.files import printable

MAX_UPLOAD = 64 * 2**20  # bytes of an archive that a student handed in
MAX_MEMBERS = 1000  # files in such an archive
MAX_UNPACKED = 128 * 2**20  # bytes of all notebooks of one person
_ENTRY = b"PK\1\2"  # with which each file begins in the list of a ZIP archive
# Of other methods, zipfile unpacks into memory whatever size a file is said to have.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class NothingCollected(AutograderError):
    """There is nothing that could be collected.

    Attributes:
        lines: what was left out, and why.
    """

    def __init__(self, message: str, lines: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.lines = [f"not collected: {line}" for line in lines]


@dataclass(frozen=True)
class Member:
    """A file in an archive.

    Attributes:
        parts: its folders and its name.
        size: bytes, as the archive says.
        open: opens it.
    """

    parts: tuple[str, ...]
    size: int
    open: Callable[[], IO[bytes]]

    @property
    def is_note(self) -> bool:
        """Whether a system made it beside the files: ``__MACOSX``, ``._x.ipynb``."""
        return not self.parts or any(
            part == "__MACOSX" or (part.startswith(".") and part != "..")
            for part in self.parts
        )

    def read(self, limit: int) -> bytes:
        """Its content.

        Raises:
            ValueError: it cannot be read, or not within the limit.
        """
        if self.size > limit:
            raise ValueError(f"it has more than {limit / 2**20:.0f} MB")
        try:
            with self.open() as content:
                return content.read(limit)
        except MemoryError:
            raise
        except Exception as error:  # each decoder has errors of its own
            said = " ".join(printable(str(error)).split())[:100]
            raise ValueError(f"it cannot be unpacked: {said}") from None


@contextlib.contextmanager
def members_of(source: Path) -> Iterator[list[Member]]:
    """The files in an archive, or in a folder with what was in one.

    Raises:
        NothingCollected: it cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        if not source.exists():
            raise NothingCollected(f"there is no archive {source}")
        try:
            if source.is_dir():
                found = list(_in_folder(source))
            else:  # names in it are in UTF-8, whether it says so or not
                archive = zipfile.ZipFile(source, metadata_encoding="utf-8")
                found = _in_zip(stack.enter_context(archive))
        except (zipfile.BadZipFile, EOFError, ValueError):
            raise NothingCollected(
                f"{source} is no archive, or a damaged one: give the ZIP file that the "
                "system packed, or a folder with what was in it"
            ) from None
        yield found


def in_upload(content: bytes) -> list[Member]:
    """The files in a ZIP archive that a student handed in.

    Raises:
        ValueError: it cannot be opened, or holds too many.
    """
    if content.count(_ENTRY) > MAX_MEMBERS:
        raise ValueError(f"it holds more than {MAX_MEMBERS} files")
    try:
        return _in_zip(zipfile.ZipFile(io.BytesIO(content)))
    except Exception as error:
        raise ValueError(f"it is no ZIP archive: {printable(str(error))}") from None


def _in_zip(archive: zipfile.ZipFile) -> list[Member]:
    return [
        Member(_parts(info.filename), info.file_size, partial(_open, archive, info))
        for info in archive.infolist()
        if not info.is_dir()
    ]


def _open(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    if info.compress_type not in _BOUNDED:
        raise ValueError("not compressed with Deflate, as ZIP archives usually are")
    return archive.open(info)


def _in_folder(folder: Path) -> Iterator[Member]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():  # to a file of the instructor's
            parts = path.relative_to(folder).parts
            yield Member(parts, path.stat().st_size, partial(path.open, "rb"))


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[/\\]", name) if part not in ("", "."))
