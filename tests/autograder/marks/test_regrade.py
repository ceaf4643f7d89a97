"""Points given back for one cause: listed, done, kept by later runs, and taken back.

The oracle for marks is nbgrader's own API on the gradebook, and arithmetic on the cases
that the judge's reports list.
"""

from __future__ import annotations

import io
import shutil
import sqlite3

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.marks.rules import Rule, credited, keep_rules, read_rules
from autograder.reasons import Reason
from classroom.submissions import cell_source, hand_in, submission
from tests.autograder.conftest import TOPIC
from tests.autograder.marks.test_deadlines import counted

UNCHANGED = "the scores that were given are unchanged"  # a case of softmax, 1 point
IN_PLACE = "scores_changed_in_place"  # a mistake that fails this case alone
WEIGHTS_FIRST = "weights_first"  # a mistake of attend
HALF = """
from nbgrader.plugins import BasePlugin


class Half(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return score / 2
"""


def mistaken(exercise, name):
    """A cell with a mistake of the bank."""
    (found,) = [m for m in load_topic(TOPIC).mistakes(exercise) if m.name == name]
    return {exercise: cell_source(found, exercise)}


@pytest.fixture(scope="module")
def graded(released_course, tmp_path_factory, master, right, grade):
    """A class that was graded once; one of them has a mark by hand."""
    course = tmp_path_factory.mktemp("regrade") / "course"
    shutil.copytree(released_course, course)
    (course / "half.py").write_text(HALF)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("c.AssignLatePenalties.plugin_class = 'half.Half'\n")
    in_place, first = mistaken("softmax", IN_PLACE), mistaken("attend", WEIGHTS_FIRST)
    answers = {
        "right": right,
        "blank": {},
        "in_place": {**right, **in_place},
        "late": {**right, **in_place},
        "by_hand": {**right, **in_place},
        "first": {**right, **first},
        "both": {**right, **in_place, **first},
        "nothing": {**right, "softmax": "def softmax(scores):\n    scores += 1"},
    }
    hand_in(course, TOPIC, {s: submission(master, a) for s, a in answers.items()})
    stamp = course / "submitted" / "late" / TOPIC / "timestamp.txt"
    stamp.write_text("2026-10-02 12:00:00 UTC")
    (course / "deadlines.csv").write_text(
        f"student,chapter,due\n,{TOPIC},2026-10-01 12:00 UTC\n"
    )
    grade(TOPIC, course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        book.find_grade("check-softmax", TOPIC, TOPIC, "by_hand").manual_score = 2
        book.db.commit()
    return course


@pytest.fixture
def course(graded, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(graded, folder)
    return folder


def regrade(course, *words):
    return main(["regrade", TOPIC, "--course", str(course), *words])


FULL = sum(e.points for e in load_topic(TOPIC).exercises.values())


def test_list_is_shown_first_and_nothing_is_done_without_a_yes(
    course, capsys, monkeypatch
):
    before = counted(course)
    for answer in ("n\n", ""):  # the second is the end of what is typed
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        capsys.readouterr()
        assert regrade(course, "--case", UNCHANGED, "--forgiven") == 0
        said = capsys.readouterr().out
        assert f"  in_place: {FULL - 1:g} -> {FULL:g} (+1)" in said
        assert f"  late: {(FULL - 1) / 2:g} -> {FULL / 2:g} (+0.5)" in said
        assert "  by_hand: marked by hand, and stays" in said
        assert "  right:" not in said
        assert "  blank:" not in said
        assert said.rstrip().endswith("nothing was changed")
    assert counted(course) == before
    assert not (course / "regrades").exists()


def test_forgiven_case_gives_its_points_to_who_failed_it_and_tried(course):
    before, path = counted(course), course / "reports" / TOPIC / "in_place.json"
    judged = path.read_bytes()
    words = ["--case", UNCHANGED, "--forgiven", "--why", "the task did not say so"]
    assert regrade(course, *words, "--exercise", "softmax", "--yes") == 0
    after = counted(course)
    assert path.read_bytes() == judged
    gained = {s: after[s] - before[s] for s in after if after[s] != before[s]}
    assert gained == {"in_place": 1, "both": 1, "late": 0.5}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        by_hand = book.find_grade("check-softmax", TOPIC, TOPIC, "by_hand")
        assert (by_hand.score, by_hand.needs_manual_grade) == (2, True)
        comment = book.find_comment("softmax", TOPIC, TOPIC, "in_place").auto_comment
    assert "1 point was given back" in comment
    assert "the task did not say so" in comment


def test_mistake_gives_back_points_up_to_all_that_it_cost(course, capsys):
    before = counted(course)
    words = ["--mistake", "weights first", "--yes"]
    assert regrade(course, *words, "--points", "1.5") == 0
    assert counted(course)["first"] - before["first"] == 1.5
    # The second rule about a cause replaces the first one.
    assert regrade(course, *words, "--points", "900") == 0
    after = counted(course)
    assert after["first"] == FULL
    assert after["both"] - before["both"] == FULL - before["first"]
    # A third one gives nobody anything, and is not asked about.
    assert regrade(course, *words[:2], "--forgiven") == 0
    assert "nobody gains by it" in capsys.readouterr().out
    assert [rule.points for rule in read_rules(course, TOPIC)] == [900]


def test_rule_holds_for_later_runs_and_later_submissions(course, grade, master, right):
    assert regrade(course, "--case", UNCHANGED, "--forgiven", "--yes") == 0
    given = counted(course)
    again = grade(TOPIC, course)
    assert not again.graded
    assert not again.changes
    forced = grade(TOPIC, course, force=True, only=["in_place", "late"])
    assert len(forced.graded) == 2
    assert not forced.changes
    assert counted(course) == given
    answers = {**right, **mistaken("softmax", IN_PLACE)}
    hand_in(course, TOPIC, {"new": submission(master, answers)})
    grade(TOPIC, course)
    assert counted(course)["new"] == FULL


def test_undo_gives_everybody_the_marks_from_before(course, capsys):
    before = counted(course)
    assert regrade(course, "--case", UNCHANGED, "--forgiven", "--yes") == 0
    assert regrade(course, "--mistake", WEIGHTS_FIRST, "--points", "1", "--yes") == 0
    capsys.readouterr()
    assert regrade(course) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert UNCHANGED in first and "weights first" in second
    assert regrade(course, "--undo", "1", "--yes") == 0
    between = counted(course)
    assert between["in_place"] == before["in_place"]
    assert between["first"] == before["first"] + 1
    assert regrade(course, "--undo", "2", "--yes") == 0
    assert counted(course) == before
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        comment = book.find_comment("softmax", TOPIC, TOPIC, "in_place").auto_comment
    assert "given back" not in comment
    assert regrade(course, "--undo", "1", "--yes") == 2
    assert "no rule 1; there are none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mistake", "weight_first", "--forgiven"], "did you mean weights_first"),
        (["--case", "the scores are unchanged", "--forgiven"], UNCHANGED),
        (["--case", UNCHANGED], "say how many points"),
        (["--points", "2"], "say for what"),
        (
            ["--case", "query and inputs are unchanged", "--forgiven"],
            "--exercise alignment_scores or --exercise attend",
        ),
    ],
)
def test_what_does_not_exist_is_one_line_with_close_names(course, capsys, words, said):
    assert regrade(course, *words, "--yes") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (course / "regrades").exists()


@pytest.mark.parametrize("text", ["{", '[{"number": 1}]'])
def test_rules_that_somebody_broke_stop_the_run(course, capsys, text):
    (course / "regrades").mkdir()
    (course / "regrades" / f"{TOPIC}.json").write_text(text)
    for command in ("regrade", "grade"):
        assert main([command, TOPIC, "--course", str(course)]) == 2
        assert "does not hold the rules" in capsys.readouterr().err


def test_a_gradebook_that_takes_nothing_keeps_marks_and_rules(course, capsys):
    before = counted(course)
    with sqlite3.connect(course / "gradebook.db") as book:
        book.execute(
            "create trigger full before update on grade begin "
            "select raise(abort, 'database or disk is full'); end"
        )
    book.close()
    assert regrade(course, "--case", UNCHANGED, "--forgiven", "--yes") == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "the gradebook cannot be written: database or disk is full; run" in line
    assert counted(course) == before
    assert not read_rules(course, TOPIC)


def test_grade_finishes_what_a_killed_regrade_began(course, grade):
    rule = Rule(1, "softmax", "case", UNCHANGED, None, "why", "me", "now")
    keep_rules(course, TOPIC, [rule])  # and killed before the gradebook was written
    before = counted(course)
    grade(TOPIC, course)
    after = counted(course)
    assert after["in_place"] - before["in_place"] == 1
    assert after["right"] == before["right"]


def test_two_rules_give_back_no_more_than_was_lost_and_nothing_that_was_not_judged():
    cases = [
        {"title": "a", "points": 2, "message": "wrong", "reason": Reason.DIFFERS},
        {"title": "b", "points": 3, "message": "", "reason": Reason.NONE},
    ]
    cases = [{**case, "passed": False} for case in cases]
    found = {"name": "f", "score": 1, "max_score": 6, "mistake": "m", "cases": cases}
    found["reason"] = Reason.MISTAKE
    whole = {"refused": None, "score": 1, "exercises": [found]}

    def score(*causes, **changes):
        rules = [
            Rule(number, "f", kind, name, None, "why", "me", "now")
            for number, (kind, name) in enumerate(causes)
        ]
        return credited({**whole, **changes}, rules)["score"]

    one, all_of_it = ("case", "a"), ("mistake", "m")
    assert (score(one), score(all_of_it), score(one, all_of_it)) == (3, 6, 6)
    assert score(("case", "b")) == 1  # it was refused, and never looked at
    assert score(one, refused="no") == 1
