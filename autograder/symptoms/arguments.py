"""Results that are the right ones and an argument, or a product of two, besides."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.compare import close
from autograder.symptoms.conditions import Call, as_array
from autograder.symptoms.outcomes import Outcome, Pair, comparable, varied, wrong_pairs
from autograder.symptoms.subject import of_several, scope
from autograder.variants import Probe

MOST_ARGUMENTS = 6  # arrays of a call, of which pairs are multiplied
MOST_WORK = 1_000_000  # multiplications for a product


@dataclass(frozen=True)
class Returned:
    """A wrong result of a call, and the arrays that the call was given."""

    pair: Pair
    arrays: dict[str, np.ndarray]


def returned(outcomes: Sequence[Outcome], probe: Probe) -> list[Returned]:
    """All wrong results of calls, as far as it is known which call each is from."""
    found = []
    for number, outcome in enumerate(outcomes):
        calls = probe.calls(number)
        for pair in wrong_pairs([outcome]):
            role = pair.role
            if role and role.name is None and role.call is not None:
                found.append(Returned(pair, _arrays(calls[role.call])))
    return found


def _arrays(call: Call) -> dict[str, np.ndarray]:
    """The arrays of real numbers among the arguments of a call."""
    found = {}
    for name, value in call.items():
        array = as_array(value)
        if array is not None and array.dtype.kind == "f":
            found[name] = array
    return dict(list(found.items())[:MOST_ARGUMENTS])


def find_argument_besides(
    outcomes: Sequence[Outcome], wrong: Sequence[Returned]
) -> str:
    """That an argument was added to a right result, subtracted or multiplied.

    Args:
        outcomes: both answers to each case.
        wrong: the wrong results of their calls; all are of one kind.
    """
    pairs = [one.pair for one in wrong]
    if not pairs or len({(p.role.index, p.role.count) for p in pairs}) > 1:
        return ""
    if not all(_is_comparable(pair) for pair in pairs):
        return ""
    for told, made in _candidates(wrong[0].arrays):
        others = [made(one.arrays) for one in wrong]
        if any(
            other is None or not _fits(other, pair)
            for other, pair in zip(others, pairs, strict=True)
        ):
            continue
        if not varied(np.concatenate([other.ravel() for other in others])):
            continue
        for word, join in _WAYS.items():
            if all(
                _same(pair, join(pair.right, other))
                for pair, other in zip(pairs, others, strict=True)
            ):
                about = of_several(outcomes, pairs)
                said = f"Your result is the right one {word} {told}."
                return f"{about}{said}{scope(outcomes, pairs)}"
    return ""


_WAYS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
}


def _candidates(
    arrays: dict[str, np.ndarray],
) -> Iterator[tuple[str, Callable[[dict[str, np.ndarray]], np.ndarray | None]]]:
    """What may have been added: each argument, and the product of any two."""
    for name in arrays:
        yield f"`{name}`", lambda given, n=name: given.get(n)
    for one, other in itertools.permutations(arrays, 2):
        yield (
            f"`{one}` @ `{other}`",
            lambda given, a=one, b=other: _product(given.get(a), given.get(b)),
        )


def _product(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """The product of two matrices, or of stacks of them, if there is one."""
    if one is None or other is None or min(one.ndim, other.ndim) < 2:
        return None
    if one.shape[-1] != other.shape[-2] or one.size * other.shape[-1] > MOST_WORK:
        return None
    try:
        with np.errstate(all="ignore"):  # arguments may be infinite
            return one @ other
    except ValueError:  # stacks of different sizes
        return None


def _is_comparable(pair: Pair) -> bool:
    """Whether a result is that of numbers, and wrong by more than rounding errors."""
    if not comparable([pair]):
        return False
    apart = np.abs(pair.given - pair.right).max(initial=0.0)
    return bool(apart > 1e-3 * np.abs(pair.given).max(initial=0.0))


def _fits(other: np.ndarray, pair: Pair) -> bool:
    """Whether an array can be added to a result, and is large enough to show in it."""
    try:
        shape = np.broadcast_shapes(other.shape, pair.right.shape)
    except ValueError:
        return False
    if shape != pair.right.shape or not np.isfinite(other).all():
        return False
    return bool(np.abs(other).max(initial=0.0) > 1e3 * pair.atol)


def _same(pair: Pair, made: np.ndarray) -> bool:
    """Whether an answer is what was made, as exactly as sums of floats can be."""
    scale = float(np.abs(pair.given).max(initial=0.0))
    return close(made, pair.given, 1e-5, 1e-6 * scale + pair.atol)
