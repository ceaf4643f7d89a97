"""Causes and symptoms of a class."""

from __future__ import annotations

from autograder.book import chapter_title
from autograder.marks.reports import ClassReport
from autograder.reasons import Reason
from autograder.reporting.causes import (
    MISTAKE,
    NONE,
    SYMPTOM,
    causes_in,
    left_as_they_were,
)
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


def test_what_a_wrong_helper_may_cause_is_no_known_mistake():
    hint = "You left out the scale."
    helper = f"{hint} Your answer calls your own `f`, which lost points itself."
    class_ = class_of(
        zoe=wrong("no_scale", hint), quinn=wrong("no_scale", helper, own_helper=True)
    )
    found = {cause.students: cause for cause in causes_in(class_)}
    assert found["zoe",].kind == MISTAKE
    assert (found["quinn",].kind, found["quinn",].says) == (SYMPTOM, helper)


def test_causes_are_ranked_by_how_many_share_them_without_who_did_not_begin():
    class_ = class_of(
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
    found = causes_in(class_)
    assert left_as_they_were(class_) == {"attend": ["i"]}
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
    assert f"“{chapter_title(TOPIC)}”, section “" in found[0].reading


def test_a_test_whose_rows_say_why_it_fails_is_no_puzzle():
    def failed(reason, says):
        (found,) = wrong(first=says)
        found["cases"][0]["reason"] = reason
        return [found]

    found = causes_in(
        class_of(
            large=failed(Reason.TOO_LARGE, "too large: 12 values in total"),
            agrees=failed(Reason.NOT_FOUND, "on these 20 arguments, it agrees"),
            also=failed(Reason.NOT_FOUND, "on these 30 arguments, it agrees"),
            refused=failed(Reason.NOT_ALLOWED, "a score is not finite"),
        )
    )
    students = [("agrees", "also"), ("large",), ("refused",)]
    assert sorted(tuple(sorted(cause.students)) for cause in found) == students
    assert {cause.kind for cause in found} == {SYMPTOM}
    assert "“first”: too large: 12 values in total" in [cause.says for cause in found]


def test_an_exercise_that_left_the_book_has_nowhere_to_read():
    answer = exercise("long_gone", {"first": False}, {"first": 1}, "m", "No.")
    (cause,) = causes_in(class_of(a=[answer]))
    assert cause.reading == ""
