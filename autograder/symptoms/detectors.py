"""All detectors of symptoms, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograder.symptoms.outcomes import Pair

Detector = Callable[[Sequence[Pair]], str | None]


class Detectors:
    """What one module tells, in the order of definition.

    Attributes:
        causes: relations that nearly say what was done.
        traces: where and how it shows; asked when no cause was found.
    """

    def __init__(self) -> None:
        self.causes: list[Detector] = []
        self.traces: list[Detector] = []

    def cause(self, function: Detector) -> Detector:
        """Add a detector of causes."""
        self.causes.append(function)
        return function

    def trace(self, function: Detector) -> Detector:
        """Add a detector of traces."""
        self.traces.append(function)
        return function
