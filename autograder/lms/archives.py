"""Extract notebooks, and modules beside them, from untrusted archives into one folder.

Nothing is written outside that folder, and no file that is larger than a notebook may
be. A file that cannot be read is reported, and does not affect other students. An
archive inside a student's submission has limits of its own, and nothing in it is taken
for a statement of the system about the class.

Where this machine has no room to unpack, nothing is collected: half a notebook, or an
earlier one in place of the last, would be taken for what somebody handed in.
"""

from __future__ import annotations

import contextlib
import errno
import io
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from autograder.errors import GraderFault
from autograder.files import printable
from autograder.lms.members import Member, in_tar, in_zip, is_notebook, shown
from autograder.lms.names import of_a_person, whose
from autograder.notebooks import MAX_FILE_BYTES
from autograder.submissions.modules import MAX_MODULES, MODULE

MAX_UPLOAD = 64 * 2**20  # bytes of an archive that a student handed in
MAX_UNPACKED = 128 * 2**20  # bytes of all notebooks that one person handed in
MAX_MEMBERS = 1000  # how many these may be, and how many files such an archive has
MAX_LIST = 256 * 2**20  # bytes of Gradescope's list of a class
METADATA = "submission_metadata.yml"  # who handed in what, by Gradescope
MAX_ENTRIES = 20_000  # as many as may be listed at all: the list is read as a whole
_ENTRY = b"PK\1\2"  # with which each of them begins in a ZIP archive
# Errors of names that do not fit together; others are those of the machine.
_OF_NAMES = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
Tell = Callable[[str, str], None]


class CannotUnpack(GraderFault):
    """This machine could not write what an archive holds."""


def unpack(source: Path, target: Path, tell: Tell) -> list[tuple[str, ...]]:
    """Take the notebooks out of an archive, or of a folder with archives and files.

    A ZIP archive that a student handed in is opened too, as a folder of its name.

    Args:
        source: the archive or the folder.
        target: where the notebooks are written, under the names that they had.
        tell: gets what could not be read, and why.

    Returns:
        The folders and the name of each other file.

    Raises:
        CannotUnpack: this machine could not write all of it.
    """
    found = _Unpacked(target, tell)
    if source.is_file():
        found.take(_members(source), [], source.name)
        return found.others
    for path in sorted(source.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = "/".join(path.relative_to(source).parts)
        beside = Member(name, path.stat().st_size, partial(path.open, "rb"))
        archive = _kind(path.name) in (".tar", ".zip")
        if archive and not of_a_person(beside.parts):
            found.take(_members(path), beside.parts, f"{source.name}/{name}")
        else:
            found.take([beside], [], source.name)
    return found.others


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


@dataclass
class _Unpacked:
    """What was written into a folder, and nowhere else.

    Attributes:
        target: the folder.
        tell: gets what could not be read, and why.
        others: the folders and the name of each file that is no notebook, but for
            those in what a student packed.
        written: how many notebooks, and bytes of them, were unpacked of each person.
    """

    target: Path
    tell: Tell
    others: list[tuple[str, ...]] = field(default_factory=list)
    written: dict[Hashable, tuple[int, int]] = field(default_factory=dict)

    def take(self, members: Iterable[Member], place: list[str], name: str) -> None:
        """Write the notebooks among the files that a system packed.

        Args:
            members: the files.
            place: the folders in which they are, within that of what was given.
            name: of what holds them, to be told.
        """
        with self._told(name):
            for member in members:
                with self._told(f"{name}/{member.name}"):
                    self._take_one(member, place, f"{name}/{member.name}")

    def _take_one(self, member: Member, place: list[str], name: str) -> None:
        parts = member.parts
        if not parts or "__MACOSX" in parts:  # a Mac's notes on each file
            return
        if is_notebook(member.name):
            self._keep(member, [*place, *parts])
            return
        if parts[-1] == METADATA and len(parts) <= 2 and not of_a_person(parts[:-1]):
            _write(self.target.joinpath(*place, *parts), member.read(MAX_LIST))
            return
        self.others.append((*place, *parts))
        if _is_small_module(member):
            self._keep(member, [*place, *parts])
        if Path(member.name).suffix.lower() == ".zip":
            self._take_upload(member.read(MAX_UPLOAD), [*place, *parts], name)

    def _take_upload(self, content: bytes, place: list[str], name: str) -> None:
        """Write the notebooks in a ZIP archive that a student handed in."""
        if content.count(_ENTRY) > MAX_ENTRIES:
            raise ValueError(f"more than {MAX_ENTRIES} files")
        for number, member in enumerate(in_zip(io.BytesIO(content))):
            if number >= MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS} files")
            parts = member.parts
            wanted = is_notebook(member.name) or _is_small_module(member)
            if wanted and parts and "__MACOSX" not in parts:
                with self._told(f"{name}/{member.name}"):
                    self._keep(member, [*place, *parts])

    def _keep(self, member: Member, parts: list[str]) -> None:
        """Write a notebook, unless its person has too many already.

        It counts before it is unpacked, and if it is damaged: in a small archive, one
        large file can have a thousand names.
        """
        person = whose(parts)
        if person is not None and member.size <= MAX_FILE_BYTES:
            count, size = self.written.get(person, (0, 0))
            count, size = count + 1, size + member.size
            if count > MAX_MEMBERS:
                raise ValueError(f"more than {MAX_MEMBERS} notebooks of one person")
            if size > MAX_UNPACKED:
                most = MAX_UNPACKED / 2**20
                raise ValueError(f"notebooks of more than {most:.0f} MB of one person")
            self.written[person] = count, size
        _write(self.target.joinpath(*parts), member.read(MAX_FILE_BYTES))

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Tell what cannot be read, and go on with what comes next."""
        try:
            yield
        except CannotUnpack:
            raise
        except Exception as error:  # each decoder has errors of its own
            what = " ".join(printable(str(error)).split())[:100]
            self.tell(shown(name), f"{type(error).__name__}: {what}")


def _is_small_module(member: Member) -> bool:
    return member.name.endswith(MODULE) and member.size <= MAX_MODULES


def _write(path: Path, content: bytes) -> None:
    # An archive may hold one name twice. The name may say whose it is, and the first is
    # taken: what is alike in all else is sorted by its path.
    while path.exists():
        path = path.parent / "~again" / path.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        if error.errno in _OF_NAMES:
            raise
        raise CannotUnpack(
            "nothing was collected, since the archive cannot be unpacked in "
            f"{tempfile.gettempdir()}: {error.strerror}; make room there, or set "
            "TMPDIR to another folder"
        ) from error
