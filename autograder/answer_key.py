"""The key of a chapter: answers without code, for students who have no solutions.

A key holds what the reference and every known mistake answer to the public seeds. With
it ``check`` says the same as with the solutions themselves. Grading does not use it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.answers import Answer, decode
from autograder.break_exercise import BreakExercise
from autograder.errors import AutograderError
from autograder.exercise import Case, Exercise, Implementation, Topic, load_topic
from autograder.expected import (
    Expected,
    KnownMistake,
    expect,
    names_of_parts,
    public_seeds,
)
from autograder.files import write_atomically
from autograder.own_answers import own_answer, reference_answer

VERSION = 4  # answers are those of ``autograder.answers``


class NoKey(AutograderError):
    """Neither solutions nor a usable key are at hand."""


def write_key(chapter: str, path: Path) -> None:
    """Write the key of a chapter.

    Args:
        chapter: its name.
        path: of the key.

    Raises:
        OwnCodeFailed: the solutions cannot be run here.
    """
    topic = load_topic(chapter)
    exercises = {name: _entry(topic, e) for name, e in topic.exercises.items()}
    text = json.dumps({"version": VERSION, "chapter": chapter, "exercises": exercises})
    write_atomically(path, gzip.compress(text.encode(), mtime=0))


def _entry(topic: Topic, exercise: Exercise) -> dict:
    """Encoded answers for one exercise.

    Of an exercise whose answer is a test there are none: they would be its solution.
    """
    seeds = public_seeds(exercise)
    entry = {"seeds": seeds, "titles": [case.title for case in exercise.cases]}
    if isinstance(exercise, BreakExercise):
        constant = [True] * len(exercise.cases)
        none = {"reference": [], "parts": [], "mistakes": []}
        return entry | none | {"constant": constant}

    def encoded(
        answer: Callable[[Case, Implementation, int], bytes], answerer: Implementation
    ) -> list[str]:
        pairs = zip(exercise.cases, seeds, strict=True)
        answers = (answer(case, answerer, seed) for case, seed in pairs)
        return [base64.b64encode(one).decode("ascii") for one in answers]

    return entry | {
        "reference": encoded(reference_answer, topic.reference(exercise.name)),
        "constant": expect(topic, exercise, seeds).constant,
        "parts": [
            [[list(path), name] for path, name in names.items()]
            for names in names_of_parts(topic, exercise, seeds)
        ],
        "mistakes": [
            [m.name, m.hint, encoded(own_answer, m.implementation)]
            for m in topic.mistakes(exercise.name)
        ],
    }


def read_key(topic: Topic, exercise: Exercise, folder: Path) -> Expected:
    """The expected answers of one exercise from the key in ``folder``.

    Raises:
        NoKey: there is none, or it belongs to another version of the chapter.
    """
    path = folder / f"{topic.name}.key"
    try:
        key = json.loads(gzip.decompress(path.read_bytes()))
        entry = key["exercises"][exercise.name]
        version, titles = key["version"], entry["titles"]
        expected = _expected(entry, exercise)
    except FileNotFoundError:
        raise NoKey(
            f"check needs the file {path.name} beside the notebook (it was handed out "
            "with it), or a checkout of the course"
        ) from None
    except Exception:  # it was cut, or changed on its way
        raise NoKey(f"{path.name} cannot be read: get it again") from None
    if version != VERSION or titles != [case.title for case in exercise.cases]:
        raise NoKey(
            f"{path.name} is of another version than the installed autograder: get "
            "both again"
        )
    return expected


def _expected(entry: Mapping[str, Any], exercise: Exercise) -> Expected:
    """What ``_entry`` has written; mistakes and names are decoded when asked for."""
    right = _decoded(entry["reference"])
    if isinstance(exercise, BreakExercise):
        right = [Answer()] * len(exercise.cases)
    return Expected(
        entry["seeds"],
        right,
        entry["constant"],
        lambda: [
            KnownMistake(name, hint, _decoded(texts))
            for name, hint, texts in entry["mistakes"]
        ],
        find_names=lambda: [
            {tuple(path): name for path, name in names} for names in entry["parts"]
        ],
    )


def _decoded(texts: Sequence[str]) -> list[Answer]:
    return [decode(base64.b64decode(text)) for text in texts]
