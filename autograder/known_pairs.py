"""Find two mistakes of the bank in one answer, if their code can be combined.

As with other slips, every explanation has been tried: the two mistakes together give
the student's results in every case that asks for a value. What is tried first is a
guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from autograder.answers import Answer
from autograder.compare import Path
from autograder.expected import KnownMistake
from autograder.slips import Trials
from autograder.steps.joined import order_matters
from autograder.symptoms.outcomes import Outcome, agree, aligned
from autograder.variants import Probe

ALONE = "of which alone this would be said:"  # each hint may call the other part right

WORK = 700_000  # that may be done on pairs, even if the search before left none
MOST_WAYS = 3  # to one result that are looked for
MORE_PAIRS = 16  # that are tried after one that explains a result, for other ways to it
MOST_PAIRS = 80  # that are tried; of 338 true pairs, one came after more than these
ELSE = 1e300  # in the place of values that cannot be compared, a number of its own
MOST_VALUES = 64  # of one result that are looked at to guess which pairs are likely


@dataclass(frozen=True, eq=False)
class _Shown:
    """A mistake, and where it shows of all that was answered wrongly.

    Attributes:
        mistake: the mistake.
        cases: the wrong cases in which it shows.
        shows: for each value that is looked at, whether it makes a difference there.
        gives: whether it gives what was given.
    """

    mistake: KnownMistake
    cases: frozenset[int]
    shows: np.ndarray
    gives: np.ndarray


def find_two_mistakes(trials: Trials, probe: Probe) -> str:
    """Two mistakes that together explain a wrong answer; empty if none are found.

    Args:
        trials: on the cases of the exercise.
        probe: knows the mistakes.
    """
    values = _Values(trials)
    known = [
        values.shown(mistake)
        for mistake in trials.expected.mistakes
        if mistake.name in probe.mistaken
        and all(trials.is_right(n, mistake.answers[n]) for n in trials.right)
    ]
    quickest, found = trials.wrong_first, []
    end, pairs = MOST_PAIRS, trials.in_time(_ordered(known, values), WORK)
    for number, (one, other) in enumerate(pairs):
        if number == end:
            break
        both = [n for n in quickest if n in one.cases and n in other.cases]
        first = [*both, *quickest][0]  # others may be explained by one of the two
        for pair in _orders(one.mistake, other.mistake, probe):
            made = probe.joined(*(mistake.name for mistake in pair))
            if made and trials.variant_explains(made, first):
                end = min(MOST_PAIRS, number + MORE_PAIRS) if not found else end
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


class _Result(NamedTuple):
    """One result of a wrong case, and where it is looked at, see ``_places``."""

    number: int
    path: Path
    outcome: Outcome
    right: object
    given: object
    places: np.ndarray | None


class _Values:
    """Some values of all wrong cases, by which likely pairs are guessed.

    Each result is looked at in a number of places. One that is no array, or has another
    shape or kind than it should, is looked at as a whole.

    Attributes:
        weights: what each value counts: all results count alike, whatever their size.
        wrong: whether what was given is not right.
    """

    def __init__(self, trials: Trials) -> None:
        self._results = [
            _Result(number, path, outcome, right, given, _places(right, given))
            for number in trials.wrong
            for outcome in [trials.outcome(number)]
            for path, right, given in aligned(outcome)
        ]
        counts = [1 if r.places is None else len(r.places) for r in self._results]
        self._cases = np.repeat([r.number for r in self._results], counts)
        self._rtol = np.repeat([r.outcome.rtol for r in self._results], counts)
        self._atol = np.repeat([r.outcome.atol for r in self._results], counts)
        self.weights = 1 / np.repeat(counts, counts)
        self._right = self._of(lambda result: result.right)
        self._given = self._of(lambda result: result.given)
        self.wrong = ~self._same(self._right, self._given)

    def shown(self, mistake: KnownMistake) -> _Shown:
        """Where a mistake shows."""
        theirs = self._of(lambda r: _part(mistake.answers[r.number], r.path))
        shows = ~self._same(self._right, theirs)
        cases = frozenset(self._cases[shows].tolist())
        return _Shown(mistake, cases, shows, self._same(self._given, theirs))

    def _of(self, part_of: Callable[[_Result], object]) -> np.ndarray:
        """The values of an answer, of which ``part_of`` gives the part for a result."""
        found = []
        for result in self._results:
            _, _, outcome, right, given, places = result
            part = part_of(result)
            if places is None:
                which = [agree(outcome, one, part) for one in (right, given)]
                found.append(np.array([float([*which, True].index(True))]))
            elif not _alike(right, part) and not agree(outcome, right, part):
                found.append(np.full(len(places), ELSE))
            else:
                found.append(part.ravel()[places].astype(float))
        return np.concatenate(found)

    def _same(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            near = np.abs(other - one) <= self._atol + self._rtol * np.abs(one)
        return near | (one == other) | (np.isnan(one) & np.isnan(other))


def _alike(one: object, other: object) -> bool:
    """Whether two values are arrays of the same shape, of the same kind of numbers."""
    return (
        isinstance(one, np.ndarray)
        and isinstance(other, np.ndarray)
        and one.shape == other.shape
        and one.dtype.kind == other.dtype.kind in "biuf"
    )


def _places(right: object, given: object) -> np.ndarray | None:
    """Where a result is looked at, in the flat array; ``None`` if as a whole."""
    if not _alike(right, given) or not right.size:
        return None
    return np.linspace(0, right.size - 1, min(right.size, MOST_VALUES)).astype(int)


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


def _ordered(known: Sequence[_Shown], values: _Values) -> list[tuple[_Shown, _Shown]]:
    """Pairs of mistakes, those first that are likely to be the two.

    Where only one of them shows, the other one leaves a value as it is, as a rule: the
    first one's is then the one that was given. Where none of them shows, it is the
    right one. Of equally likely pairs, those come first of which one gives most of
    what was given, and then those whose mistakes do in the bank.
    """
    if not known:
        return []
    shows = np.array([each.shows for each in known], float)
    gives = np.array([each.gives for each in known], float)
    silent = (1 - shows) * values.weights
    alone = shows * (1 - gives) @ silent.T
    against = alone + alone.T + (silent * values.wrong) @ (1 - shows).T
    missed = values.wrong * (1 - gives)
    left = (missed * values.weights) @ missed.T

    one, other = np.triu_indices(len(known), 1)
    some = missed.any(1)
    one, other = one[some[one] & some[other]], other[some[one] & some[other]]
    unlikely = against[one, other].round(3), left[one, other].round(3), one + other
    order = np.lexsort(unlikely[::-1])
    return [(known[i], known[j]) for i, j in zip(one[order], other[order], strict=True)]
