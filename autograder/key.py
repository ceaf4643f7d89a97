"""The key of a chapter: answers without code, for students who have no solutions.

A key holds what the reference and every known mistake answer to the public seeds. With
it ``check`` says the same as with the solutions themselves. Grading never uses it.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from autograder.answers import Answer, answer, decode
from autograder.exercise import Exercise, Topic, load_topic
from autograder.judge import Expected, KnownMistake, expect, public_seeds

VERSION = 1


class NoKey(LookupError):
    """Neither solutions nor a usable key are at hand."""


def write_key(chapter: str, path: Path) -> None:
    """Write the key of a chapter."""
    topic = load_topic(chapter)
    exercises = {name: _entry(topic, e) for name, e in topic.exercises.items()}
    text = json.dumps({"version": VERSION, "chapter": chapter, "exercises": exercises})
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _entry(topic: Topic, exercise: Exercise) -> dict:
    """Encoded answers for one exercise."""
    seeds = public_seeds(exercise)

    def answers(implementation: object) -> list[str]:
        return [
            answer(case, implementation, seed)
            for case, seed in zip(exercise.cases, seeds, strict=True)
        ]

    return {
        "titles": [case.title for case in exercise.cases],
        "reference": answers(topic.reference(exercise.name)),
        "constant": expect(topic, exercise, seeds).constant,
        "mistakes": [
            {"name": m.name, "hint": m.hint, "answers": answers(m.implementation)}
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
        titles = entry["titles"]
    except FileNotFoundError:
        raise NoKey(
            f"check needs the file {path.name} beside the notebook (it was handed out "
            "with it), or a checkout of the course"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        raise NoKey(f"{path.name} cannot be read: get it again") from None
    if titles != [case.title for case in exercise.cases]:
        raise NoKey(
            f"{path.name} is of another version than the installed autograder: get "
            "both again"
        )

    def answers(texts: list[str]) -> list[Answer]:
        return [decode(text) for text in texts]

    return Expected(
        public_seeds(exercise),
        answers(entry["reference"]),
        entry["constant"],
        lambda: [
            KnownMistake(m["name"], m["hint"], answers(m["answers"]))
            for m in entry["mistakes"]
        ],
    )
