"""A chapter's class report: who needs help, what to teach again, and the details.

Everything is computed from the reports that ``grade`` left and from the marks in the
gradebook, so it can be made again at any time. The page loads nothing, and runs only a
script of its own that sorts tables.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.book import chapter_title
from autograder.marks.reports import EXCUSED, LOW, MISSING, ClassReport, scores_of
from autograder.reporting.causes import (
    NONE,
    Cause,
    causes_in,
    explained,
    left_as_they_were,
    unexplained,
)
from autograder.reporting.efforts import Efforts
from autograder.reporting.examples import Examples
from autograder.reporting.items import Item, item_analysis, separating_nobody
from autograder.reporting.pages import Cell, counted, filled, number, of, templates
from autograder.reporting.suspects import suspects

SHOWN = 6  # entries of a list on the first screen
SHARED = 5  # causes on the first screen
BARS = 10  # of the distribution
SECTIONS = [
    ("unexplained", "Without a cause"),
    ("causes", "Causes"),
    ("students", "Students"),
    ("exercises", "Exercises"),
    ("items", "Cases"),
    ("effort", "Checks and hints"),
    ("irregularities", "Irregularities"),
    ("reading", "How to read the numbers"),
]


def as_page(
    report: ClassReport,
    examples: Examples | None = None,
    efforts: Mapping[str, Efforts] | None = None,
) -> str:
    """The class report as one HTML page without outside resources.

    Args:
        report: of the chapter.
        examples: where answers are shown from; without it, none are.
        efforts: what led to the answers, by exercise.
    """
    causes, items = causes_in(report), item_analysis(report)
    why, open_ = explained(causes), unexplained(causes)
    shared = [cause for cause in why if len(cause.students) > 1][:SHARED]
    return (
        templates()
        .get_template("classreport.html")
        .render(
            title=chapter_title(report.chapter),
            sections=SECTIONS,
            shown=SHOWN,
            states=_states(report),
            marks=_marks(report),
            help=needing_help(report),
            shared=[entry(c, report, examples) for c in shared],
            hardest=_hardest(items, causes),
            explained=[entry(c, report, examples) for c in why],
            alone=sum(len(c.students) == 1 for c in why),
            unexplained=[entry(c, report, examples) for c in open_],
            unexplained_count=answers_have(sum(len(c.students) for c in open_)),
            suspects=suspects(items, causes),
            students=[_student(report, name) for name in report.everybody],
            bars=_bars(report),
            examined=len(report.examined),
            exercises=_exercises(report, items),
            cases=[_case(item) for item in items if item.case],
            nobody=_nobody(items),
            efforts=[_effort(name, found) for name, found in (efforts or {}).items()],
            troubles=report.troubles(),
        )
    )


def entry(
    cause: Cause,
    report: ClassReport,
    examples: Examples | None,
    name_chapter: bool = False,
) -> dict[str, Any]:
    """A cause as the templates show it, with an example that is anybody's.

    Args:
        cause: of wrong answers.
        report: on the chapter in which they were given.
        examples: where answers are shown from; without it, none are.
        name_chapter: whether the place to read names the chapter.
    """
    here = "" if name_chapter else f"chapter “{chapter_title(report.chapter)}”, "
    shows = examples is not None and not cause.may_be_elsewhere
    says = cause.says or "Nothing more is known than which cases fail."
    return {
        "count": of(len(cause.students), len(report.examined)),
        "exercise": cause.exercise,
        "kind": cause.kind,
        "name": cause.name,
        "says": says[:1].upper() + says[1:],
        "alone": len(cause.students) == 1,
        "failed": "; ".join(cause.failed) if cause.kind == NONE else "",
        "students": ", ".join(cause.students),
        "lost": number(cause.lost),
        "reading": cause.reading.removeprefix(here),
        "example": examples.of(cause.exercise, cause.students) if shows else "",
    }


def answers_have(count: int) -> str:
    """The beginning of a sentence about some wrong answers."""
    return "One wrong answer has" if count == 1 else f"{count} wrong answers have"


def _states(report: ClassReport) -> list[tuple[str, str]]:
    """How many handed in, how many have no mark, and how many have a zero."""
    due = len(report.everybody) - len(report.excused)
    zeros = sum(r["score"] == 0 for r in report.reports)
    unread = len(report.reports) - len(report.examined)
    why = f" ({unread} could not be examined)" if unread else ""
    found = [
        (of(len(report.reports) + len(report.waiting), due), "handed in"),
        (str(len(report.waiting)), "of them still to be graded"),
        (str(len(report.late)), "of them late"),
        (str(len(report.missing)), "not handed in: no mark"),
        (str(len(report.excused)), "excused: no mark"),
        (str(zeros), f"with zero points{why}"),
    ]
    return [(value, what) for value, what in found if value != "0"]


def _marks(report: ClassReport) -> str:
    scores = [r["score"] for r in report.reports]
    full = sum(score >= report.max_score for score in scores)
    most = number(report.max_score)
    if len(scores) == 1:
        return f"The mark is {number(scores[0])} of {most} points."
    return (
        f"Half of those who handed in have {number(statistics.median(scores))} of "
        f"{most} points or more, and the mean is {number(statistics.fmean(scores))}. "
        f"{of(full, len(scores)).capitalize()} have all points."
    )


def needing_help(report: ClassReport) -> list[tuple[str, str]]:
    """Who may need help with a chapter, and why; the lowest marks first.

    Those who have handed in nothing come last: of them no more is known.
    """
    found = []
    for r in sorted(report.reports, key=lambda r: (r["score"], r["student"])):
        messages = [e["message"] for e in r["exercises"]]
        begun = len(left_as_they_were(ClassReport("", [r]))) < len(messages)
        if r["refused"]:
            found.append((r["student"], f"zero: {r['refused']}"))
        elif messages and not begun:
            found.append((r["student"], "handed in, but no exercise was begun"))
        elif r["score"] < LOW * report.max_score:
            points = f"{number(r['score'])} of {number(report.max_score)} points"
            found.append((r["student"], points))
    return found + [(student, MISSING) for student in report.missing]


def _hardest(items: Sequence[Item], causes: Iterable[Cause]) -> str:
    """Where the class lost most, as a sentence; empty if nowhere."""
    exercises = [item for item in items if not item.case and item.difficulty < 1]
    if not exercises:
        return ""
    hard = min(exercises, key=lambda item: (item.difficulty, item.exercise))
    ways = sum(cause.exercise == hard.exercise for cause in causes)
    missed = of(hard.asked - hard.solved, hard.asked)
    text = f"Hardest was {hard.exercise}: {missed} lost points"
    return f"{text}, in {ways} different ways." if ways > 1 else f"{text}."


def _student(report: ClassReport, name: str) -> list[Any]:
    """A line in the table of students."""
    r, state = report.report_on(name), report.state_of(name)
    until = report.extended.get(name, "")
    if state in (MISSING, EXCUSED) or r is None:
        return [name, state, Cell("–", None), Cell("–", None), "", until]
    if r["refused"]:
        why, state = r["refused"], f"zero ({state})"
    else:
        most = {e["name"]: e["max_score"] for e in r["exercises"]}
        lost = [n for n, got in scores_of(r).items() if got < most.get(n, got)]
        if r["late_penalty"]:
            lost.append(f"lateness ({number(r['late_penalty'])})")
        why = ", ".join(lost)
    share = r["score"] / report.max_score if report.max_score else None
    return [name, state, counted(r["score"]), filled(share), why, until]


def _bars(report: ClassReport) -> list[dict[str, Any]]:
    """The distribution of the marks: how many in each tenth of the points."""
    if not report.max_score:
        return []
    counts = [0] * BARS
    for r in report.reports:
        share = r["score"] / report.max_score
        counts[min(BARS - 1, max(0, int(BARS * share + 1e-9)))] += 1
    step = 100 // BARS
    return [
        {
            "label": f"{n * step}–{(n + 1) * step - (n < BARS - 1)}",
            "count": count,
            "height": count / max(counts),
        }
        for n, count in enumerate(counts)
    ]


def _exercises(report: ClassReport, items: Sequence[Item]) -> list[list[Any]]:
    untouched = left_as_they_were(report)
    rows = []
    for item in items:
        if not item.case:
            first, solved, share, *rest = numbers(item)
            left = counted(len(untouched.get(item.exercise, [])))
            rows.append([item.exercise, first, solved, share, left, *rest])
    return rows


def numbers(item: Item) -> list[Any]:
    """The numbers of an exercise or a case."""
    r = item.discrimination
    return [
        counted(item.points),
        Cell(of(item.solved, item.asked), item.solved),
        filled(item.difficulty),
        Cell("–" if r is None else f"{r:.2f}".replace("-", "−"), r),
        item.verdict,
    ]


def _case(item: Item) -> list[Any]:
    """A line in the table of cases, where a share of the points is one of passes."""
    points, passed, share, *rest = numbers(item)
    return [item.case, item.exercise, points, replace(passed, share=share.share), *rest]


def _effort(name: str, found: Efforts) -> list[Any]:
    """What led to the answers to an exercise, as a line of a table."""
    unknown = Cell("–", None)
    minutes = None if found.seconds is None else found.seconds / 60
    return [
        name,
        counted(found.known),
        unknown if found.checks is None else counted(found.checks),
        Cell(of(found.hinted, found.known), found.hinted) if found.known else unknown,
        unknown if minutes is None else Cell(f"{number(minutes)} min", minutes),
    ]


def _nobody(items: Sequence[Item]) -> list[str]:
    """The cases that separate nobody, in sentences."""
    passed, failed = separating_nobody(items)
    lines = []
    for found, who in ((passed, "everybody passes"), (failed, "nobody passes")):
        if found:
            names = "; ".join(f"{item.exercise}: {item.case}" for item in found)
            lines.append(f"Cases that separate nobody, since {who} them: {names}.")
    return lines
