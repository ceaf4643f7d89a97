"""Files that others may have made, read with care, and written in one step."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
from pathlib import Path

from autograder.errors import AutograderError

# What is wrong with a file itself; other errors are those of the machine.
_OF_THE_FILE = {errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO}


class Unusable(AutograderError):
    """A file that cannot be read as what it should be; the message says why."""


class Inaccessible(Unusable):
    """A file that this machine could not read now, whatever is in it."""


def plain_file(path: Path, limit: int, *, follow: bool = False) -> bytes:
    """The bytes of a regular file.

    Args:
        path: of the file.
        limit: how many bytes it may have.
        follow: whether it may be a link.

    Raises:
        Unusable: it is something else, such as a link or a pipe, or too large.
        Inaccessible: this machine could not read it.
    """
    name = printable(path.name)
    flags = _flags("O_RDONLY", "O_NONBLOCK", "O_BINARY")
    if not follow:
        flags |= _flags("O_NOFOLLOW")
    try:
        fd = os.open(path, flags)
    except OSError as error:
        kind = Unusable if error.errno in _OF_THE_FILE else Inaccessible
        raise kind(f"{name} cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{name} is not a plain file")
        if status.st_size > limit:
            raise Unusable(
                f"{name} has {math.ceil(status.st_size / 2**20)} MB; at most "
                f"{limit / 2**20:.0f} MB are read"
            )
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit)
    except OSError as error:
        raise Inaccessible(f"{name} cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)


def _flags(*names: str) -> int:
    """Flags for ``os.open``, without those that this system does not have."""
    return sum(getattr(os, name, 0) for name in names)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file in one step, so that it is never half written.

    Where that fails, as on a full disk, nothing is left of it, and the error names it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    data = content.encode() if isinstance(content, str) else content
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # such as on a disk that takes no change
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None
        raise


def printable(name: str) -> str:
    """A name as it may be shown in a terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "replace").decode()
        for c in name
    )
