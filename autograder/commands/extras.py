"""Extras: authorship, and marks sent to another system."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from autograder.commands.common import add_command, extra, progress_bar, say
from autograder.errors import GraderFault


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    similar = add_command(
        commands, "similar", _similar, "who is wrong in the same rare ways"
    )
    similar.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="also write the submissions for Dolos and JPlag into a new folder",
    )
    add_command(
        commands,
        "oral",
        _oral,
        "questions to ask each student about their own code, to be printed",
    )
    key = commands.add_parser(
        "lti-key", help="make a key for passback, or show its public half"
    )
    key.add_argument("key", type=Path, metavar="FILE")
    key.set_defaults(run=_lti_key)
    passback = add_command(
        commands, "passback", _passback, "send the marks that changed to an LMS, by LTI"
    )
    passback.add_argument(
        "--dry-run", action="store_true", help="send nothing; show who changes"
    )


def _similar(options: argparse.Namespace) -> int:
    from autograder.extras.similar import similar_pairs, write_exports, write_page
    from autograder.marks.whole_class import report_on_class

    course = options.course
    report, _ = report_on_class(course, options.chapter)
    pairs = similar_pairs(report)
    if options.export:
        write_exports(course, options.export, report)
    page = write_page(course, report, pairs)
    rare = f"pairs with a rare wrong answer in common: {len(pairs)}"
    say(f"{options.chapter}: {len(report.examined)} submissions, {rare}")
    say("This is evidence and no verdict: read both texts, and talk to both people.")
    say(f"page: {page}")
    return 0


def _oral(options: argparse.Namespace) -> int:
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


def _lti_key(options: argparse.Namespace) -> int:
    with extra("passback"):
        from autograder.handback.passback import make_key, private_key
    if not options.key.exists():
        make_key(options.key)
    key = private_key(options.key)
    jwk = json.dumps(key.export_public(as_dict=True) | {"alg": "RS256", "use": "sig"})
    pem = key.export_to_pem().decode()
    say(f"the public half of {options.key}, as a JWK:\n\n{jwk}\n\nand in PEM:\n\n{pem}")
    return 0


def _passback(options: argparse.Namespace) -> int:
    from autograder.marks.whole_class import report_on_class

    with extra("passback"):
        from autograder.handback.passback import pass_back

    report, notes = report_on_class(options.course, options.chapter)
    lines, refused = pass_back(
        options.course, report, options.dry_run, progress_bar("mark")
    )
    say("\n".join([*notes, *lines, *refused]))
    return GraderFault.exit_status if refused else 0
