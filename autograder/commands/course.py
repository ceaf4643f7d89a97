"""A course from its release to the pages for students."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.commands.common import (
    add_command,
    add_course,
    positive,
    progress_bar,
    say,
)
from autograder.errors import GraderFault
from autograder.exercise import require_topic


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    course = commands.add_parser("course", help="make an nbgrader course of the book")
    course.add_argument("folder", type=Path, metavar="DIR")
    course.add_argument("chapters", nargs="*", help="which ones; all if none is named")
    course.set_defaults(run=_course)
    collect = add_command(
        commands, "collect", _collect, "take in what an LMS has packed"
    )
    collect.add_argument("archive", type=Path)
    collect.add_argument(
        "--roster",
        type=Path,
        required=True,
        metavar="FILE",
        help="who is in the class, as the LMS exports it, or a CSV of your own",
    )
    deadlines = commands.add_parser(
        "deadlines", help="due dates, extensions and excuses, from a table"
    )
    deadlines.add_argument("table", type=Path, metavar="FILE")
    add_course(deadlines)
    deadlines.set_defaults(run=_deadlines)
    grade = commands.add_parser("grade", help="grade all submissions of chapters")
    grade.add_argument("chapters", nargs="+", metavar="CHAPTER")
    add_course(grade)
    grade.add_argument("--jobs", type=positive, metavar="N", help="how many at once")
    grade.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="NAME",
        help="grade this one only; may be given several times",
    )
    grade.add_argument("--force", action="store_true", help="examine all of them again")
    grade.set_defaults(run=_grade)
    grade.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="examine on this dask.distributed scheduler",
    )
    feedback = add_command(
        commands, "feedback", _feedback, "make the pages for students"
    )
    feedback.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="pages made at once; one for each processor if it is not said",
    )


def _course(options: argparse.Namespace) -> int:
    from autograder.release.course import make_course

    def progress(names: list[str]) -> Iterator[str]:
        """Tell what is done: all chapters take a minute or more."""
        chapters = "1 chapter" if len(names) == 1 else f"{len(names)} chapters"
        say(f"{chapters} in {options.folder}:", flush=True)
        for name in names:
            yield name
            say(f"  {name}", flush=True)

    make_course(options.folder, options.chapters, progress)
    say(f"give students {options.folder / 'release'}; collect into submitted/")
    return 0


def _collect(options: argparse.Namespace) -> int:
    from autograder.lms.collect import planned
    from autograder.marks.class_list import add_students
    from autograder.release.settings import settings_of

    course = options.course.resolve()
    settings = settings_of(course)
    with planned(options.chapter, options.archive, course, options.roster) as plan:
        # What the gradebook refuses must not be in submitted/ already.
        add_students(settings, plan.roster.people)
        plan.write()
    say("\n".join(plan.lines()))
    return 0


def _deadlines(options: argparse.Namespace) -> int:
    from autograder.marks.deadlines import keep_deadlines
    from autograder.marks.whole_class import expected_of

    course = options.course
    found = keep_deadlines(options.table, course, expected_of(course))
    for chapter, said in found.items():
        due = f"due {said.due:%Y-%m-%d %H:%M} UTC, " if said.due else ""
        count = len(said.until)
        say(f"{chapter}: {due}{count} extensions, {len(said.excused)} excused")
    zone = datetime.now().astimezone().tzname()
    say(f"a time without a zone counts in that of this machine, {zone}")
    say("grade the chapters again, and marks follow")
    return 0


def _grade(options: argparse.Namespace) -> int:
    for chapter in options.chapters:
        require_topic(chapter)
    with _place(options) as place:  # warms up during the imports
        from autograder.grading.grade import Unexamined, grade_chapters

        failed = None
        try:
            outcomes = grade_chapters(
                options.chapters,
                options.course,
                force=options.force,
                only=options.student,
                progress=progress_bar("submission"),
                **place,
            )
        except Unexamined as error:
            outcomes, failed = error.outcomes, error
    for chapter, outcome in outcomes.items():
        say("\n".join(outcome.lines(chapter)))
    if failed is not None:
        raise failed
    return 0


@contextlib.contextmanager
def _place(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Where to examine: on a dask cluster, or with workers on this machine."""
    if options.cluster is not None:
        from autograder.grading.cluster import cluster_executor

        with cluster_executor(options.cluster) as executor:
            yield {"executor": executor}
        return
    from autograder.grading.workers import Pool
    from autograder.sandbox.bubblewrap import SandboxUnavailable

    try:
        pool = Pool(options.jobs)
    except SandboxUnavailable:
        yield {}  # workers are needed only if there is something to examine
        return
    with pool:
        yield {"pool": pool}


def _feedback(options: argparse.Namespace) -> int:
    from autograder.handback.returned import write_archives
    from autograder.reporting.feedback import make_feedback

    pages = make_feedback(
        options.chapter, options.course, progress_bar("page"), options.jobs
    )
    say(
        f"{options.chapter}: pages made: {len(pages.made)}, up to date before: "
        f"{len(pages.kept)}, in {options.course / 'feedback'}"
    )
    for system, path in write_archives(options.course, options.chapter).items():
        say(f"  to upload to {system.title()}: {path}")
    for student, why in pages.failed.items():
        say(f"  no page: {student}: {why}")
    return GraderFault.exit_status if pages.failed else 0
