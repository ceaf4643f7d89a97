"""A chapter is executed again when a file that it read has changed.

jupyter-cache keeps the outputs of a notebook as long as the notebook's own cells stay
the same. A chapter also shows what ``solutions``, ``toolkit`` and ``autograder`` do,
and some show what other chapters say. So with its outputs are kept the names and hashes
of all files of the book that its kernel read: see tools/files_read.py. Paths are those
below the source folder, so a checkout may be moved or copied with its cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Hashes = dict[str, str]  # by the path below the source folder


def files_read(env: BuildEnvironment) -> dict[str, Hashes]:
    """What each chapter read when it was executed; kept between builds."""
    if not hasattr(env, "files_read"):
        env.files_read = {}
    return env.files_read


def outdated_chapters(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """The chapters that read a file which is not what it was."""
    root, known = Path(app.srcdir), files_read(env)
    return [
        name
        for name, hashes in known.items()
        if name in env.found_docs and not unchanged(hashes, root)
    ]


def unchanged(hashes: Hashes | None, root: Path) -> bool:
    """Whether files are what they were; they are not if nobody knows what was read."""
    return hashes is not None and all(
        hash_of(root / name) == known for name, known in hashes.items()
    )


def hashes_of(paths: Iterable[str], root: Path, since: float) -> Hashes:
    """The hashes of those of some files that belong to the book.

    Args:
        paths: of files and folders.
        root: the source folder. What is hidden there or was built is not of the book.
        since: when the first of them may have been read. Nobody knows what a file was
            like that has changed since then, so its hash is empty.
    """
    return {
        name: "" if (root / name).stat().st_mtime >= since else hash_of(root / name)
        for name in sorted(set(of_the_book(paths, root.resolve())))
    }


def of_the_book(paths: Iterable[str], root: Path) -> Iterator[str]:
    """The names below ``root`` of what is there and is neither hidden nor built."""
    for path in map(Path, paths):
        if path.is_relative_to(root) and path.exists():
            parts = path.relative_to(root).parts
            if not any(
                part.startswith((".", "_build", "__pycache__")) for part in parts
            ):
                yield "/".join(parts)


def hash_of(path: Path) -> str:
    """Of the content of a file, or of the names in a folder; of nothing if neither."""
    if path.is_dir():
        names = (entry.name for entry in path.iterdir())
        shown = sorted(n for n in names if not n.startswith((".", "_")))
        content = "\n".join(shown).encode()
    else:
        content = path.read_bytes() if path.is_file() else b"nothing"
    return hashlib.sha256(content).hexdigest()
