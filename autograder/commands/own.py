"""Commands for a student's own notebook: check, progress."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from autograder.commands.common import can_grade, say
from autograder.exercise import load_topic


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    check = commands.add_parser("check", help="examine one notebook")
    check.add_argument("notebook", type=Path)
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    check.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run it as yourself, unprotected: only for what you wrote yourself",
    )
    check.add_argument(
        "--course",
        type=Path,
        metavar="DIR",
        help="the course, for a notebook on a topic of your own",
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
    notebooks = commands.add_parser("notebooks", help="write the exercise notebooks")
    notebooks.add_argument("folder", type=Path, metavar="DIR")
    notebooks.set_defaults(run=_notebooks)


def _check(options: argparse.Namespace) -> int:
    if can_grade() and not options.no_sandbox:
        report = _graded(options)
    else:
        from autograder.own_notebook import examine_own  # which judges as `check` does

        report = examine_own(options.notebook)
    print(json.dumps(report)) if options.json else say(_as_text(report))
    return 0


def _graded(options: argparse.Namespace) -> dict[str, Any]:
    """The report on a notebook, as grading makes it."""
    from autograder.expected import expect_all
    from autograder.files import plain_file
    from autograder.grading.examine import examine
    from autograder.notebooks import MAX_FILE_BYTES, chapter_of, parse_notebook
    from autograder.release.source import source_notebook
    from autograder.release.student import student_notebook
    from autograder.sandbox.bubblewrap import require_bubblewrap
    from autograder.sandbox.connection import ForkServers
    from autograder.sandbox.limits import Limits
    from autograder.submissions.cells import as_handed_in
    from autograder.submissions.modules import modules_named_in

    content = plain_file(options.notebook, MAX_FILE_BYTES, follow=True)
    modules = modules_named_in(options.notebook, content)
    data = parse_notebook(content)
    topic = load_topic(chapter_of(data, options.notebook))
    require_bubblewrap()
    master = student_notebook(source_notebook(topic.name))
    handed_in = as_handed_in(master, data, topic.exercises, modules)
    expected = expect_all(topic)
    with ForkServers() as servers:
        done = examine(handed_in, topic, expected, Limits(), servers=servers)
    return done.report


def _as_text(report: dict[str, Any]) -> str:
    from autograder.judge import Report
    from autograder.show import as_text

    lines = [
        f"{report['chapter']}: {report['score']:g} of {report['max_score']:g} points"
    ]
    lines += [f"note: {note}" for note in report["notes"]]
    for exercise in report["exercises"]:
        lines += ["", as_text(Report.from_dict(exercise))]
    return "\n".join(lines)


def _progress(options: argparse.Namespace) -> int:
    from autograder.progress import table_of

    say(table_of(options.folder))
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    from autograder.release.student import write_notebooks

    written, kept = write_notebooks(options.folder)
    for path in written:
        say(str(path))
    for path in kept:
        say(f"{path} was left as you have it (rename it to get a new one)")
    return 0
