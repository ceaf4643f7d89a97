"""Two slips at once: a known mistake and something besides.

Neither a mistake nor a symptom explains such an answer alone. But compared with the
mistake's answers instead of the right ones, the rest is a symptom like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.answers import Answer
from autograder.symptoms.outcomes import (
    Outcome,
    agree,
    aligned,
    telling,
    varied,
    wrong_pairs,
)
from autograder.symptoms.search import find_change
from autograder.symptoms.subject import of_several
from autograder.variants import Path

Known = tuple[str, Sequence[Answer]]  # the hint of a mistake, and what it answers
MAX_VALUES = 100_000  # of all answers; more are not compared with every mistake
LEAST_CASES = 2  # that a mistake must explain before it is told as a part of the reason


def find_pair(outcomes: Sequence[Outcome], mistakes: Iterable[Known]) -> str:
    """A mistake, and how the answer differs from what that mistake gives; or nothing.

    Args:
        outcomes: both answers to each case of an exercise that was answered wrongly,
            where a value was asked for.
        mistakes: what is known of the exercise, with an answer to each outcome. They
            are taken one by one, so that the caller can stop, and no answer is looked
            at in vain: it may have to be asked for.
    """
    if not all(o.given.is_value for o in outcomes) or _is_large(outcomes):
        return ""
    wrong = [not _same(o, o.right, o.given) for o in outcomes]
    if not any(w and o.roles for w, o in zip(wrong, outcomes, strict=True)):
        return ""  # no case is wrong in what a call returns, where a change would show
    for hint, answers in mistakes:
        if not _may_explain(outcomes, answers, wrong):
            continue
        if not _may_change(outcomes, answers) or not all(a.is_value for a in answers):
            continue
        if _is_right(outcomes, answers):
            continue
        against = [
            replace(outcome, right=answer)
            for outcome, answer in zip(outcomes, answers, strict=True)
        ]
        told = find_change(against, beside=True)
        if told and not _takes_back(outcomes, answers):
            return (
                "Your answer is the one that a known mistake gives, changed once more. "
                f"Of the mistake alone this would be said: {hint} "
                f"Besides, compared with what it gives: {told}"
            )
    return ""


def _takes_back(outcomes: Sequence[Outcome], answers: Sequence[Answer]) -> bool:
    """Whether a change of what a mistake gives comes nearer to the right results.

    If it does so in all of them, it may well be a slip that has nothing to do with the
    mistake: whatever is scaled by a wrong number is also not scaled, and then divided.
    It is no such slip if one of several results is always what the mistake gives.
    """
    nearer: dict[int, list[bool]] = {}
    for outcome, answer in zip(outcomes, answers, strict=True):
        theirs = _by_path(outcome, answer)
        for path, right, given in aligned(outcome):
            role, made = outcome.roles.get(path), theirs.get(path)
            if not role or role.name or agree(outcome, right, given):
                continue
            changed = nearer.setdefault(role.index, [])
            if not agree(outcome, made, given):
                changed.append(_is_nearer(right, given, made))
    return bool(nearer) and all(some and all(some) for some in nearer.values())


def _is_nearer(right: Any, given: Any, made: Any) -> bool:
    """Whether of two arrays, the first is nearer to the right one."""
    arrays = all(
        isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.shape == right.shape
        for x in (right, given, made)
    )
    if not arrays:
        return False
    with np.errstate(all="ignore"):
        return bool(np.abs(given - right).sum() < np.abs(made - right).sum())


def find_in_evaluation(outcomes: Sequence[Outcome], mistakes: Sequence[Known]) -> str:
    """A mistake that gives all that is computed in evaluation, and nothing in training.

    So does the mistake together with dropout, for instance. No other mistake may be
    like that. The arguments are those of ``find_pair``.
    """
    parts = {
        mode: [(n, path) for n, o in enumerate(outcomes) for path in _in_mode(o, mode)]
        for mode in (True, False)
    }
    evaluated = sum(_is_wrong(outcomes[n], path) for n, path in parts[False])
    if evaluated < LEAST_CASES or len(parts[True]) < LEAST_CASES:
        return ""
    if not all(_is_wrong(outcomes[n], path) for n, path in parts[True]):
        return ""
    found = [
        hint
        for hint, answers in mistakes
        if all(
            _is_wrong(replace(outcomes[n], right=answers[n]), path) is mode
            for mode in (False, True)
            for n, path in parts[mode]
        )
    ]
    if len(found) != 1:
        return ""
    return (
        "In evaluation, your answer is the one that a known mistake gives: "
        f"{found[0]} In training it is always another one: a step that depends on the "
        "mode would do that, such as dropout that the task does not ask for."
    )


def _in_mode(outcome: Outcome, training: bool) -> list[Path]:
    """Where the results of a call stand that was made in training, or not."""
    return [
        path
        for path, role in outcome.roles.items()
        if role.name is None and role.training is training
    ]


def _is_wrong(outcome: Outcome, path: Path) -> bool:
    """Whether one part of an answer is not as it should be, or is missing."""
    return not any(
        place == path and agree(outcome, *both) for place, *both in aligned(outcome)
    )


def find_where(outcomes: Sequence[Outcome], mistakes: Sequence[Known]) -> str:
    """A mistake that gives all wrong results of calls, and would show in right ones.

    So does a slip in one of two branches. No other mistake may be like that. The
    arguments are those of ``find_pair``.
    """
    results = [
        (number, path, right, given)
        for number, outcome in enumerate(outcomes)
        for path, right, given in aligned(outcome)
        if (role := outcome.roles.get(path)) and role.name is None
    ]
    wrong = [r for r in results if not agree(outcomes[r[0]], r[2], r[3])]
    right = [r for r in results if agree(outcomes[r[0]], r[2], r[3])]
    if not all(o.given.is_value for o in outcomes) or _is_large(outcomes):
        return ""
    if not right or not varied(_real_numbers(wrong)):
        return ""
    found = []
    for hint, answers in mistakes:

        def gives(
            part: tuple[int, Path, Any, Any], answers: Sequence[Answer] = answers
        ) -> bool:
            number, path, _, given = part  # only what is looked at is asked for
            theirs = _by_path(outcomes[number], answers[number])
            return agree(outcomes[number], theirs.get(path), given)

        if all(map(gives, wrong)) and not all(map(gives, right)):
            found.append(hint)
    if len(found) != 1:
        return ""
    about = of_several(outcomes, [p for p in wrong_pairs(outcomes) if p.role])
    if about:
        return f"{about}Wherever it is wrong, a known mistake would give it: {found[0]}"
    return (
        "Where your result is wrong, it is the one that a known mistake gives: "
        f"{found[0]} Elsewhere, where that mistake would show as well, your result is "
        "right: so only one of several ways through your code has it."
    )


def _by_path(outcome: Outcome, answer: Answer) -> dict[Path, Any]:
    """The parts of what a mistake answers, where they stand in the right answer."""
    parts = aligned(replace(outcome, given=answer))
    return {path: made for path, _, made in parts}


def _real_numbers(parts: Sequence[tuple[int, Path, Any, Any]]) -> np.ndarray:
    """All real numbers that are given in parts of answers, in a row."""
    found = [np.zeros(0)]
    for *_, given in parts:
        if isinstance(given, np.ndarray) and given.dtype.kind == "f":
            found.append(given.ravel())
    return np.concatenate(found)


def find_part(outcomes: Sequence[Outcome], mistakes: Sequence[Known]) -> str:
    """A mistake that answers most of the failing cases as was answered; or nothing.

    It must be right wherever the answer is right, and no other mistake may explain as
    many cases. The arguments are those of ``find_pair``.
    """
    wrong = [not _same(o, o.right, o.given) for o in outcomes]
    explained: dict[str, int] = {}
    for hint, answers in mistakes:
        if _may_explain(outcomes, answers, wrong):
            explained[hint] = _explained(outcomes, answers, wrong)
    most = max(explained.values(), default=0)
    best = [hint for hint, count in explained.items() if count == most]
    if most < LEAST_CASES or 2 * most <= sum(wrong) or len(best) != 1:
        return ""
    answers = next(answers for hint, answers in mistakes if hint == best[0])
    left = [
        replace(outcome, right=answers[number])
        for number, outcome in enumerate(outcomes)
        if wrong[number] and not _same(outcome, answers[number], outcome.given)
    ]
    return (
        f"In {most} of the {sum(wrong)} cases that fail, your answer is the one that a "
        f"known mistake gives: {best[0]} "
        f"In the other{'' if len(left) == 1 else 's'}, {_besides(left)}."
    )


def _besides(left: Sequence[Outcome]) -> str:
    """How answers differ from those of a mistake, where that can be said in short."""
    if all(outcome.given.raised for outcome in left):
        return "an error is raised"
    if all(outcome.right.is_value and outcome.given.is_value for outcome in left):
        wrong = [
            (path, given)
            for outcome in left
            for path, theirs, given in aligned(outcome)
            if not agree(outcome, theirs, given)
        ]
        names = {path[-1] if path else "" for path, _ in wrong}
        if len(names) == 1 and all(isinstance(name, str) and name for name in names):
            return f"the two differ only in “{names.pop()}”"
        if all(_has_nan(given) for _, given in wrong):
            return "some of your values are NaN besides"
    return "that mistake gives something else"


def _has_nan(part: Any) -> bool:
    """Whether some value of a part of an answer is NaN."""
    real = isinstance(part, np.ndarray) and part.dtype.kind == "f"
    return real and bool(np.isnan(part).any())


def _explained(
    outcomes: Sequence[Outcome], answers: Sequence[Answer], wrong: Sequence[bool]
) -> int:
    """In how many wrong cases a mistake answers as was answered; none if in few."""
    explained, missed = 0, 0
    for number, outcome in enumerate(outcomes):
        if not wrong[number]:
            continue
        if _same(outcome, answers[number], outcome.given):
            explained += 1
            continue
        missed += 1
        if 2 * missed >= sum(wrong):
            return 0
    return explained


def find_both(outcomes: Sequence[Outcome], mistakes: Sequence[Known]) -> str:
    """Two mistakes that show in different cases, and together in all that fail.

    Wherever one of them shows, the answer is the one that it gives, and no other two
    are like that. The arguments are those of ``find_pair``.
    """
    if _is_large(outcomes):
        return ""
    wrong = {n for n, o in enumerate(outcomes) if not _same(o, o.right, o.given)}
    shown = {}
    for hint, answers in mistakes:
        changed = _where_it_shows(outcomes, answers)
        if changed:
            shown[hint] = changed
    both = [
        pair
        for pair in itertools.combinations(shown, 2)
        if shown[pair[0]] | shown[pair[1]] == wrong
        and not shown[pair[0]] & shown[pair[1]]
    ]
    if len(both) != 1:
        return ""
    one, other = sorted(both[0], key=lambda hint: -len(shown[hint]))
    return f"Two known mistakes show, each in cases of its own. {one} {other}"


def _where_it_shows(outcomes: Sequence[Outcome], answers: Sequence[Answer]) -> set[int]:
    """The cases in which a mistake shows; none if in one of them it was not given."""
    changed = set()
    for number, (outcome, answer) in enumerate(zip(outcomes, answers, strict=True)):
        if not _same(outcome, outcome.right, answer):
            if not _same(outcome, answer, outcome.given):
                return set()
            changed.add(number)
    return changed


def find_besides(outcomes: Sequence[Outcome], mistakes: Sequence[Known]) -> str:
    """A mistake that gives the answer but for values that are NaN or infinite.

    It has to give all the finite values, and enough of those that are wrong. So it does
    not matter in how many cases there is a NaN: a softmax of nothing puts one into
    every case with a mask. The arguments are those of ``find_pair``.
    """
    if not all(o.given.is_value for o in outcomes) or _is_large(outcomes):
        return ""
    if all(map(_is_finite, outcomes)) or any(map(_asks_for_infinity, outcomes)):
        return ""
    if not varied(np.concatenate([_finite_and_wrong(o) for o in outcomes])):
        return ""
    known = any(o.roles for o in outcomes)  # which parts are results of a call?
    found = [
        hint
        for hint, answers in mistakes
        if all(
            _same_if_finite(outcome, answer, known)
            for outcome, answer in zip(outcomes, answers, strict=True)
        )
    ]
    if len(found) != 1:
        return ""
    return (
        "Your answer is the one that a known mistake gives, but for values that are "
        "NaN or infinite, and for what is computed from these. Of the mistake alone "
        f"this would be said: {found[0]} Then look for an overflow, a division by "
        "zero, or a softmax of nothing but minus infinity."
    )


def _is_finite(outcome: Outcome) -> bool:
    """Whether no part of an answer is NaN or infinite."""
    return all(_all_finite(given) for _, _, given in aligned(outcome))


def _asks_for_infinity(outcome: Outcome) -> bool:
    """Whether an infinite value is a result like others, as in logits that are cut."""
    return not all(_all_finite(right) for _, right, _ in aligned(outcome))


def _all_finite(part: Any) -> bool:
    """Whether a part of an answer has no value that is NaN or infinite."""
    real = isinstance(part, np.ndarray) and part.dtype.kind == "f"
    return not real or bool(np.isfinite(part).all())


def _finite_and_wrong(outcome: Outcome) -> np.ndarray:
    """All finite values of an answer that are not the right ones."""
    found = [np.zeros(0)]
    for _, right, given in aligned(outcome):
        both = isinstance(right, np.ndarray) and isinstance(given, np.ndarray)
        if not both or right.shape != given.shape or given.dtype.kind != "f":
            continue
        close = np.isclose(
            given, right.astype(float), rtol=outcome.rtol, atol=outcome.atol
        )
        found.append(given[np.isfinite(given) & ~close])
    return np.concatenate(found)


def _same_if_finite(outcome: Outcome, answer: Answer, known: bool) -> bool:
    """Whether an answer agrees with the given one wherever that is a finite number.

    What is computed from results that are NaN, such as a gradient, says nothing, not
    even where it is finite itself: behind a relu it is zero. Such parts can be told
    from results only if the roles of results are ``known``.
    """
    if not answer.is_value:
        return False
    spoilt = known and not outcome.roles and not _is_finite(outcome)
    for path, theirs, given in aligned(replace(outcome, right=answer)):
        if isinstance(theirs, np.ndarray) and isinstance(given, np.ndarray):
            if theirs.shape != given.shape:
                return False
            computed = known and path not in outcome.roles
            if spoilt or (computed and not _all_finite(given)):
                continue
            if given.dtype.kind == "f":
                finite = np.isfinite(given)
                theirs, given = theirs[finite], given[finite]
        if not agree(outcome, theirs, given):
            return False
    return True


def _is_large(outcomes: Sequence[Outcome]) -> bool:
    parts = (part for o in outcomes for _, *both in aligned(o) for part in both)
    return sum(getattr(part, "size", 1) for part in parts) > MAX_VALUES


def _may_explain(
    outcomes: Sequence[Outcome], answers: Sequence[Answer], wrong: Sequence[bool]
) -> bool:
    """Whether a mistake can be one of two that an answer has.

    It is right wherever the answer is: otherwise the change would be its own reverse.
    """
    return all(
        wrong[number] or _same(outcome, outcome.right, answers[number])
        for number, outcome in enumerate(outcomes)
    )


def _may_change(outcomes: Sequence[Outcome], answers: Sequence[Answer]) -> bool:
    """Whether a change is found in one case, as it is if there is one in all of them.

    Asked of the first case that says enough on its own; most mistakes end there.
    """
    for number, outcome in enumerate(outcomes):
        if outcome.roles:
            against = [replace(outcome, right=answers[number])]
            pairs = wrong_pairs(against)
            if pairs and telling(pairs):
                return bool(find_change(against, beside=True))
    return True


def _is_right(outcomes: Sequence[Outcome], answers: Sequence[Answer]) -> bool:
    """Whether a mistake shows in none of the cases, so that it explains nothing."""
    return all(_same(o, o.right, a) for o, a in zip(outcomes, answers, strict=True))


def _same(outcome: Outcome, one: Answer, other: Answer) -> bool:
    """Whether two answers are values, and agree as the judge compares them."""
    both = one.is_value and other.is_value
    return both and agree(outcome, one.value, other.value)
