"""Commands about what a class got wrong, and about its marks."""

from __future__ import annotations

import argparse
from typing import Any

from autograder.commands.common import add_command, points_given, positive, say
from autograder.errors import AutograderError


def add_to(commands: Any) -> None:
    """Add these commands to the parser of the command line."""
    add_command(commands, "report", _report, "what the class got wrong, as a page")
    regrade = add_command(
        commands,
        "regrade",
        _regrade,
        "give points back to all who lost them for one cause",
    )
    cause = regrade.add_mutually_exclusive_group()
    cause.add_argument("--mistake", metavar="NAME", help="what they did wrong")
    cause.add_argument("--case", metavar="TITLE", help="the case that they failed")
    cause.add_argument("--undo", type=positive, metavar="N", help="take rule N back")
    worth = regrade.add_mutually_exclusive_group()
    worth.add_argument(
        "--points", type=points_given, metavar="P", help="given back at most"
    )
    worth.add_argument(
        "--forgiven", action="store_true", help="give back all that it cost"
    )
    regrade.add_argument("--exercise", metavar="NAME", help="where several have one")
    regrade.add_argument("--why", default="", help="the reason, which students read")
    regrade.add_argument("--yes", action="store_true", help="do not ask first")
    changes = add_command(
        commands, "changes", _changes, "every change of a mark, and why"
    )
    changes.add_argument("--student", metavar="NAME", help="of this one only")


def _report(options: argparse.Namespace) -> int:
    from autograder.handback.lms_tables import write_lms_tables
    from autograder.marks.whole_class import report_on_class
    from autograder.reporting.classreport import write_class_report

    course = options.course
    report, notes = report_on_class(course, options.chapter)
    paths = write_class_report(course, report)
    tables, more = write_lms_tables(course, report)
    for note in [*notes, *more]:
        say(note)
    for what, path in {**paths, **tables}.items():
        say(f"{what + ':':12} {path}")
    return 0


def _regrade(options: argparse.Namespace) -> int:
    from autograder.marks.regrade import open_regrade
    from autograder.marks.rules import CASE, MISTAKE

    name, kind = options.mistake, MISTAKE
    if options.case is not None:
        name, kind = options.case, CASE
    _require_whole_request(options, name)
    with open_regrade(options.course, options.chapter) as regrade:
        if options.undo is not None:
            told = regrade.numbered(options.undo)
            rules = [rule for rule in regrade.rules if rule != told]
            why = f"regrade {told.number} was taken back: {told.subject}"
        elif name is not None:
            points = options.points
            rules = regrade.with_rule(kind, name, points, options.why, options.exercise)
            told, why = rules[-1], "regraded"
        else:
            say("\n".join(rule.line() for rule in regrade.rules) or "no rules so far")
            return 0
        say(f"{'take back ' if options.undo else ''}{told.line()}")
        effects = regrade.effects(rules)
        say("\n".join(effects.lines()))
        if options.undo is None and not (effects.changes or effects.by_hand):
            say("nobody gains by it, so nothing was changed")
            return 0
        if not (options.yes or _agreed()):
            say("nothing was changed")
            return 0
        regrade.do(rules, why)
    if options.undo is None:
        say(f"done; it holds for later runs, until --undo {told.number}")
    say("call report and feedback again, and tables and pages follow")
    return 0


def _require_whole_request(options: argparse.Namespace, name: str | None) -> None:
    """Require a cause together with its points, and reject options without effect."""
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
    from autograder.marks.audit import AuditLog
    from autograder.marks.gradebook import marks_in

    course = options.course.resolve()
    log = AuditLog(course, options.chapter)
    log.find(marks_in(course, options.chapter))
    found = log.changes()
    if options.student is not None:
        found = [change for change in found if change.student == options.student]
        if not found:
            raise AutograderError(f"no mark of {options.student!r} was ever changed")
    say("\n".join(change.line() for change in found) or "no mark was changed so far")
    return 0
