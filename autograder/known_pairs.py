"""Find two mistakes of the bank in one answer, if their code can be combined.

As with other slips, every explanation has been tried: the two mistakes together give
the student's results in every case that asks for a value. What is tried first is a
guess.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.answers import Answer
from autograder.compare import Path
from autograder.expected import KnownMistake
from autograder.slips import Trials
from autograder.steps.joined import order_matters
from autograder.symptoms.outcomes import agree, aligned
from autograder.variants import Probe

ALONE = "of which alone this would be said:"  # each hint may call the other part right

MOST_WAYS = 3  # to one result that are looked for

Place = tuple[int, Path]  # of a result: the number of a case, and where it is in that


@dataclass(frozen=True, eq=False)
class _Shown:
    """A mistake, the results in which it shows, and those that it gives as given."""

    mistake: KnownMistake
    cases: frozenset[int]
    places: frozenset[Place]
    given: frozenset[Place]


def find_two_mistakes(trials: Trials, probe: Probe, most: float) -> str:
    """Two mistakes that together explain a wrong answer; empty if none are found.

    Args:
        trials: on the cases of the exercise.
        probe: knows the mistakes.
        most: how much work may be done, that done before included.
    """
    known = [
        _shown(mistake, trials)
        for mistake in trials.expected.mistakes
        if mistake.name in probe.mistaken
        and all(trials.is_right(n, mistake.answers[n]) for n in trials.right)
    ]
    quickest, found = trials.wrong_first, []
    for one, other in trials.in_time(_ordered(known, trials), most):
        both = [n for n in quickest if n in one.cases and n in other.cases]
        first = [*both, *quickest][0]  # others may be explained by one of the two
        for pair in _orders(one.mistake, other.mistake, probe):
            made = probe.joined(*(mistake.name for mistake in pair))
            if made and trials.variant_explains(made, first):
                found.append(pair)
                break
        if len(found) == MOST_WAYS:
            break
    return _said(found)


def _said(found: Sequence[tuple[KnownMistake, KnownMistake]]) -> str:
    """The pair that gives a result; if several do, all of them as ways to it."""
    if not found:
        return ""
    one, other = (mistake.hint for mistake in found[0])
    if len(found) == 1:
        return (
            f"Two slips together give your result. One is a known mistake, {ALONE} "
            f"{one} The other is a known mistake, {ALONE} {other}"
        )
    hints = [{mistake.hint for mistake in pair} for pair in found]
    shared = set.intersection(*hints)
    if len(shared) == 1:
        (sure,) = shared
        ways = " Or: ".join(hint for pair in hints for hint in pair - shared)
        return (
            f"Two slips together give your result. One is a known mistake, {ALONE} "
            f"{sure} For the other, there is more than one that gives it: {ways}"
        )
    return (
        "Two slips together give your result, and more than one pair of known mistakes "
        f"gives it, so yours may be others. One pair: {one} {other} Another pair: "
        + " ".join(mistake.hint for mistake in found[1])
    )


def _orders(
    one: KnownMistake, other: KnownMistake, probe: Probe
) -> Iterator[tuple[KnownMistake, KnownMistake]]:
    """Which of two is around the other one: either, if that makes a difference."""
    yield one, other
    if order_matters(probe.mistaken[one.name], probe.mistaken[other.name]):
        yield other, one


def _shown(mistake: KnownMistake, trials: Trials) -> _Shown:
    """Where a mistake shows, of all that was answered wrongly."""
    cases, places, given = set(), set(), set()
    for number in trials.wrong:
        outcome, theirs = trials.outcome(number), mistake.answers[number]
        if not trials.is_right(number, theirs):
            cases.add(number)
        for path, right, wrong in aligned(outcome):
            if agree(outcome, right, wrong):
                continue
            part = _part(theirs, path)
            if not agree(outcome, right, part):
                places.add((number, path))
            if agree(outcome, part, wrong):
                given.add((number, path))
    return _Shown(mistake, frozenset(cases), frozenset(places), frozenset(given))


def _part(answer: Answer, path: Path) -> object:
    """A part of an answer; an empty array if it has no such part."""
    value = answer.value
    for step in path:
        if not isinstance(value, list | dict):
            return np.zeros(0)
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return np.zeros(0)
    return value


def _ordered(known: Sequence[_Shown], trials: Trials) -> list[tuple[_Shown, _Shown]]:
    """Pairs of mistakes, those first that are likely to be the two.

    Where only one of them shows, the other one leaves the result as it is, as a rule:
    it is then the one that was given. Of equally likely pairs, those come first whose
    mistakes do in the bank.
    """
    outcomes = {number: trials.outcome(number) for number in trials.wrong}
    wrong = {
        (number, path)
        for number, outcome in outcomes.items()
        for path, right, given in aligned(outcome)
        if not agree(outcome, right, given)
    }

    def unlikely(pair: tuple[int, int]) -> tuple[int, int, int]:
        one, other = (known[index] for index in pair)
        apart = one.places ^ other.places
        against = len(wrong - one.places - other.places)
        against += len(apart & one.places - one.given)
        against += len(apart & other.places - other.given)
        return against, -len(one.given | other.given), sum(pair)

    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(known)), 2)
        if len(known[i].given) < len(wrong) > len(known[j].given)
    ]
    return [(known[i], known[j]) for i, j in sorted(pairs, key=unlikely)]
