"""Every change of a mark is in the log: who, when, from, to, why."""

from __future__ import annotations

import json
import re

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.marks.audit import AuditLog
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.gradebook_errors import GradebookError
from autograder.marks.scores import Marks
from autograder.release.settings import settings_of
from tests.autograder.conftest import TOPIC

EXERCISES = list(load_topic(TOPIC).exercises)


def entries(course):
    path = course / "changes" / f"{TOPIC}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def report(score):
    """A report in which every exercise has one score."""
    found = [
        {"name": name, "score": score, "mistake": None, "message": "", "cases": []}
        for name in EXERCISES
    ]
    return {"exercises": found}


@pytest.fixture
def log(course):
    return AuditLog(course, TOPIC)


@pytest.fixture
def book(course, log):
    settings = settings_of(course)
    with ChapterMarks(
        settings.gradebook, settings.course_id, TOPIC, settings.late, log
    ) as marks:
        yield marks


def by_hand(course, student, exercise, score):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as theirs:
        grade = theirs.find_grade(f"check-{exercise}", TOPIC, TOPIC, student)
        grade.manual_score = score
        theirs.db.commit()


def test_marks_and_their_changes_are_logged_with_reason(course, book):
    book.write([("one", report(1), None)])
    book.write([("one", report(2), None)])
    book.write([("one", report(2), None)])  # nothing changes
    found = entries(course)
    assert [(e["what"], e["from"], e["to"]) for e in found] == [
        *((name, None, 1) for name in EXERCISES),
        *((name, 1, 2) for name in EXERCISES),
    ]
    for entry in found:
        assert (entry["student"], entry["why"]) == ("one", "examined")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["when"])
        assert entry["who"]


def test_marks_by_hand_are_found_by_the_next_run(course, book, log, capsys):
    book.write([("one", report(1), None)])
    log.find(book.read())
    known = len(entries(course))
    by_hand(course, "one", EXERCISES[0], 2.5)
    assert main(["changes", TOPIC, "--course", str(course)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"\S+ \S+ UTC  not known  one  {EXERCISES[0]}: 1 -> 2.5  "
        r"\(found: by hand, since the last run\)",
        said[-1],
    )
    assert len(entries(course)) == known + 1
    assert main(["changes", TOPIC, "--course", str(course)]) == 0
    assert len(entries(course)) == known + 1  # once


def test_an_excuse_and_its_end_are_found(course, book, log):
    book.write([("one", report(1), None), ("two", report(1), None)])
    table = course / "deadlines.csv"
    table.write_text(f"student,chapter,due\none,{TOPIC},excused\n")
    known = len(entries(course))
    for _ in range(2):  # each is told once
        log.find(book.read())
    table.write_text("student,chapter,due\n")
    log.find(book.read())
    total = len(EXERCISES)
    assert [tuple(e.values())[2:] for e in entries(course)[known:]] == [
        ("one", "mark", total, None, "excused"),
        ("one", "mark", None, total, "no longer excused"),
    ]


def test_entry_that_is_gone_is_found(course, book, log):
    book.write([("one", report(1), None)])
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as theirs:
        theirs.remove_submission(TOPIC, "one")
    log.find(book.read())
    assert [e["to"] for e in entries(course)[-len(EXERCISES) :]] == [None] * len(
        EXERCISES
    )


def test_no_line_is_written_of_marks_that_were_not(course, book):
    book.write([("one", report(1), None)])
    before = entries(course)
    with pytest.raises(GradebookError):
        book.write([("one", report(2), None), ("two", {"exercises": [{}]}, None)])
    assert entries(course) == before
    assert book.read()["one"].scores == dict.fromkeys(EXERCISES, 1)


def test_what_the_log_says_and_the_gradebook_has_not_is_found(course, book, log):
    """As where the disk was full between the two."""
    book.write([("one", report(1), None)])
    log.note("one", EXERCISES[0], 1, 2, "examined")
    log.write()
    log.find(book.read())
    *_, last = entries(course)
    assert (last["from"], last["to"], last["why"][:6]) == (2, 1, "found:")


def test_line_that_a_crash_cut_off_and_names_do_nothing_to_the_log(log):
    name = 'a\nb"\x1b[2J,=1+1'
    log.note("one", "softmax", None, 1, "examined")
    log.write()
    with log.path.open("a") as file:
        file.write('{"when": "2026-')
    log.note(name, "softmax", None, 2, "examined")
    log.write()
    assert [change.student for change in log.changes()] == ["one", name]
    assert log.changes()[1].line().isprintable()


def test_what_nobody_marked_yet_is_no_change(log):
    own = Marks(auto_scores={"essay": None}, scores={"essay": 0.0})
    log.find({"one": own})
    assert log.changes() == []
    own.by_hand, own.scores = {"essay": 3.0}, {"essay": 3.0}
    log.find({"one": own})
    assert len(log.changes()) == 1


def test_student_of_whom_nothing_is_known_is_one_line(course, book, capsys):
    book.write([("student01", report(1), None)])
    words = ["changes", TOPIC, "--course", str(course), "--student"]
    assert main([*words, "student1"]) == 2
    assert "no mark of 'student1' was ever changed" in capsys.readouterr().err
    assert main([*words, "student01"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(EXERCISES)
