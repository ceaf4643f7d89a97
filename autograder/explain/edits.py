"""An edit: another implementation, and what a student who wrote it is told."""

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
