"""One folder for the temporary files of a run, removed however the run ends.

A process that is killed cannot tidy up. So each run locks its folder, and the next run
removes those of this user that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PREFIX = "attention-run-"
_MARK = ".in-use"  # without it, a folder of such a name is somebody's own


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Have ``tempfile`` make everything in a folder of this run, removed at its end.

    What earlier runs left that were killed is removed first.
    """
    parent = Path(tempfile.gettempdir())
    remove_leftovers(parent)
    _hold_that_of_multiprocessing()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = _hold(folder)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _hold(folder: Path) -> int:
    """Lock a folder as long as this process lives, or the descriptor is open."""
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / _MARK).touch()  # only now may another run look whether it is held
    return lock


@contextlib.contextmanager
def submission_folder() -> Iterator[str]:
    """A temporary folder for the kernel of a submission.

    Where there is no sandbox, student code can leave anything there, or put something
    else in its place. If that cannot be removed, it stays; the examination is done.
    """
    holder = tempfile.TemporaryDirectory(
        prefix="attention-", ignore_cleanup_errors=True
    )
    try:
        yield holder.name
    finally:
        try:
            holder.cleanup()
        except RecursionError:  # nested more deeply than Python's own function follows
            with contextlib.suppress(OSError):
                command = ["rm", "-rf", "--", holder.name]
                subprocess.run(command, stderr=subprocess.DEVNULL)


@cache
def _hold_that_of_multiprocessing() -> int:
    """The same for the folder that ``multiprocessing`` has until this process ends."""
    return _hold(Path(multiprocessing.util.get_temp_dir()))


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of runs of this user that have ended."""
    for folder in [*parent.glob(f"{PREFIX}*"), *parent.glob("pymp-*")]:
        with contextlib.suppress(OSError):  # another run may be at it as well
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if not (folder / _MARK).is_file():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
