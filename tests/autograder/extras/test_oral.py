"""Questions are about lines of students' own code, and their answers are true."""

import html
import re
from random import Random

import pytest

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.extras import oral
from autograder.extras.oral import ASKED, edits
from autograder.extras.similar import Graded
from autograder.marks.whole_class import report_on_class
from tests.autograder.conftest import TOPIC
from tests.autograder.extras.conftest import HOSTILE

CODE = """import numpy as np

def f(q, k, mask):
    s = q @ k.T / np.sqrt(q.shape[-1])
    s = s - s.max(axis=-1, keepdims=True)
    return np.where(mask > 0, np.tril(s), s + 1)

def g(x):
    return x * 2
"""
EDITED = {  # by hand: some of what becomes of lines 4 to 6
    "s = k.T @ q / np.sqrt(q.shape[-1])",
    "s = q @ k / np.sqrt(q.shape[-1])",
    "s = q @ k.T / q.shape[-1]",
    "s = s - s.min(axis=-1, keepdims=True)",
    "s = s - s.max(keepdims=True, axis=-2)",
    "return np.where(mask >= 0, np.tril(s), s + 1)",
    "return np.where(mask > 0, np.triu(s), s + 1)",
    "return np.where(mask > 0, np.tril(s), s - 1)",
}


def test_each_edit_changes_one_line_of_the_definition():
    found = edits(CODE, "f", Random(0))
    assert {edit.after.strip() for edit in found} >= EDITED
    lines = CODE.split("\n")
    for edit in found:
        now = edit.source.split("\n")
        changed = [n for n, line in enumerate(now) if line != lines[n]]
        assert changed == [edit.line]
        assert edit.line + 1 in (4, 5, 6)


@pytest.mark.parametrize("code", ["f = 1", "", "def g():\n  return 1 + 2"])
def test_code_that_cannot_be_edited_gives_no_question(code):
    assert edits(code, "f", Random(0)) == []


@pytest.fixture(scope="module")
def pages(graded):
    """The questions and the answers, by student, with tags taken out."""
    assert main(["oral", TOPIC, "--course", str(graded)]) == 0
    found = []
    for end in ("oral", "oral_answers"):
        text = (graded / "reports" / f"{TOPIC}_{end}.html").read_text(encoding="utf-8")
        assert HOSTILE not in text and "<script" not in text
        sections = re.findall(r"<h2>(\w+)</h2>(.*?)</section>", text, re.S)
        found.append(
            {who: html.unescape(re.sub("<.*?>", "", s)) for who, s in sections}
        )
    return found


def test_everybody_who_wrote_code_is_asked(pages):
    questions, answers = pages
    assert set(questions) == set(answers)
    for student, text in questions.items():
        asked = len(re.findall(r"^\d+\. ", text, re.M))
        assert asked == (0 if student == "eve" else ASKED), student
    assert "no code to ask about" in questions["eve"]


def test_a_mistake_is_asked_about_and_only_the_examiner_reads_the_hint(pages):
    questions, answers = pages
    assert "Which line is to blame" in questions["ann"]
    assert "Which line is to blame" not in questions["cy"]
    hint = " ".join(load_topic(TOPIC).mistakes("softmax")[0].hint.split())
    assert hint in " ".join(answers["ann"].split())
    assert hint not in " ".join(questions["ann"].split())


def failing(course, monkeypatch, after):
    """How many cases fail, as the answer to an edit of cy's softmax says."""
    only = [e for e in edits(code_of(course), "softmax", Random(0)) if after in e.after]
    monkeypatch.setattr(oral, "edits", lambda _, name, __: only * (name == "softmax"))
    report, _ = report_on_class(course, TOPIC)
    report.reports[:] = [r for r in report.reports if r["student"] == "cy"]
    (sheet,) = oral.sheets(course, report, lambda items, total: items)
    (question,) = sheet.questions
    assert after in question.ask
    return question.answer.count(" fails: ")


def code_of(course):
    return Graded(course, TOPIC).answers_of("cy")["softmax"]


def test_what_an_edit_does_is_worked_out_by_running_it(graded, monkeypatch):
    """Another base changes all values; another shift only what then overflows."""
    base, shift = (failing(graded, monkeypatch, e) for e in ("np.exp2(", ".min("))
    assert 0 < shift < base
