"""What an answer reads from outside itself, for the report on it.

The kernel tells it beside the answers (``respond``). Nothing of it is trusted: it is
names alone, and it changes no mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.cells import RENAME
from autograder.encoding import Unreadable, decode
from autograder.judge import Report
from autograder.reasons import Reason
from autograder.show import STUB

NAME = re.compile(r"[A-Za-z_]\w{0,59}", re.ASCII)
MOST = 3  # names in a sentence


@dataclass(frozen=True)
class Aside:
    """What an answer reads from outside.

    Attributes:
        missing: names that are not defined.
        exercises: names of other answers.
        values: names of values of the notebook.
        meant: what else may be the answer, where only its stub is there.
    """

    missing: Sequence[str] = ()
    exercises: Sequence[str] = ()
    values: Sequence[str] = ()
    meant: Sequence[str] = ()


def read_aside(data: bytes) -> Aside:
    """Read what a kernel has sent beside its answers; what is malformed is dropped."""
    try:
        sent = decode(data)
    except Unreadable:
        return Aside()
    found = {
        kind: [n for n in names if isinstance(n, str) and NAME.fullmatch(n)][:MOST]
        for kind, names in (sent.items() if isinstance(sent, dict) else ())
        if kind in Aside.__dataclass_fields__ and isinstance(names, list)
    }
    return Aside(**found)


def with_remarks(
    reports: Sequence[Report], asides: Mapping[str, Aside]
) -> list[Report]:
    """The reports, in which an answer that lacks points is told what it reads.

    Args:
        reports: on all exercises.
        asides: what answers read, by exercise.
    """
    wrong = {report.name for report in reports if report.score < report.max_score}
    return [
        _telling(report, asides[report.name], wrong)
        if report.name in wrong and report.name in asides
        else report
        for report in reports
    ]


def _telling(report: Report, aside: Aside, wrong: set[str]) -> Report:
    message, reason = report.message, report.reason
    if reason is Reason.STUB or (reason is Reason.NAME_MISSING and aside.meant):
        if not aside.meant:
            return report
        hint = RENAME.format(aside.meant[0], report.name, ", which is still there")
        reason = reason if reason is Reason.STUB else Reason.RENAMED
        return replace(report, message=f"{STUB} {hint}", reason=reason)
    if aside.missing and report.mistake is None:
        message += (
            f" {_listed(aside.missing)} cannot be found where your answer is checked: "
            "cells run from top to bottom, and demonstrations of the book give only "
            "what they define."
        )
        reason = Reason.NAME_MISSING
    elif aside.values and report.mistake is None:
        first = (
            f"Your answer reads {_listed(aside.values)} from outside. It is checked "
            "with arguments that are drawn anew, so compute what depends on them from "
            "your arguments."
        )
        message = f"{first} {message}" if reason.is_told else first
        reason = reason or Reason.OUTSIDE_VALUE
    helpers = [name for name in aside.exercises if name in wrong]
    if helpers:
        itself = "itself" if len(helpers) == 1 else "themselves"
        message += (
            f" Your answer calls your own {_listed(helpers)}, which lost points "
            f"{itself}: correct that first, since it may be all that is wrong here."
        )
    return replace(
        report, message=message.strip(), reason=reason, own_helper=bool(helpers)
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
