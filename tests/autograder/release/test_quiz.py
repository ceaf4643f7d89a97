"""What a quiz may look like, and what is refused."""

from itertools import permutations

import pytest

from autograder.release.quiz import BrokenQuiz, read_quiz

OPTION = "- [{}] Choice {}.\n\n  Because of {}.\n"
OPTIONS = OPTION.format(" ", 1, 1) + OPTION.format("x", 2, 2) + OPTION.format(" ", 3, 3)


def test_questions_follow_each_other_without_any_mark_between_them():
    code = "Why?\n\n```python\n- [ ]\n```\n\n"
    text = f"\nWhat is\nthis?\n\n{OPTIONS}\n{code.replace('- [', '[')}{OPTIONS}"
    first, second = read_quiz(text.splitlines())
    assert first.text == "What is\nthis?"
    assert second.text.startswith("Why?\n\n```python")
    for question in (first, second):
        right, *wrong = sorted(question.options, key=lambda option: not option.right)
        assert [option.text for option in wrong] == ["Choice 1.", "Choice 3."]
        assert (right.text, right.explanation) == ("Choice 2.", "Because of 2.")
        assert [option.right for option in (right, *wrong)] == [True, False, False]


def test_where_the_right_option_is_written_does_not_matter():
    first, *others = (
        read_quiz(("What?\n\n" + "".join(order)).splitlines())
        for order in permutations(map("- [{0}] {0}.\n\n  Why.\n".format, "x  "))
    )
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("quiz", "reason"),
    [
        ("", "without a question"),
        ("What?", "three|3 options"),
        (f"{OPTIONS}", "without a question before"),
        ("What?\n\n" + OPTIONS.replace("[x]", "[ ]"), "exactly one right"),
        ("What?\n\n" + OPTION.format("x", 1, 1), "3 options"),
        (f"What?\n\n{OPTIONS}- [ ] Choice 4.\n", "Choice 4.' has no explanation"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(quiz, reason):
    with pytest.raises(BrokenQuiz, match=reason):
        read_quiz(quiz.splitlines())
