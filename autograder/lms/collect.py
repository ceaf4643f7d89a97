"""Collect a class's submissions from an archive: first a plan, then the writing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from autograder.files import printable, write_atomically
from autograder.lms.archives import Member, NothingCollected, members_of
from autograder.lms.choose import choose
from autograder.lms.owners import Upload, owners_of
from autograder.lms.roster import Person, Roster, read_roster
from autograder.lms.upload_ids import (
    HandedIn,
    keep_list,
    read_upload_ids,
    write_upload_ids,
)
from autograder.notebooks import MAX_FILE_BYTES
from autograder.submissions.submitted import handed_in

MAX_TOLD = 5  # lines about what one person handed in


class Taken(NamedTuple):
    """What is taken of a student: how a system knows it, its files, and when."""

    entry: HandedIn
    files: Mapping[str, Member]
    time: str


@dataclass
class Plan:
    """What collecting will do.

    Attributes:
        chapter: of which.
        course: its folder.
        system: whose archive it is.
        roster: the class list.
        uploads: how a system knows the submissions so far, by student.
        left_out: what is not collected, with the reason.
        taken: what is to be written, by student.
    """

    chapter: str
    course: Path
    system: str
    roster: Roster
    uploads: dict[str, HandedIn]
    left_out: list[str]
    taken: dict[str, Taken] = field(default_factory=dict)

    def take(self, person: Person, uploads: Sequence[Upload]) -> None:
        """Plan to keep the notebook of a person, if there is one of the chapter."""
        student = person.student
        best, files, left = choose(uploads, self.chapter)
        self.left_out += left[:MAX_TOLD]
        if more := len(left[MAX_TOLD:]):
            self.left_out.append(f"{uploads[0].shown()}: {more} more of this person")
        if best is None:
            return
        entry = HandedIn(self.system, best.place, best.named.upload)
        before = self.uploads.get(student)
        if before and before.system == entry.system and before.upload > entry.upload:
            why = f"{student} handed in a later one, which was collected before"
            self.left_out.append(f"{best.shown()}: {why}")
            return
        self.taken[student] = Taken(entry, files, best.named.time)

    def write(self) -> None:
        """Put the notebooks where grading looks for them, and keep what they were.

        Raises:
            OSError: such as of a full disk; called again, it goes on from there.
        """
        for student, (entry, files, time) in self.taken.items():
            folder = self.course / "submitted" / student / self.chapter
            for name, member in files.items():
                write_atomically(folder / name, member.read(MAX_FILE_BYTES))
            if time:  # last, so that no earlier notebook is marked late
                write_atomically(folder / "timestamp.txt", time)
            self.uploads[student] = entry
        write_upload_ids(self.course, self.chapter, self.uploads)
        keep_list(self.course, self.chapter, self.roster)

    def lines(self) -> list[str]:
        """What to tell an instructor; what was left out comes last."""
        count = len(self.taken)
        found = [f"{self.chapter}: {count} collected from {self.system.title()}"]
        without = sorted(
            person.student
            for person in self.roster.people
            if not handed_in(self.course / "submitted", person.student, self.chapter)
        )
        if without:
            found.append(f"  no notebook from: {', '.join(without)}")
        return found + [f"  not collected: {line}" for line in self.left_out]


@contextlib.contextmanager
def planned(chapter: str, archive: Path, course: Path, roster: Path) -> Iterator[Plan]:
    """Find the notebook of each person, with modules beside it; nothing is changed.

    Args:
        chapter: name of the chapter.
        archive: as a system packed it, or a folder with what was in it.
        course: folder of the course.
        roster: the class list.

    Raises:
        NothingCollected: the archive cannot be opened, or has nothing of use.
        BadTable: the class list cannot be used.
    """
    listed = read_roster(roster)
    people = {person.student: person for person in listed.people}
    with members_of(archive) as members:
        owners = owners_of(members, listed)
        left = [f"{printable(w)[:300]}: {why}" for w, why in owners.left_out.items()]
        before = read_upload_ids(course, chapter)
        plan = Plan(chapter, course, owners.system, listed, before, left)
        for student, files in owners.uploads.items():
            plan.take(people[student], files)
        if not plan.taken:
            raise NothingCollected(
                f"{archive}: nothing in it is a new notebook of {chapter} by somebody "
                f"in {roster}, named as {owners.system.title()} names what it packs",
                plan.left_out,
            )
        yield plan
