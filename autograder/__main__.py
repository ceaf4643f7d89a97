"""The command line: ``python -m autograder COMMAND``."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from autograder.commands import course, extras, marks, own
from autograder.commands.common import say
from autograder.errors import AutograderError, GraderFault
from autograder.exercise import require_topic
from autograder.own_topics import use_course

BROKEN_PIPE = 141  # as a shell says of a command that SIGPIPE ended


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit status.

    That is 2 when its input cannot be used, 3 when something was left without an
    outcome through no fault of its own, 130 when it was interrupted, and 141 when
    nobody reads its output any more.
    """
    options = make_parser().parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may lack a student's letters
        sys.stdout.reconfigure(errors="backslashreplace")
    # nbgrader logs each error of the database with its traceback, and raises it too.
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    try:
        if getattr(options, "course", None):
            use_course(options.course)
        if getattr(options, "chapter", None):
            require_topic(options.chapter)
        status = options.run(options)
        sys.stdout.flush()
        return status
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            return BROKEN_PIPE
        where = f" ({error.filename})" if error.filename else ""
        say(f"autograder: {error.strerror or error}{where}", file=sys.stderr)
        return AutograderError.exit_status
    except MemoryError:
        print(
            "autograder: this machine has too little memory; free some, and run it "
            "again to go on",
            file=sys.stderr,
        )
        return GraderFault.exit_status
    except KeyboardInterrupt:
        print(
            "autograder: interrupted; what was finished is kept, run it again to go on",
            file=sys.stderr,
        )
        return 130
    except AutograderError as error:
        say(f"autograder: {' '.join(str(error).split())}", file=sys.stderr)
        for line in getattr(error, "lines", ()):
            say(f"  {line}", file=sys.stderr)
        return error.exit_status


def _nobody_reads() -> bool:
    """Whether the pipe of the output is closed, as `head` does with enough lines.

    What could not be written is given up: Python would try again when it ends.
    """
    try:
        print(flush=True)  # a flush alone may have nothing to write
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options; the book prints them."""
    parser = argparse.ArgumentParser(
        prog="python -m autograder", description="Grade the notebooks of the course."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for group in (own, course, marks, extras):
        group.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
