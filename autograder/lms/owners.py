"""Whose the files of an archive are, according to the class list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
        uploads: the files of each person in the class list, by student.
        unclear: people to whom something else may belong.
        left_out: what is nobody's in the class list, with the reason.
    """

    system: str
    uploads: dict[str, list[Upload]] = field(default_factory=lambda: defaultdict(list))
    unclear: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)


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
    found = Owners(_system(roster, members))
    handed_in = _submitters(members) if found.system == GRADESCOPE else {}
    for member in members:
        top = member.parts[0]
        if top in found.left_out or top == METADATA:
            continue
        named = readings(top, found.system)
        if not named:
            found.left_out[top] = _unnamed(top, found.system)
        elif found.system == GRADESCOPE:
            for person, who in _submitted(top, named[0], handed_in, roster, found):
                inner = "/".join(member.parts[1:])
                found.uploads[person.student].append(Upload(member, top, inner, who))
        elif person := _owner(top, named, roster, found):
            inner = "/".join(filter(None, [named[0].file, *member.parts[1:]]))
            if not inner.startswith("._"):  # a Mac's note on a file
                upload = Upload(member, top, inner, named[0])
                found.uploads[person.student].append(upload)
    if found.system == CANVAS:
        _require_one_name(found)
    return found


def _without_wrapper(members: list[Member]) -> list[Member]:
    """The files without a folder that all of them are in, unless it names an upload."""
    tops = {member.parts[0] for member in members}
    top = next(iter(tops), "")
    upload = "_assignsubmission_" in top or any(
        readings(top, system) for system in (CANVAS, MOODLE, GRADESCOPE)
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


def _unnamed(top: str, system: str) -> str:
    if system == CANVAS and "anon_" in top:
        return "Canvas hides who it is: switch anonymous grading off"
    return f"it is not named as {system.title()} names what it packs"


def _owner(
    top: str, named: Sequence[Named], roster: Roster, found: Owners
) -> Person | None:
    """The person whose id a name has, unless it has those of others as well."""
    system, first = found.system, named[0]
    persons = [roster.find(system, one.id) for one in named]
    if not any(persons):
        told = {"name": first.name, system: first.id}
        found.left_out[top] = _not_listed(roster, first.id, told)
    elif persons[0] is None or any(persons[1:]):
        ids = " or ".join(one.id for one in named)
        found.left_out[top] = f"it may be from {ids}: rename it if you know"
        found.unclear |= {person.student for person in persons if person}
    else:
        return persons[0]
    return None


def _submitted(
    top: str,
    named: Named,
    handed_in: Mapping[str, list[Submitter]],
    roster: Roster,
    found: Owners,
) -> Iterator[tuple[Person, Named]]:
    """All who handed in a submission to Gradescope together.

    Students enter the SID themselves; they log in with the address. So that decides,
    where there is one.
    """
    if top not in handed_in:
        found.left_out[top] = f"{METADATA} does not say whose it is"
    for who in handed_in.get(top, ()):
        person = roster.find("email", who.email)
        by_sid = roster.find("sid", who.sid)
        if person is None and by_sid and not (who.email and by_sid.ids["email"]):
            person = by_sid
        if person is None:
            told = {"name": who.name, "sid": who.sid, "email": who.email}
            why = _not_listed(roster, who.email or who.sid, told)
            found.left_out[f"{top} of {who.name}"] = why
        else:
            yield person, replace(named, name=who.name, time=who.time)


def _not_listed(roster: Roster, id_: str, told: Mapping[str, str]) -> str:
    row = printable(roster.row_to_add(**told))
    return (
        f"{printable(id_)[:100]} is not in the class list; if this person is in the "
        f"class, add the row {row[:300]}"
    )


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


def _require_one_name(found: Owners) -> None:
    """Leave out people under whose id the archive has several names.

    In Canvas, a name that ends like an id makes two names of one person.
    """
    for student, uploads in list(found.uploads.items()):
        names = sorted({printable(upload.named.name) for upload in uploads})
        if len(names) > 1:
            why = f"the id is that of {student} in all of them: rename them"
            found.left_out[" and ".join(names)[:300]] = why
            found.unclear.add(student)
            del found.uploads[student]
