"""Collect a class's submissions from an archive: first a plan, then the writing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from autograder.files import printable, write_atomically
from autograder.lms.archives import Member, members_of
from autograder.lms.choose import choose
from autograder.lms.owners import NothingCollected, Upload, owners_of
from autograder.lms.roster import Person, Roster, read_roster
from autograder.lms.upload_ids import (
    HandedIn,
    keep_list,
    read_upload_ids,
    write_upload_ids,
)
from autograder.notebooks import MAX_FILE_BYTES
from autograder.submissions.submitted import folder_of, handed_in

MAX_TOLD = 5  # lines about what one person handed in


@dataclass
class Collected:
    """What collecting did.

    Attributes:
        chapter: of which.
        system: whose archive it was.
        new: students of whom there was nothing yet.
        changed: students whose submission is another one now.
        same: students whose submission was there already.
        late: those whom the system calls late.
        missing: those whom the class list names, and who have handed in nothing.
        useless: those who handed in something of which nothing could be collected.
        unkept: how many submissions could not be written.
        left_out: what was not collected, with the reason.
    """

    chapter: str
    system: str
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    useless: list[str] = field(default_factory=list)
    unkept: int = 0
    left_out: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """What to tell an instructor; what was left out comes last."""
        count = len(self.new) + len(self.changed) + len(self.same)
        found = [
            f"{self.chapter}: {count} collected from {self.system.title()}: "
            f"{len(self.new)} new, {len(self.changed)} changed, {len(self.same)} as "
            "before"
        ]
        for what, names in (
            ("late", self.late),
            ("not handed in", self.missing),
            ("handed in, but not collected", self.useless),
        ):
            if names:
                found.append(f"  {what}: {', '.join(sorted(names))}")
        found += [f"  not collected: {line}" for line in self.left_out]
        if self.unkept:
            found.append(f"{self.unkept} not kept: make room and call again")
        return found


class _Taken(NamedTuple):
    """What is taken of a student: how a system knows it, its files, and when."""

    entry: HandedIn
    files: Mapping[str, Member]
    time: str


@dataclass
class Plan:
    """What collecting will do; so far, nothing of the course has changed.

    Attributes:
        roster: the class list.
        done: what has been done so far, and what is left out.
        came: students of whom something is in the archive.
        uploads: how a system knows the submissions, by student.
        taken: what is to be written, by student.
    """

    chapter: str
    course: Path
    roster: Roster
    done: Collected
    came: set[str]
    uploads: dict[str, HandedIn]
    taken: dict[str, _Taken] = field(default_factory=dict)

    def write(self) -> Collected:
        """Put the notebooks where grading looks for them, and keep what they were."""
        submitted, done = self.course / "submitted", self.done
        for student, (entry, files, time) in self.taken.items():
            folder = folder_of(submitted, student) / self.chapter
            try:
                state = _write(folder, self.chapter, files, time)
            except (OSError, ValueError) as error:
                why = f"it cannot be kept: {getattr(error, 'strerror', error)}"
                done.left_out.append(f"{printable(entry.place)}: {why}")
                done.unkept += 1
                continue
            getattr(done, state).append(student)
            self.uploads[student] = entry
            if entry.late:
                done.late.append(student)
        write_upload_ids(self.course, self.chapter, self.uploads)
        keep_list(self.course, self.chapter, self.roster)
        for person in self.roster.people:
            if not handed_in(submitted, person.student, self.chapter):
                came = person.student in self.came
                (done.useless if came else done.missing).append(person.student)
        return done

    def take(self, person: Person, uploads: Sequence[Upload]) -> None:
        """Plan to keep the notebook of a person, if there is one of the chapter."""
        student, said = person.student, self.done.left_out
        choice = choose(uploads, self.chapter)
        said += choice.left_out[:MAX_TOLD]
        if len(choice.left_out) > MAX_TOLD:
            more = f"{len(choice.left_out) - MAX_TOLD} more of this person"
            said.append(f"{uploads[0].shown()}: {more}")
        self.came.add(student)
        if choice.best is None:
            return
        late = any(upload.named.late for upload in uploads)
        late = late or "late" in person.ids.get("status", "").casefold()
        named = choice.best.named
        entry = HandedIn(self.done.system, choice.best.place, named.upload, late)
        before = self.uploads.get(student)
        if before and before.system == entry.system and before.upload > entry.upload:
            why = f"{student} handed in a later one, which was collected before"
            said.append(f"{choice.best.shown()}: {why}")
            return
        self.taken[student] = _Taken(entry, choice.files, named.time)


@contextlib.contextmanager
def planned(chapter: str, archive: Path, course: Path, roster: Path) -> Iterator[Plan]:
    """Find the notebook of each person, with modules beside it; nothing is changed.

    Args:
        chapter: name of the chapter.
        archive: as a system packed it, or a folder with what was in it.
        course: folder of the course.
        roster: the class list.

    Raises:
        NoArchive: the archive cannot be opened.
        NothingCollected: there is nothing of use in it.
        BadTable: the class list cannot be used.
    """
    listed = read_roster(roster)
    people = {person.student: person for person in listed.people}
    with members_of(archive) as members:
        owners = owners_of(members, listed)
        left = [f"{printable(w)[:300]}: {why}" for w, why in owners.left_out.items()]
        done = Collected(chapter, owners.system, left_out=left)
        uploads = read_upload_ids(course, chapter)
        plan = Plan(chapter, course, listed, done, owners.unclear, uploads)
        for student, files in owners.uploads.items():
            plan.take(people[student], files)
        if not plan.taken:
            raise NothingCollected(
                f"{archive}: nothing in it is a new notebook of {chapter} by somebody "
                f"in {roster}, named as {owners.system.title()} names what it packs",
                done.left_out,
            )
        yield plan


def _write(folder: Path, chapter: str, files: Mapping[str, Member], time: str) -> str:
    """Put files into a folder, in their order; what that made of the submission."""
    state = "same" if (folder / f"{chapter}.ipynb").exists() else "new"
    contents = {name: member.read(MAX_FILE_BYTES) for name, member in files.items()}
    if time:  # last, so that no earlier notebook is marked late
        contents["timestamp.txt"] = time.encode()
    for name, content in contents.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != content:
            state = "new" if state == "new" else "changed"
            write_atomically(file, content)
    return state
