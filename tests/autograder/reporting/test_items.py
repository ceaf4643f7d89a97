"""Item analysis against scipy and numpy, on tables that are built by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pointbiserialr

from autograder.marks.reports import ClassReport
from autograder.reporting.items import Item, item_analysis, separating_nobody
from tests.autograder.made_up import exercise, report

POINTS = {"softmax": [1, 2, 2], "attend": [3, 1], "lookup": [2, 2, 1, 1]}
STUDENTS = 40


def class_of(passed: np.ndarray, refused: int = 0) -> ClassReport:
    """A class whose students pass cases as a table of (student, case) says."""
    reports = []
    for number, row in enumerate(passed):
        rest, exercises = list(row), []
        for name, points in POINTS.items():
            worth = {f"case {n}": p for n, p in enumerate(points)}
            exercises.append(exercise(name, {t: rest.pop(0) for t in worth}, worth))
        reports.append(report(f"student{number:02}", exercises))
    reports += [
        report(f"unread{n}", [], "the file is not JSON") for n in range(refused)
    ]
    return ClassReport("simplified_attention", reports)


@pytest.fixture
def passed():
    rng = np.random.default_rng(15)
    skill = rng.standard_normal((STUDENTS, 1))
    hardness = np.linspace(-1.5, 1.5, 9)
    return skill + 0.7 * rng.standard_normal((STUDENTS, 9)) > hardness


def test_cases_agree_with_scipys_point_biserial_correlation(passed):
    found = [i for i in item_analysis(class_of(passed, refused=3)) if i.case]
    worth = np.concatenate(list(POINTS.values()))
    assert [item.points for item in found] == list(worth)
    for number, item in enumerate(found):
        others = np.arange(len(worth)) != number
        elsewhere = passed[:, others] @ worth[others]
        right = pointbiserialr(passed[:, number], elsewhere).statistic
        assert item.discrimination == pytest.approx(right, abs=1e-12)
        assert item.difficulty == pytest.approx(passed[:, number].mean())
        assert (item.asked, item.solved) == (STUDENTS, passed[:, number].sum())


def test_exercises_are_left_out_of_the_total(passed):
    found = [i for i in item_analysis(class_of(passed)) if not i.case]
    worth = np.concatenate(list(POINTS.values()))
    belongs = np.repeat(np.arange(3), [len(points) for points in POINTS.values()])
    earned = passed * worth
    for number, item in enumerate(found):
        own, rest = earned[:, belongs == number], earned[:, belongs != number]
        right = np.corrcoef(own.sum(axis=1), rest.sum(axis=1))[0, 1]
        with_itself = np.corrcoef(own.sum(axis=1), earned.sum(axis=1))[0, 1]
        assert item.discrimination == pytest.approx(right, abs=1e-12)
        assert item.discrimination < with_itself - 0.01
        assert item.difficulty == pytest.approx(own.sum() / own.shape[0] / item.points)
        assert item.solved == passed[:, belongs == number].all(axis=1).sum()


def test_the_items_are_in_the_order_of_the_chapter(passed):
    found = [(item.exercise, item.case) for item in item_analysis(class_of(passed))]
    assert found[:5] == [
        *(("softmax", ""), ("softmax", "case 0"), ("softmax", "case 1")),
        *(("softmax", "case 2"), ("attend", "")),
    ]
    assert len(found) == 9 + 3


def test_what_separates_nobody_has_no_discrimination(passed):
    passed[:, 0], passed[:, 4] = True, False
    items = item_analysis(class_of(passed))
    for item in items:
        if (item.exercise, item.case) in (("softmax", "case 0"), ("attend", "case 1")):
            assert item.separates_nobody
            assert item.discrimination is None
            assert item.undefined.startswith("undefined: all have equally many points")
            assert item.verdict == item.undefined
    easy, impossible = separating_nobody(items)
    assert [(i.exercise, i.case) for i in easy] == [("softmax", "case 0")]
    assert [(i.exercise, i.case) for i in impossible] == [("attend", "case 1")]


def test_equal_totals_and_tiny_classes_are_undefined(passed):
    passed[:] = True
    passed[: STUDENTS // 2, 0] = False
    first = item_analysis(class_of(passed))[1]
    assert first.discrimination is None
    assert first.undefined.endswith("for everything else")
    for size in (0, 1, 2):
        for item in item_analysis(class_of(passed[:size])):
            assert item.discrimination is None
            assert item.undefined == f"undefined: {size} submissions are too few"


def test_a_question_that_only_weak_students_answer_is_the_wrong_way_round(passed):
    rest = passed[:, 1:].sum(axis=1)
    passed[:, 0] = rest < np.median(rest)
    items = item_analysis(class_of(passed))
    assert [(i.exercise, i.case) for i in items if i.wrong_way_round] == [
        ("softmax", "case 0")
    ]
    few = item_analysis(class_of(passed[:9]))[1]
    assert few.verdict == "too few to say (9)"


@pytest.mark.parametrize(
    ("asked", "correlation", "words"),
    [
        *((60, 0.31, "well"), (60, 0.29, "somewhat"), (60, 0.21, "somewhat")),
        *((60, 0.19, "poorly"), (60, -0.1, "poorly"), (9, 0.9, "too few to say (9)")),
        # Twice the standard deviation by luck is 2 / sqrt(17 - 1) = 0.5.
        *((17, -0.49, "poorly"), (17, -0.51, "the wrong way round")),
    ],
)
def test_verdicts_follow_the_usual_thresholds(asked, correlation, words):
    item = Item("attend", "", 1, asked, asked // 2, 0.5, correlation, "")
    assert item.verdict == words
    assert item.wrong_way_round == (words == "the wrong way round")
