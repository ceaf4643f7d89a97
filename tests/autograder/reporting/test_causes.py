"""Causes and symptoms of a class, and what makes a question look broken."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.answers import answer, decode
from autograder.book import chapter_title
from autograder.exercise import load_topic
from autograder.expected import expect, public_seeds
from autograder.grading.examine import summary
from autograder.judge import judge
from autograder.marks.reports import ClassReport
from autograder.reasons import Reason
from autograder.reporting.causes import (
    MISTAKE,
    NONE,
    SYMPTOM,
    causes_in,
    explained,
    left_as_they_were,
    unexplained,
)
from autograder.reporting.classreport import entry
from autograder.reporting.examples import Examples, definition
from autograder.reporting.items import item_analysis
from autograder.reporting.suspects import suspects
from classroom.submissions import submission
from tests.autograder.conftest import TOPIC
from tests.autograder.made_up import exercise, report

WORTH = {"first": 2, "second": 1}


def wrong(mistake=None, message="", passed=(False, True), first="", **more):
    outcomes = dict(zip(WORTH, passed, strict=True))
    found = exercise("attend", outcomes, WORTH, mistake, message, **more)
    found["cases"][0]["message"] = first
    return [found]


def class_of(**answers):
    return ClassReport(TOPIC, [report(name, a) for name, a in answers.items()])


def test_what_a_wrong_helper_may_cause_is_no_known_mistake_and_no_example(
    tmp_path, master, right
):
    hint = "You left out the scale."
    helper = f"{hint} Your answer calls your own `f`, which lost points itself."
    class_ = class_of(
        zoe=wrong("no_scale", hint), quinn=wrong("no_scale", helper, own_helper=True)
    )
    found = {cause.students: cause for cause in causes_in(class_)}
    assert found["zoe",].kind == MISTAKE
    assert (found["quinn",].kind, found["quinn",].says) == (SYMPTOM, helper)
    for name in ("zoe", "quinn"):
        path = tmp_path / "autograded" / name / TOPIC / f"{TOPIC}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(submission(master, right)))
    shown = {s: entry(c, class_, Examples(tmp_path, TOPIC)) for s, c in found.items()}
    assert "def attend" in shown["zoe",]["example"]
    assert shown["quinn",]["example"] == ""


def test_causes_are_ranked_by_how_many_share_them():
    found = causes_in(
        class_of(
            a=wrong("no_scale", "You left out the scale."),
            b=wrong("no_scale", "You left out the scale."),
            c=wrong(None, "Each row is 1.25 times the right one (3 of 4 rows)."),
            d=wrong(None, "Each row is 7 times the right one (2 of 2 rows)."),
            e=wrong(None, "Each row is 7 times the right one (2 of 2 rows)."),
            f=wrong(None, "", first="12 of 35 values differ; at [1] yours is -0.5"),
            g=wrong(None, "", first="3 of 6 values differ; at [4] yours is 2.5"),
            h=wrong(None, "", passed=(False, False), first="3 of 6 values differ"),
            i=wrong(None, "", (False, False), reason=Reason.STUB),
            j=wrong(passed=(True, True)),
        )
    )
    assert [(c.kind, c.name, c.students) for c in found] == [
        (SYMPTOM, "", ("c", "d", "e")),
        (NONE, "", ("f", "g")),
        (MISTAKE, "no scale", ("a", "b")),
        (NONE, "", ("h",)),
    ]
    by_students = {c.students: c for c in found}
    assert by_students["a", "b"].says == "You left out the scale."
    assert by_students["c", "d", "e"].says.startswith("Each row is 7 times")
    assert by_students["h",].failed == ("first", "second")
    assert by_students["h",].lost == 3
    assert [c.students for c in unexplained(found)] == [("f", "g"), ("h",)]
    assert [c.kind for c in explained(found)] == [SYMPTOM, MISTAKE]
    assert f"“{chapter_title(TOPIC)}”, section “" in found[0].reading


def judged_test(scores):
    """What the grader reports on a test of softmax with these scores."""
    topic = load_topic(TOPIC)
    asked = topic.exercises["break_softmax"]
    expected = expect(topic, asked, public_seeds(asked))
    given = [
        decode(answer(case, lambda: scores, seed))
        for case, seed in zip(asked.cases, expected.seeds, strict=True)
    ]
    return summary(topic, [judge(asked, given, expected)])["exercises"]


def test_a_test_whose_rows_say_why_it_fails_is_no_puzzle():
    spread = np.linspace(-1000.0, 900.0, 20)
    (right,) = load_topic(TOPIC).reference("break_softmax")()
    sent = {
        "large": (np.concatenate([right, right]),),
        "agrees": (spread.reshape(4, 5),),
        "also": (spread.reshape(2, 10),),
        "refused": (np.full((2, 3), np.nan),),
    }
    report_ = class_of(**{name: judged_test(scores) for name, scores in sent.items()})
    for r in report_.reports:  # what the judge says of the whole is another cause
        for exercise_ in r["exercises"]:
            exercise_ |= {"message": "", "reason": Reason.NONE}
    found = causes_in(report_)
    assert sorted(c.students for c in found) == [
        *(("agrees", "also"), ("large",), ("refused",))
    ]
    assert unexplained(found) == []
    assert suspects([], found) == []
    said = " ".join(cause.says for cause in found)
    assert "”: on these arguments, it agrees with the right one" in said
    assert f"”: too large: {2 * right.size} values in total, of at most 4" in said


def test_who_did_not_begin_is_told_apart_from_who_failed():
    found = class_of(
        a=wrong(None, "", (False, False), reason=Reason.STUB), b=wrong("m", "No.")
    )
    assert left_as_they_were(found) == {"attend": ["a"]}
    assert [cause.students for cause in causes_in(found)] == [("b",)]


def test_an_exercise_that_left_the_book_has_nowhere_to_read():
    answer = exercise("long_gone", {"first": False}, {"first": 1}, "m", "No.")
    (cause,) = causes_in(class_of(a=[answer]))
    assert cause.reading == ""


def test_a_question_that_nobody_solves_is_suspected_once():
    failing = {f"s{n}": wrong("m", "No.", (False, False)) for n in range(5)}
    report_ = class_of(**failing)
    (found,) = suspects(item_analysis(report_), causes_in(report_))
    assert (found.where, found.case) == ("attend", "")
    assert found.why == "none of 5 has all of its points"
    some = {f"s{n}": wrong("m", "No.", (False, n > 2)) for n in range(5)}
    report_ = class_of(**some)
    found = suspects(item_analysis(report_), causes_in(report_))
    assert [s.case for s in found] == ["", "first"]
    four = class_of(**dict(list(failing.items())[:4]))
    assert suspects(item_analysis(four), causes_in(four)) == []


def test_wrong_answers_that_nobody_can_explain_make_a_question_suspect():
    answers = {f"s{n}": wrong(first="1 of 2 values differ") for n in range(3)}
    answers |= {f"t{n}": wrong("m", "No.") for n in range(2)}
    answers |= {f"u{n}": wrong(passed=(True, True)) for n in range(5)}
    report_ = class_of(**answers)
    (found,) = suspects(item_analysis(report_), causes_in(report_))
    assert found.why == "3 of 5 wrong answers have no known cause"
    answers["v"] = wrong("m", "No.")
    report_ = class_of(**answers)
    assert suspects(item_analysis(report_), causes_in(report_)) == []


ANSWER = '''import numpy as np  # of student07

def helper(x):
    return x

def attend(q, X):
    """Written by student07."""
    # I am student07
    w = X @ q  # (N,)
    "student07 again"
    return w @ X, w
'''


def test_an_example_is_the_definition_without_what_tells_whose_it_is():
    assert definition(ANSWER, "attend") == (
        "def attend(q, X):\n    w = X @ q\n    return (w @ X, w)"
    )
    assert definition("class A:\n    '''Doc.'''\n", "A") == "class A:\n    pass"
    assert definition("%timeit 3\ndef f(): return 1", "f").startswith("def f():")


@pytest.mark.parametrize("cell", ["", "def f(:", "x = 3", "def g(): pass", "#" * 10**6])
def test_what_is_no_definition_is_no_example(cell):
    assert definition(cell, "f") == ""


def test_a_long_example_is_cut():
    body = "\n".join(f"    x{n} = '{'y' * 300}'" for n in range(60))
    lines = definition(f"def f():\n{body}", "f").split("\n")
    assert len(lines) == 41
    assert max(map(len, lines)) <= 104


def notebook(cell):
    """The examined notebook of somebody with one answer."""
    metadata = {"nbgrader": {"grade_id": "attend"}}
    cells = [{"cell_type": "code", "metadata": metadata, "source": cell}]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def test_an_answer_that_names_its_author_is_never_the_example(tmp_path):
    (tmp_path / "collected").mkdir()
    (tmp_path / "collected" / "roster.csv").write_text(
        "student,name,email\ns1,Renata Quill,rq@example.org\ns2,B,b@example.org\n"
    )
    answers = {
        "s1": "def attend(q, X):\n    quill = 1\n    return quill",
        "s2": "def attend(q, X):\n    return X.mean(axis=0), 'a longer answer'",
        "s3": "def attend(q, X):\n    raise ValueError('s3 was here')",
        "s5": "no python at all (",
    }
    for student, cell in answers.items():
        folder = tmp_path / "autograded" / student / TOPIC
        folder.mkdir(parents=True)
        (folder / f"{TOPIC}.ipynb").write_text(json.dumps(notebook(cell)))
    (tmp_path / "autograded" / "s6" / TOPIC).mkdir(parents=True)
    (tmp_path / "autograded" / "s6" / TOPIC / f"{TOPIC}.ipynb").write_text("[]")
    examples = Examples(tmp_path, TOPIC)
    assert "longer answer" in examples.of(
        "attend", ["s1", "s2", "s3", "s4", "s5", "s6"]
    )
    assert examples.of("attend", ["s1", "s3", "s4", "s5", "s6"]) == ""
    assert examples.of("softmax", ["s2"]) == ""
