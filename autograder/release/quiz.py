"""Read the questions of a chapter: what its ``{quiz}`` holds.

A question is any markdown up to a list of options. ``- [x]`` marks the right option,
``- [ ]`` a wrong one. The first paragraph of an option is what one chooses, the rest,
indented below it, explains why it is right or wrong.

The right option is shown at a place that follows from the words of the question, so it
may be written anywhere.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from autograder.errors import AutograderError

_OPTION = re.compile(r"^- \[(?P<mark>[ x])\] (?P<text>.*)$")
_INDENT = "  "
_FEWEST_OPTIONS = 3


class BrokenQuiz(AutograderError):
    """A question does not follow the pattern; the message says which."""


@dataclass(frozen=True)
class Option:
    """One answer to choose: markdown, and the explanation that it gets."""

    right: bool
    text: str
    explanation: str


@dataclass
class Question:
    """A question in markdown and its options, in the order in which they are shown."""

    text: str
    options: list[Option] = field(default_factory=list)


def read_quiz(lines: Iterable[str]) -> list[Question]:
    """The questions of a quiz.

    Raises:
        BrokenQuiz: there is none, or a question has no text, fewer than three options,
            not exactly one right option, or an option without an explanation.
    """
    asked: list[str] = []
    given: list[tuple[bool, list[str]]] = []
    questions: list[Question] = []
    for line in lines:
        option = _OPTION.match(line)
        if option:
            given.append((option["mark"] == "x", [option["text"]]))
        elif given and (not line.strip() or line.startswith(_INDENT)):
            given[-1][1].append(line.removeprefix(_INDENT))
        else:
            if given:
                questions.append(_question(asked, given))
                asked, given = [], []
            asked.append(line)
    if given or "".join(asked).strip():
        questions.append(_question(asked, given))
    if not questions:
        raise BrokenQuiz("a quiz without a question")
    return questions


def _question(asked: list[str], given: list[tuple[bool, list[str]]]) -> Question:
    text = "\n".join(asked).strip()
    if not text:
        raise BrokenQuiz("there are options without a question before them")
    options = []
    for right, lines in given:
        choice, _, explanation = "\n".join(lines).partition("\n\n")
        if not explanation.strip():
            raise BrokenQuiz(f"the option {choice!r} has no explanation")
        options.append(Option(right, choice.strip(), explanation.strip()))
    if len(options) < _FEWEST_OPTIONS:
        raise BrokenQuiz(f"{text!r} needs {_FEWEST_OPTIONS} options at least")
    if sum(option.right for option in options) != 1:
        raise BrokenQuiz(f"{text!r} needs exactly one right option")
    (right,) = (option for option in options if option.right)
    shown = [option for option in options if not option.right]
    shown.insert(zlib.crc32(text.encode()) % len(options), right)
    return Question(text, shown)
