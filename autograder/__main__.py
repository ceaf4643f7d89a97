"""The command line: ``python -m autograder COMMAND``."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.exercise import UnknownExercise, load_topic, require_topic
from autograder.sandbox import SandboxUnavailable
from autograder.submissions import printable

if TYPE_CHECKING:
    from autograder.grade import Outcome

BAD_INPUT = 2


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 2 when its input cannot be used."""
    options = _parser().parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may lack a student's letters
        sys.stdout.reconfigure(errors="backslashreplace")
    # nbgrader logs each error of the database with its traceback, and raises it too.
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    try:
        return options.run(options)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"autograder: {error.strerror or error}{where}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("autograder: interrupted; run it again to go on", file=sys.stderr)
        return 130
    except Exception as error:
        if not isinstance(error, _bad_input()):
            raise
        print(f"autograder: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT


def _bad_input() -> tuple[type[Exception], ...]:
    """The errors that say in one line what cannot be used."""
    from autograder.classreport import NoReports
    from autograder.cluster import ClusterError
    from autograder.course import CourseError
    from autograder.gradebook import GradebookError
    from autograder.progress import NoNotebooks
    from autograder.rebuild import Unusable
    from autograder.release import BrokenChapter
    from autograder.reset import CannotReset
    from autograder.submissions import NothingSubmitted

    return (
        BrokenChapter,
        CannotReset,
        ClusterError,
        CourseError,
        GradebookError,
        NoNotebooks,
        NoReports,
        NothingSubmitted,
        SandboxUnavailable,
        UnknownExercise,
        Unusable,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograder", description="Grade the notebooks of the course."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="examine one notebook")
    check.add_argument("notebook", type=Path)
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    check.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run it as yourself, unprotected: only for what you wrote yourself",
    )
    check.set_defaults(run=_check)
    progress = commands.add_parser("progress", help="what is done, and the next step")
    progress.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="where the notebooks are"
    )
    progress.set_defaults(run=_progress)
    reset = commands.add_parser("reset", help="put the stub of an exercise back")
    reset.add_argument("notebook", type=Path)
    reset.add_argument("exercise")
    reset.set_defaults(run=_reset)
    course = commands.add_parser("course", help="make an nbgrader course of the book")
    course.add_argument("folder", type=Path, metavar="DIR")
    course.add_argument("chapters", nargs="*", help="which ones; all if none is named")
    course.set_defaults(run=_course)
    grade = commands.add_parser("grade", help="grade all submissions of chapters")
    grade.add_argument("chapters", nargs="+", metavar="CHAPTER")
    grade.add_argument("--course", type=Path, required=True, metavar="DIR")
    grade.add_argument("--jobs", type=_positive, metavar="N", help="how many at once")
    grade.add_argument("--force", action="store_true", help="examine all of them again")
    grade.set_defaults(run=_grade)
    grade.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="examine on this dask.distributed scheduler",
    )
    report = commands.add_parser("report", help="what the class got wrong, as a page")
    report.add_argument("chapter")
    report.add_argument("--course", type=Path, required=True, metavar="DIR")
    report.set_defaults(run=_report)
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _check(options: argparse.Namespace) -> int:
    from autograder.examine import draw_seeds, examine, expected_answers
    from autograder.limits import Limits
    from autograder.rebuild import chapter_of, read_submission
    from autograder.release import source_notebook, student_notebook
    from autograder.sandbox import require_bubblewrap, stop_sandbox

    data = read_submission(options.notebook)
    topic = load_topic(chapter_of(data, options.notebook))
    if not options.no_sandbox:
        require_bubblewrap()
    master = student_notebook(source_notebook(topic.name))
    seeds = draw_seeds(topic, secrets.token_bytes())
    expected = expected_answers(topic, seeds)
    try:
        examination = examine(
            master, data, topic, expected, Limits(), sandbox=not options.no_sandbox
        )
    finally:
        stop_sandbox()
    if options.json:
        print(json.dumps(examination.report))
    else:
        print(_as_text(examination.report))
    return 0


def _as_text(report: dict[str, Any]) -> str:
    from autograder.check import as_text
    from autograder.judge import CaseReport, Report

    lines = [
        f"{report['chapter']}: {report['score']:g} of {report['max_score']:g} points"
    ]
    lines += [f"note: {note}" for note in report["notes"]]
    for exercise in report["exercises"]:
        cases = [CaseReport(**case) for case in exercise["cases"]]
        lines += ["", as_text(Report(**{**exercise, "cases": cases}))]
    return "\n".join(lines)


def _progress(options: argparse.Namespace) -> int:
    from autograder.progress import progress

    progress(options.folder)
    return 0


def _reset(options: argparse.Namespace) -> int:
    from autograder.reset import reset

    reset(options.notebook, options.exercise)
    return 0


def _course(options: argparse.Namespace) -> int:
    from autograder.course import make_course

    names = make_course(options.folder, options.chapters)
    print(f"{len(names)} chapters in {options.folder}: {', '.join(names)}")
    print(f"give students {options.folder / 'release'}; collect into submitted/")
    return 0


def _grade(options: argparse.Namespace) -> int:
    for chapter in options.chapters:
        require_topic(chapter)
    with _place(options) as place:  # warms up during the imports
        from tqdm import tqdm

        from autograder.grade import grade_chapters

        def progress(items: Any, total: int) -> Any:
            return tqdm(items, total=total, unit="submission", disable=None)

        outcomes = grade_chapters(
            options.chapters,
            options.course,
            force=options.force,
            progress=progress,
            **place,
        )
    for chapter, outcome in outcomes.items():
        _print_outcome(chapter, outcome)
    return 0


def _print_outcome(chapter: str, outcome: Outcome) -> None:
    reports = {printable(name): report for name, report in outcome.graded.items()}
    print(
        f"{chapter}: {len(reports)} examined, {len(outcome.unchanged)} "
        "unchanged since the last run"
    )
    for student, reason in sorted(outcome.refused.items()):
        print(f"  not graded: {student}: {reason}")
    for student, report in sorted(reports.items()):
        if report["refused"]:
            print(f"  zero: {student}: {report['refused']}")
        for note in report["notes"]:
            print(f"  note: {student}: {note}")
    for change in sorted(outcome.changes):
        print(f"  changed: {printable(change)}")
    mistakes = Counter(
        f"{exercise['name']}: {exercise['mistake']}"
        for report in reports.values()
        for exercise in report["exercises"]
        if exercise["mistake"]
    )
    for mistake, count in mistakes.most_common(5):
        print(f"  {count} times  {mistake}")


@contextlib.contextmanager
def _place(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Where to examine: on a dask cluster, or with workers on this machine."""
    if options.cluster is not None:
        from autograder.cluster import cluster_executor

        with cluster_executor(options.cluster) as executor:
            yield {"executor": executor}
        return
    from autograder.pool import Pool

    try:
        pool = Pool(options.jobs)
    except SandboxUnavailable:
        yield {}  # workers are needed only if there is something to examine
        return
    with pool:
        yield {"pool": pool}


def _report(options: argparse.Namespace) -> int:
    from autograder.classreport import read_reports, write_class_report
    from autograder.course import settings_of
    from autograder.gradebook import ChapterMarks

    course, chapter = options.course, options.chapter
    require_topic(chapter)
    reports = read_reports(course, chapter)  # none at all is the first thing to say
    settings = settings_of(course.resolve())
    with ChapterMarks(settings.gradebook, settings.course_id, chapter) as book:
        marks = book.read()
    for student in sorted(set(marks) - {r["student"] for r in reports.reports}):
        student = printable(student)
        print(f"not in the tables: {student}: has marks but no report; grade again")
    for student in sorted({r["student"] for r in reports.reports} - set(marks)):
        student = printable(student)
        print(f"not in the tables: {student}: is no longer in the gradebook")
    for what, path in write_class_report(course, chapter, marks).items():
        print(f"{what + ':':12} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
