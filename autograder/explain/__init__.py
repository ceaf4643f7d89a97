"""Why an answer is wrong: a search over edits of the right one.

A known mistake, a transposed result, two swapped arguments and a step left out are all
another implementation and a sentence. ``search`` tries them in the order of the
modules, and says the first whose answers are the student's:

- the bank of mistakes, in ``solutions/mistakes``;
- ``results``: the right result, changed; asks for no implementation, so it also works
  with an answer key;
- ``arguments``: the reference, called with changed arguments;
- ``steps``: the reference, with one step of its source changed;
- of several slips, the first of these that explains the first case that fails;
- ``errors``: else, what the error means that was raised.

``advice`` is on answers that are tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograder.exercise import Implementation


@dataclass(frozen=True)
class Edit:
    """A wrong version of the reference.

    Attributes:
        says: what it amounts to, in a sentence.
        make: makes the version; called when it is tried first, and may fail.
    """

    says: str
    make: Callable[[], Implementation]
