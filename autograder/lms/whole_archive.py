"""Read the names in an archive together, where a single one is ambiguous.

Canvas has two more forms than for an ordinary assignment:

* of anonymous grading, ``anon_Xy3bQ_67890_masking.ipynb``: an id of digits alone reads
  like the number of a person, unless everybody in the archive is anonymous;
* of a quiz with a question that takes files,
  ``doe_jane12345_question_678_91011_masking.ipynb``: nothing stands between the name
  and the number of the person, so a name that ends with digits makes several readings,
  of which a class list tells the right one. Letters outside of ASCII are left out.
  Source: its ``QuizSubmissionZipper``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.lms.names import CANVAS, Notebook, Shape

ANONYMOUS = "anon_"  # how Canvas begins the id of a person that it hides
_QUIZ = re.compile(
    r"(?P<name>[\w-]*?)(?P<digits>[0-9]+)"
    r"_question_[0-9]+_(?P<upload>[0-9]+)_(?P<file>.+)"
)


def read_together(notebooks: Sequence[Notebook]) -> list[Notebook]:
    """The notebooks of an archive, with the readings that fit to all of its names."""
    if notebooks and all(is_anonymous(n.shape) for n in notebooks):
        return [replace(notebook, others=()) for notebook in notebooks]
    of_quiz = [_in_a_quiz(notebook) for notebook in notebooks]
    if all(of_quiz):
        return [notebook for notebook in of_quiz if notebook]
    return list(notebooks)


def is_anonymous(shape: Shape) -> bool:
    """Whether Canvas tells nothing of a person but an id for one assignment."""
    return shape.system == CANVAS and shape.person.startswith(ANONYMOUS)


def is_of_a_quiz(place: str) -> bool:
    """Whether a name has the form that Canvas gives in the archive of a quiz."""
    return _QUIZ.fullmatch(place) is not None


def _in_a_quiz(notebook: Notebook) -> Notebook | None:
    """The notebook with every person who may be meant; ``None`` without that form."""
    match = _QUIZ.fullmatch(notebook.place)
    if match is None or notebook.shape.system != CANVAS:
        return None
    name, digits = match["name"], match["digits"]
    shapes = [
        Shape(
            CANVAS,
            digits[start:],
            (name + digits[:start]).rstrip("_"),
            match["file"],
            int(match["upload"][:18]),
        )
        for start in range(len(digits))
        if digits[start] != "0"
    ]
    if not shapes:
        return None
    return replace(
        notebook, shape=shapes[0], others=tuple(shapes[1:]), needs_class_list=True
    )
