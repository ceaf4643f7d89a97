"""What an error usually means in attention code: a sentence for each common one.

Entries are matched by the type of the error and by words in its text, and the first
match is shown; so each type belongs to one module. The text of an error is never
repeated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from autograder.answers import Answer
from autograder.lessons import of_results, of_sizes, of_torch, of_types
from autograder.lessons.sentences import Lesson

_LESSONS = [*of_types.LESSONS, *of_torch.LESSONS, *of_sizes.LESSONS]

_NOT_PYTHONS = (
    "{0} is no longer Python's own. A line such as `from torch import *` has put "
    "something of that name from a library in its place: import the names that you "
    "need, one by one."
)
_NO_MODULE = (
    "{0} is no longer the module: a line of a cell has given this name to something "
    "else. Choose another name there."
)

RAISED_BY_YOU = (
    "An error that you raise yourself meets arguments that are allowed. See when that "
    "line is reached: a condition is too wide, the wrong way round, or missing. If it "
    "stands in another function, your answer may call that one with wrong arguments."
)


def lesson(wrong: Sequence[Answer]) -> str:
    """What the error behind wrong answers usually comes from, or an empty text.

    Args:
        wrong: the answers to all cases that failed although a value was expected.

    Nothing is told unless all of them raised one type of error for one reason.
    """
    told = {_about(answer) for answer in wrong}
    return told.pop() if len(told) == 1 else ""


def about_errors(wrong: Sequence[Answer]) -> str:
    """What the most common of the errors in wrong answers comes from, as far as known.

    Of several that are equally common, it is the first.

    Args:
        wrong: the answers to all cases that failed although a value was expected.
    """
    placed = [answer for answer in wrong if answer.raised and answer.origin.line]
    ours = [answer for answer in wrong if answer.raised and answer.origin.is_ours]
    reasons = [
        *map(_about, placed),
        *(_matching(answer, of_results.LESSONS) for answer in ours),
    ]
    told = Counter(filter(None, reasons))
    if told:
        return f"About the {told.most_common(1)[0][0]}"
    if any(answer.origin.line.startswith("raise ") for answer in placed):
        return RAISED_BY_YOU
    return ""


def _about(answer: Answer) -> str:
    if answer.raised is None:
        return ""
    for variable in answer.origin.variables:
        if variable.replaces_pythons:
            return f"{answer.raised}: {_NOT_PYTHONS.format(variable.name)}"
        if variable.replaces_a_module:
            return f"{answer.raised}: {_NO_MODULE.format(variable.name)}"
    entries = [*of_results.LESSONS, *_LESSONS] if answer.origin.is_ours else _LESSONS
    return _matching(answer, entries)


def _matching(answer: Answer, entries: Sequence[Lesson]) -> str:
    """What the first entry says that fits an error, or an empty text."""
    for kind, text, sentence in entries:
        if answer.raised == kind and re.search(text, answer.detail):
            return f"{kind}: {sentence}"
    return ""
