"""Looks for what explains a wrong answer: first its cause, then where it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from autograder.symptoms import factors, functions, places, shapes
from autograder.symptoms.detectors import Detector
from autograder.symptoms.outcomes import (
    Outcome,
    Pair,
    agree,
    aligned,
    valued,
    wrong_pairs,
)
from autograder.symptoms.structure import (
    inputs_changed,
    nothing_returned,
    other_structure,
    refused,
)

_ASKED = (shapes, factors, places, functions)  # in this order
CAUSES = [detector for module in _ASKED for detector in module.detectors.causes]
TRACES = [detector for module in _ASKED for detector in module.detectors.traces]


def find_cause(outcomes: Sequence[Outcome]) -> str:
    """A relation that nearly says what was done, or an empty text.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly.
    """
    return _first_of(outcomes, _cause)


def find_trace(outcomes: Sequence[Outcome]) -> str:
    """Where and how it shows that something is wrong, or an empty text.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly.
    """
    return _first_of(outcomes, _trace)


def _first_of(
    outcomes: Sequence[Outcome], find: Callable[[Sequence[Outcome]], str]
) -> str:
    """What is found in all cases, or else in those that return results as they are.

    Some cases return something made from the results, such as gradients, in which a
    relation between the results does not show.
    """
    told = find(outcomes)
    direct = [o for o in outcomes if o.roles]
    wrong = [o for o in valued(direct) if not agree(o, o.right.value, o.given.value)]
    if told or len(direct) == len(outcomes) or len(wrong) < 2:
        return told
    return find(direct)


def _cause(outcomes: Sequence[Outcome]) -> str:
    for find in (nothing_returned, refused, inputs_changed, other_structure):
        told = find(outcomes)
        if told:
            return told
    pairs = wrong_pairs(outcomes)
    told = _ask(CAUSES, pairs)
    return told and f"{told}{_scope(outcomes)}"


def _trace(outcomes: Sequence[Outcome]) -> str:
    pairs = wrong_pairs(outcomes)
    changed = [p.role.name for p in pairs if p.role and p.role.name]
    if changed:
        names = " and ".join(f"`{name}`" for name in dict.fromkeys(changed))
        verb = "is" if len(set(changed)) == 1 else "are"
        return (
            f"{names} {verb} different after the call: something was changed in place. "
            "Mend that first; other differences may follow from it."
        )
    told = _one_of_several(outcomes, pairs)
    if told:
        return told
    told = _ask(TRACES, pairs)
    return told and f"{told}{_scope(outcomes)}"


def _ask(detectors: Sequence[Detector], pairs: Sequence[Pair]) -> str:
    """The first thing that one of the detectors says."""
    if not pairs:
        return ""
    with np.errstate(all="ignore"):
        for detect in detectors:
            told = detect(pairs)
            if told:
                return told
    return ""


def _scope(outcomes: Sequence[Outcome]) -> str:
    """What limits a symptom, if other results are right."""
    for outcome in valued(outcomes):
        for path, right, given in aligned(outcome):
            role = outcome.roles.get(path)
            if (role is None or role.name is None) and agree(outcome, right, given):
                return " Other results are right."
    return ""


def _one_of_several(outcomes: Sequence[Outcome], wrong: Sequence[Pair]) -> str:
    """Which result of several is wrong, and what can be said of it alone."""
    wrong = [pair for pair in wrong if pair.role]
    indices = {pair.role.index for pair in wrong}
    counts = {pair.role.count for pair in wrong}
    if len(indices) != 1 or len(counts) != 1 or counts == {1}:
        return ""
    (index,), (count,) = indices, counts
    right_ones = sum(
        role.name is None and role.index != index and role.count == count
        for outcome in valued(outcomes)
        for role in outcome.roles.values()
    )
    if right_ones == 0 or any(
        o.given.raised or o.given.unreadable for o in outcomes if not o.right.raised
    ):
        return ""
    told = (
        f"Of the {_NUMBERS.get(count, count)} results, the "
        f"{_ORDINALS.get(index, index + 1)} is wrong and the "
        f"{'other is' if count == 2 else 'others are'} right."
    )
    more = _ask([*CAUSES, *TRACES], wrong)
    return f"{told} {more}" if more else told


_NUMBERS = {2: "two", 3: "three", 4: "four"}
_ORDINALS = {0: "first", 1: "second", 2: "third", 3: "fourth"}
