"""Read the owner of a file from the names that Canvas, Moodle and Gradescope give.

The person is taken from the part that the system wrote. Students choose the rest: the
name of the file after it and, where a system lets them, their own name before it. So a
name may have several readings, and does not say which one the system meant:

* Canvas, ``doejane_LATE_12345_67890_masking-1.ipynb``: the name, whether it was late,
  the numbers of the person and of the upload, and what the student called the file;
  where grading is anonymous, ``anon_Xy3bQ_67890_masking.ipynb``. Source: its
  ``ContentZipper``. What it packs for a quiz is read in ``whole_archive``;
* Moodle, ``Jane Doe_4321_assignsubmission_file`` with the files in it (up to version
  4.0 with one more ``_``), or the same as the beginning of their names; the number is
  the participant's in this assignment. Where marking is blind, everybody is called
  ``Participant``. Source: its ``assign::download_submissions``;
* Gradescope, ``submission_12345/`` with the files in it, and
  ``submission_metadata.yml`` beside it, which says who that is.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from autograder.lms.members import is_notebook, title_of
from autograder.submissions.copies import worked_in
from autograder.submissions.submitted import MAX_NAME
from autograder.submissions.titles import OTHER_CHAPTER, chapter_in, likeness

CANVAS, MOODLE, GRADESCOPE = "canvas", "moodle", "gradescope"
SYSTEMS = (CANVAS, MOODLE, GRADESCOPE)
_FORMS = {  # from the number of a person to the end
    MOODLE: re.compile(r"(?P<person>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?"),
    CANVAS: re.compile(
        r"(?P<person>\d+|anon_[A-Za-z0-9]{5})_"
        r"(?:(?P<upload>\d+)_(?P<file>.+)|(?:text|link)\.html)"
    ),
}
_LATE = re.compile(r"(?:^|_)LATE$")
_NO_NUMBER = re.compile(r"_assignsubmission_[a-z]+_?$")
_SUBMISSION = re.compile(r"submission_(?P<person>\d+)")
CHECKPOINTS = "-ipynb_checkpoints"  # Jupyter's own copies, by the name that is safe


@dataclass(frozen=True)
class Shape:
    """What a name says about a person.

    Attributes:
        system: which one gave it.
        person: the system's number, or other id, of the person.
        name: how the system calls the person.
        file: what the student called the file, if it is in the same name.
        upload: number of the upload, 0 if the system gives none.
        late: whether the system says so.
        email: of the person, if the system tells.
        time: when it was handed in, if the system tells.
    """

    system: str
    person: str
    name: str
    file: str | None = None
    upload: int = 0
    late: bool = False
    email: str = ""
    time: str = ""

    @property
    def student(self) -> str:
        """The name of a student in nbgrader: the id keeps two of one name apart."""
        number = f"_{self.person}" if self.name else self.person
        name = self.name.encode()[: MAX_NAME - len(number)].decode(errors="ignore")
        return name + number


@dataclass(frozen=True)
class Notebook:
    """A notebook that somebody handed in.

    Attributes:
        path: where it lies, unpacked.
        shape: whose it is.
        title: what the student called it, without its ending.
        place: the name that the system knows it by, of a file or a folder.
        others: whose it may be as well, if that name can be read in several ways.
        needs_class_list: whether only a class list tells which of them it is.
    """

    path: Path
    shape: Shape
    title: str
    place: str
    others: tuple[Shape, ...] = ()
    needs_class_list: bool = False


def readings(part: str, systems: Iterable[str] = SYSTEMS) -> list[Shape]:
    """All that a name may say about a person, from the left: the system wrote one."""
    starts = [0, *(n + 1 for n, letter in enumerate(part) if letter == "_")]
    return [
        _shape(part[: start - 1] if start else "", system, match)
        for start in starts
        for system in systems
        if system in _FORMS and (match := _FORMS[system].fullmatch(part, start))
        if start > 1 or system == CANVAS  # Moodle always writes a name first
    ]


def _shape(before: str, system: str, match: re.Match[str]) -> Shape:
    parts = match.groupdict()
    late = system == CANVAS and _LATE.search(before)
    name = before[: late.start()] if late else before
    upload = int((parts.get("upload") or "0")[:18])
    return Shape(system, parts["person"], name, parts["file"], upload, bool(late))


def shape_of(part: str, systems: Iterable[str] = SYSTEMS) -> Shape | None:
    """What a name says about a person, if it has the form that a system gives.

    It is the first of ``readings``, and not for deciding whose something is.
    """
    return next(iter(readings(part, systems)), None)


def is_submission(part: str) -> bool:
    """Whether a name is one that Gradescope gives to the folder of a submission."""
    return _SUBMISSION.fullmatch(part) is not None


def of_a_person(parts: Iterable[str]) -> bool:
    """Whether a path leads through what one person, or one group, handed in."""
    return whose(parts) is not None


def whose(parts: Iterable[str]) -> Hashable | None:
    """What stands for the person whose file a path leads to; None if nothing does.

    It is for counting what one person handed in, and not for deciding whose that is. A
    name that can be read in several ways is counted apart from that of the person in
    the first of them, which may be somebody else.
    """
    for part in parts:
        if found := readings(part):
            return found[0].system, found[0].person, len(found) > 1
        if is_submission(part) or _NO_NUMBER.search(part):
            return part
    return None


def notebook_at(
    path: Path, root: Path, systems: Iterable[str] = SYSTEMS
) -> Notebook | str:
    """A notebook with its person, or why there is none.

    Args:
        path: of the notebook.
        root: of what was unpacked.
        systems: whose forms are looked for.
    """
    parts = path.relative_to(root).parts
    found = [readings(part, systems) for part in parts]
    place = next((n for n, shapes in enumerate(found) if shapes), None)
    # Names in the folder of a group, or in one of Gradescope, are students' own.
    for part in parts[:place]:
        if _NO_NUMBER.search(part):
            return "Moodle gives it no number of a person: is it of a group?"
        if is_submission(part):
            return (
                "it is of Gradescope, and only the list of its class says whose it is"
            )
    if place is None:
        return "no part of its path has the form that Canvas or Moodle gives"
    (shape, *others), last = found[place], len(parts) - 1
    # The archive of a class may happen to be named as Canvas names one upload.
    if shape.system == CANVAS and place == 0 < last:
        persons = frozenset(reading.person for reading in found[0])
        if _may_be_a_class(root / parts[0], persons, tuple(systems)):
            return (
                f"{parts[0]} is named like the upload of one person, and holds files "
                "that are named like those of others: rename it if it is of a class, "
                "else these files"
            )
    title = (shape.file or "") if place == last else path.name
    return Notebook(path, shape, title_of(title), parts[place], tuple(others))


@lru_cache(maxsize=1)  # asked for each notebook in a folder, one after the other
def _may_be_a_class(
    folder: Path, persons: frozenset[str], systems: tuple[str, ...]
) -> bool:
    """Whether a folder that is named like an upload may hold those of a class.

    A student's own archive may hold files with numbers in their names as well, or what
    the student has downloaded. It is known by what lies beside it: where another upload
    is a notebook, Canvas has named them all.
    """
    inside = [readings(entry.name, systems) for entry in folder.iterdir()]
    others = any(
        found and persons.isdisjoint(reading.person for reading in found)
        for found in inside
    )
    return others and not _holds_named_notebooks(folder.parent, systems)


@lru_cache(maxsize=1)
def _holds_named_notebooks(root: Path, systems: tuple[str, ...]) -> bool:
    """Whether a notebook in a folder is named as a system names an upload."""
    return any(
        shape_of(entry.name, systems) and entry.is_file()
        for entry in root.iterdir()
        if is_notebook(entry.name)
    )


def notebooks_of_submission(
    path: Path, root: Path, people: Mapping[str, list[Shape]]
) -> list[Notebook] | str:
    """A notebook in an export of Gradescope, once for each who handed it in together.

    Args:
        path: of the notebook.
        root: the folder in which the list of the class is.
        people: whose a submission is, by its number.
    """
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    match = _SUBMISSION.fullmatch(parts[0]) if len(parts) > 1 else None
    if match is None:
        return "it is in no folder such as submission_12345"
    found = people.get(match["person"])
    if not found:
        return f"the list of the class does not say whose {parts[0]} is"
    title = title_of(path.name)
    return [Notebook(path, shape, title, parts[0]) for shape in found]


def choose(
    notebooks: Iterable[Notebook], chapter: str
) -> tuple[dict[str, Notebook], list[tuple[Notebook, str]]]:
    """One notebook of each person.

    Returns:
        The notebooks by student, and those that are not taken with the reason.
    """
    handed_in: dict[str, list[Notebook]] = {}
    for notebook in notebooks:
        handed_in.setdefault(notebook.shape.student, []).append(notebook)
    chosen, left = {}, []
    for student, found in handed_in.items():
        ranked = sorted(found, key=lambda n: _preference(n, chapter))
        best, *others = _with_work_first(ranked, chapter)
        for other in others:
            if not _is_checkpoint(other):
                left.append((other, f"{student} handed in {best.path.name} as well"))
        if likeness(best.title, chapter) == OTHER_CHAPTER:
            other = chapter_in(best.title)
            left.append((best, f"is the notebook of another chapter, {other}"))
            continue
        late = any(n.shape.late for n in found if n.shape.upload >= best.shape.upload)
        chosen[student] = replace(best, shape=replace(best.shape, late=late))
    return chosen, left


def _with_work_first(ranked: list[Notebook], chapter: str) -> list[Notebook]:
    """The notebooks of one person; before a blank one, a copy that has work in it."""
    best, *others = ranked
    copies = [
        notebook.path
        for notebook in others
        if likeness(notebook.title, chapter) < 2 and not _is_checkpoint(notebook)
    ]
    path = worked_in(best.path, copies)
    return sorted(ranked, key=lambda notebook: notebook.path != path)


def _is_checkpoint(notebook: Notebook) -> bool:
    """Whether Jupyter made it, and not the student."""
    return CHECKPOINTS in notebook.path.parts


def _preference(notebook: Notebook, chapter: str) -> tuple[bool, int, int, int, str]:
    """Best named, then uploaded last, then named without an addition, is least."""
    title = notebook.title
    return (
        _is_checkpoint(notebook),
        likeness(title, chapter),
        -notebook.shape.upload,
        len(title),
        str(notebook.path),
    )
