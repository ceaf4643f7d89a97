"""Commands that send marks to other systems."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from autograder.commands.common import (
    add_course,
    extra,
    progress_bar,
    say,
)
from autograder.errors import GraderFault
from autograder.exercise import require_topic


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    key = commands.add_parser(
        "lti-key", help="make a key for passback, or show its public half"
    )
    key.add_argument("key", type=Path, metavar="FILE")
    key.set_defaults(run=_lti_key)
    passback = commands.add_parser(
        "passback", help="send the marks that changed to an LMS, by LTI"
    )
    passback.add_argument("chapter")
    add_course(passback)
    passback.add_argument(
        "--create", action="store_true", help="make the column there if there is none"
    )
    passback.add_argument(
        "--dry-run", action="store_true", help="send nothing; show who changes"
    )
    passback.set_defaults(run=_passback)


def _lti_key(options: argparse.Namespace) -> int:
    from autograder.handback.lti_settings import make_key, public_half

    with extra("passback"):
        if not options.key.exists():
            make_key(options.key)
        jwk, pem = public_half(options.key)
    say(f"the public half of {options.key}, as a JWK:\n\n{jwk}\n\nand in PEM:\n\n{pem}")
    return 0


def _passback(options: argparse.Namespace) -> int:
    require_topic(options.chapter)
    from autograder.handback.lti_settings import platform_of
    from autograder.marks.whole_class import report_on_class

    with extra("passback"):
        from autograder.handback.passback import pass_back

    course, dry = options.course, options.dry_run
    platform = platform_of(course)
    report, notes = report_on_class(course, options.chapter)
    found = pass_back(
        course,
        report,
        platform,
        create=options.create,
        dry=dry,
        progress=progress_bar("mark"),
    )
    say("\n".join([*notes, *found.lines(dry)]))
    return GraderFault.exit_status if found.refused else 0
