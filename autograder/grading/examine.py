"""Examine one submission: rebuild it, run it in the sandbox, judge its answers.

The score is decided here, in the trusted process. Nothing that the submission prints
or displays can change it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from autograder.errors import SubmissionFault
from autograder.exercise import Topic
from autograder.expected import Expected
from autograder.grading.client import SelectorLoop
from autograder.grading.clock import Clock
from autograder.grading.execution import Execution
from autograder.grading.kept import kept_notebook
from autograder.grading.missing_names import name_missing_names, note_answers_below
from autograder.grading.other_names import name_renamed
from autograder.grading.outside_values import name_outside_values
from autograder.grading.own_helpers import name_own_helpers
from autograder.grading.rewritten import DIGESTS
from autograder.grading.seeds import draw_seeds
from autograder.judge import Report, refuse, refuse_calls
from autograder.sandbox.connection import ForkServers
from autograder.sandbox.limits import Limits
from autograder.sandbox.process_tree import waits_are_counted
from autograder.submissions.attempts import MAX_SOURCE
from autograder.submissions.reachable import StudentCode
from autograder.submissions.reading_limit import reading_limit
from autograder.submissions.rebuild import (
    Rebuilt,
    rebuild,
    take_over_demonstrations,
)

UNKNOWN_WAITS = (
    "this system does not tell how long a process waits for a processor: time limits "
    "counted that, too"
)


@dataclass
class Examination:
    """The outcome of one submission.

    Attributes:
        report: plain data: chapter, score, max_score, exercises, notes, refused,
            seconds and, if it ran, by_hand (where the instructor asks questions) and,
            in a sandbox, counted.
        notebook: the rebuilt notebook with its outputs, safe to show.
    """

    report: dict[str, Any]
    notebook: NotebookNode


def examine(
    master: NotebookNode,
    data: dict[str, Any],
    topic: Topic,
    expected: Mapping[str, Expected],
    limits: Limits,
    *,
    servers: ForkServers | None,
    alone: bool = True,
    seeds: Mapping[str, list[int]] | None = None,
) -> Examination:
    """Examine a submission.

    Marks are given for its answers to seeds that no other submission gets, so that
    what a neighbour answers is of no use to it. The known mistakes, which take long to
    run, are compared with wrong answers to the seeds that ``expected`` has: those are
    asked for afterwards, and decide about the hint alone.

    Args:
        master: the notebook as it was released to students.
        data: the submission, from ``notebooks.read_notebook``.
        topic: the exercises of the chapter.
        expected: the right answers, from ``expected_answers``.
        limits: what the submission may use.
        servers: where its kernels are forked, in a sandbox. If None, its code runs
            unprotected, with all rights of this process.
        alone: whether no other submission is examined meanwhile; see ``clock``.
        seeds: of this submission; drawn now if None.

    Raises:
        GraderFault: something outside of the submission kept it from being examined,
            or may have; in particular ``SandboxUnavailable``.
    """
    start = time.monotonic()
    try:
        with reading_limit():
            rebuilt = rebuild(master, data)
            take_over_demonstrations(rebuilt, topic.exercises)
            refused = not_to_be_run(topic, rebuilt)
    except SubmissionFault as fault:
        return refused_examination(master, topic, str(fault))
    seeds = seeds or draw_seeds(topic, secrets.token_bytes())
    clock = Clock(limits, alone)
    run = Execution(
        topic, seeds, expected, rebuilt, clock, limits, servers, refused=refused
    )
    with asyncio.Runner(loop_factory=SelectorLoop) as runner:
        runner.run(run.to_the_end())
    reports = [run.report(name) for name in topic.exercises]
    reports = name_renamed(master, rebuilt, reports, run.given)
    reports = name_missing_names(master, rebuilt, reports, run.given)
    not_run = [*run.refused, *run.cell_errors]
    reports = name_outside_values(master, rebuilt, reports, run.given, not_run)
    reports = name_own_helpers(rebuilt, reports, list(run.refused))
    below = note_answers_below(rebuilt, reports)
    report = summary(topic, reports, notes=[*rebuilt.notes, *run.notes, *below])
    if by_hand := _to_mark_by_hand(topic, rebuilt):
        report[DIGESTS] = by_hand
    report["seconds"] = round(time.monotonic() - start, 3)
    if servers is None:
        report["notes"].insert(0, "examined without a sandbox")
        if not waits_are_counted():
            report["notes"].insert(1, UNKNOWN_WAITS)
    else:
        report["counted"] = servers.current().counted
    try:
        with reading_limit():
            kept = kept_notebook(rebuilt, reports)
    except SubmissionFault as fault:
        report["notes"].append(
            f"its notebook is kept without what was written: {fault}"
        )
        kept = kept_notebook(rebuild(master, {"cells": []}), reports)
    return Examination(report, kept)


def not_to_be_run(topic: Topic, rebuilt: Rebuilt) -> dict[str, str]:
    """Why exercises are refused before anything runs, by their names."""
    code, refused = StudentCode(rebuilt), {}
    for name, exercise in topic.exercises.items():
        if name in rebuilt.too_long:
            refused[name] = f"its cell has more than {MAX_SOURCE} characters"
        if name in refused or not exercise.forbidden:
            continue
        try:
            used = exercise.forbidden_lines(code.reachable(name))
        except RecursionError:
            refused[name] = "its source is nested too deeply to be read"
            continue
        if used:
            line = next(iter(used.values()))
            refused[name] = refuse_calls(exercise, list(used), line).message
    return refused


def _to_mark_by_hand(topic: Topic, rebuilt: Rebuilt) -> dict[str, str]:
    """What the instructor's own questions got, in a form that tells whether it changed.

    Returns:
        A digest of each answer, by the grade id of its cell.
    """
    return {
        name: hashlib.sha256(text.strip().encode()).hexdigest()[:16]
        for name, text in rebuilt.by_hand.items()
        if name not in topic.exercises
    }


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
    rebuilt = rebuild(master, {"cells": []})
    rebuilt.notes.clear()
    reports = [refuse(exercise, reason) for exercise in topic.exercises.values()]
    report = summary(topic, reports, refused=reason)
    return Examination({**report, "seconds": 0.0}, kept_notebook(rebuilt, reports))
