"""What an answer may use of the demonstrations of the book.

They are not run in grading: they may take minutes, and no answer needs what they
compute. But a student may use a function that one of them defines, or a constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

from autograder.magics import parsed
from autograder.statements import names_bound, only_defines

_WORD = re.compile(r"\w+")
Key = TypeVar("Key", bound=Hashable)


class _Definition(NamedTuple):
    """A statement that defines, with the names that it binds."""

    names: frozenset[str]
    text: str


def needed(demonstrations: Mapping[Key, str], written: Iterable[str]) -> dict[Key, str]:
    """The definitions that are used, and those that these use in turn.

    Args:
        demonstrations: sources, as they were released.
        written: the code of a student.

    Returns:
        The source of those definitions, for each demonstration that has some.
    """
    offered = {key: _definitions_of(text) for key, text in demonstrations.items()}
    every = [one for some in offered.values() for one in some]
    names = frozenset().union(*(one.names for one in every))
    found: set[_Definition] = set()
    texts = list(written) if names else []
    while texts:
        words = (word[0] for text in texts for word in _WORD.finditer(text))
        used = {word for word in words if word in names}
        new = {one for one in every if one not in found and one.names & used}
        found |= new
        texts = [one.text for one in new]
    pieces = {
        key: "\n\n".join(one.text for one in some if one in found)
        for key, some in offered.items()
    }
    return {key: text for key, text in pieces.items() if text}


@lru_cache(maxsize=200)  # the cells of a chapter
def _definitions_of(source: str) -> list[_Definition]:
    tree = parsed(source)
    return [
        _Definition(frozenset(names_bound(node)), ast.unparse(node))
        for node in (tree.body if tree else ())
        if only_defines(node)
    ]
