"""Which demonstrations of the book an answer may use something of.

They are not run in grading: they may take minutes, and no answer needs what they
compute. But a student may use a function that one of them defines, or a constant.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from autograder.magics import parsed
from autograder.statements import names_bound, only_defines

_WORD = re.compile(r"\w+")
Key = TypeVar("Key", bound=Hashable)


def needed(demonstrations: Mapping[Key, str], written: Iterable[str]) -> set[Key]:
    """Those that define a name which is used, or which one of these uses in turn.

    Args:
        demonstrations: sources, as they were released.
        written: the code of a student.
    """
    names = frozenset().union(*map(defined_by, demonstrations.values()))
    texts = list(written) if names else []
    found: set[Key] = set()
    while texts:
        words = (word[0] for text in texts for word in _WORD.finditer(text))
        used = {word for word in words if word in names}
        new = {
            key
            for key, source in demonstrations.items()
            if key not in found and not used.isdisjoint(defined_by(source))
        }
        found |= new
        texts = [demonstrations[key] for key in new]
    return found


@lru_cache(maxsize=200)  # the cells of a chapter
def defined_by(source: str) -> frozenset[str]:
    """The names that remain of a demonstration: see ``stepwise.define``."""
    tree = parsed(source)
    kept = [node for node in (tree.body if tree else ()) if only_defines(node)]
    return frozenset().union(*map(names_bound, kept))
