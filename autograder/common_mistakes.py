"""Common mistakes of a chapter and how they show, from the bank of mistakes.

Every known mistake is run on the cases of its exercise, as ``check`` runs an answer. So
this page and ``check`` agree, also after a case or a mistake has changed.
"""

from __future__ import annotations

import re

from IPython.display import Markdown, display

from autograder.exercise import Exercise, Topic, load_topic
from autograder.expected import expect, public_seeds
from autograder.judge import Report, judge
from autograder.rows import CaseReport
from toolkit.kept import kept

SHOWN = 3
_KINDS = ("shape", "NaN", "raised", "expected")


def show(topic_name: str) -> None:
    """Display the most telling mistakes of each exercise of a chapter."""
    display(Markdown(as_markdown(load_topic(topic_name))))


def as_markdown(topic: Topic) -> str:
    """A box that unfolds for each exercise; in it symptoms, and what they come from."""
    boxes = []
    for name, found in all_reports(topic).items():
        entries = "\n\n".join(map(_entry, telling(found)))
        boxes.append(f"```{{dropdown}} {name}\n{entries}\n```")
    return "\n\n".join(boxes)


def all_reports(topic: Topic) -> dict[str, list[Report]]:
    """What ``check`` says of each known mistake, by exercise."""
    loaded = [(topic.reference(name), topic.mistakes(name)) for name in topic.exercises]
    return _all_reports(topic, loaded)


@kept  # the last chapter asks again for what every other one shows
def _all_reports(topic: Topic, loaded: list) -> dict[str, list[Report]]:
    """The same; ``loaded`` is what the topic loads by name, which no code shows."""
    exercises = topic.exercises.values()
    return {exercise.name: reports(topic, exercise) for exercise in exercises}


def reports(topic: Topic, exercise: Exercise) -> list[Report]:
    """What ``check`` says of each known mistake, in the order of the bank."""
    expected = expect(topic, exercise, public_seeds(exercise))
    return [judge(exercise, known.answers, expected) for known in expected.mistakes]


def telling(found: list[Report]) -> list[Report]:
    """Three of the reports, as different to look at as can be.

    The bank names first what is done most often. So the first mistake of each kind of
    symptom (a shape, NaN, an error, values) is taken; if there are fewer than three
    kinds, then those that fail another case first, and then any.
    """
    chosen: list[Report] = []
    for look in (_kind, _first_failure, _name):
        for report in found:
            if len(chosen) < SHOWN and look(report) not in map(look, chosen):
                chosen.append(report)
    return sorted(chosen, key=found.index)


def _failures(report: Report) -> list[CaseReport]:
    return [case for case in report.cases if not case.passed]


def _first_failure(report: Report) -> str:
    return _failures(report)[0].title


def _name(report: Report) -> str | None:
    return report.mistake


def _kind(report: Report) -> str:
    message = _failures(report)[0].message
    return next((kind for kind in _KINDS if kind in message), "values")


def _entry(report: Report) -> str:
    """An item of a list: the symptom, and below it the hint."""
    failures = _failures(report)
    number = f"{len(failures)} of {len(report.cases)} cases fail"
    if len(failures) == len(report.cases):
        number = "All cases fail"
    title, message = map(_escaped, (failures[0].title, failures[0].message))
    return f"- “{title}”: *{message}*. {number}.\n\n  {_escaped(report.message)}"


def _escaped(text: str) -> str:
    """Text in which no character is markup, apart from code in backticks."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_\[\]<>${}|~])", r"\\\1", part)
        for part in parts
    )
