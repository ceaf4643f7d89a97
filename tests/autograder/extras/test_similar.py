"""Pairs are ranked by the rare wrong answers that they share, and exported."""

import math

import pytest

from autograder.__main__ import main
from autograder.extras.similar import similar_pairs
from autograder.marks.reports import ClassReport
from autograder.reasons import Reason
from tests.autograder.conftest import TOPIC
from tests.autograder.extras.conftest import HOSTILE
from tests.autograder.made_up import exercise, report

POINTS = {"rows": 1, "mask": 1}


def wrong(name, title, mistake=None):
    passed = {case: case != title for case in POINTS}
    return exercise(name, passed, POINTS, mistake, message=mistake or "")


def right(name):
    return exercise(name, dict.fromkeys(POINTS, True), POINTS)


def class_of(**answers):
    return ClassReport(TOPIC, [report(who, what) for who, what in answers.items()])


def test_the_rarer_what_two_share_the_further_up_they_are():
    others = {f"s{n:02}": [right("f"), right("g")] for n in range(13)}
    found = similar_pairs(
        class_of(
            ann=[wrong("f", "rows", "odd"), wrong("g", "mask", "rare")],
            bob=[wrong("f", "rows", "odd"), wrong("g", "mask", "rare")],
            cy=[wrong("f", "rows", "odd"), wrong("g", "rows", "other")],
            **others,
        )
    )
    assert [pair.students for pair in found] == [
        ("ann", "bob"),
        ("ann", "cy"),
        ("bob", "cy"),
    ]
    first, second = math.log2(16 / 3), math.log2(16 / 2)
    assert found[0].evidence == pytest.approx(first + second)
    assert found[1].evidence == pytest.approx(first)
    assert [s.exercise for s in found[0].shared] == ["f", "g"]


def test_what_many_share_and_what_nobody_wrote_is_no_evidence():
    common = {f"s{n}": [wrong("f", "rows", "usual")] for n in range(5)}
    passed = dict.fromkeys(POINTS, False)
    blank = exercise("f", passed, POINTS, message="Not yet.", reason=Reason.STUB)
    none = {f"n{n}": [blank] for n in range(2)}
    assert not similar_pairs(class_of(**common, **none))


def test_the_page_shows_both_answers_and_runs_nothing(course, capsys):
    assert main(["similar", TOPIC, "--course", str(course)]) == 0
    said = capsys.readouterr().out
    assert "8 submissions, pairs with a rare wrong answer in common: 1" in said
    assert "evidence and no verdict" in said
    page = (course / "reports" / f"{TOPIC}_similar.html").read_text(encoding="utf-8")
    assert "ann and bob" in page and "dan" not in page
    assert "wombat" in page
    assert HOSTILE not in page and "&lt;script&gt;alert(1)" in page
    assert "<script" not in page


def test_the_export_is_what_dolos_and_jplag_read(course, tmp_path, capsys):
    folder = tmp_path / "out"
    command = ["similar", TOPIC, "--course", str(course), "--export", str(folder)]
    assert main(command) == 0
    codes = {path.stem: path.read_text() for path in (folder / "submissions").iterdir()}
    assert set(codes) == {"ann", "bob", "cy", "dan", "eve", "fay", "gil", "hal"}
    assert "wombat" in codes["bob"] and "platypus" in codes["cy"]
    assert not codes["eve"].strip()  # of stubs nothing is left
    base = (folder / "base" / "base.py").read_text(encoding="utf-8")
    assert "def softmax" in base
    assert main(command) == 2  # nothing is overwritten
    assert "new or empty" in capsys.readouterr().err
