"""Which of several sources that a student wrote answers an exercise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from typing import Any

from autograder.magics import parsed
from autograder.parsing import UNREADABLE
from autograder.submissions import by_name

MAX_SOURCE = 100_000  # characters of one cell


def answer_among(sources: list[str], stub: str) -> str:
    """The first that is no stub, and that Python can read; the stub if there is none.

    Args:
        sources: in the order in which they count.
        stub: what was released.
    """
    begun = attempts_among(sources, stub)
    first = next(begun, stub)
    if len(sources) == 1 or can_be_read(first):
        return first
    return next(filter(can_be_read, begun), first)


def attempts_among(sources: list[str], stub: str) -> Iterator[str]:
    """Those that are more than a stub; if there is none, those with other words.

    There may be very many, and telling takes time, so they are read as they are needed.
    """
    changed = changed_among(sources, stub)
    begun = (source for source in changed if not is_stub(source, stub))
    first = next(begun, None)
    return iter(changed) if first is None else chain([first], begun)


def changed_among(sources: list[str], stub: str) -> list[str]:
    """Those that are not the stub as it was released."""
    return [source for source in sources if source.strip() != stub.strip()]


def is_stub(source: str, stub: str) -> bool:
    """Whether a source is the stub, or one in other words."""
    if source.strip() == stub.strip():
        return True
    return len(source) <= MAX_SOURCE and by_name.is_stub(source, stub)


def can_be_read(source: str) -> bool:
    """Whether Python runs a cell at all: it would not define anything else."""
    if len(source) > MAX_SOURCE:
        return True
    tree = parsed(source)
    try:
        compile(tree or "(", "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except UNREADABLE:
        return False
    return True


def latest_first(found: list[Any], count: int) -> list[Any]:
    """Put what stands above a check in the order in which it counts: the last is run.

    Args:
        found: cells that may answer an exercise; their order is changed.
        count: how many of them stand above its check; all if it is not there.
    """
    found[:count] = found[:count][::-1]
    return found
