"""Which calls go wrong, and what they have in common that no right one has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograder.symptoms.conditions import (
    Judged,
    Test,
    Verdict,
    conditions,
    only_large,
)
from autograder.symptoms.outcomes import Outcome, agree, aligned
from autograder.variants import Path

LEAST = 2  # cases with calls that are right


def judged_calls(outcome: Outcome, number: int) -> list[Verdict]:
    """Which calls of a case that failed are wrong, as far as its answer shows.

    A call is known by the results of its own that are part of the answer. If something
    else is wrong, such as a gradient, then what looks right may be wrong behind that.

    Args:
        outcome: both answers to the case.
        number: how many calls it makes.
    """
    unknown: list[Verdict] = [None] * number
    results = [(p, r) for p, r in outcome.roles.items() if r.name is None]
    if not outcome.given.is_value or not outcome.right.is_value:
        return unknown
    if len({(role.call, role.index) for _, role in results}) < len(results):
        return unknown  # equal numbers can be one object: whose result is it?
    wrong = [path for path, *both in aligned(outcome) if not agree(outcome, *both)]
    found = list(unknown)
    explained: set[Path] = set()
    for path, role in results:
        here = {one for one in wrong if _within(one, path) or _within(path, one)}
        explained |= here
        if role.call is not None and role.call < number:
            found[role.call] = bool(found[role.call]) or bool(here)
    others = set(wrong) - explained
    return [verdict or (None if others else verdict) for verdict in found]


def _within(one: Path, other: Path) -> bool:
    """Whether a place in an answer is another one, or a part of it."""
    return one[: len(other)] == other


def find_condition(
    cases: Sequence[Judged],
    optional: Mapping[str, Any],
) -> str:
    """What the calls in the wrong cases have in common, and no call that is right.

    Single calls decide wherever they can be told apart: of three calls with a mask,
    two may be right, and then the mask is not what they fail for.

    Args:
        cases: those that ask for a value.
        optional: the parameters that a call may leave out, with their defaults.

    Returns:
        A sentence; empty if no condition separates the calls, or too few are right.
    """
    known = [case for case in cases if case.calls]
    if sum(False in case.verdicts for case in known) < LEAST:
        return ""
    if any(case.wrong and not case.calls for case in cases):
        return ""  # no argument of a call is what is wrong there
    for told, holds in conditions(known, optional):
        if _separates(known, holds):
            others = (other for _, other in conditions(known, optional))
            if _mixed(known, holds) and _may_be_others(known, holds, others):
                continue
            return told.format(what=_what(known, holds))
    return only_large(known)


def _may_be_others(
    known: Sequence[Judged], holds: Test, others: Iterable[Test]
) -> bool:
    """Whether it may as well be another call of a case that is wrong.

    So it is if a case asks for two things at once that no other asks for, and its
    answer does not tell which of them is wrong.
    """
    unknown = [case for case in _mixed(known, holds) if None in case.verdicts]
    return bool(unknown) and any(
        _separates(known, other)
        and any(
            other(call) and not holds(call) for case in unknown for call in case.calls
        )
        for other in others
    )


def _mixed(known: Sequence[Judged], holds: Test) -> list[Judged]:
    """The wrong cases in which a condition holds for some of the calls."""
    return [
        case
        for case in known
        if case.wrong and not all(holds(call) for call in case.calls)
    ]


def _separates(known: Sequence[Judged], holds: Test) -> bool:
    """Whether a condition holds for calls that are wrong, and for no others."""
    for case in known:
        here = [holds(call) for call in case.calls]
        if any(here) is not case.wrong:
            return False
        if case.wrong and any(
            verdict is not None and verdict is not found
            for verdict, found in zip(case.verdicts, here, strict=True)
        ):
            return False
    return True


def _what(known: Sequence[Judged], holds: Test) -> str:
    """What a condition is told of: calls, if they are known one by one, or cases."""
    mixed = _mixed(known, holds)
    told_apart = all(None not in case.verdicts for case in mixed)
    return "calls" if mixed and told_apart else "cases"
