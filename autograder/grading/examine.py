"""Examine one submission: run it in the sandbox as it is, and judge its answers.

The score is decided here, in the trusted process. Nothing that the submission prints
or displays can change it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from autograder.exercise import Topic
from autograder.expected import Expected
from autograder.grading.clock import Clock
from autograder.grading.execution import Execution
from autograder.grading.kept import kept_notebook
from autograder.grading.remarks import with_remarks
from autograder.judge import Report, refuse
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits
from autograder.submissions.cells import HandedIn, as_handed_in
from autograder.submissions.completed import completed


@dataclass
class Examination:
    """The outcome of one submission.

    Attributes:
        report: plain data: chapter, score, max_score, exercises, notes, refused and
            seconds.
        notebook: the student's own with its outputs, safe to show, and completed with
            what was released.
    """

    report: dict[str, Any]
    notebook: NotebookNode


def examine(
    handed_in: HandedIn,
    topic: Topic,
    expected: Mapping[str, Expected],
    limits: Limits,
    *,
    servers: ForkServers,
    alone: bool = True,
) -> Examination:
    """Examine a submission.

    It is asked with seeds that no other submission gets, so that what a neighbour
    answers is of no use to it.

    Args:
        handed_in: the submission.
        topic: the exercises of the chapter.
        expected: from ``expect_all``; some of it holds for all seeds.
        limits: what the submission may use.
        servers: where its kernels are forked, in a sandbox.
        alone: whether no other submission is examined meanwhile; see ``clock``.

    Raises:
        GraderFault: something outside of the submission kept it from being examined,
            or may have; in particular ``SandboxUnavailable``.
    """
    start = time.monotonic()
    clock = Clock(limits, alone)
    run = Execution(topic, expected, handed_in, clock, limits, servers)
    run.to_the_end()
    reports = [run.report(name) for name in topic.exercises]
    asked = {n: aside for n, aside in run.asides.items() if n not in run.refused}
    reports = with_remarks(reports, asked)
    notes = run.notes + [
        f"{report.name}: it is defined again below its check, which does not count"
        for report in reports
        if report.score < report.max_score and handed_in.defined_again(report.name)
    ]
    report = summary(topic, reports, notes)
    whole = completed(handed_in, run.outputs)
    report["seconds"] = round(time.monotonic() - start, 3)
    return Examination(report, kept_notebook(handed_in.master, whole, reports))


def summary(
    topic: Topic,
    reports: list[Report],
    notes: list[str] | None = None,
    refused: str | None = None,
) -> dict[str, Any]:
    """The report on a whole notebook as plain data."""
    return {
        "chapter": topic.name,
        "score": sum(report.score for report in reports),
        "max_score": sum(report.max_score for report in reports),
        "refused": refused,
        "notes": notes or [],
        "exercises": [report.as_dict() for report in reports],
    }


def refused_examination(master: NotebookNode, topic: Topic, reason: str) -> Examination:
    """Zero points, with a reason, for what could not be examined at all."""
    reports = [refuse(exercise, reason) for exercise in topic.exercises.values()]
    report = summary(topic, reports, refused=reason)
    blank = as_handed_in(master, {"cells": []}, topic.exercises)
    kept = kept_notebook(master, completed(blank, []), reports)
    return Examination({**report, "seconds": 0.0}, kept)
