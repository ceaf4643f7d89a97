"""Take notebooks out of archives that nobody vouches for, into one folder.

Nothing is written outside of that folder, nothing larger than a notebook may be, and
what cannot be read is told and costs nobody else anything. What a student packed is
held to limits of its own, and nothing in it speaks for the class.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from autograder.files import printable
from autograder.lms.members import Member, in_tar, in_zip, is_notebook, shown
from autograder.lms.names import of_a_person
from autograder.notebooks import MAX_FILE_BYTES

MAX_UPLOAD = 64 * 2**20  # bytes of an archive that a student handed in
MAX_UNPACKED = 128 * 2**20  # bytes of the notebooks in it
MAX_MEMBERS = 1000  # files in it
MAX_LIST = 256 * 2**20  # bytes of Gradescope's list of a class
MAX_DEPTH = 8  # folders
METADATA = "submission_metadata.yml"  # who handed in what, by Gradescope
Tell = Callable[[str, str], None]


def unpack(source: Path, target: Path, tell: Tell) -> list[tuple[str, ...]]:
    """Take the notebooks out of an archive, or of a folder with archives and files.

    An archive that a student handed in is opened too, as a folder of its name.

    Args:
        source: the archive or the folder.
        target: where the notebooks are written, under the names that they had.
        tell: gets what could not be read, and why.

    Returns:
        The folders and the name of each other file.
    """
    others: list[tuple[str, ...]] = []
    if source.is_file():
        _take(_members(source), target, source.name, tell, others)
        return others
    for path in sorted(source.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = "/".join(path.relative_to(source).parts)
        beside = Member(name, path.stat().st_size, partial(path.open, "rb"))
        called = f"{source.name}/{name}"
        if _kind(path.name) not in (".tar", ".zip"):
            _take([beside], target, source.name, tell, others)
        elif not of_a_person(beside.parts):
            _take(_members(path), target.joinpath(*beside.parts), called, tell, others)
        else:
            others.append(tuple(beside.parts))
            _take_upload(beside, _members(path), target, called, tell)
    return others


def is_archive(path: Path) -> bool:
    """Whether a file can be opened as one that a system packed."""
    return zipfile.is_zipfile(path) or tarfile.is_tarfile(path)


def _members(path: Path) -> Iterator[Member]:
    kind = _kind(path.name)
    tar = kind == ".tar" or (kind != ".zip" and not zipfile.is_zipfile(path))
    yield from in_tar(path) if tar else in_zip(path)


def _kind(name: str) -> str:
    suffix = Path(name).suffix.lower()
    return ".tar" if suffix in (".gz", ".tgz", ".tar") else suffix


def _take_upload(
    upload: Member, members: Iterable[Member], target: Path, name: str, tell: Tell
) -> None:
    """Write the notebooks in an archive that a student handed in."""
    if upload.size > MAX_UPLOAD:
        tell(shown(name), f"more than {MAX_UPLOAD / 2**20:.0f} MB")
        return
    _take(members, target.joinpath(*_within(upload)), name, tell, None)


def _take(
    members: Iterable[Member],
    place: Path,
    name: str,
    tell: Tell,
    others: list[tuple[str, ...]] | None,
) -> None:
    """Write the notebooks among some files into a folder, and nowhere else.

    ``others`` takes the names of the rest; it is None in what a student packed.
    """
    room, inside = MAX_UNPACKED, others is None
    try:
        for number, member in enumerate(members):
            if inside and number >= MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS} files")
            called = f"{name}/{member.name}"
            written = _take_one(member, place, called, tell, others)
            if inside and (room := room - written) < 0:
                most = MAX_UNPACKED / 2**20
                raise ValueError(f"notebooks of more than {most:.0f} MB")
    except Exception as error:  # each decoder has errors of its own; so below
        _tell(tell, name, error)


def _take_one(
    member: Member,
    place: Path,
    name: str,
    tell: Tell,
    others: list[tuple[str, ...]] | None,
) -> int:
    """Write a file if it is of use; the bytes that were written."""
    parts = _within(member)
    if not parts or "__MACOSX" in parts:  # a Mac's notes on each file
        return 0
    kind = Path(member.name).suffix.lower()
    try:
        if is_notebook(member.name):
            return _write(place.joinpath(*parts), member.read(MAX_FILE_BYTES))
        if others is None:
            return 0
        if parts[-1] == METADATA and len(parts) <= 2 and not of_a_person(parts[:-1]):
            return _write(place.joinpath(*parts), member.read(MAX_LIST))
        others.append(tuple(parts))
        if kind == ".zip":
            content = io.BytesIO(member.read(MAX_UPLOAD))
            _take_upload(member, in_zip(content), place, name, tell)
    except Exception as error:
        _tell(tell, name, error)
    return 0


def _within(member: Member) -> list[str]:
    return member.parts[:MAX_DEPTH] + member.parts[MAX_DEPTH:][-1:]


def _write(path: Path, content: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while path.exists():  # an archive may hold one name twice
        path = path.with_name(f"again-{path.name}")
    return path.write_bytes(content)


def _tell(tell: Tell, name: str, error: Exception) -> None:
    what = " ".join(printable(str(error)).split())[:100]
    tell(shown(name), f"{type(error).__name__}: {what}")
