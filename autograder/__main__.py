"""The command line: ``python -m autograder COMMAND``."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import logging
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError, GraderFault
from autograder.exercise import load_topic, require_topic
from autograder.files import printable


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit status.

    That is 2 when its input cannot be used, 3 when something was left without an
    outcome that is not to blame for it, and 130 when it was interrupted.
    """
    options = _parser().parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may lack a student's letters
        sys.stdout.reconfigure(errors="backslashreplace")
    # nbgrader logs each error of the database with its traceback, and raises it too.
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    try:
        with _temporary_files(options):
            return options.run(options)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _say(f"autograder: {error.strerror or error}{where}", file=sys.stderr)
        return AutograderError.exit_status
    except KeyboardInterrupt:
        print(
            "autograder: interrupted; what was finished is kept, run it again to go on",
            file=sys.stderr,
        )
        return 130
    except AutograderError as error:
        _say(f"autograder: {' '.join(str(error).split())}", file=sys.stderr)
        for line in getattr(error, "lines", ()):
            _say(f"  {line}", file=sys.stderr)
        return error.exit_status


def _temporary_files(options: argparse.Namespace) -> contextlib.AbstractContextManager:
    """Where temporary files belong; only what starts kernels makes many."""
    if options.run not in (_check, _grade) or not _can_grade():
        return contextlib.nullcontext()
    from autograder.sandbox.scratch import scratch_folder

    return scratch_folder()


def _say(text: str, **where: Any) -> None:
    """Print lines in which no name does anything to the terminal."""
    print("\n".join(map(printable, text.split("\n"))), **where)


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
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        help="where the notebooks are, or one of them",
    )
    progress.set_defaults(run=_progress)
    reset = commands.add_parser("reset", help="put the stub of an exercise back")
    reset.add_argument("notebook", type=Path)
    reset.add_argument("exercise")
    reset.set_defaults(run=_reset)
    notebooks = commands.add_parser("notebooks", help="write the exercise notebooks")
    notebooks.add_argument("folder", type=Path, metavar="DIR")
    notebooks.set_defaults(run=_notebooks)
    course = commands.add_parser("course", help="make an nbgrader course of the book")
    course.add_argument("folder", type=Path, metavar="DIR")
    course.add_argument("chapters", nargs="*", help="which ones; all if none is named")
    course.set_defaults(run=_course)
    collect = commands.add_parser("collect", help="take in what an LMS has packed")
    collect.add_argument("chapter")
    collect.add_argument("archive", type=Path)
    collect.add_argument("--course", type=Path, required=True, metavar="DIR")
    collect.add_argument(
        "--from",
        dest="system",
        choices=["canvas", "moodle", "gradescope"],
        help="whose archive it is; found out if it is not said",
    )
    collect.add_argument(
        "--roster",
        type=Path,
        metavar="FILE",
        help="who is in the class, as the LMS exports it, or a CSV of your own",
    )
    collect.set_defaults(run=_collect)
    grade = commands.add_parser("grade", help="grade all submissions of chapters")
    grade.add_argument("chapters", nargs="+", metavar="CHAPTER")
    grade.add_argument("--course", type=Path, required=True, metavar="DIR")
    grade.add_argument("--jobs", type=_positive, metavar="N", help="how many at once")
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
    similar = commands.add_parser("similar", help="which submissions are too alike")
    similar.add_argument("chapter")
    similar.add_argument("--course", type=Path, required=True, metavar="DIR")
    similar.add_argument(
        "--most", type=_positive, default=30, metavar="N", help="pairs to show, 30"
    )
    similar.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="also write the submissions for Dolos and JPlag into a new folder",
    )
    similar.set_defaults(run=_similar)
    anonymise = commands.add_parser(
        "anonymise", help="copy submissions and reports for research, without names"
    )
    anonymise.add_argument("chapters", nargs="+", metavar="CHAPTER")
    anonymise.add_argument("--course", type=Path, required=True, metavar="DIR")
    anonymise.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="a new folder"
    )
    anonymise.set_defaults(run=_anonymise)
    deadlines = commands.add_parser(
        "deadlines", help="due dates, extensions and excuses, from a table"
    )
    deadlines.add_argument("table", type=Path, metavar="FILE")
    deadlines.add_argument("--course", type=Path, required=True, metavar="DIR")
    deadlines.set_defaults(run=_deadlines)
    feedback = commands.add_parser("feedback", help="make the pages for students")
    feedback.add_argument("chapter")
    feedback.add_argument("--course", type=Path, required=True, metavar="DIR")
    feedback.set_defaults(run=_feedback)
    regrade = commands.add_parser(
        "regrade", help="give points back to all who lost them for one cause"
    )
    regrade.add_argument("chapter")
    cause = regrade.add_mutually_exclusive_group()
    cause.add_argument("--mistake", metavar="NAME", help="what they did wrong")
    cause.add_argument("--case", metavar="TITLE", help="the case that they failed")
    cause.add_argument("--undo", type=_positive, metavar="N", help="take rule N back")
    worth = regrade.add_mutually_exclusive_group()
    worth.add_argument("--points", type=_points, metavar="P", help="given back at most")
    worth.add_argument(
        "--forgiven", action="store_true", help="give back all that it cost"
    )
    regrade.add_argument("--exercise", metavar="NAME", help="where several have one")
    regrade.add_argument("--why", default="", help="the reason, which students read")
    regrade.add_argument("--yes", action="store_true", help="do not ask first")
    regrade.add_argument("--course", type=Path, default=Path(), metavar="DIR")
    regrade.set_defaults(run=_regrade)
    changes = commands.add_parser("changes", help="every change of a mark, and why")
    changes.add_argument("chapter")
    changes.add_argument("--student", metavar="NAME", help="of this one only")
    changes.add_argument("--course", type=Path, required=True, metavar="DIR")
    changes.set_defaults(run=_changes)
    report = commands.add_parser("report", help="what the class got wrong, as a page")
    report.add_argument("chapter")
    report.add_argument("--course", type=Path, required=True, metavar="DIR")
    report.set_defaults(run=_report)
    key = commands.add_parser(
        "lti-key", help="make a key for passback, or show its public half"
    )
    key.add_argument("key", type=Path, metavar="FILE")
    key.set_defaults(run=_lti_key)
    passback = commands.add_parser(
        "passback", help="send the marks that changed to an LMS, by LTI"
    )
    passback.add_argument("chapter")
    passback.add_argument("--course", type=Path, required=True, metavar="DIR")
    passback.add_argument(
        "--create", action="store_true", help="make the column there if there is none"
    )
    passback.add_argument(
        "--dry-run", action="store_true", help="send nothing; show who changes"
    )
    passback.set_defaults(run=_passback)
    gradescope = commands.add_parser(
        "gradescope", help="pack a chapter as an autograder that Gradescope runs"
    )
    gradescope.add_argument("chapter")
    gradescope.add_argument("archive", type=Path, metavar="OUT.zip")
    gradescope.add_argument(
        "--course",
        type=Path,
        metavar="DIR",
        help="whose released notebook it is; that of the book if none is named",
    )
    gradescope.add_argument(
        "--index", metavar="URL", help="another index of packages for the container"
    )
    gradescope.set_defaults(run=_gradescope)
    oral = commands.add_parser(
        "oral", help="questions to ask each student about their own code, to be printed"
    )
    oral.add_argument("chapter")
    oral.add_argument("--course", type=Path, required=True, metavar="DIR")
    oral.set_defaults(run=_oral)
    marks = commands.add_parser("marks", help="final marks, and who needs help")
    marks.add_argument("--course", type=Path, required=True, metavar="DIR")
    marks.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="a table of chapter and weight; all count the same without one",
    )
    marks.add_argument(
        "--drop",
        type=_positive,
        default=0,
        metavar="N",
        help="leave out the N lowest chapters of each student",
    )
    marks.set_defaults(run=_marks)
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def _points(text: str) -> float:
    try:
        points = float(text)
    except ValueError:
        points = 0.0
    if not 0 < points < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return points


def _can_grade() -> bool:
    """Whether the grader works here: with the solutions, and not on Windows."""
    return sys.platform != "win32" and importlib.util.find_spec("solutions") is not None


def _check(options: argparse.Namespace) -> int:
    report = _graded(options) if _can_grade() else _checked(options)
    print(json.dumps(report)) if options.json else _say(_as_text(report))
    return 0


def _checked(options: argparse.Namespace) -> dict[str, Any]:
    """The report on a notebook of one's own, from the key beside it."""
    from autograder.own_notebook import examine_own

    return examine_own(options.notebook)


def _graded(options: argparse.Namespace) -> dict[str, Any]:
    """The report on a notebook, as grading makes it."""
    from autograder.grading.examine import examine
    from autograder.grading.seeds import draw_seeds, expected_answers
    from autograder.notebooks import chapter_of, read_notebook
    from autograder.release.source import source_notebook
    from autograder.release.student import student_notebook
    from autograder.sandbox.bubblewrap import require_bubblewrap
    from autograder.sandbox.connection import ForkServers
    from autograder.sandbox.limits import Limits

    data = read_notebook(options.notebook)
    topic = load_topic(chapter_of(data, options.notebook))
    if not options.no_sandbox:
        require_bubblewrap()
    master = student_notebook(source_notebook(topic.name))
    seeds = draw_seeds(topic, secrets.token_bytes())
    expected = expected_answers(topic, seeds)
    with ForkServers() as servers:
        examination = examine(
            master,
            data,
            topic,
            expected,
            Limits(),
            servers=None if options.no_sandbox else servers,
            seeds=seeds,
        )
    return examination.report


def _as_text(report: dict[str, Any]) -> str:
    from autograder.judge import CaseReport, Report
    from autograder.show import as_text

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


def _notebooks(options: argparse.Namespace) -> int:
    from autograder.release.student import write_notebooks

    written, kept = write_notebooks(options.folder)
    for path in written:
        _say(str(path))
    for path in kept:
        _say(f"{path} was left as you have it (rename it to get a new one)")
    return 0


def _course(options: argparse.Namespace) -> int:
    from autograder.release.course import make_course

    names = make_course(options.folder, options.chapters)
    _say(f"{len(names)} chapters in {options.folder}: {', '.join(names)}")
    _say(f"give students {options.folder / 'release'}; collect into submitted/")
    return 0


def _collect(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.grading.class_list import add_students
    from autograder.lms.collect import collect
    from autograder.lms.record import people_in
    from autograder.release.settings import settings_of

    course = options.course.resolve()
    settings = settings_of(course)
    done = collect(
        options.chapter, options.archive, course, options.system, options.roster
    )
    people = people_in(course, options.chapter).values()
    add_students(settings.gradebook, settings.course_id, people)
    _say("\n".join(done.lines(options.chapter)))
    return 0


def _grade(options: argparse.Namespace) -> int:
    for chapter in options.chapters:
        require_topic(chapter)
    with _place(options) as place:  # warms up during the imports
        from tqdm import tqdm

        from autograder.grading.grade import Unexamined, grade_chapters

        def progress(items: Any, total: int) -> Any:
            return tqdm(items, total=total, unit="submission", disable=None)

        failed = None
        try:
            outcomes = grade_chapters(
                options.chapters,
                options.course,
                force=options.force,
                only=options.student,
                progress=progress,
                **place,
            )
        except Unexamined as error:
            outcomes, failed = error.outcomes, error
    for chapter, outcome in outcomes.items():
        _say("\n".join(outcome.lines(chapter)))
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
    from autograder.grading.pool import Pool
    from autograder.sandbox.bubblewrap import SandboxUnavailable

    try:
        pool = Pool(options.jobs)
    except SandboxUnavailable:
        yield {}  # workers are needed only if there is something to examine
        return
    with pool:
        yield {"pool": pool}


def _similar(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from tqdm import tqdm

    from autograder.similarity.evidence import likeness
    from autograder.similarity.exchange import write_exports
    from autograder.similarity.page import in_words, write_page
    from autograder.similarity.pairs import pairs_of
    from autograder.similarity.works import read_class

    def progress(items: Any, total: int) -> Any:
        return tqdm(items, total=total, unit="submission", disable=None)

    class_ = read_class(options.course, options.chapter, progress)
    written = write_exports(options.export, class_) if options.export else {}
    found = likeness(class_)
    pairs = pairs_of(class_, found, options.most)
    page = write_page(options.course, class_, found, pairs)
    count = f"{len(class_.works)} submissions, {found.first.size:,} pairs"
    _say(f"{options.chapter}: {count}")
    for student, why in sorted(class_.left_out.items()):
        _say(f"  not compared: {student}: {why}")
    if not class_.graded:
        _say("  not graded, so shared wrong answers do not count")
    for pair in pairs:
        if pair.stands_out:
            _say(f"  {' and '.join(pair.students)}: {in_words(pair.expected)}")
    if found.chance is not None and not any(pair.stands_out for pair in pairs):
        _say("  no pair is more alike than chance explains")
    _say("This is evidence and no verdict: read both texts, and talk to both people.")
    for what, path in {"page": page, **written}.items():
        _say(f"{what + ':':12} {path}")
    return 0


def _anonymise(options: argparse.Namespace) -> int:
    for chapter in options.chapters:
        require_topic(chapter)
    from tqdm import tqdm

    from autograder.research.export import write_anonymised
    from autograder.research.people import SALT

    def progress(items: Any, total: int) -> Any:
        return tqdm(items, total=total, unit="submission", disable=None)

    chapters = list(dict.fromkeys(options.chapters))
    count, left_out = write_anonymised(options.course, chapters, options.into, progress)
    _say(f"submissions without names: {count}, in {options.into}")
    for who, why in sorted(left_out.items()):
        _say(f"  not copied: {who}: {why}")
    _say(f"keep {options.course / SALT} to yourself: it tells whose the ids are")
    _say("not every name can be found: README.txt says which, so look before you share")
    return 0


def _deadlines(options: argparse.Namespace) -> int:
    from datetime import datetime

    from autograder.grading.class_list import due_dates
    from autograder.grading.deadlines import keep_deadlines
    from autograder.lms.whole_class import everybody
    from autograder.release.settings import settings_of

    course = options.course
    settings = settings_of(course.resolve())
    dues = due_dates(settings.gradebook, settings.course_id)
    found = keep_deadlines(options.table, course, everybody(course), dues)
    for chapter, said in found.items():
        due = f"due {said.due:%Y-%m-%d %H:%M} UTC, " if said.due else ""
        longer = len(said.until) + len(said.longer)
        _say(f"{chapter}: {due}{longer} extensions, {len(said.excused)} excused")
    zone = datetime.now().astimezone().tzname()
    _say(f"times without a zone were read in that of this machine, {zone}")
    _say("grade the chapters again, and marks follow")
    return 0


def _feedback(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from tqdm import tqdm

    from autograder.grading.feedback import make_feedback
    from autograder.lms.returned import write_archives

    def progress(items: Any, total: int) -> Any:
        return tqdm(items, total=total, unit="page", disable=None)

    pages = make_feedback(options.chapter, options.course, progress)
    _say(
        f"{options.chapter}: pages made: {len(pages.made)}, up to date before: "
        f"{len(pages.kept)}, in {options.course / 'feedback'}"
    )
    for system, path in write_archives(options.course, options.chapter).items():
        _say(f"  to upload to {system.title()}: {path}")
    for student in pages.failed:
        _say(f"  no page: {student}: nbgrader could not make it")
    return GraderFault.exit_status if pages.failed else 0


def _regrade(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.grading.regrade import open_regrade
    from autograder.grading.rules import CASE, MISTAKE

    name, kind = options.mistake, MISTAKE
    if options.case is not None:
        name, kind = options.case, CASE
    _require_whole_request(options, name)
    with open_regrade(options.course, options.chapter) as regrade:
        if options.undo is not None:
            rules = regrade.without(options.undo)
            told = regrade.rules[options.undo - 1]
            why = f"regrade {told.number} was taken back: {told.subject}"
        elif name is not None:
            points = options.points
            rules = regrade.with_rule(kind, name, points, options.why, options.exercise)
            told, why = rules[-1], "regraded"
        else:
            _say("\n".join(rule.line() for rule in regrade.rules) or "no rules so far")
            return 0
        _say(f"{'take back ' if options.undo else ''}{told.line()}")
        _say("\n".join(regrade.effects(rules).lines()))
        if not (options.yes or _agreed()):
            _say("nothing was changed")
            return 0
        regrade.do(rules, why)
    if options.undo is None:
        _say(f"done; it holds for later runs, until --undo {told.number}")
    _say("call report and feedback again, and tables and pages follow")
    return 0


def _require_whole_request(options: argparse.Namespace, name: str | None) -> None:
    """A cause and its worth come together, and nothing is said that has no effect."""
    worth = options.points is not None or options.forgiven
    if name is not None and not worth:
        raise AutograderError("say how many points are given back, or --forgiven")
    if name is None and (worth or options.why or options.exercise):
        raise AutograderError("say for what: --mistake NAME or --case TITLE")


def _agreed() -> bool:
    try:
        return input("do it? [y/N] ").strip().casefold() in ("y", "yes")
    except EOFError:
        print()
        return False


def _changes(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.grading.audit import AuditLog, of_student
    from autograder.grading.gradebook import ChapterMarks
    from autograder.release.settings import settings_of

    course = options.course.resolve()
    settings = settings_of(course)
    log = AuditLog(course, options.chapter)
    with ChapterMarks(settings.gradebook, settings.course_id, options.chapter) as marks:
        log.find(marks.read())
    found = log.changes()
    if options.student is not None:
        found = of_student(found, options.student)
    _say("\n".join(change.line() for change in found) or "no mark was changed so far")
    return 0


def _report(options: argparse.Namespace) -> int:
    from autograder.grading.exports import write_class_report
    from autograder.lms.exports import write_lms_tables
    from autograder.lms.whole_class import report_on_class

    course = options.course
    require_topic(options.chapter)
    report, notes = report_on_class(course, options.chapter)
    paths = write_class_report(course, report)
    tables, more = write_lms_tables(course, report)
    for note in [*notes, *more]:
        _say(note)
    for what, path in {**paths, **tables}.items():
        _say(f"{what + ':':12} {path}")
    return 0


@contextlib.contextmanager
def _extra(name: str) -> Iterator[None]:
    """Name the extra to install where one of its packages is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise AutograderError(
            f"{error.name} is not installed: call "
            f"`pip install 'attention-from-scratch[{name}]'`"
        ) from None


def _lti_key(options: argparse.Namespace) -> int:
    from autograder.lms.lti_settings import make_key, public_half

    with _extra("passback"):
        if not options.key.exists():
            make_key(options.key)
        jwk, pem = public_half(options.key)
    _say(
        f"the public half of {options.key}, as a JWK:\n\n{jwk}\n\nand in PEM:\n\n{pem}"
    )
    return 0


def _passback(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from tqdm import tqdm

    from autograder.lms.lti_settings import platform_of
    from autograder.lms.whole_class import report_on_class

    with _extra("passback"):
        from autograder.lms.passback import pass_back

    def progress(items: Any, total: int) -> Any:
        return tqdm(items, total=total, unit="mark", disable=None)

    course, dry = options.course, options.dry_run
    platform = platform_of(course)
    report, notes = report_on_class(course, options.chapter)
    found = pass_back(
        course, report, platform, create=options.create, dry=dry, progress=progress
    )
    _say("\n".join([*notes, *found.lines(dry)]))
    return GraderFault.exit_status if found.refused else 0


def _gradescope(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.lms.container_zip import write_container_zip

    names, unmarked = write_container_zip(
        options.chapter, options.archive, options.course, options.index
    )
    _say(f"{options.archive}: {', '.join(names)}")
    if unmarked:
        _say(f"not marked there, since it takes the solutions: {', '.join(unmarked)}")
    _say("what a student wrote is not isolated there: see the instructor's guide")
    return 0


def _oral(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.grading.oral import sheets
    from autograder.grading.oral_pages import write_oral
    from autograder.lms.whole_class import report_on_class

    course = options.course
    report, _ = report_on_class(course, options.chapter)
    found = sheets(course, report)
    for sheet in found:
        if not sheet.questions:
            _say(f"nothing to ask: {sheet.student}: {sheet.note}")
    for what, path in write_oral(course, options.chapter, found).items():
        _say(f"{what + ':':12} {path}")
    return 0


def _marks(options: argparse.Namespace) -> int:
    from autograder.grading.course_marks import course_marks, read_weights
    from autograder.grading.coursereport import write_course_report

    weights = read_weights(options.weights) if options.weights else None
    marks = course_marks(options.course, weights, options.drop)
    for note in marks.notes:
        _say(note)
    _say(f"students: {len(marks.students)}, chapters: {len(marks.chapters)}")
    for student in marks.at_risk:
        _say(f"  may need help: {student.name}: {'; '.join(student.at_risk)}")
    for what, path in write_course_report(options.course, marks).items():
        _say(f"{what + ':':12} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
