"""A made-up class in three systems, packed as Canvas, Moodle and Gradescope pack it.

A third of the class is in each. The kinds of students take turns: right, wrong and
blank notebooks, renamed files, notebooks without metadata, some late and some handed in
twice; two share a name, one is excused, and one hands in nothing.
What each has to get is known from how the notebook was made.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.exercise import load_topic
from classroom.submissions import right_answers, submission

CANVAS, MOODLE, GRADESCOPE = "canvas", "moodle", "gradescope"
SYSTEMS = (CANVAS, MOODLE, GRADESCOPE)
METADATA = "submission_metadata.yml"
KINDS = [
    *("right", "wrong", "blank", "renamed", "namesake", "namesake"),
    *("twice", "late", "stripped", "excused", "missing"),
]
RENAMED = ("{}.IPYNB", "my attention final.ipynb", "{}-Copy1.ipynb")
WRONG = "def {}(*arguments, **options):\n    return None"
COLUMNS = {
    CANVAS: ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"],
    MOODLE: [
        *("Identifier", "Full name", "Email address", "Status", "Grade"),
        *("Maximum Grade", "Grade can be changed", "Last modified (submission)"),
        *("Last modified (grade)", "Feedback comments"),
    ],
    GRADESCOPE: ["Name", "SID", "Email", "Role"],
}


@dataclass(frozen=True)
class Pupil:
    """Somebody in the class.

    Attributes:
        number: from 0.
        system: where the class has this person.
        kind: one of ``KINDS``.
        wrong: exercises with a wrong answer.
    """

    number: int
    system: str
    kind: str
    wrong: tuple[str, ...]

    @property
    def id(self) -> str:
        """The number of the person in the system."""
        first = {CANVAS: 10_000, MOODLE: 7_000, GRADESCOPE: 300_000}
        return str(first[self.system] + self.number)

    @property
    def name(self) -> str:
        """The name; two who share one have that of the first."""
        shared = self.kind == "namesake" and KINDS[self.number % len(KINDS) - 1]
        return f"Student {self.number - (shared == 'namesake'):04}"

    @property
    def student(self) -> str:
        """What the class list calls the person."""
        login = f"student{self.number:04}"
        return login if self.system == CANVAS else f"{login}@example.edu"


def made_up_class(topic_name: str, size: int) -> list[Pupil]:
    """A class of so many, always the same."""
    exercises = list(load_topic(topic_name).exercises)
    found = []
    for number in range(size):
        kind = KINDS[number % len(KINDS)]
        right = kind in ("right", "excused", "stripped")
        pattern = 0 if right else 5 * number + 1
        wrong = [name for bit, name in enumerate(exercises) if pattern >> bit & 1]
        system = SYSTEMS[3 * number // size]
        found.append(Pupil(number, system, kind, tuple(wrong)))
    return found


def mark_of(pupil: Pupil, topic_name: str) -> float | None:
    """The points that somebody has to get; None for who gets no mark."""
    if pupil.kind in ("excused", "missing"):
        return None
    if pupil.kind == "blank":
        return 0.0
    exercises = load_topic(topic_name).exercises.values()
    return float(sum(e.points for e in exercises if e.name not in pupil.wrong))


def class_list(class_: Iterable[Pupil], system: str, points: float) -> str:
    """The class as a system exports it: gradebook, worksheet or roster."""
    rows = [["    Points Possible", "", "", "", ""]] if system == CANVAS else []
    for p in class_:
        if p.system != system:
            continue
        first, last = p.name.split()
        if system == CANVAS:
            rows.append([f"{last}, {first}", p.id, f"S{p.id}", p.student, "A"])
        elif system == GRADESCOPE:
            rows.append([p.name, p.id, p.student, "Student"])
        else:
            status = "No submission" if p.kind == "missing" else "Submitted for grading"
            status += " - 2 days late" if p.kind == "late" else ""
            identity = [f"Participant {p.id}", p.name, p.student, status, ""]
            rows.append([*identity, f"{points:.2f}", "Yes", "-", "-", ""])
    text = io.StringIO(newline="")
    csv.writer(text).writerows([COLUMNS[system], *rows])
    return text.getvalue()


def packed(
    class_: Iterable[Pupil],
    system: str,
    master: Mapping[str, Any],
    topic_name: str,
    *,
    first: bool,
) -> dict[str, str]:
    """What an archive holds: notebooks by the names that the system gives them.

    Args:
        class_: the class.
        system: whose archive it is.
        master: the student notebook of the chapter.
        topic_name: the chapter.
        first: whether it is packed before those who hand in twice do so again.
    """
    right = right_answers(topic_name)
    files, owners = {}, []
    for p in class_:
        if p.system != system or p.kind == "missing":
            continue
        again = p.kind == "twice" and not first
        answers = right | {name: WRONG.format(name) for name in p.wrong}
        blank = p.kind == "blank" or (p.kind == "twice" and first)
        data = submission(master, {} if blank else answers)
        if p.kind == "stripped":
            data["metadata"] = {}
            for cell in data["cells"]:
                cell["metadata"] = {}
        place = place_of(p, topic_name, again=again)
        files[place] = json.dumps(data)
        owners.append(
            f"{place.partition('/')[0]}:\n  :submitters:\n  - :name: {p.name}\n"
            f"    :sid: '{p.id}'\n    :email: {p.student}\n"
        )
    if system == GRADESCOPE:
        files[METADATA] = "".join(owners)
    return files


def place_of(pupil: Pupil, topic_name: str, *, again: bool) -> str:
    """The name that the system gives to the notebook in its archive."""
    file = f"{topic_name}.ipynb"
    if pupil.kind == "renamed":
        file = RENAMED[pupil.number // len(KINDS) % len(RENAMED)].format(topic_name)
    if pupil.system == MOODLE:
        return f"{pupil.name}_{pupil.id}_assignsubmission_file/{file}"
    if pupil.system == GRADESCOPE:
        return f"submission_{8_000 + pupil.number + 1_000 * again}/{file}"
    if again:  # Canvas numbers what is handed in again
        file = file.replace(".ipynb", "-1.ipynb")
    person = "".join(reversed(pupil.name.lower().split()))
    late = "_LATE" if pupil.kind == "late" else ""
    upload = 50_000 + pupil.number + 10_000 * again
    return f"{person}{late}_{pupil.id}_{upload}_{file}"


def write_archive(path: Path, files: Mapping[str, str]) -> None:
    """Pack files into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
