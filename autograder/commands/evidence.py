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
    similar = commands.add_parser("similar", help="which submissions are too alike")
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
    from autograder.similarity.evidence import likeness
    from autograder.similarity.other_detectors import write_exports
    from autograder.similarity.page import (
        cut_short,
        in_words,
        stand_out_unseen,
        write_page,
    )
    from autograder.similarity.pairs import pairs_of
    from autograder.similarity.works import read_class

    class_ = read_class(options.course, options.chapter, progress_bar("submission"))
    written = write_exports(options.export, class_) if options.export else {}
    found = likeness(class_)
    pairs = pairs_of(class_, found, options.most)
    page = write_page(options.course, class_, found, pairs)
    count = f"{len(class_.works)} submissions, {found.first.size:,} pairs"
    say(f"{options.chapter}: {count}")
    for student, why in sorted(class_.left_out.items()):
        say(f"  not compared: {student}: {why}")
    for student, names in cut_short(class_, found).items():
        say(f"  too long, compared in part: {student}: {', '.join(names)}")
    if not class_.graded:
        say("  not graded, so shared wrong answers do not count")
    for pair in pairs:
        if pair.stands_out:
            say(f"  {' and '.join(pair.students)}: {in_words(pair.expected)}")
    if stand_out_unseen(found, pairs):
        say("  more pairs stand out: show them with --most")
    if found.chance is not None and not any(pair.stands_out for pair in pairs):
        say("  no pair is so alike that chance hardly explains it")
        if pairs:
            said = in_words(pairs[0].expected)
            say(
                f"  most alike: {' and '.join(pairs[0].students)}: {said}; see the page"
            )
    say("This is evidence and no verdict: read both texts, and talk to both people.")
    for what, path in {"page": page, **written}.items():
        say(f"{what + ':':12} {path}")
    return 0


def _oral(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.marks.whole_class import report_on_class
    from autograder.oral.pages import write_oral
    from autograder.oral.questions import sheets

    course = options.course
    report, _ = report_on_class(course, options.chapter)
    found = sheets(course, report)
    for sheet in found:
        if not sheet.questions:
            say(f"nothing to ask: {sheet.student}: {sheet.note}")
    for what, path in write_oral(course, options.chapter, found).items():
        say(f"{what + ':':12} {path}")
    return 0
