"""An instructor looks at a graded class with nbgrader's formgrader in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from autograder.exercise import Mistake, load_topic
from autograder.grading.grade import grade
from autograder.release.course import make_course
from classroom.submissions import cell_source, hand_in, right_answers, submission
from tests.lab.conftest import PATIENCE

TOPIC = "simplified_attention"

expect.set_options(1000 * PATIENCE)


@dataclass(frozen=True)
class Class:
    """A course in which a class of three has been graded.

    Attributes:
        course: its folder.
        scores: what each student got, as formgrader writes it.
    """

    course: Path
    scores: dict[str, str]


@pytest.fixture(scope="module")
def mistake() -> Mistake:
    """A softmax that overflows."""
    known = load_topic(TOPIC).mistakes("softmax")
    return next(found for found in known if "exp(1000)" in found.hint)


@pytest.fixture(scope="module")
def graded(
    needs_sandbox: None, mistake: Mistake, tmp_path_factory: pytest.TempPathFactory
) -> Class:
    """A class, graded."""
    course = tmp_path_factory.mktemp("class") / "course"
    make_course(course, [TOPIC])
    released = nbformat.read(course / "release" / TOPIC / f"{TOPIC}.ipynb", 4)
    right = right_answers(TOPIC)
    wrong = {**right, "softmax": cell_source(mistake, "softmax")}
    answers = {"ada": right, "blank": {}, "overflowing": wrong}
    students = {name: submission(released, given) for name, given in answers.items()}
    hand_in(course, TOPIC, students)
    reports = grade(TOPIC, course).graded
    return Class(
        course,
        {
            student: f"{report['score']:g} / {report['max_score']:g}"
            for student, report in reports.items()
        },
    )


@pytest.fixture(scope="module")
def seen(
    graded: Class, mistake: Mistake, jupyter_lab: Callable, in_browser: Callable
) -> dict[str, Any]:
    """What the instructor saw on the way from the menu to a submission."""
    seen: dict[str, Any] = {}

    def scene(page: Page) -> None:
        page.goto(address("lab"))
        page.get_by_role("menuitem", name="Nbgrader", exact=True).click()
        page.get_by_role("menuitem", name="Formgrader", exact=True).click()
        form = page.frame_locator("iframe[src*=formgrader]")
        form.get_by_role("link", name="Manage Students").click()
        for student in graded.scores:
            row = form.get_by_role("row").filter(has_text=student)
            seen[student] = row.inner_text()
        form.get_by_role("link", name="Manual Grading").click()
        form.get_by_role("link", name=TOPIC, exact=True).click()
        form.locator(f"a[href$='/gradebook/{TOPIC}/{TOPIC}']").click()
        rows = form.get_by_role("row").filter(has_text="Submission #")
        expect(rows).to_have_count(len(graded.scores))
        seen["submissions"] = rows.all_inner_texts()
        score = graded.scores["overflowing"]
        rows.filter(has_text=score).get_by_role("link").click()
        expect(form.get_by_text(mistake.hint[:40]).first).to_be_visible()
        seen["notebook"] = form.locator("body").inner_text()
        points = form.locator("input#check-softmax")
        expect(points).to_have_attribute("placeholder", re.compile("."))
        seen["points"] = points.get_attribute("placeholder")

    with jupyter_lab(graded.course) as address:
        in_browser(scene)
    return seen


def test_class_and_its_scores_appear(graded, seen):
    exercises = load_topic(TOPIC).exercises.values()
    total = sum(exercise.points for exercise in exercises)
    assert graded.scores["ada"] == f"{total} / {total}"
    assert graded.scores["blank"] == f"0 / {total}"
    for student, score in graded.scores.items():
        assert score in seen[student]
    for text in seen["submissions"]:
        assert any(score in text for score in graded.scores.values())


def test_submission_opens_with_its_answer_and_the_report_on_it(seen, mistake):
    assert "What we still cannot do" in seen["notebook"]  # down to the last section
    assert "def softmax" in seen["notebook"]
    for sentence in re.split(r"(?<=\.) ", mistake.hint):  # the first is a heading
        assert sentence in seen["notebook"]


def test_points_of_an_exercise_stand_at_its_check(seen):
    passed = [case.points for case in load_topic(TOPIC).exercises["softmax"].cases]
    del passed[2:4]  # the two cases about overflow
    assert float(seen["points"]) == sum(passed)
