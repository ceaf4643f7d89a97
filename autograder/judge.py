"""Compare answers with the reference's, name the mistake, make a report.

The judge runs in a trusted process and sees answers only: it never calls what a
student wrote.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from autograder.answers import Answer, answer, decode
from autograder.exercise import Case, Exercise, Topic

NOT_YET = "not implemented yet"  # what is said of a stub
OTHER_SEEDS = 3  # a right answer that never changes over these is a constant

Share = Callable[[str, Callable[[], Any]], Any]  # see ``expect``

_KINDS = {
    "b": "truth values",
    "i": "integers",
    "u": "integers",
    "f": "real numbers",
}


@dataclass(frozen=True)
class KnownMistake:
    """How a known mistake answers the cases of an exercise."""

    name: str
    hint: str
    answers: list[Answer]


@dataclass
class Expected:
    """What the reference and the known mistakes answer, case by case.

    Attributes:
        seeds: the seed of each case.
        reference: the right answers.
        constant: for each case, whether the right answer is the same for other data.
        find_mistakes: finds the answers of the known mistakes; called once, and only
            when an answer is wrong.
    """

    seeds: list[int]
    reference: list[Answer]
    constant: list[bool]
    find_mistakes: Callable[[], list[KnownMistake]]

    @cached_property
    def mistakes(self) -> list[KnownMistake]:
        """The answers of the known mistakes."""
        return self.find_mistakes()


@dataclass(frozen=True)
class CaseReport:
    """The outcome of one case; ``message`` says what differed."""

    title: str
    points: int
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Report:
    """The outcome of one exercise.

    Attributes:
        mistake: name of the misconception that explains all answers, if one does.
        message: its hint, or why nothing could be examined.
    """

    name: str
    score: int
    max_score: int
    mistake: str | None
    message: str
    cases: list[CaseReport]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as ``check --json`` prints it."""
        return asdict(self)


def public_seeds(exercise: Exercise) -> list[int]:
    """The seeds that ``check`` uses in a notebook: always the same."""
    return [
        zlib.crc32(f"{exercise.name}/{number}".encode())
        for number in range(len(exercise.cases))
    ]


def alone(name: str, work_out: Callable[[], Any]) -> Any:
    """Share what is worked out with nobody."""
    return work_out()


def expect(
    topic: Topic, exercise: Exercise, seeds: Sequence[int], share: Share = alone
) -> Expected:
    """Run the reference and the known mistakes on the cases of ``exercise``.

    Args:
        topic: the exercises of the chapter.
        exercise: one of them.
        seeds: the seed of each case.
        share: called with a name and what works something out; returns what that
            returns, now or in another process that was given the same seeds.
    """

    def right_answers() -> tuple[list[Answer], list[bool]]:
        reference = topic.reference(exercise.name)
        answers, *others = (
            _answers(exercise, reference, [seed + step for seed in seeds])
            for step in range(1 + OTHER_SEEDS)
        )
        return answers, [
            all(disagreement(case, first, other) is None for other in rest)
            for case, first, *rest in zip(exercise.cases, answers, *others, strict=True)
        ]

    def mistaken_answers() -> list[KnownMistake]:
        return [
            KnownMistake(m.name, m.hint, _answers(exercise, m.implementation, seeds))
            for m in topic.mistakes(exercise.name)
        ]

    answers, constant = share(f"{exercise.name}.right", right_answers)
    return Expected(
        list(seeds),
        answers,
        constant,
        lambda: share(f"{exercise.name}.mistaken", mistaken_answers),
    )


def _answers(exercise: Exercise, implementation: Any, seeds: Sequence[int]) -> list:
    return [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, seeds, strict=True)
    ]


def judge(exercise: Exercise, given: Sequence[Answer], expected: Expected) -> Report:
    """Compare the answers given with those expected.

    A case whose right answer does not depend on the data can be passed without
    understanding (by always raising ``ValueError``, say), so it is paid only when a
    case whose answer does depend on the data was passed too.
    """
    differences = [
        disagreement(case, right, answer)
        for case, right, answer in zip(
            exercise.cases, expected.reference, given, strict=True
        )
    ]
    understood = all(expected.constant) or any(
        difference is None and not constant
        for difference, constant in zip(differences, expected.constant, strict=True)
    )
    cases = []
    for case, difference, constant in zip(
        exercise.cases, differences, expected.constant, strict=True
    ):
        if difference is None and constant and not understood:
            difference = "counts once a case that depends on the data passes"
        cases.append(
            CaseReport(case.title, case.points, difference is None, difference or "")
        )
    mistake, message = None, ""
    if not all(case.passed for case in cases):
        mistake, message = _diagnose(exercise, given, expected)
    return Report(
        exercise.name,
        sum(case.points for case in cases if case.passed),
        exercise.points,
        mistake,
        message,
        cases,
    )


def refuse(exercise: Exercise, reason: str) -> Report:
    """A report of zero points for an answer that is not examined."""
    cases = [CaseReport(case.title, case.points, False, "") for case in exercise.cases]
    return Report(exercise.name, 0, exercise.points, None, reason, cases)


def _diagnose(
    exercise: Exercise, given: Sequence[Answer], expected: Expected
) -> tuple[str | None, str]:
    """The known mistake that agrees with the student on every case, and its hint."""
    if all(answer.raised == "NotImplementedError" for answer in given):
        return None, NOT_YET
    for known in expected.mistakes:
        if all(
            disagreement(case, theirs, ours) is None
            for case, theirs, ours in zip(
                exercise.cases, known.answers, given, strict=True
            )
        ):
            return known.name, known.hint
    return None, ""


def disagreement(case: Case, right: Answer, given: Answer) -> str | None:
    """What differs between two answers to ``case``, in words; ``None`` if nothing.

    Expected values are never part of the message.
    """
    if given.unreadable is not None:
        return None if right.unreadable is not None else given.unreadable
    if right.unreadable is not None:
        return f"expected what cannot be read: {right.unreadable}"
    if given.raised == "NotImplementedError" != right.raised:
        return NOT_YET
    if right.raised is not None:
        if given.raised is None:
            return f"expected a {right.raised}, but nothing was raised"
        if given.raised != right.raised:
            return f"expected a {right.raised}, but {_raised(given)}"
        return None
    if given.raised is not None:
        return _raised(given)
    return _difference(right.value, given.value, case.rtol, case.atol)


def _raised(given: Answer) -> str:
    return f"{given.raised} was raised" + (f": {given.detail}" if given.detail else "")


def _difference(right: Any, given: Any, rtol: float, atol: float) -> str | None:
    """The first difference between two nested values."""
    if isinstance(right, np.ndarray) and isinstance(given, np.ndarray):
        return _array_difference(right, given, rtol, atol)
    if isinstance(right, list) and isinstance(given, list):
        if len(right) != len(given):
            return f"{len(given)} results, expected {len(right)}"
        pairs = zip(right, given, strict=True)
        items = [(f"result {i}: ", *pair) for i, pair in enumerate(pairs, start=1)]
    elif isinstance(right, dict) and isinstance(given, dict):
        if set(right) != set(given):
            wrong = [name[:40] for name in sorted(set(right) ^ set(given))[:3]]
            return f"the names differ: {', '.join(wrong)} missing or not expected"
        items = [(f"{name}: ", right[name], given[name]) for name in right]
    elif type(right) is type(given):  # two strings, or None twice
        return None if right == given else "the text differs"
    else:
        return f"{_kind(given)}, expected {_kind(right)}"
    for where, one, other in items:
        difference = _difference(one, other, rtol, atol)
        if difference and difference.startswith("result "):  # result 1.2, not 1: 2
            return where.removesuffix(": ") + "." + difference.removeprefix("result ")
        if difference:
            return where + difference
    return None


def _kind(value: Any) -> str:
    if value is None:
        return "nothing (None)"
    if isinstance(value, np.ndarray):
        shape = value.shape
        return f"an array of shape {shape}" if shape else "a number"
    names = {list: f"{len(value)} results", dict: "a dictionary", str: "a text"}
    return names[type(value)]


def _array_difference(
    right: np.ndarray, given: np.ndarray, rtol: float, atol: float
) -> str | None:
    if right.shape != given.shape:
        return f"shape {given.shape}, expected {right.shape}"
    kinds = {_KINDS[given.dtype.kind], _KINDS[right.dtype.kind]}
    whole_number = right.dtype.kind == "f" and given.dtype.kind in "iu"
    if len(kinds) > 1 and not (whole_number and right.shape == ()):
        return f"{_KINDS[given.dtype.kind]}, expected {_KINDS[right.dtype.kind]}"
    if right.dtype.kind != "f":
        wrong = right != given
        return _count(wrong) if wrong.any() else None
    one, other = right.astype(np.float64), given.astype(np.float64)
    wrong = ~np.isclose(other, one, rtol=rtol, atol=atol, equal_nan=True)
    if not wrong.any():
        return None
    if np.isnan(other[wrong]).any():
        where = np.argwhere(wrong & np.isnan(other))[0]
        return f"{_count(wrong)}; NaN{_at(where)}"
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(wrong, np.abs(other - one), -1.0)
    where = np.unravel_index(np.argmax(error), error.shape)
    return f"{_count(wrong)}; largest error {error[where]:.3g}{_at(where)}"


def _count(wrong: np.ndarray) -> str:
    if wrong.shape == ():
        return "the value differs"
    return f"{wrong.sum()} of {wrong.size} values differ"


def _at(where: Sequence[int]) -> str:
    return f" at [{', '.join(str(int(i)) for i in where)}]" if len(where) else ""
