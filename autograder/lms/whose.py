"""Decide whose notebook it is, where the names of a system leave a doubt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from autograder.lms.members import safe
from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE, Notebook, Shape
from autograder.lms.roster import NOBODY, Person, Roster
from autograder.tables import BadTable

_KINDS = {  # what a class list may call the id of a system
    CANVAS: ("canvas",),
    MOODLE: ("moodle",),
    GRADESCOPE: ("sid", "email"),
}
Left = list[tuple[Notebook, str]]


def with_names_kept(
    roster: Roster,
    collected: Mapping[tuple[str, str], str],
    addresses: Mapping[str, str],
    are_two: Callable[[str, str], bool],
) -> Roster:
    """A class list in which people who were collected before keep the name used then.

    Args:
        roster: the list.
        collected: the students collected so far, by system and id.
        addresses: those of whom an e-mail address is known, by that in lower case.
        are_two: whether the work under two names cannot be that of one person.

    Raises:
        BadTable: somebody else in the list has a name that is kept.
    """
    ids = {(system, value.casefold()): s for (system, value), s in collected.items()}
    known = set(addresses.values())

    def kept(person: Person) -> str:
        email = person.ids.get("email", "").casefold()
        names = []
        for system, kinds in _KINDS.items():
            for kind in kinds:
                name = ids.get((system, person.ids.get(kind, "").casefold()))
                other = email and name in known and addresses.get(email) != name
                if name and not (kind == "sid" and other):
                    names.append(name)
        name = names[0] if names else addresses.get(email, person.student)
        return person.student if are_two(person.student, name) else name

    people = [replace(person, student=kept(person)) for person in roster.people]
    count = Counter(person.student.casefold() for person in people)
    problems = [
        f"{new.student} is the name under which {new.name} was collected before: call "
        "nobody else so"
        for old, new in zip(roster.people, people, strict=True)
        if count[new.student.casefold()] > 1 and old.student != new.student
    ]
    if problems:
        raise BadTable(roster.table.path, problems)
    return replace(roster, people=people)


def with_sids_compared(
    notebooks: Iterable[Notebook],
    lists: Iterable[Roster],
    collected: Mapping[str, Collection[str]],
) -> tuple[list[Notebook], dict[Shape, str]]:
    """The notebooks, with the address as the id where the SID may be somebody else's.

    An SID identifies a person in Gradescope unless another address is known of the
    person who has it.

    Args:
        notebooks: of one archive.
        lists: those that there are of the class.
        collected: the addresses with which an SID was collected, both in lower case.

    Returns:
        The notebooks, and for those whose id is another now, the SID with the address
        that is known of it.
    """
    known = {sid: set(addresses) for sid, addresses in collected.items()}
    for roster in lists:
        for person in roster.people:
            sid, email = person.ids.get("sid", ""), person.ids.get("email", "")
            if sid and email:
                known.setdefault(safe(sid).casefold(), set()).add(email.casefold())
    found, changed = [], {}
    for notebook in notebooks:
        shape, email = notebook.shape, notebook.shape.email
        if shape.system == GRADESCOPE and email and shape.person != safe(email):
            others = known.get(shape.person.casefold(), set()) - {email.casefold()}
            if others:
                shape = replace(shape, person=safe(email))
                changed[shape] = f"{notebook.shape.person}, is that of {min(others)}"
        found.append(replace(notebook, shape=shape))
    return found, changed


def find_person(lists: Iterable[Roster], shape: Shape) -> Person | None:
    """The person whom a class list calls as the system does.

    In Gradescope, the address counts before the SID, which students enter themselves.
    """
    wanted = [(kind, shape.person) for kind in _KINDS[shape.system]]
    if shape.system == GRADESCOPE:
        wanted = [("email", shape.email), *wanted]
    for roster in lists:
        for kind, value in wanted:
            if person := roster.find(kind, value):
                return person
    return None


def name_so_far(
    shape: Shape, person: Person | None, collected: Mapping[tuple[str, str], str]
) -> str | None:
    """The student that somebody was collected as before.

    Args:
        shape: how the system calls the person.
        person: the same in a class list.
        collected: the students collected so far, by system and id.
    """
    by_address = collected.get((shape.system, safe(shape.email)))
    if by_address:
        return by_address
    sid = person.ids.get("sid") if person and shape.system == GRADESCOPE else None
    if sid and sid.casefold() != shape.person.casefold():
        return None  # it is somebody else's SID, or that of nobody
    return collected.get(_key(shape))


def names_differ(lists: Sequence[Roster], shapes: Iterable[Shape]) -> str | None:
    """A person of Moodle whom list and archive call differently, if they all are so.

    Groups have numbers of their own there, which may be those of other people. Where
    marking is blind, everybody has one name, and the list may have been revealed since.

    Returns:
        Both names, in words.
    """
    of_moodle = [shape for shape in shapes if shape.system == MOODLE]
    if len({shape.name for shape in of_moodle}) < min(2, len(of_moodle)):
        return None
    pairs = [
        (shape, person)
        for shape in of_moodle
        if (person := find_person(lists, shape)) and person.name != NOBODY
    ]
    if not pairs or any(_alike(shape.name, person.name) for shape, person in pairs):
        return None
    shape, person = pairs[0]
    archive = f"{shape.name} in the archive"
    return f"{shape.person} is {person.name} in the list and {archive}"


def _alike(one: str, other: str) -> bool:
    """Whether two names have a word in common, in any case and with any accents."""
    words = (
        set(re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKD", name).casefold()))
        for name in (one, other)
    )
    return bool(set.intersection(*words))


def is_somebody_else(lists: Iterable[Roster], shape: Shape, student: str) -> bool:
    """Whether a class list has the name of a student for one with another id.

    Whom a list gives no id of the system is known by that name alone.
    """
    if find_person(lists, shape):
        return False
    return any(
        person.student.casefold() == student.casefold()
        and any(person.ids.get(kind) for kind in _KINDS[shape.system])
        for roster in lists
        for person in roster.people
    )


def settled(
    notebooks: Sequence[Notebook],
    lists: Sequence[Roster],
    collected: Mapping[tuple[str, str], str],
) -> tuple[list[Notebook], Left]:
    """The notebooks of which it is certain enough whose they are, and the others.

    A place that can be read in several ways is that of the person in the first reading
    if the class list or an earlier upload has only that person, by the name before the
    number, and nothing else in the archive is that person's. Somebody who is in neither
    could still choose a name to fit, so keep the class list complete.

    Args:
        notebooks: of one archive.
        lists: those that there are of the class.
        collected: the students collected so far, by system and id.
    """
    certain = {_key(n.shape) for n in notebooks if not n.others}
    kept, left = [], []
    for notebook in notebooks:
        first = notebook.shape
        if notebook.needs_class_list:
            fitting = [s for s in (first, *notebook.others) if _is_listed(s, lists)]
            if len(fitting) == 1:
                kept.append(replace(notebook, shape=fitting[0], others=()))
            else:
                why = "in a quiz, Canvas writes a number right after a name: give the "
                left.append((notebook, f"{why}class list that has both, with --roster"))
            continue
        known = {
            _key(shape)
            for shape in (first, *notebook.others)
            if find_person(lists, shape) or _key(shape) in collected
        }
        if not notebook.others or (
            known == {_key(first)}
            and _key(first) not in certain
            and _is_named(first, lists, collected)
        ):
            kept.append(notebook)
            continue
        *others, last = dict.fromkeys(s.person for s in (first, *notebook.others))
        persons = f"{', '.join(others)} or {last}" if others else last
        left.append((notebook, f"it may be from {persons}: rename it if you know"))
    return kept, left


def _is_listed(shape: Shape, lists: Iterable[Roster]) -> bool:
    """Whether a class list has the number with the name before it, as far as ASCII."""
    person = find_person(lists, shape)
    return person is not None and _ascii(person.name) == _ascii(shape.name)


def _ascii(name: str) -> list[str]:
    return sorted(re.sub(r"[^a-z0-9]", "", name.lower()))


def _key(shape: Shape) -> tuple[str, str]:
    return shape.system, shape.person


def _is_named(
    shape: Shape, lists: Iterable[Roster], collected: Mapping[tuple[str, str], str]
) -> bool:
    """Whether the name before a number is the one that goes with it, in any order."""
    person = find_person(lists, shape)
    known = {collected.get(_key(shape), ""), person.name if person else ""}
    return _letters(shape.name) in map(_letters, filter(None, known))


def _letters(name: str) -> list[str]:
    return sorted(re.sub(r"[\W\d_]", "", name).casefold())
