"""Commands about authorship: similarity, and oral questions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from autograder.commands.common import (
    add_course,
    positive,
    progress_bar,
    say,
)
from autograder.exercise import require_topic


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    similar = commands.add_parser("similar", help="who is wrong in the same rare ways")
    similar.add_argument("chapter")
    add_course(similar)
    similar.add_argument(
        "--most", type=positive, default=30, metavar="N", help="pairs to show, 30"
    )
    similar.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="also write the submissions for Dolos and JPlag into a new folder",
    )
    similar.set_defaults(run=_similar)
    oral = commands.add_parser(
        "oral", help="questions to ask each student about their own code, to be printed"
    )
    oral.add_argument("chapter")
    add_course(oral)
    oral.set_defaults(run=_oral)


def _similar(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.extras.similar import (
        in_words,
        similar_pairs,
        write_exports,
        write_page,
    )
    from autograder.marks.whole_class import report_on_class

    course = options.course
    report, _ = report_on_class(course, options.chapter)
    pairs = similar_pairs(report)
    written = write_exports(course, options.export, report) if options.export else {}
    page = write_page(course, report, pairs, options.most)
    say(f"{options.chapter}: {len(report.examined)} submissions")
    for pair in pairs[: options.most]:
        say(f"  {in_words(pair)}")
    if not pairs:
        say("  no two share a wrong answer that few give")
    say("This is evidence and no verdict: read both texts, and talk to both people.")
    for what, path in {"page": page, **written}.items():
        say(f"{what + ':':12} {path}")
    return 0


def _oral(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.extras.oral import sheets, write_pages
    from autograder.marks.whole_class import report_on_class

    course = options.course
    report, _ = report_on_class(course, options.chapter)
    found = sheets(course, report, progress_bar("student"))
    for sheet in found:
        if sheet.note:
            say(f"{sheet.student}: {sheet.note}")
    for what, path in write_pages(course, options.chapter, found).items():
        say(f"{what + ':':12} {path}")
    return 0
