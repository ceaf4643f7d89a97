"""The command line, as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from autograder.__main__ import main
from autograder.grading.chapter import Outcome
from classroom.submissions import hand_in, submission
from tests.autograder.conftest import TOPIC


def test_check_prints_the_report_as_json(needs_sandbox, solved, tmp_path, capsys):
    path = tmp_path / "renamed.ipynb"
    path.write_text(json.dumps(solved(attend="def attend(q, X): return q")))
    assert main(["check", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["chapter"] == TOPIC
    assert report["max_score"] == sum(e["max_score"] for e in report["exercises"])
    assert report["score"] == sum(e["score"] for e in report["exercises"])
    attend = next(e for e in report["exercises"] if e["name"] == "attend")
    assert attend["score"] == 0
    assert {"name", "score", "max_score", "mistake", "message", "cases"} <= set(attend)
    assert {"title", "points", "passed", "message"} <= set(attend["cases"][0])


def test_a_reader_that_has_enough_ends_a_command_quietly(tmp_path):
    command = [sys.executable, "-m", "autograder", "course", str(tmp_path), TOPIC]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_check_takes_modules_beside_a_notebook(needs_sandbox, solved, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef f(x): return np.exp(x)\n"
    )
    answer = (
        "from mine import f\ndef softmax(scores): return f(scores) / f(scores).sum()"
    )
    path = tmp_path / f"{TOPIC}.ipynb"
    path.write_text(json.dumps(solved(softmax=answer)))
    assert main(["check", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    softmax = next(e for e in report["exercises"] if e["name"] == "softmax")
    assert softmax["score"] > 0  # not all: it overflows


def test_check_prints_a_table(needs_sandbox, master, tmp_path, capsys):
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(master))
    assert main(["check", str(path)]) == 0
    assert "Not implemented yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.ipynb", None, "No such file"),
        ("text.ipynb", "hello", "not JSON"),
        ("other.ipynb", '{"nbformat": 4, "cells": []}', "no chapter 'other'"),
    ],
)
def test_unusable_notebook_is_one_line_and_status_2(
    tmp_path, capsys, name, content, words
):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    assert main(["check", str(path), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert words in said.err


def test_missing_bubblewrap_stops_with_what_to_install(
    solved, tmp_path, capsys, monkeypatch
):
    from autograder.sandbox.bubblewrap import require_bubblewrap

    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(solved()))
    monkeypatch.setenv("PATH", "/nowhere")
    require_bubblewrap.cache_clear()
    assert main(["check", str(path)]) == 2
    assert "apt install bubblewrap" in capsys.readouterr().err
    require_bubblewrap.cache_clear()


@pytest.mark.usefixtures("commands_share_workers", "needs_sandbox")
def test_grade_says_what_happened_in_each_chapter(course, master, right, capsys):
    at = ["--course", str(course)]
    assert main(["course", str(course), "scaling"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"1 chapter in {course}:",
        "  scaling",
    ]
    path = course / "release" / "scaling" / "scaling.ipynb"
    hand_in(course, "scaling", {"one": json.loads(path.read_text())})
    hand_in(course, TOPIC, {"one": submission(master, right)})
    (course / "submitted" / "two" / TOPIC).mkdir(parents=True)
    (course / "submitted" / "two" / TOPIC / "notes.txt").write_text("see my mail")
    assert main(["grade", "scaling", TOPIC, *at, "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "scaling: 1 examined" in said
    assert "not handed in: two" in said
    assert f"{TOPIC}: 2 examined" in said
    assert f"zero: two: no notebook {TOPIC}.ipynb was submitted" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grade", "simplifed-atention", "--course", "{course}"], f"mean {TOPIC}?"),
        (["course", "{course}/../new", "simplified_atention"], f"mean {TOPIC}?"),
        (["course", "{course}/../Year [2026]", TOPIC], "has a square bracket"),
        (["grade", TOPIC, "--course", "{course}/missing"], "is no course"),
        (["report", TOPIC, "--course", "{course}/missing"], "is no course"),
        (["report", TOPIC, "--course", "{course}"], "grade it first"),
        (["feedback", TOPIC, "--course", "{course}"], "nobody was graded"),
    ],
)
def test_bad_arguments_are_one_line_and_make_nothing(course, capsys, words, says):
    before = sorted(course.parent.rglob("*"))
    assert main([word.format(course=course) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
    assert sorted(course.parent.rglob("*")) == before


def test_the_most_frequent_mistakes_are_told_in_one_order():
    """But not one of a function that an answer only calls."""
    found = [
        {"name": name, "mistake": "m", "message": "hint", "own_helper": name == "h"}
        for name in "abcdefh"
    ]
    reports = {
        name: {"refused": None, "notes": [], "exercises": found[max(0, number - 1) :]}
        for number, name in enumerate("uvwxyz")
    }
    for names in ("uvwxyz", "zyxwvu"):
        outcome = Outcome(graded={name: reports[name] for name in names})
        assert outcome.lines(TOPIC)[1:] == [
            "  the 5 most frequent of 6 known mistakes:",
            "    6 times  e: m",
            "    6 times  f: m",
            "    5 times  d: m",
            "    4 times  c: m",
            "    3 times  b: m",
        ]


def test_names_are_printed_without_what_a_terminal_acts_on():
    report = {"refused": "no notebook", "notes": ["a note"], "exercises": []}
    name = "ada\u202eeve"
    outcome = Outcome(graded={name: report}, changes=[f"{name}: 1 -> 2"])
    printed = outcome.lines(TOPIC)
    assert len(printed) == 4
    assert all(line.isprintable() and "eve" in line for line in printed[1:])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grade", TOPIC, "--course", "x", "--jobs", "0"], "not a number of 1 or more"),
        (["regrade", TOPIC, "--course", "x", "--points", "nan"], "not a number above"),
    ],
)
def test_an_option_that_has_no_sense_is_refused(capsys, words, says):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert says in capsys.readouterr().err
