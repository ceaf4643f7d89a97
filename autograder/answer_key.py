"""The key of a chapter: answers without code, for students who have no solutions.

A key holds what the reference and every known mistake answer to the public seeds. With
it ``check`` says the same as with the solutions themselves. Grading does not use it.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.answers import Answer, decode
from autograder.break_exercise import BreakExercise
from autograder.errors import AutograderError
from autograder.exercise import Exercise, Topic, load_topic
from autograder.expected import (
    Expected,
    KnownMistake,
    encoded_answers,
    expect,
    names_of_parts,
    public_seeds,
)
from autograder.files import write_atomically
from autograder.own_answers import own_answer

VERSION = 3  # answers are those of ``autograder.answers``
# What a file can raise that was cut, or changed on its way: a transfer that takes it
# for text changes the ends of lines, which only the decompression notices.
_DAMAGED = (
    *(OSError, EOFError, zlib.error, ValueError, RecursionError),
    *(KeyError, TypeError, AttributeError),
)


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
    if isinstance(exercise, BreakExercise):
        return {
            "seeds": list(seeds),
            "titles": [case.title for case in exercise.cases],
            "reference": [],
            "constant": [True] * len(exercise.cases),
            "parts": [],
            "mistakes": [],
        }

    return {
        "seeds": list(seeds),
        "titles": [case.title for case in exercise.cases],
        "reference": encoded_answers(exercise, topic.reference(exercise.name), seeds),
        "constant": expect(topic, exercise, seeds).constant,
        "parts": [
            [[list(path), name] for path, name in names.items()]
            for names in names_of_parts(topic, exercise, seeds)
        ],
        "mistakes": [
            {
                "name": m.name,
                "hint": m.hint,
                "answers": encoded_answers(
                    exercise, m.implementation, seeds, own_answer
                ),
            }
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
    except _DAMAGED:
        raise NoKey(f"{path.name} cannot be read: get it again") from None
    if version != VERSION or titles != [case.title for case in exercise.cases]:
        raise NoKey(
            f"{path.name} is of another version than the installed autograder: get "
            "both again"
        )
    return expected


def _expected(entry: Mapping[str, Any], exercise: Exercise) -> Expected:
    """What ``_entry`` has written; mistakes and names are decoded when asked for."""

    def answers(texts: list[str]) -> list[Answer]:
        return [decode(base64.b64decode(text)) for text in texts]

    reference, mistakes, parts = entry["reference"], entry["mistakes"], entry["parts"]
    if isinstance(exercise, BreakExercise):
        right = [Answer()] * len(exercise.cases)
    else:
        right = answers(reference)
    return Expected(
        entry.get("seeds") or public_seeds(exercise),
        right,
        entry["constant"],
        lambda: [
            KnownMistake(m["name"], m["hint"], answers(m["answers"])) for m in mistakes
        ],
        find_names=lambda: [
            {tuple(path): name for path, name in names} for names in parts
        ],
    )
