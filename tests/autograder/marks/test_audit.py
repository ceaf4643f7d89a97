"""Every change of a mark is in the log: who, when, from, to, why."""

from __future__ import annotations

import errno
import json
import re
import resource
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.marks import audit
from autograder.marks.audit import AuditLog
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.gradebook_errors import GradebookError
from autograder.marks.scores import Marks
from autograder.release.settings import settings_of
from classroom.submissions import hand_in, submission
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


def test_log_that_begins_late_says_so(course, book, log):
    settings = settings_of(course)
    with ChapterMarks(settings.gradebook, settings.course_id, TOPIC) as unlogged:
        unlogged.write([("one", report(1), None)])
    log.find(book.read())
    assert {e["why"] for e in entries(course)} == {"found when this log began"}
    assert len(entries(course)) == len(EXERCISES)


def test_entry_that_is_gone_is_found(course, book, log):
    book.write([("one", report(1), None)])
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as theirs:
        theirs.remove_submission(TOPIC, "one")
    log.find(book.read())
    assert [e["to"] for e in entries(course)[-len(EXERCISES) :]] == [None] * len(
        EXERCISES
    )


def test_no_line_stays_of_marks_that_were_not_written(course, book, monkeypatch):
    book.write([("one", report(1), None)])
    before = entries(course)
    with pytest.raises(GradebookError):
        book.write([("one", report(2), None), ("two", {"exercises": [{}]}, None)])
    assert entries(course) == before
    assert book.read()["one"].scores == dict.fromkeys(EXERCISES, 1)

    class Full(Exception):
        pass

    write = AuditLog.write

    def write_and_fail(self):
        write(self)
        raise Full

    monkeypatch.setattr(AuditLog, "write", write_and_fail)
    with pytest.raises(Full):
        book.write([("one", report(2), None)])
    assert entries(course) == before
    assert book.read()["one"].scores == dict.fromkeys(EXERCISES, 1)


@pytest.mark.parametrize("fits", [0, 100, 1000])
def test_a_full_disk_leaves_no_line_of_what_was_not_written(log, fits, monkeypatch):
    """Also where the beginning fits, or the disk says so only at the end."""
    log.note("one", "softmax", None, 1, "examined")
    log.write()
    before = log.path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(audit.os, "fsync", full)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + fits, hard))
    try:
        with pytest.raises(OSError), log.transaction():
            for name in ("two", "three"):
                log.note(name, "softmax", None, 2, "examined")
            log.write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log.path.read_bytes() == before


def test_line_that_a_crash_cut_off_is_passed_over(log):
    log.note("one", "softmax", None, 1, "examined")
    log.write()
    with log.path.open("a") as file:
        file.write('{"when": "2026-')
    log.note("two", "softmax", None, 2, "examined")
    log.write()
    assert [change.student for change in log.changes()] == ["one", "two"]


def test_names_do_nothing_to_the_log_or_the_terminal(log):
    name = 'a\nb"\x1b[2J,=1+1'
    log.note(name, "softmax", None, 1, "examined")
    log.write()
    (change,) = log.changes()
    assert change.student == name
    assert "\x1b" not in change.line()
    assert "\n" not in change.line()


def test_what_nobody_marked_yet_is_no_change(log):
    own = Marks(auto_scores={"essay": None}, scores={"essay": 0.0})
    assert log.find({"one": own}) == 0
    own.by_hand, own.scores = {"essay": 3.0}, {"essay": 3.0}
    assert log.find({"one": own}) == 1


def test_student_of_whom_nothing_is_known_is_one_line(course, book, capsys):
    book.write([("student01", report(1), None)])
    words = ["changes", TOPIC, "--course", str(course), "--student"]
    assert main([*words, "student1"]) == 2
    assert "no mark of 'student1' was ever changed" in capsys.readouterr().err
    assert main([*words, "student01"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(EXERCISES)


def test_penalties_are_logged(course, master, right, grade):
    (course / "fixed.py").write_text(
        "from nbgrader.plugins import BasePlugin\n\n\n"
        "class OnePoint(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, seconds):\n"
        "        return 1\n"
    )
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("c.AssignLatePenalties.plugin_class = 'fixed.OnePoint'\n")
    hand_in(course, TOPIC, {"one": submission(master, right)})
    stamp = course / "submitted" / "one" / TOPIC / "timestamp.txt"
    stamp.write_text("2026-10-02 12:00:00 UTC")
    table = "student,chapter,due\n,{},2026-10-{} 12:00 UTC\n"
    (course / "deadlines.csv").write_text(table.format(TOPIC, "01"))
    grade(TOPIC, course)
    (course / "deadlines.csv").write_text(table.format(TOPIC, "03"))
    grade(TOPIC, course)
    found = [e for e in entries(course) if e["what"] == "late penalty"]
    assert [(e["from"], e["to"]) for e in found] == [(0, 1), (1, 0)]
    shutil.rmtree(course / "changes")
    grade(TOPIC, course)
    assert not [e for e in entries(course) if e["what"] == "late penalty"]
