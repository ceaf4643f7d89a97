"""What a relation is about: all results, some of several, or what is made from them.

A detector looks at wrong results alone, and speaks of "your result". If other results
are right, its sentence is only true together with the name of the wrong ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.symptoms.outcomes import (
    MAX_VALUES,
    Outcome,
    Pair,
    agree,
    aligned,
    valued,
)
from autograder.variants import Role

NUMBERS = {2: "two", 3: "three", 4: "four"}
ORDINALS = {0: "first", 1: "second", 2: "third", 3: "fourth"}


def of_several(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> str:
    """Which results of several are wrong, if others never are; else an empty text.

    Args:
        outcomes: both answers to each case.
        wrong: the results that a relation is told of.
    """
    indices, count = _indices(wrong)
    if not indices or len(indices) == count:
        return ""
    several = f"Of the {NUMBERS.get(count, count)} results, the "
    listed = " and the ".join(ORDINALS.get(n, str(n + 1)) for n in sorted(indices))
    others = any(
        role.count == count and role.index not in indices
        for role, _ in _results(valued(outcomes))
    )
    if not others:  # no case returns them
        return f"{several}{listed}: "
    verb = "is" if len(indices) == 1 else "are"
    rest = "other is" if count - len(indices) == 1 else "others are"
    about = "" if len(indices) == 1 else "Of each of the wrong ones this holds: "
    return f"{several}{listed} {verb} wrong and the {rest} right. {about}"


def may_explain_others(outcomes: Sequence[Outcome], index: int) -> bool:
    """Whether a result of several is wrong wherever another one of its call is.

    Otherwise the others have a reason of their own.
    """
    return all(
        not call.get(index, False) or all(call.values()) for call in _by_call(outcomes)
    )


def wrong_alone(outcomes: Sequence[Outcome]) -> str:
    """Which one of several results is wrong where all others of its call are right."""
    calls = [call for call in _by_call(outcomes) if not all(call.values())]
    if not calls or any(set(call) != set(calls[0]) for call in calls):
        return ""
    found = [
        index
        for index in calls[0]
        if may_explain_others(outcomes, index)
        and any(all(g for n, g in call.items() if n != index) for call in calls)
    ]
    count = len(calls[0])
    if len(found) != 1 or count < 2 or all(sum(c.values()) == count - 1 for c in calls):
        return ""
    others = "the other is" if count == 2 else "all others are"
    return (
        f"Of the {NUMBERS.get(count, count)} results, the "
        f"{ORDINALS.get(found[0], str(found[0] + 1))} is wrong in some calls in which "
        f"{others} right, and never the other way round: look at it first."
    )


def _by_call(outcomes: Sequence[Outcome]) -> Iterator[dict[int, bool]]:
    """Of each call that has several results: which of them are right, by their index.

    Only calls all of whose results are part of an answer.
    """
    for outcome in valued(outcomes):
        calls: dict[object, dict[int, bool]] = {}
        counts: dict[object, int] = {}
        for path, right, given in aligned(outcome):
            role = outcome.roles.get(path)
            if role and role.name is None and role.count > 1:
                call = path[:-1] if role.call is None else role.call
                calls.setdefault(call, {})[role.index] = agree(outcome, right, given)
                counts[call] = role.count
        yield from (good for key, good in calls.items() if len(good) == counts[key])


def afterwards(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> str:
    """That nothing is wrong with a result itself, where this is known."""
    if any(pair.role for pair in wrong) or not results_are_known(outcomes):
        return ""
    return "In what the cases compute from your results, such as a gradient: "


def results_are_known(outcomes: Sequence[Outcome]) -> bool:
    """Whether some case shows what a call returned, and not only its inputs.

    Where results are dictionaries, no part of an answer is known to be one.
    """
    return any(
        role.name is None for outcome in outcomes for role in outcome.roles.values()
    )


def scope(outcomes: Sequence[Outcome], wrong: Sequence[Pair] = ()) -> str:
    """What limits a relation: cases that raise an error, or that are right.

    Args:
        outcomes: both answers to each case.
        wrong: all results that are wrong, if the relation is told of all of them; then
            results that are right beside them are named as well.
    """
    asked = [o for o in outcomes if o.right.raised is None]
    told = ""
    if any(o.given.raised is not None for o in asked):
        told = " In other cases an error is raised."
    elif any(_is_right(o) for o in valued(asked) if not o.constant):
        missed = any(o.right.raised and o.given.raised is None for o in outcomes)
        which = "cases that ask for a value" if missed else "cases"
        told = f" Other {which} are right."
    if _some_are_right([o for o in valued(asked) if not _is_right(o)], wrong):
        counts = {pair.role.count if pair.role else 0 for pair in wrong}
        which = {(0,): "calls or results", (1,): "calls"}.get((*counts,), "results")
        told += f" Other {which} in the cases that fail are right."
    return told


def unchanged(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> list[Pair]:
    """The results that are right beside wrong ones, where a change of it would show.

    Those are results of other calls, as in ``scope``. NaN is the same after any change.
    """
    indices, _ = _indices(wrong)
    direct = any(pair.role for pair in wrong)
    found = []
    for outcome in valued(outcomes):
        for path, right, given in aligned(outcome):
            role = outcome.roles.get(path)
            if not isinstance(right, np.ndarray) or not agree(outcome, right, given):
                continue
            asked = role and role.name is None if direct else not outcome.roles
            if not asked or (indices and role.index not in indices):
                continue
            values = right.astype(float)
            if values.size <= MAX_VALUES and not np.isnan(values).all():
                kind = right.dtype.kind
                found.append(
                    Pair(values, values, outcome.rtol, outcome.atol, role, (kind, kind))
                )
    return found


def _some_are_right(failed: Sequence[Outcome], wrong: Sequence[Pair]) -> bool:
    """Whether results are right that nobody would tell from the wrong ones.

    Those are results of other calls. Where none is known to be a result, they are
    whatever a case compares that is more than a number.
    """
    if any(pair.role for pair in wrong):
        indices, _ = _indices(wrong)
        return any(
            good and (not indices or role.index in indices)
            for role, good in _results(failed)
        )
    return bool(wrong) and any(
        getattr(right, "ndim", 0) > 0 and agree(outcome, right, given)
        for outcome in failed
        if not outcome.roles
        for _, right, given in aligned(outcome)
    )


def _indices(wrong: Sequence[Pair]) -> tuple[set[int], int]:
    """Which results of a call are wrong, and of how many; none if that is not clear."""
    roles = [pair.role for pair in wrong if pair.role and pair.role.name is None]
    counts = {role.count for role in roles}
    if len(counts) != 1:
        return set(), 0
    return {role.index for role in roles}, counts.pop()


def _results(outcomes: Sequence[Outcome]) -> Iterator[tuple[Role, bool]]:
    """The results of calls that the cases return, and whether they are right."""
    for outcome in outcomes:
        for path, right, given in aligned(outcome):
            role = outcome.roles.get(path)
            if role and role.name is None:
                yield role, agree(outcome, right, given)


def _is_right(outcome: Outcome) -> bool:
    return agree(outcome, outcome.right.value, outcome.given.value)
