"""Collect a class's submissions from an archive that its system packed."""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.files import write_atomically
from autograder.lms.archives import is_archive, unpack
from autograder.lms.beside import modules_beside
from autograder.lms.members import of_unknown_encoding, shown
from autograder.lms.names import MOODLE, Notebook, Shape, choose
from autograder.lms.packed import (
    NothingCollected,
    notebooks_in,
    path_within,
    without_notebook,
)
from autograder.lms.roster import BY_HAND, Person, Roster
from autograder.lms.told import told
from autograder.lms.upload_ids import (
    HandedIn,
    addresses_of_sids,
    keep_roster,
    kept_roster,
    kept_worksheet,
    names_so_far,
    read_class_list,
    read_upload_ids,
    write_upload_ids,
)
from autograder.lms.whose import (
    find_person,
    is_somebody_else,
    name_so_far,
    names_differ,
    settled,
    with_sids_compared,
)
from autograder.notebooks import MAX_FILE_BYTES
from autograder.submissions.submitted import bad_name, folder_of, handed_in


@dataclass
class Collected:
    """What collecting did.

    Attributes:
        system: whose archive it was.
        new: students of whom there was nothing yet.
        changed: students whose submission is another one now.
        same: students whose submission was there already.
        late: those whom the system calls late.
        missing: those whom a class list names, and who have handed in nothing.
        unusable: of these, those in whose upload there is no notebook.
        unlisted: those who handed in and are in no class list.
        apart: new students whose SID is that of another address, and these two.
        untaken: of the missing, those to whom something may belong that was left out.
        unkept: how many submissions could not be written.
        left_out: what was not collected, with the reason.
        garbled: what to do if names look wrong, where they may be.
    """

    system: str
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    apart: dict[str, str] = field(default_factory=dict)
    untaken: list[str] = field(default_factory=list)
    unkept: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    garbled: str = ""

    def lines(self, chapter: str) -> list[str]:
        """What to tell an instructor; what was left out comes last."""
        count = len(self.new) + len(self.changed) + len(self.same)
        found = [
            f"{chapter}: {count} collected from {self.system.title()}: {len(self.new)} "
            f"new, {len(self.changed)} changed, {len(self.same)} as before"
        ]
        nothing = sorted({*self.missing} - {*self.unusable, *self.untaken})
        for what, names in (
            ("late", sorted(self.late)),
            ("not handed in", nothing),
            ("handed in, but no notebook", sorted(self.unusable)),
            ("handed in, as it seems, but not collected", sorted(self.untaken)),
        ):
            if names:
                found.append(f"  {what}: {', '.join(names)}")
        if self.unlisted:
            names = ", ".join(sorted(self.unlisted))
            found.append(f"  collected, but in no class list: {names}")
        found += [
            f"  collected under a name of its own: {student}: its SID, {other}"
            for student, other in sorted(self.apart.items())
        ]
        found += [f"  not collected: {w}: {why}" for w, why in told(self.left_out)]
        if self.garbled:
            found.append(f"  {self.garbled}")
        if self.unkept:
            found.append(f"{self.unkept} not kept: make room and call again")
        return found


def collect(
    chapter: str,
    archive: Path,
    course: Path,
    system: str | None = None,
    roster: Path | None = None,
) -> Collected:
    """Take one notebook of each person into ``submitted/``, with modules beside it.

    Args:
        chapter: name of the chapter.
        archive: as a system packed it, or a folder with what was in it.
        course: folder of the course.
        system: ``canvas``, ``moodle`` or ``gradescope``; found out if None.
        roster: a class list, which is kept.

    Raises:
        NothingCollected: there is no such archive, or nothing of use in it, or the
            class list is that of another one.
        BadTable: the class list cannot be used; nothing was collected.
        CannotUnpack: this machine could not unpack it; nothing was collected.
    """
    if not archive.exists():
        raise NothingCollected(f"there is no archive {archive}")
    if archive.is_file() and not is_archive(archive):
        raise NothingCollected(
            f"{archive} is no archive, or a damaged one: give the ZIP or tar file that "
            "the system packed, or a folder with what was in it"
        )
    garbled = _advice_on_names(archive)
    given = read_class_list(course, chapter, roster) if roster else None
    kept = (given, kept_worksheet(course, chapter), kept_roster(course))
    lists = [roster for roster in kept if roster]
    with tempfile.TemporaryDirectory(prefix="attention-") as folder:
        left_out: list[tuple[str, str]] = []
        root = Path(folder)
        others = unpack(archive, root, lambda name, why: left_out.append((name, why)))
        system, notebooks = notebooks_in(root, archive, system, left_out)
        notebooks, moved = with_sids_compared(
            notebooks, lists, addresses_of_sids(course)
        )
        certain, doubtful = settled(notebooks, lists, names_so_far(course, chapter))
        chosen, left = choose(certain, chapter)
        left_out += [
            (path_within(n.path, root), shown(why)) for n, why in left + doubtful
        ]
        useless = without_notebook(others, notebooks)
        left_out += [(what, why) for what, why, _ in useless]
        if not chosen:
            whose = system.title() if system else "Canvas, Moodle or Gradescope"
            way_on = (
                ""
                if notebooks
                else "; if it is of another system, put each notebook into submitted/"
                f"STUDENT/{chapter}/{chapter}.ipynb yourself"
            )
            raise NothingCollected(
                f"{archive}: no notebook of {chapter} in it is named as {whose} names "
                f"what it packs{way_on}",
                left_out,
            )
        if given and not any(_is_in(given, n.shape) for n in chosen.values()):
            _require_list_of(given, system)
        if both := names_differ(lists, [n.shape for n in chosen.values()]):
            groups = (
                "is it of groups? Moodle gives them numbers of their own, and their "
                "members cannot be told from these"
            )
            raise NothingCollected(
                f"{archive} has numbers of the class list, but with other names: "
                f"{both}; {garbled or groups}"
            )
        outcome = Collected(system or "several", left_out=left_out, garbled=garbled)
        _file(chapter, course, chosen, lists, outcome, moved)
    if given:
        keep_roster(course, chapter, given)
        outcome.missing = [
            person.student
            for person in given.people
            if not handed_in(course / "submitted", person.student, chapter)
        ]
        found = (find_person([given], shape) for _, _, shape in useless)
        came = {person.student for person in found if person}
        outcome.unusable = [name for name in outcome.missing if name in came]
        shapes = (shape for n in notebooks for shape in (n.shape, *n.others))
        found = (find_person([given], shape) for shape in shapes)
        came = {person.student for person in found if person} - {*outcome.unusable}
        outcome.untaken = [name for name in outcome.missing if name in came]
    return outcome


def _advice_on_names(archive: Path) -> str:
    """What to do if names look wrong, where an archive does not say how to read it."""
    name = None
    if archive.is_file() and zipfile.is_zipfile(archive):
        with contextlib.suppress(Exception):  # what is damaged is told by unpacking it
            name = of_unknown_encoding(archive)
    if name is None:
        return ""
    return (
        f"the archive does not say in which code page names such as {shown(name)} are: "
        "if they look wrong, unpack it with the right one and give the folder"
    )


def _is_in(roster: Roster, shape: Shape) -> bool:
    """Whether a class list names a person, by an id or by the name of the folder."""
    name = shape.student.casefold()
    return find_person([roster], shape) is not None or any(
        person.student.casefold() == name for person in roster.people
    )


def _require_list_of(roster: Roster, system: str | None) -> None:
    """Refuse a list that names nobody in an archive, if it must be of another class.

    Moodle numbers people anew in each assignment, so its worksheet fits that alone.

    Raises:
        NothingCollected: it is of another system, or of another assignment in Moodle.
    """
    if roster.system == BY_HAND or roster.system == system != MOODLE:
        return
    whose = system.title() if system else "several systems"
    other = "another assignment" if roster.system == system else whose
    raise NothingCollected(
        f"{roster.table.path} is a class list of {roster.system.title()} that names "
        f"nobody in the archive, which is of {other}: give the list that belongs to "
        "this archive, or none"
    )


def _file(
    chapter: str,
    course: Path,
    chosen: dict[str, Notebook],
    lists: list[Roster],
    outcome: Collected,
    moved: Mapping[Shape, str],
) -> None:
    """Put the notebooks where grading looks for them, and keep what they were.

    Args:
        chapter: name of the chapter.
        course: folder of the course.
        chosen: the notebooks by what their students would be called.
        lists: those that there are of the class.
        outcome: takes what was done.
        moved: whose SID is that of somebody else, in words.
    """
    uploads, so_far = read_upload_ids(course, chapter), names_so_far(course, chapter)
    people = {student: find_person(lists, n.shape) for student, n in chosen.items()}
    named: dict[str, list[str]] = {}
    for found, notebook in sorted(chosen.items()):
        person = people[found]
        known = name_so_far(notebook.shape, person, so_far)
        name = known or (person.student if person else found)
        if is_somebody_else(lists, notebook.shape, name):
            why = f"{name} is the name of somebody else in the class list"
            outcome.left_out.append((shown(notebook.place), shown(why)))
            continue
        named.setdefault(name, []).append(found)
    for student, claiming in named.items():
        notebook, person = chosen[claiming[0]], people[claiming[0]]
        if len(claiming) > 1:
            names = ", ".join(claiming)
            outcome.left_out.append((shown(names), f"all of them would be {student}"))
            continue
        entry = _entry(notebook, person)
        before = uploads.get(student)
        why = bad_name(student)
        if before and before.system == entry.system and before.upload > entry.upload:
            why = f"{student} handed in a later one, which was collected before"
        if why:
            outcome.left_out.append((shown(notebook.place), why))
            continue
        folder = folder_of(course / "submitted", student) / chapter
        try:
            _write(folder, student, chapter, notebook, outcome)
        except OSError as error:
            why = f"it cannot be kept: {error.strerror}"
            outcome.left_out.append((shown(notebook.place), why))
            outcome.unkept += 1
            continue
        uploads[student] = entry
        is_new = person is None and student not in so_far.values()
        if is_new and notebook.shape in moved:
            outcome.apart[student] = shown(moved[notebook.shape])
        if lists and person is None:
            outcome.unlisted.append(student)
        if entry.late:
            outcome.late.append(student)
    write_upload_ids(course, chapter, uploads)


def _entry(notebook: Notebook, person: Person | None) -> HandedIn:
    """What is kept of a submission."""
    shape, ids = notebook.shape, person.ids if person else {}
    return HandedIn(
        shape.system,
        shape.person,
        person.name if person else shape.name,
        notebook.place,
        shape.upload,
        shape.late or "late" in ids.get("status", "").casefold(),
        shape.email or ids.get("email", ""),
    )


def _write(
    folder: Path, student: str, chapter: str, notebook: Notebook, outcome: Collected
) -> None:
    """Store a notebook before its time, so that no earlier one is marked late."""
    path = folder / f"{chapter}.ipynb"
    files = {path.name: notebook.path.read_bytes()[:MAX_FILE_BYTES]}
    files |= modules_beside(notebook)
    there = outcome.same
    if not path.exists():
        there = outcome.new
    for name, content in files.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != content:
            there = outcome.new if there is outcome.new else outcome.changed
            write_atomically(file, content)
    if notebook.shape.time:
        write_atomically(folder / "timestamp.txt", notebook.shape.time)
    there.append(student)
