"""Who in the class a notebook belongs to, where what a system wrote leaves a doubt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from autograder.lms.names import CANVAS, GRADESCOPE, MOODLE, Notebook, Shape
from autograder.lms.roster import Person, Roster

_KINDS = {  # what a class list may call the id of a system
    CANVAS: ("canvas",),
    MOODLE: ("moodle",),
    GRADESCOPE: ("sid", "email"),
}
Left = list[tuple[Notebook, str]]


def find_person(lists: Iterable[Roster], shape: Shape) -> Person | None:
    """The person whom a class list calls as the system does."""
    wanted = [(kind, shape.person) for kind in _KINDS[shape.system]]
    if shape.system == GRADESCOPE:
        wanted.append(("email", shape.email))
    for roster in lists:
        for kind, value in wanted:
            if person := roster.find(kind, value):
                return person
    return None


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
    if the class list or the record knows that person alone, by the name that stands
    before the number, and nothing else in the archive is that person's. Somebody who is
    in neither could still choose a name to fit, so keep the class list complete.

    Args:
        notebooks: of one archive.
        lists: those that there are of the class.
        collected: the students collected so far, by system and id.
    """
    certain = {_key(n.shape) for n in notebooks if not n.others}
    kept, left = [], []
    for notebook in notebooks:
        first = notebook.shape
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
