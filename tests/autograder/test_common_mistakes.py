"""What the pages say of common mistakes is what check says of them."""

from autograder.common_mistakes import as_markdown, reports, telling
from autograder.exercise import Exercise, Mistake, Topic, load_topic
from autograder.judge import Report
from autograder.rows import CaseReport


def report(name: str, *messages: str) -> Report:
    """A mistake that fails the cases for which there is a message."""
    cases = [
        CaseReport(f"case {number}", 1, not message, message)
        for number, message in enumerate(messages)
    ]
    return Report("exercise", 0, len(cases), name, f"hint of {name}", cases)


def names(found: list[Report]) -> list[str]:
    return [one.mistake for one in telling(found)]


def test_symptoms_of_different_kinds_come_before_more_of_one_kind():
    found = [
        report("first", "1 of 2 values differ", ""),
        report("same look", "2 of 2 values differ", ""),
        report("shape", "shape (2,), expected (3,)", ""),
        report("nan", "2 of 2 values differ; at [0] yours is NaN", ""),
        report("error", "IndexError was raised", ""),
    ]
    assert names(found) == ["first", "shape", "nan"]


def test_another_case_comes_before_the_same_one_again():
    found = [
        report("first", "1 of 2 values differ", ""),
        report("same look", "2 of 2 values differ", ""),
        report("other case", "", "2 of 2 values differ"),
    ]
    assert names(found[:2]) == ["first", "same look"]
    assert names(found) == ["first", "same look", "other case"]
    assert names([*found[:2], found[1], found[2]])[-1] == "other case"


class OneExercise(Topic):
    """A topic with a reference and mistakes that are written here."""

    def reference(self, exercise):
        return lambda x: x

    def mistakes(self, exercise):
        return [
            Mistake(
                "sign", exercise, "You turned the <sign> of x_1 * x_2.", lambda x: -x
            ),
            Mistake("cut", exercise, "You lost `x[0]`.", lambda x: x[1:]),
        ]


def test_a_box_holds_what_check_says_and_the_hint_without_becoming_markup():
    exercise = Exercise("identity")

    @exercise.case(title="four numbers, a * b")
    def four(identity, rng):
        return identity(rng.standard_normal(4))

    @exercise.case(title="sizes")
    def sizes(identity, rng):
        return abs(identity(rng.standard_normal(4)))

    text = as_markdown(OneExercise("topic", {"identity": exercise}))
    assert text.startswith(
        "```{dropdown} identity\n- “four numbers, a \\* b”: *4 of 4 "
    )
    assert (
        "*. 1 of 2 cases fail.\n\n  You turned the \\<sign\\> of x\\_1 \\* x\\_2."
        in text
    )
    assert "*shape (3,), expected (4,)*. All cases fail." in text
    assert "You lost `x[0]`." in text


def test_every_mistake_of_a_chapter_is_looked_at_and_named():
    topic = load_topic("scaling")
    for exercise in topic.exercises.values():
        found = reports(topic, exercise)
        bank = topic.mistakes(exercise.name)
        assert [one.mistake for one in found] == [known.name for known in bank]
        assert len(telling(found)) == 3
