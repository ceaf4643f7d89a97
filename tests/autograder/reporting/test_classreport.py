"""What a class got wrong, from made-up reports with known answers."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from autograder.handback.lms_tables import write_lms_tables
from autograder.marks.reports import read_reports
from autograder.marks.scores import Marks
from autograder.reporting.classreport import write_class_report
from tests.autograder import made_up
from tests.autograder.conftest import TOPIC

HOSTILE = '<script>alert(1)</script><img src="http://far.away/x">'


def report(student, passed, mistake=None, refused=None, message=""):
    worth = {"first": 2, "second": 1}
    outcomes = dict(zip(worth, passed, strict=True))
    hint = "You did it." if mistake else ""
    found = made_up.exercise("softmax", outcomes, worth, mistake, hint)
    found["cases"][0]["message"] = message
    return made_up.report(student, [found], refused)


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "reports" / TOPIC
    folder.mkdir(parents=True)
    for data in (
        report("ada", (True, True)),
        report("ben", (False, True), mistake="wrong_axis"),
        report("=cmd()", (False, True), mistake="wrong_axis"),
        report("dan", (False, False), message=HOSTILE),
        report("eve", (False, False), refused=f"not JSON {HOSTILE}"),
    ):
        (folder / f"{data['student']}.json").write_text(json.dumps(data))
    return tmp_path


def write(course, marks=None):
    report = read_reports(course, TOPIC)
    report = report.counting(marks) if marks else report
    return write_class_report(course, report) | write_lms_tables(course, report)[0]


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.words, self.policy = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        self.links += [attrs[name] for name in ("src", "href") if name in attrs]
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_is_self_contained_and_runs_nothing(course):
    text = write(course)["page"].read_text()
    page = Page(text)
    assert page.tags.count("style") == 1
    assert all(link.startswith("#") for link in page.links)
    loading = {"img", "iframe", "object", "embed", "form", "base", "script"}
    assert not loading & set(page.tags)
    words = " ".join(page.words)
    assert "wrong axis" in words
    assert "<script>" in words  # shown as text
    # As a browser works out what it may use.
    (content,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'; ")
    assert not re.search(r"\s(?:style|on\w+)=", text)


def shown(course, **more):
    """The words of the page, without the space between them."""
    report = replace(read_reports(course, TOPIC), **more)
    path = write_class_report(course, report)["page"]
    return " ".join(" ".join(Page(path.read_text()).words).split())


def test_nothing_handed_in_excused_and_zero_are_told_apart(course):
    words = shown(course, missing=["fay", "gil"], excused=["hal"], late=["ben"])
    assert "handed in 5 of 7 of them late 1" in words
    assert "not handed in: no mark 2 excused: no mark 1" in words
    assert "with zero points (1 could not be examined) 2" in words
    assert "fay : not handed in" in words
    assert "hal : " not in words  # nobody worries about them
    for row in ("fay not handed in – –", "hal excused – –", "dan handed in 0 0%"):
        assert row in words
    assert "eve zero (handed in) 0 0%" in words
    assert "ben late 1 33% softmax" in words


def test_the_first_screen_answers_three_questions(course):
    """Of four answers, one is right, two are one mistake, and one is a puzzle."""
    words = shown(course)
    first = words.partition("Wrong answers without a cause")[0]
    help_, _, rest = first.partition("Which exercise was hard")
    which, _, teach = rest.partition("Which mistake to teach again")
    places = [help_.index(f"{name} : ") for name in ("dan", "eve", "=cmd()", "ben")]
    assert places == sorted(places)
    assert "=cmd() : 1 of 3 points" in help_
    # 3 + 1 + 1 + 0 of 4 times 3 points.
    mean = "3 of 4 lost points, and the mean is 42%, 1 wrong in an unknown way"
    assert f"softmax : {mean}" in which
    assert "One wrong answer has no cause yet" in teach
    assert "2 of 4 · softmax · wrong axis You did it." in teach
    assert "Read again: section “" in teach


def test_a_class_of_one_and_a_class_without_mistakes_have_a_page(tmp_path):
    folder = tmp_path / "reports" / TOPIC
    folder.mkdir(parents=True)
    (folder / "ada.json").write_text(json.dumps(report("ada", (True, True))))
    words = shown(tmp_path)
    assert "handed in 1 of 1" in words
    assert "of them late" not in words
    assert "The mark is 3 of 3 points." in words
    assert "Nobody, by what is known here." in words
    assert "None: all have all points." in words
    refused = report("ada", (False, False), refused="not JSON") | {"exercises": []}
    (folder / "ada.json").write_text(json.dumps(refused))
    assert "none of 0" not in shown(tmp_path)


def test_tables_are_safe_in_spreadsheets(course):
    path = course / "reports" / TOPIC / "fay.json"
    name = 'fay;=cmd()\t+cmd();"=cmd()"\n @cmd()'
    path.write_text(json.dumps(report(name, (True, True))))
    paths = write(course)
    for name in ("scores", "canvas", "gradescope"):
        for separator in (";", "\t", ","):
            with paths[name].open(newline="") as file:
                for row in csv.reader(file, delimiter=separator):
                    cells = [cell.lstrip(' "') for cell in row]
                    assert not any(c.startswith(("=", "+", "@")) for c in cells)
    table = {row[0]: row for row in rows(paths["scores"])}
    assert [float(cell) for cell in table["ada"][1:5]] == [3, 3, 0, 3]
    assert table["'=cmd()"][1] == "1"
    canvas = rows(paths["canvas"])
    assert canvas[1][0].strip() == "Points Possible"
    assert canvas[1][5] == "3"
    assert {row[3]: row[5] for row in canvas[2:]}["ada"] == "3"


def test_marks_in_the_gradebook_count_and_those_of_the_instructors_cells(course):
    had, most = {"softmax": 2.5, "essay": 4.0}, {"softmax": 3.0, "essay": 5.0}
    paths = write(course, {"ben": Marks({}, had, most, 0.5)})
    header, found = rows(paths["scores"])  # ada was removed from the gradebook
    wanted = {"student": "ben", "score": "6", "late_penalty": "0.5"}
    wanted |= {"softmax": "2.5", "essay": "4"}
    row = dict(zip(header, found, strict=True))
    assert {name: row[name] for name in wanted} == wanted
    assert rows(paths["canvas"])[1][5] == "8"


def test_what_is_no_report_is_left_out(course):
    """Beside five that are: others, halves, and things that are no files."""
    right = report("infinite", (True, True))
    junk = {
        "infinite": right | {"score": float("inf")},
        "noteless": right | {"student": "noteless", "notes": None},
        "listless": {"student": "listless", "exercises": 3},
        "another": right,
    }
    folder = course / "reports" / TOPIC
    for name, data in junk.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    (folder / "half.json").write_text('{"student": "half", "exer')
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("nowhere")
    assert len(rows(write(course)["scores"])) == 1 + 5


def test_reports_of_two_versions_of_a_chapter_fit_in_one_table(course):
    newer = report("zoe", (True, True))
    newer["exercises"].append({**newer["exercises"][0], "name": "attend"})
    newer["max_score"] = 6
    path = course / "reports" / TOPIC / "zoe.json"
    path.write_text(json.dumps(newer))
    paths = write(course)
    header, *found = rows(paths["scores"])
    assert header[4:7] == ["softmax", "attend", "refused"]
    assert {len(row) for row in found} == {len(header)}
    assert rows(paths["canvas"])[1][5] == "6"
