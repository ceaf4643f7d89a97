"""By how much a count is wrong, as a product of the arguments.

Different slips can lead to the same wrong count: four biases have as many numbers as
two norms. So the report says by how much the count is wrong, and not why.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from autograder.symptoms.outcomes import Outcome, aligned
from autograder.variants import Probe

LEAST = 3  # wrong counts, of different sizes: of one or two, many products are
MOST_TIMES = 24  # by which a product is taken
MOST_FACTORS = 4
POWERS = (-2, -1, 1, 2, 3)


@dataclass(frozen=True)
class Count:
    """The arguments of a call, the right count and the given one."""

    arguments: Mapping[str, Any]
    right: int
    given: int

    @property
    def excess(self) -> int:
        """By how much the given count is too large."""
        return self.given - self.right


def counted(outcomes: Sequence[Outcome], probe: Probe) -> list[Count]:
    """The counts of the cases that return what their calls do, and nothing else.

    Args:
        outcomes: both answers to each case of an exercise.
        probe: knows the calls of these cases.

    Returns:
        None if a result is no whole number.
    """
    counts = []
    for number, outcome in enumerate(outcomes):
        calls, parts = probe.calls(number), list(aligned(outcome))
        roles = {path for path, role in outcome.roles.items() if role.name is None}
        if outcome.right.raised or [path for path, *_ in parts if path not in roles]:
            continue
        if len(calls) != len(parts):
            continue
        for call, (_, right, given) in zip(calls, parts, strict=True):
            if not (_is_whole(right) and _is_whole(given)):
                return []
            arguments = {**probe.optional, **call}
            counts.append(Count(arguments, int(right), int(given)))
    return counts


def _is_whole(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
    )


def find_excess(counts: Sequence[Count]) -> str:
    """The one product of arguments by which all wrong counts differ from the right.

    Args:
        counts: of all calls; those that are right are left aside.

    Returns:
        A sentence; empty if there is no such product, or more than one.
    """
    wrong = [count for count in counts if count.excess]
    sides = {count.excess > 0 for count in wrong}
    if len({count.right for count in wrong}) < LEAST or len(sides) != 1:
        return ""
    names = [name for name in wrong[0].arguments if _is_size(name, wrong)]
    sizes = np.array([[float(c.arguments[name]) for name in names] for c in wrong])
    powers = _products(len(names))
    excess = np.log([abs(count.excess) for count in wrong])
    ratios = excess - powers @ np.log(sizes.reshape(len(wrong), len(names))).T
    times = np.rint(np.exp(np.clip(ratios[:, 0], -1, 10))).astype(int)
    near = (np.ptp(ratios, axis=1) < 1e-6) & (times >= 1) & (times <= MOST_TIMES)
    found = [
        _as_text(names, powers[n], int(times[n]))
        for n in np.flatnonzero(near)
        if all(_product(names, powers[n], int(times[n]), c) for c in wrong)
    ]
    if len(found) != 1:
        return ""
    which = "large" if sides == {True} else "small"
    others = " Other results are right." if len(wrong) < len(counts) else ""
    return f"Your result is too {which} by {found[0]}.{others}"


def _is_size(name: str, wrong: Sequence[Count]) -> bool:
    values = [count.arguments.get(name) for count in wrong]
    return all(type(value) is int and value > 0 for value in values)


@cache
def _products(number: int) -> np.ndarray:
    """The exponents of all products of a few of as many arguments."""
    rows = [np.zeros(number)]
    for many in range(1, 1 + min(number, 3)):
        for chosen in itertools.combinations(range(number), many):
            for powers in itertools.product(POWERS, repeat=many):
                if sum(map(abs, powers)) <= MOST_FACTORS and max(powers) > 0:
                    row = np.zeros(number)
                    row[list(chosen)] = powers
                    rows.append(row)
    return np.array(rows)


def _product(
    names: Sequence[str], powers: np.ndarray, times: int, count: Count
) -> bool:
    """Whether a product is exactly what a count is too large or too small by."""
    product = Fraction(times)
    for name, power in zip(names, powers, strict=True):
        product *= Fraction(count.arguments[name]) ** int(power)
    return product == abs(count.excess)


def _as_text(names: Sequence[str], powers: np.ndarray, times: int) -> str:
    raised = {1: "", 2: "²", 3: "³"}

    def factors(sign: int) -> list[str]:
        return [
            f"`{name}`{raised[abs(int(power))]}"
            for name, power in zip(names, powers, strict=True)
            if power * sign > 0
        ]

    above, below = factors(1), factors(-1)
    first = [str(times)] if times > 1 or not above else []
    return " / ".join([" · ".join([*first, *above]), *below])
