"""A student's marks in one chapter, read from nbgrader's gradebook in two queries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select


@dataclass
class Marks:
    """What a student has in one chapter.

    Attributes:
        auto_scores: the scores that the grader gave, by exercise.
        scores: those that count: a score by hand takes precedence, extra credit is
            added. An instructor's own cells, marked by hand, are here as well.
        max_scores: the points to be had, by exercise.
        late_penalty: points lost because it was late.
        comments: what the grader, or who marked by hand, said, by cell.
        late: whether it was handed in after the due date, or an extension of it.
        by_hand: the scores that were given by hand.
        to_look_at: the cells that ask to be marked by hand, or looked at again.
    """

    auto_scores: dict[str, float | None] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    max_scores: dict[str, float] = field(default_factory=dict)
    late_penalty: float = 0.0
    comments: dict[str, str] = field(default_factory=dict)
    late: bool = False
    by_hand: dict[str, float] = field(default_factory=dict)
    to_look_at: set[str] = field(default_factory=set)

    @property
    def score(self) -> float:
        """What ``nbgrader export`` writes as the score."""
        return max(0.0, sum(self.scores.values()) - self.late_penalty)


def held_marks(book: Gradebook, chapter: str) -> dict[str, Marks]:
    """The marks of a chapter by student, in the transaction that is under way."""
    marks: dict[str, Marks] = defaultdict(Marks)
    grades = _cells_of(
        book,
        chapter,
        Grade,
        SubmittedNotebook.late_submission_penalty,
        Grade.auto_score,
        Grade.score,
        Grade.max_score,
        Grade.manual_score,
        Grade.needs_manual_grade,
        SubmittedAssignment.timestamp,
        SubmittedAssignment.extension,
        Assignment.duedate,
    )
    said = _cells_of(
        book, chapter, Comment, Comment.auto_comment, Comment.manual_comment
    )
    for student, cell, penalty, *scores, asks, when, longer, due in grades:
        name, found = cell.removeprefix("check-"), marks[student]
        found.auto_scores[name], found.scores[name], *rest = scores
        found.max_scores[name], by_hand = rest
        if by_hand is not None:
            found.by_hand[name] = by_hand
        if asks:
            found.to_look_at.add(name)
        found.late_penalty = penalty or 0.0
        if when and due:
            found.late = when > due + (longer or timedelta())
    for student, cell, automatic, by_hand in said:
        if by_hand or automatic:
            marks[student].comments[cell] = by_hand or automatic
    return dict(marks)


def _cells_of(book: Gradebook, chapter: str, kind: type, *columns: Any) -> list[Any]:
    """Student, name of the cell and more, of all grades or comments there are."""
    query = (
        select(SubmittedAssignment.student_id, BaseCell.name, *columns)
        .join(SubmittedNotebook, SubmittedNotebook.id == kind.notebook_id)
        .join(
            SubmittedAssignment,
            SubmittedAssignment.id == SubmittedNotebook.assignment_id,
        )
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(BaseCell, BaseCell.id == kind.cell_id)
        .where(Assignment.name == chapter)
    )
    return list(book.db.execute(query).all())
