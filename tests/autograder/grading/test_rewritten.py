"""Which marks by hand ask for another look, with and without an earlier report."""

from __future__ import annotations

import pytest

from autograder.grading.rewritten import CERTAIN, DIGESTS, GONE, UNCERTAIN, rewritten


def notebook(essay, own="thoughts"):
    cells = [
        {"metadata": {"nbgrader": {"grade_id": "essay"}}, "source": essay},
        {"metadata": {}, "source": [own]},
        {"metadata": {"nbgrader": {"grade_id": "check-f"}}, "source": "check(f)"},
    ]
    return {"cells": cells}


@pytest.mark.parametrize(
    ("said", "now", "told"),
    [
        ({DIGESTS: {"essay": "a"}}, {"essay": "a"}, {}),
        ({DIGESTS: {"essay": "a"}}, {"essay": "b"}, {"essay": CERTAIN}),
        ({DIGESTS: {"essay": "a"}}, {}, {"essay": GONE}),  # now refused
        ({"refused": "no notebook"}, {"essay": "a"}, {"essay": UNCERTAIN}),
        ({DIGESTS: {"other": "a"}}, {"other": "b"}, {}),  # without a mark
    ],
)
def test_a_report_tells_which_answers_changed(said, now, told):
    assert rewritten(said, {DIGESTS: now}, ["essay", "f"], ({}, {})) == told


@pytest.mark.parametrize("said", [{}, {"refused": None}, {DIGESTS: {"older": "a"}}])
@pytest.mark.parametrize(
    ("before", "told"),
    [
        (notebook("now"), {}),
        (notebook("earlier"), {"essay": UNCERTAIN}),
        (notebook("now", own="others"), {"essay": UNCERTAIN}),
        ({}, {"essay": UNCERTAIN}),
    ],
)
def test_without_a_digest_the_kept_notebook_tells(said, before, told):
    report, marked = {DIGESTS: {"essay": "a"}}, ["essay"]
    assert rewritten(said, report, marked, (before, notebook("now"))) == told


@pytest.mark.parametrize(
    "cell",
    [
        *(None, 7, {}, {"metadata": None}, {"metadata": {"nbgrader": [1]}}),
        {"metadata": {"nbgrader": {"grade_id": ["essay"]}}, "source": {"a": 1}},
        {"metadata": {}, "source": [1, None]},
    ],
)
def test_cells_in_any_form_stop_nothing(cell):
    before = {"cells": [*notebook("now")["cells"], cell]}
    report = {DIGESTS: {"essay": "a"}}
    assert rewritten({}, report, ["essay"], (before, notebook("now"))) == {}
