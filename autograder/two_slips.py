"""Two slips at once: an alteration on top of a known mistake, or of another one.

Every explanation has been tried: the two slips together give the student's results in
every case that asks for a value. That is a statement about results, and true however
the student arrived at them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.exercise import Implementation
from autograder.known_pairs import ALONE, find_two_mistakes
from autograder.slips import COMPARISON, MAKING, Trials, in_part, numbers_in
from autograder.steps.altered import steps_of, with_steps
from autograder.symptoms.outcomes import Outcome, varied
from autograder.symptoms.search import find_change
from autograder.variants import Probe, Variant, on_altered_arguments

LEAST_BITS = 40.0  # of agreement: one pair in 10^12 would have it by accident
MOST_CASES = 2  # in which both slips have to show for a pair to be found
MOST_VALUES = 100_000  # of an answer that is compared with changed ones
TOGETHER = "Two slips together give your result."

Form = Any  # of an answer: its shapes, in lists as it has them


@dataclass(frozen=True)
class _Slip:
    """A wrong version, how it is told, and what it answers to a wrong case."""

    says: str
    answer: Answer
    mistake: Implementation | None = None
    variant: Variant | None = None  # if it is no known mistake

    @property
    def implementation(self) -> Implementation:
        return self.variant.implementation if self.variant else self.mistake


Candidate = tuple[Callable[[], Implementation | None], str]


def find_two_slips(trials: Trials, outcomes: Sequence[Outcome]) -> str:
    """Two slips that together explain a wrong answer; empty if none are found.

    Errors in the place of values are left aside, so where there are some, it may be
    that not all that is wrong is explained.

    Args:
        trials: on the cases of the exercise.
        outcomes: both answers to each case.
    """
    probe = trials.expected.probe
    if probe is None or not trials.mostly_values or not _says_enough(trials):
        return ""
    told, tried = find_two_mistakes(trials, probe), 0
    if told:
        return in_part(told, len(trials.wrong), trials.failed)
    for first in trials.wrong_first:
        slips = list(trials.in_time(_single_slips(trials, probe, first)))
        if any(trials.agrees(first, slip.answer) for slip in slips):
            continue  # only one of the two shows here
        told = _changed_once_more(trials, slips, outcomes, first)
        told = told or _both(trials, probe, slips, first)
        tried += 1
        if told or tried == MOST_CASES:
            return told
    return ""


def _both(trials: Trials, probe: Probe, slips: Sequence[_Slip], first: int) -> str:
    """The first pair that answers as the student does, if it is found in time."""
    for candidate in trials.in_time(_pairs(trials, probe, slips, first)):
        if candidate:
            trials.spent += MAKING
        made = candidate and candidate[0]()
        if made and trials.explains(made, first):
            return in_part(candidate[1], len(trials.wrong), trials.failed)
    return ""


def _says_enough(trials: Trials) -> bool:
    """Whether the wrong answers hold so much that agreement is no accident."""
    values = _rounded(
        np.concatenate([numbers_in(trials.given[n]) for n in trials.wrong]), 9
    )
    zeros, ones = (values == 0).sum(), (values == 1).sum()
    if min(zeros, ones) and zeros + ones >= LEAST_BITS:
        return True  # for a mask, the positions of its values are evidence enough
    different = np.unique(values)
    whole = different == np.rint(different)
    bits = np.where(whole, np.log2(1 + np.abs(different)), 20.0)
    return bool(varied(different) and bits.sum() >= LEAST_BITS)


def _rounded(values: np.ndarray, digits: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.round(digits)


def _single_slips(trials: Trials, probe: Probe, first: int) -> Iterator[_Slip]:
    """What may be one of two: known mistakes, altered arguments, altered steps."""
    for known in trials.expected.mistakes:
        if known.name in probe.mistaken:
            yield _Slip(
                f"One is a known mistake, {ALONE} {known.hint}",
                known.answers[first],
                mistake=probe.mistaken[known.name],
            )
    for variant in itertools.chain(probe.variants, probe.steps):
        says = f"If nothing else were wrong, this would hold: {variant.says}"
        if variant.step is not None:
            says = f"In a right solution, one step would be wrong: {variant.step.says}."
        theirs = trials.of_variant(variant, first)
        yield _Slip(says, theirs, variant=variant)


# A slip, and a change of its result ---------------------------------------------------


def _changed_once_more(
    trials: Trials,
    slips: Sequence[_Slip],
    outcomes: Sequence[Outcome],
    first: int,
) -> str:
    """An altered reference, and how the answer differs from what that gives."""
    numbers = [*trials.wrong, *trials.right]
    if not trials.all_values:  # errors are no change of a result
        return ""
    if sum(numbers_in(trials.given[n]).size for n in numbers) > MOST_VALUES:
        return ""
    for slip in trials.in_time(slips):
        if slip.variant is None or not trials.shows(first, slip.answer):
            continue
        trials.spent += COMPARISON
        if not find_change([replace(outcomes[first], right=slip.answer)]):
            continue
        theirs = [trials.of_variant(slip.variant, number) for number in numbers]
        if not all(one.is_value for one in theirs):
            continue
        told = find_change(
            [
                replace(outcomes[number], right=one)
                for number, one in zip(numbers, theirs, strict=True)
            ]
        )
        if told:
            return (
                f"{TOGETHER} {slip.says} The other slip, if what that gives were "
                f"right: {told}"
            )
    return ""


# One slip on top of the other ---------------------------------------------------------


def _pairs(
    trials: Trials, probe: Probe, slips: Sequence[_Slip], first: int
) -> Iterator[Candidate | None]:
    """Two slips in one version, and how they are told; made when they are tried."""
    shape = _form(trials.given[first].value)
    right = _form(trials.expected.reference[first].value)
    quick, kept = trials.quickest(trials.right)[:1], []
    for slip in _one_of_each(slips):
        if _may_be_one(trials, slip, first, quick):
            kept.append(slip)
        yield None  # nothing to try yet, but the work is looked at
    forms = {id(slip): _form(slip.answer.value) for slip in kept}
    usual = [s for s in kept if forms[id(s)] == right]
    other = [s for s in kept if forms[id(s)] == shape]
    chosen = [(one, two) for one in usual for two in other]
    if shape == right:
        chosen = list(itertools.combinations(usual, 2))
    usual = usual if shape == right else [*usual, *other]
    of_mistakes = [pair for pair in chosen if any(s.variant is None for s in pair)]
    of_others = [pair for pair in chosen if all(s.variant for s in pair)]
    yield from _in_turn(  # a hint says more than a step
        _with_altered_arguments(of_mistakes), _mistakes_with_a_step(usual, kept)
    )
    yield from _in_turn(
        _with_altered_arguments(of_others), _two_steps(probe, of_others)
    )


def _may_be_one(trials: Trials, slip: _Slip, first: int, right: Sequence[int]) -> bool:
    """Whether a slip shows in the first wrong case, and not in those that are right."""

    def theirs(number: int) -> Answer:
        if slip.variant:
            return trials.of_variant(slip.variant, number)
        return trials.answer(slip.implementation, number)

    return trials.shows(first, slip.answer) and all(
        trials.is_right(number, theirs(number)) for number in right
    )


def _one_of_each(slips: Iterable[_Slip]) -> Iterator[_Slip]:
    """All mistakes, and of alterations the first of those that answer alike.

    Two mistakes that answer one case alike may differ in others.
    """
    seen = set()
    for slip in slips:
        kind = slip.variant and slip.variant.step is None
        answered = _rounded(numbers_in(slip.answer), 6).tobytes()
        if slip.variant is None or (kind, answered) not in seen:
            seen.add((kind, answered))
            yield slip


def _form(value: Any) -> Form:
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, list):
        return [_form(part) for part in value]
    if isinstance(value, dict):
        return {name: _form(part) for name, part in value.items()}
    return type(value)


def _with_altered_arguments(
    chosen: Sequence[tuple[_Slip, _Slip]],
) -> Iterator[Candidate]:
    """A mistake or an altered step whose arguments are altered as well."""
    for pair in chosen:
        for one, two in (pair, pair[::-1]):
            if two.variant is None or two.variant.alter is None:
                continue
            if one.variant is not None and one.variant.step is None:
                continue
            yield (
                lambda a=one, b=two: on_altered_arguments(
                    a.implementation, b.variant.alter
                ),
                f"{TOGETHER} {one.says} {two.says}",
            )


def _mistakes_with_a_step(
    slips: Sequence[_Slip], kept: Sequence[_Slip]
) -> Iterator[Candidate | None]:
    """A mistake one of whose steps is altered, in a way that the reference knows.

    Other alterations might undo the mistake, so that its hint would no longer hold; so
    might one that never reaches it.
    """
    known = {s.variant.step.says for s in kept if s.variant and s.variant.step}
    for slip in slips:
        if slip.variant is not None:
            continue
        for step in steps_of(slip.implementation):
            if step.says not in known or step.change.ends_early:
                yield None
                continue
            yield (
                lambda a=slip, b=step: with_steps(a.implementation, b),
                f"{TOGETHER} {slip.says} Besides, in an otherwise right solution, one "
                f"step would be wrong: {step.says}.",
            )


def _two_steps(
    probe: Probe, chosen: Sequence[tuple[_Slip, _Slip]]
) -> Iterator[Candidate]:
    for pair in chosen:
        steps = [slip.variant and slip.variant.step for slip in pair]
        if all(steps):
            one, two = steps
            yield (
                lambda a=one, b=two: with_steps(probe.reference, a, b),
                "A right solution gives your result if two steps are wrong: "
                f"{one.says}; and {two.says}.",
            )


def _in_turn(*found: Iterator[Candidate | None]) -> Iterator[Candidate | None]:
    """One of each kind after the other, so that no kind uses up the time."""
    return itertools.chain.from_iterable(itertools.zip_longest(*found))
