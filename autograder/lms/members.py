"""The files of an untrusted archive, under safe names."""

from __future__ import annotations

import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from autograder.files import printable

MAX_DEPTH = 8  # folders
MAX_PART = 240  # bytes of a file's name
# Of other methods, zipfile unpacks into memory all that it was asked to read, whatever
# size a file is said to have: 600 bytes of BZip2 become as many megabytes.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UTF_8 = 0x800  # the flag of a name in a ZIP archive
# A browser that takes a notebook for a text adds another ending to its name.
_NOTEBOOK = re.compile(r"\.ipynb(?:\.(?:json|txt))?$", re.IGNORECASE)
_UNFIT = re.compile(r"[/\\*?\[\]]")  # separators, and what a search would expand


@dataclass(frozen=True)
class Member:
    """A file in an archive."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]
    is_link: bool = False

    @property
    def parts(self) -> list[str]:
        """The first of its folders and its name, as names that are safe to use."""
        parts = [
            part for part in re.split(r"[/\\]", self.name) if part not in ("", ".")
        ]
        return [safe(part) for part in (*parts[:MAX_DEPTH], *parts[MAX_DEPTH:][-1:])]

    def read(self, limit: int) -> bytes:
        """Its content.

        Raises:
            ValueError: it is a link, or has more bytes than ``limit``, or it is
                compressed by a method of which no bound for these is known.
        """
        if self.is_link:
            raise ValueError("it is a link")
        if self.size > limit:
            raise ValueError(f"more than {limit / 2**20:.0f} MB")
        with self.open() as content:
            return content.read(limit)


def in_zip(file: Path | IO[bytes]) -> Iterator[Member]:
    """The files in a ZIP archive; reading it raises what ``zipfile`` does."""
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                link = stat.S_ISLNK(info.external_attr >> 16)
                open_it = partial(_open_in_zip, archive, info)
                yield Member(_name_in_zip(info), info.file_size, open_it, link)


def _open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    if info.compress_type not in _BOUNDED:
        raise ValueError(
            "it is not compressed with Deflate, as ZIP archives usually are"
        )
    return archive.open(info)


def _name_in_zip(info: zipfile.ZipInfo) -> str:
    """The name; where an archive does not say so, it may be in UTF-8 all the same."""
    return info.filename if info.flag_bits & _UTF_8 else _as_utf_8(info.filename)


def _as_utf_8(name: str) -> str:
    """A name that was read as the ZIP format's first code page, if it is in UTF-8."""
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def of_unknown_encoding(file: Path) -> str | None:
    """A name in a ZIP archive that may be garbled, as it would be read; else ``None``.

    The archive says of no name but one in UTF-8 how it is encoded.
    """
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = info.filename
            told = name.isascii() or info.flag_bits & _UTF_8
            if not told and _as_utf_8(name) == name:
                return name
    return None


def in_tar(file: Path) -> Iterator[Member]:
    """The files in a tar archive; reading it raises what ``tarfile`` does."""
    with tarfile.open(file) as archive:
        for info in archive:
            if info.isfile() or info.issym() or info.islnk():
                open_it = partial(archive.extractfile, info)
                yield Member(info.name, info.size, open_it, not info.isfile())


def safe(part: str) -> str:
    """One part of a path as a name that means only itself, and that can be shown."""
    if len(part) > 4 * MAX_PART:  # a ZIP archive takes 65,535
        part = part[: 2 * MAX_PART] + part[-2 * MAX_PART :]
    part = unicodedata.normalize("NFC", part.encode("utf-8", "replace").decode())
    part = "".join(c if c.isprintable() else "-" for c in _UNFIT.sub("-", part))
    part = re.sub(r"^\.+", lambda dots: "-" * len(dots[0]), part)
    stem, dot, suffix = part.rpartition(".")
    if len(part.encode()) > MAX_PART:
        stem = (stem or part).encode()[:MAX_PART].decode(errors="ignore")
        part = f"{stem}.{suffix[:10]}" if dot else stem
    return part


def is_notebook(name: str) -> bool:
    """Whether a file is called as a notebook is."""
    return _NOTEBOOK.search(name) is not None


def title_of(name: str) -> str:
    """The name of a notebook without its ending."""
    title = _NOTEBOOK.sub("", name)
    return title if title != name else Path(name).stem


def shown(text: str) -> str:
    """A name of any length and kind as it may be shown in a terminal."""
    return printable(text[:300])[:300]
