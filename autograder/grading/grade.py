"""Grade many submissions into the gradebook of a course.

Workers examine, one writer records. A submission's report is the last thing to be
written, so a run that was killed goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault
from autograder.files import printable
from autograder.grading.chapter import SHOWN, ChapterSubmissions, Outcome, some
from autograder.grading.queue import Entry, examined
from autograder.grading.worker import Job, Workplace
from autograder.grading.workers import Pool
from autograder.marks.audit import AuditLog
from autograder.marks.deadlines import deadlines_of
from autograder.marks.gradebook import ChapterMarks
from autograder.marks.rules import read_rules
from autograder.marks.whole_class import expected_of
from autograder.release.course import master_text
from autograder.release.settings import settings_of
from autograder.sandbox.limits import Limits
from autograder.submissions.submitted import NothingSubmitted, students

AHEAD_ON_A_CLUSTER = 200  # submissions; nobody knows how many workers it has


class Unexamined(GraderFault):
    """Some submissions have no outcome, and are not to blame; the others are recorded.

    Attributes:
        outcomes: what was done, by chapter.
    """

    def __init__(self, outcomes: dict[str, Outcome]) -> None:
        self.outcomes = outcomes
        reasons: dict[str, list[str]] = {}
        for chapter, outcome in outcomes.items():
            for student, reason in outcome.unexamined.items():
                reasons.setdefault(reason, []).append(f"{student} ({chapter})")
        ranked = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
        named = [f"{some(sorted(who))}: {why}" for why, who in ranked[:SHOWN]]
        count = sum(map(len, reasons.values()))
        super().__init__(
            f"{count} not examined through no fault of their own, so without a mark "
            f"from this run; {printable('; '.join(named))}. Everything else is "
            "recorded: run it again to go on"
        )


def _some_of(names: list[str], only: Collection[str]) -> list[str]:
    """Those of some students who are wanted."""
    for name in only:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise NothingSubmitted(f"there is no submission of {name!r}{meant}")
    return [name for name in names if name in only] if only else names


def grade(chapter: str, course: Path, **options: Any) -> Outcome:
    """Examine every submission of a chapter and record the marks.

    For the options and errors, see ``grade_chapters``.
    """
    return grade_chapters([chapter], course, **options)[chapter]


def grade_chapters(
    chapters: Iterable[str],
    course: Path,
    *,
    force: bool = False,
    only: Collection[str] = (),
    limits: Limits | None = None,
    executor: Executor | None = None,
    pool: Pool | None = None,
    progress: Callable[[Iterable, int], Iterable] = lambda items, total: items,
) -> dict[str, Outcome]:
    """Examine every submission of some chapters and record the marks.

    Args:
        chapters: their names.
        course: folder of an nbgrader course, made by ``release.course.make_course``.
        force: examine again what has a report already.
        only: the students to grade; everybody if there are none.
        limits: what a submission may use; as the course says if None.
        executor: where to examine, in place of processes on this machine.
        pool: workers on this machine, if there are some already; they stay.
        progress: wraps the stream of finished submissions; gets it and its length.

    Returns:
        What was done, by chapter.

    Raises:
        CourseError: the folder is no course, or has no such chapter.
        UnknownExercise: there is no such chapter at all.
        NothingSubmitted: the course has no submissions, or none of those in ``only``.
        BadTable: ``deadlines.csv`` or a class list has faults.
        BadRules: the rules of a chapter have.
        GradebookError: the gradebook cannot be used.
        SandboxUnavailable: this machine cannot isolate submissions.
        Unexamined: some submissions have no outcome; all others are recorded.
    """
    course = course.resolve()
    settings = settings_of(course)
    masters = {chapter: master_text(course, chapter) for chapter in chapters}
    names, refused = students(course / "submitted")
    names = _some_of(names, only)
    deadlines = {chapter: deadlines_of(course, chapter) for chapter in masters}
    with contextlib.ExitStack() as stack:
        parts = []
        for chapter, master in masters.items():
            job = Job(chapter, master, limits or settings.limits)
            log = AuditLog(course, chapter)
            marks = stack.enter_context(
                ChapterMarks(
                    settings.gradebook, settings.course_id, chapter, settings.late, log
                )
            )
            before = marks.read()
            log.find(before)
            if (said := deadlines[chapter]) is not None:
                marks.set_deadlines(said)
            outcome = Outcome(refused=dict(refused))
            rules = read_rules(course, chapter)
            parts.append(ChapterSubmissions(course, job, marks, before, outcome, rules))
        waiting = []
        for part in parts:
            for name in names:
                said = deadlines[part.job.chapter]
                if said is not None and name in said.excused:
                    part.outcome.excused.append(name)
                    continue
                if part.is_missing(name):
                    part.note_missing(name)
                elif not force and (submission := part.finished(name)) is not None:
                    part.leave_unchanged(submission)
                else:
                    waiting.append(Entry(part, name))
        for part in parts:
            lost = any(marks.late_penalty for marks in part.before.values())
            if settings.late is not None or lost or deadlines[part.job.chapter]:
                part.marks.assign_penalties(part.outcome.unchanged)
            if not only:
                said = deadlines[part.job.chapter]
                done = {*names, *part.before, *(said.excused if said else ())}
                class_ = expected_of(course)
                part.outcome.missing += sorted(class_ - done)
        ahead, workplace = AHEAD_ON_A_CLUSTER, Workplace()
        if waiting and executor is None:
            pool = pool or stack.enter_context(Pool())
            executor, ahead, workplace = pool.executor, pool.ahead, pool.workplace
        gc.freeze()  # what is loaded is not garbage, and need not be looked through
        stack.callback(gc.unfreeze)
        finished = examined(waiting, executor, ahead, workplace)
        for _ in progress(finished, len(waiting)):
            pass
        for part in parts:
            part.tell_penalties()
    outcomes = {part.job.chapter: part.outcome for part in parts}
    if any(outcome.unexamined for outcome in outcomes.values()):
        raise Unexamined(outcomes)
    return outcomes
