"""The whole way of a chapter through three systems.

Releases a chapter, collects a made-up class from archives of Canvas, Moodle and
Gradescope, grades, sets due dates, collects again from those who handed in twice, and
makes feedback and exports, with the commands that an instructor calls. Then looks
whether the mark of each person is under the person's own number in the tables that the
systems read, and in the feedback archive.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder.exercise import load_topic
from classroom.lms_class import (
    CANVAS,
    GRADESCOPE,
    MOODLE,
    SYSTEMS,
    Pupil,
    class_list,
    made_up_class,
    mark_of,
    packed,
    place_of,
    write_archive,
)

CHAPTER = "simplified_attention"
DUE, LATER = "2026-11-12 18:00 UTC", "2026-11-15 18:00 UTC"


@dataclass
class Walk:
    """What a walk found.

    Attributes:
        class_: who was in it.
        arrived: people whose mark is where it has to be, by system.
        wrong: a line for each mark that is not.
    """

    class_: list[Pupil]
    arrived: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def walk(folder: Path, size: int, run: Callable[[Sequence[str]], int]) -> Walk:
    """Go the whole way.

    Args:
        folder: an empty one, for the course and the archives.
        size: how many are in the class.
        run: calls a command of the grader; its exit status.

    Raises:
        RuntimeError: a command failed.
    """
    found = Walk(made_up_class(CHAPTER, size))
    course = folder / "course"

    def step(*words: str) -> None:
        if status := run(words):
            raise RuntimeError(f"{' '.join(words)} ended with status {status}")

    at = ["--course", str(course)]
    step("course", str(course), CHAPTER)
    _pack(folder, course, found.class_)
    for turn in ("first", "second"):
        for system in SYSTEMS:
            archive = str(folder / f"{system}_{turn}.zip")
            listed = str(folder / f"{system}.csv")
            step("collect", CHAPTER, archive, *at, "--roster", listed)
        if turn == "first":
            step("deadlines", str(folder / "deadlines.csv"), *at)
        step("grade", CHAPTER, *at)
    step("report", CHAPTER, *at)
    step("feedback", CHAPTER, *at)
    compare(course, found)
    return found


def _pack(folder: Path, course: Path, class_: Sequence[Pupil]) -> None:
    """Write the archives, class lists and deadlines that the systems would give."""
    path = course / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    master = nbformat.read(path, as_version=4)
    most = sum(e.points for e in load_topic(CHAPTER).exercises.values())
    for system in SYSTEMS:
        (folder / f"{system}.csv").write_text(class_list(class_, system, most))
        for turn in ("first", "second"):
            files = packed(class_, system, master, CHAPTER, first=turn == "first")
            write_archive(folder / f"{system}_{turn}.zip", files)
    lines = ["student,chapter,due", f",{CHAPTER},{DUE}"]
    for pupil in class_:
        if pupil.kind == "excused":
            lines.append(f"{pupil.student},{CHAPTER},excused")
        if pupil.kind == "late":
            lines.append(f"{pupil.student},{CHAPTER},{LATER}")
    (folder / "deadlines.csv").write_text("\n".join(lines))


def compare(course: Path, found: Walk) -> None:
    """Look for the mark of each person as the importers of the systems do."""
    canvas = {row["ID"]: row[CHAPTER] for row in _table(course, CANVAS) if row["ID"]}
    moodle = {
        row["Identifier"].removeprefix("Participant "): row["Grade"]
        for row in _table(course, MOODLE)
    }
    gradescope = {row["SID"]: row["Total Score"] for row in _table(course, GRADESCOPE)}
    tables = {CANVAS: canvas, MOODLE: moodle, GRADESCOPE: gradescope}
    returned = {system: _returned(course, system) for system in tables}
    for pupil in found.class_:
        mark = mark_of(pupil, CHAPTER)
        excused = "EX" if pupil.system == CANVAS and pupil.kind == "excused" else ""
        expected = excused if mark is None else f"{mark:g}"
        given = tables[pupil.system].get(pupil.id, "no line")
        page = _page_mark(pupil, returned[pupil.system])
        page = mark if pupil.system == GRADESCOPE else page
        if given == expected and page == (None if mark is None else mark):
            found.arrived[pupil.system] += 1
        else:
            who = f"{pupil.student} ({pupil.kind})"
            found.wrong.append(f"{who}: {given!r}, {page}; expected {expected!r}")


def _table(course: Path, system: str) -> list[dict[str, str]]:
    path = course / "reports" / f"{CHAPTER}_{system}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _returned(course: Path, system: str) -> dict[str, str]:
    """The files of a feedback archive, by name; Gradescope takes none."""
    if system == GRADESCOPE:
        return {}
    path = course / "feedback" / f"{CHAPTER}_{system}.zip"
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def _page_mark(pupil: Pupil, files: dict[str, str]) -> float | None:
    """The mark that the feedback for a person states; None if there is no feedback."""
    place = place_of(pupil, CHAPTER, again=pupil.kind == "twice")
    if pupil.system == MOODLE:
        place = f"{place.partition('/')[0]}/{CHAPTER}.html"
        if place not in files:
            return None
        return float(files[place].partition("(Score: ")[2].partition(" /")[0])
    if place not in files:
        return None
    head = json.loads(files[place])["cells"][0]["source"]
    return float(head.partition(": ")[2].partition(" of")[0])
