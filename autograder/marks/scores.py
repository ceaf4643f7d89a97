"""A student's marks in one chapter, according to the gradebook."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Marks:
    """What a student has in one chapter.

    Attributes:
        auto_scores: the scores that the grader gave, by exercise.
        scores: those that count: a score by hand takes precedence, extra credit is
            added. An instructor's own cells, marked by hand, are here as well.
        max_scores: the points to be had, by exercise.
        late_penalties: points lost because it was late, by notebook.
        comments: what the grader, or who marked by hand, said, by cell.
        late: whether it was handed in after the due date, or an extension of it.
        until: when an extension ends, in UTC; empty if there is none.
        by_hand: the scores that were given by hand.
        to_look_at: the cells that ask to be marked by hand, or looked at again.
    """

    auto_scores: dict[str, float | None] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    max_scores: dict[str, float] = field(default_factory=dict)
    late_penalties: dict[str, float] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    late: bool = False
    until: str = ""
    by_hand: dict[str, float] = field(default_factory=dict)
    to_look_at: set[str] = field(default_factory=set)

    @property
    def late_penalty(self) -> float:
        """Points lost because it was late."""
        return sum(self.late_penalties.values())

    @property
    def score(self) -> float:
        """What ``nbgrader export`` writes as the score."""
        return max(0.0, sum(self.scores.values()) - self.late_penalty)
