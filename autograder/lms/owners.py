"""Whose the files of an archive are, according to the class list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from autograder.files import printable
from autograder.lms.archives import Member, NothingCollected
from autograder.lms.gradescope import MAX_LIST, METADATA, Submitter, submitters
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE, Named, readings
from autograder.lms.roster import BY_HAND, Person, Roster


@dataclass(frozen=True)
class Upload:
    """A file of one person.

    Attributes:
        member: the file.
        place: the name of the file, or of its folder, that the system gave.
        inner: the path from there, as the student chose it.
        named: what the system says of it.
    """

    member: Member
    place: str
    inner: str
    named: Named

    def shown(self) -> str:
        """Its path as it may be told, whatever its length."""
        inside = self.inner.removeprefix(self.named.file).strip("/")
        return printable("/".join(filter(None, [self.place, inside])))[:300]


@dataclass
class Owners:
    """Whose the files of an archive are.

    Attributes:
        system: whose archive it is.
        roster: the class list.
        uploads: the files of each person in the class list, by student.
        left_out: what is nobody's in the class list, with the reason.
    """

    system: str
    roster: Roster
    uploads: dict[str, list[Upload]] = field(default_factory=lambda: defaultdict(list))
    left_out: dict[str, str] = field(default_factory=dict)

    def in_name(self, top: str) -> Iterator[tuple[Person, Named]]:
        """The person whose id a name has, unless it has those of others as well."""
        named = readings(top, self.system)
        persons = [self.roster.find(self.system, one.id) for one in named]
        if not named:
            self.left_out[top] = (
                f"it is not named as {self.system.title()} names what it packs"
            )
            if self.system == CANVAS and "anon_" in top:
                why = "Canvas hides who it is: switch anonymous grading off"
                self.left_out[top] = why
        elif not any(persons):
            id_ = named[0].id
            told = {"name": named[0].name, self.system: id_}
            self.left_out[top] = self._not_listed(id_, **told)
        elif persons[0] is None or any(persons[1:]):
            ids = " or ".join(one.id for one in named)
            self.left_out[top] = f"it may be from {ids}: rename it if you know"
        else:
            yield persons[0], named[0]

    def in_list(
        self, top: str, handed_in: Mapping[str, list[Submitter]]
    ) -> Iterator[tuple[Person, Named]]:
        """All who handed in a submission to Gradescope together.

        Students enter the SID themselves; they log in with the address. So that
        decides, where there is one.
        """
        if not handed_in.get(top):
            self.left_out[top] = f"{METADATA} does not say whose it is"
        for who in handed_in.get(top, ()):
            person = self.roster.find("email", who.email)
            by_sid = self.roster.find("sid", who.sid)
            if person is None and by_sid and not (who.email and by_sid.ids["email"]):
                person = by_sid
            if person is None:
                told = {"name": who.name, "sid": who.sid, "email": who.email}
                why = self._not_listed(who.email or who.sid, **told)
                self.left_out[f"{top} of {who.name}"] = why
            else:
                yield person, Named("", who.name, time=who.time)

    def _not_listed(self, id_: str, **told: str) -> str:
        row = printable(self.roster.row_to_add(**told))
        return (
            f"{printable(id_)[:100]} is not in the class list; if this person is in "
            f"the class, add the row {row[:300]}"
        )


def owners_of(members: Sequence[Member], roster: Roster) -> Owners:
    """Look the id that the system wrote up in the class list, and nothing else.

    Args:
        members: the files of the archive.
        roster: the class list. One of a system says whose archive it is; for one by
            hand, the names in the archive do.

    Raises:
        NothingCollected: the archive does not fit to the list.
    """
    members = _without_wrapper([m for m in members if not m.is_note])
    tops: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        tops[member.parts[0]].append(member)
    found = Owners(_system(roster, members), roster)
    owners = found.in_name
    if found.system == GRADESCOPE:
        owners = partial(found.in_list, handed_in=_submitters(members))
        del tops[METADATA]
    for top, files in tops.items():
        for person, named in owners(top):
            for file in files:
                inner = "/".join(filter(None, [named.file, *file.parts[1:]]))
                if not inner.startswith("._"):  # a Mac's note on a file
                    upload = Upload(file, top, inner, named)
                    found.uploads[person.student].append(upload)
    return found


def _without_wrapper(members: list[Member]) -> list[Member]:
    """The files without a folder that all of them are in, unless it names an upload."""
    tops = {member.parts[0] for member in members}
    top = next(iter(tops), "")
    upload = "_assignsubmission_" in top or any(
        readings(top, system) for system in (CANVAS, MOODLE)
    )
    if len(tops) != 1 or upload or any(len(m.parts) == 1 for m in members):
        return members
    return [replace(member, parts=member.parts[1:]) for member in members]


def _system(roster: Roster, members: Sequence[Member]) -> str:
    if roster.system != BY_HAND:
        return roster.system
    tops = {member.parts[0] for member in members}
    if METADATA in tops:
        return GRADESCOPE
    # Students choose parts of a name, so that one alone may look like another system's.
    named = {s: sum(bool(readings(top, s)) for top in tops) for s in (CANVAS, MOODLE)}
    return max(named, key=lambda system: named[system])


def _submitters(members: Iterable[Member]) -> dict[str, list[Submitter]]:
    listed = [member for member in members if member.parts == (METADATA,)]
    if not listed:
        raise NothingCollected(
            f"the archive has no {METADATA}, in which Gradescope says who is who"
        )
    try:
        return submitters(listed[0].read(MAX_LIST))
    except ValueError as error:
        raise NothingCollected(f"{METADATA}: {error}") from None
