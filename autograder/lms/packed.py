"""Detect the system that packed an archive, and find each person's notebooks in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from autograder.errors import AutograderError
from autograder.lms.archives import METADATA
from autograder.lms.gradescope import BadList, list_in, people_in_list
from autograder.lms.members import is_notebook, shown
from autograder.lms.names import (
    CANVAS,
    GRADESCOPE,
    MOODLE,
    Notebook,
    Shape,
    is_submission,
    notebook_at,
    notebooks_of_submission,
    shape_of,
)
from autograder.lms.told import told
from autograder.lms.whole_archive import read_together


class NothingCollected(AutograderError):
    """An archive holds nothing that could be collected.

    Attributes:
        lines: what was left out, and why.
    """

    def __init__(self, message: str, left_out: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.lines = [f"not collected: {what}: {why}" for what, why in told(left_out)]


def notebooks_in(
    root: Path, archive: Path, system: str | None, left_out: list[tuple[str, str]]
) -> tuple[str | None, list[Notebook]]:
    """Whose archive was unpacked, and the notebooks of persons in it.

    Args:
        root: of what was unpacked.
        archive: where it came from.
        system: whose it is; found out if None.
        left_out: takes what is not of a person, and why.

    Raises:
        NothingCollected: it is of another system, or of several.
    """
    listed = list_in(root)
    if system == GRADESCOPE and listed is None:
        raise NothingCollected(f"the archive has no {METADATA}, which says who is who")
    people = None
    if listed and system in (GRADESCOPE, None):
        try:
            people = people_in_list(listed)
        except BadList as error:
            raise NothingCollected(str(error)) from None
    systems = (system,) if system else (CANVAS, MOODLE)
    notebooks: list[Notebook] = []
    nobodys: list[tuple[Path, str]] = []
    named = (p for p in root.rglob("*") if is_notebook(p.name))
    for path in sorted(p for p in named if p.is_file()):
        if people is not None:
            found = notebooks_of_submission(path, listed.parent, people)
        else:
            one = notebook_at(path, root, systems)
            found = one if isinstance(one, str) else [one]
        if isinstance(found, str):
            nobodys.append((path, found))
        else:
            notebooks += found
    notebooks = read_together(notebooks)
    others = {path: whose for path, _ in nobodys if (whose := _certain(path, root))}
    # Whoever wrote a name cannot have it be read as another system's alone.
    used = {n.shape.system for n in notebooks if not n.others}
    if system is None:
        _require_one(archive, used | set(others.values()))
    elif others and not notebooks:
        (whose, _), *_ = Counter(others.values()).most_common(1)
        raise NothingCollected(
            f"{archive} looks like an archive of {whose.title()}, and --from says "
            f"{system}: leave --from out"
        )
    for path, why in nobodys:
        if path not in others:
            left_out.append((path_within(path, root), shown(why)))
    for whose, count in sorted(Counter(others.values()).items()):
        what = f"{count} notebook{'' if count == 1 else 's'} of {whose.title()}"
        left_out.append((what, f"--from says {system}"))
    used = used or {notebook.shape.system for notebook in notebooks}
    return (used.pop() if len(used) == 1 else system), notebooks


def _certain(path: Path, root: Path) -> str | None:
    """The system that a path outside of what was asked for can only be of.

    In a submission to Gradescope, names are a student's own.
    """
    if any(map(is_submission, path.relative_to(root).parts)):
        return None
    found = notebook_at(path, root)
    alone = isinstance(found, Notebook) and not found.others
    return found.shape.system if alone else None


def _require_one(archive: Path, used: set[str]) -> None:
    """Make sure that the people of one course are not taken into another.

    Raises:
        NothingCollected: notebooks are of several systems.
    """
    if len(used) > 1:
        *first, last = (system.title() for system in sorted(used))
        raise NothingCollected(
            f"{archive} holds notebooks from {', '.join(first)} and {last}: give one "
            "archive, or say whose they are with --from"
        )


def without_notebook(
    others: Iterable[tuple[str, ...]], notebooks: list[Notebook]
) -> list[tuple[str, str, Shape]]:
    """Who handed in something, but no notebook.

    Args:
        others: the folders and the name of each other file.
        notebooks: of the archive.

    Returns:
        The name that each has in the archive, why it is of no use, and whose it is.
    """
    places = {notebook.place for notebook in notebooks}
    persons = {(n.shape.system, n.shape.person) for n in notebooks}
    found: dict[str, tuple[str, Shape]] = {}
    for parts in others:
        for part in parts:
            shape = shape_of(part)
            if is_submission(part):
                shape = Shape(GRADESCOPE, part, "")
            if shape is not None:
                if part not in places and (shape.system, shape.person) not in persons:
                    what = shape.file or parts[-1]
                    why = f"{shown(what)} {_what_is_missing(what)}"
                    found.setdefault(part, (why, shape))
                break
    return [(shown(part), why, shape) for part, (why, shape) in found.items()]


def _what_is_missing(name: str) -> str:
    """Why a file that somebody handed in is of no use."""
    if Path(name).suffix.lower() == ".zip":
        return "holds no notebook, and no archive in it is opened"
    return "is no notebook"


def path_within(path: Path, root: Path) -> str:
    """A path below a folder, at a length that can be told."""
    return shown("/".join(path.relative_to(root).parts))
