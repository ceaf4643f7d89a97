"""How similar any two submissions of a class are, and how often that happens by chance.

For each exercise, a pair is looked at in three ways: the code it shares (``winnow``),
the details, names and words it shares, and whether both are wrong in one rare way.
What many in the class have weighs little, and what everybody was given nothing. Each
of these is turned into a probability by counting: the share of all pairs of the class
that have at least as much in common there. Their negative logarithms add up to the
evidence.

Parts of this sum depend on each other, so its own distribution over the pairs of the
class tells what it is worth. The class is its own null: nearly all of its pairs have
nothing to do with each other. Among the top fiftieth, where copies may be, the tail is
taken to fall off exponentially, as fast as the median of these pairs says: half of
them may be copies before that is of much account. Of three or more works that are
nearly equal, only one belongs to the null: ten of them have 45 pairs, which would make
copies look usual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.errors import AutograderError
from autograder.similarity.winnow import Compared, Features, compared
from autograder.similarity.works import ClassWork

COMMON = 0.25  # share of a class; what more of it have is no evidence
NEARLY_EQUAL = 0.75  # of what the smaller of two works has, rare things counting more
RARE = 0.1  # share of a class; the details that are told are at most as common
TAIL = 0.02  # share of the pairs from which the tail is estimated
LEAST_TAIL = 20  # pairs
LEAST_CLASS = 12  # submissions; fewer pairs tell nothing about chance
MOST_CLASS = 5000
CERTAIN = 1e-12  # no probability is told to be less
_BLOCK = 4096  # columns that are multiplied at once
KINDS = ("code", "details", "wrong in one way")


class TooLarge(AutograderError):
    """A class has more pairs than fit into memory."""


@dataclass(frozen=True)
class Chance:
    """How the evidence is distributed over the pairs of a class.

    Attributes:
        sorted: the evidence of all pairs, ascending, (P,).
        start: where the tail begins.
        tail: the share of the pairs that are in it.
        scale: over which its density falls to 1/e.
    """

    sorted: np.ndarray
    start: float
    tail: float
    scale: float

    @classmethod
    def of(cls, evidence: np.ndarray) -> Chance:
        """The distribution over the pairs of a class, (P,) in any order."""
        ascending = np.sort(evidence)
        tail = min(0.5, max(TAIL, LEAST_TAIL / max(1, ascending.size)))
        start = float(np.quantile(ascending, 1 - tail))
        beyond = ascending[ascending > start] - start
        median = float(np.median(beyond)) if beyond.size else 0.0
        return cls(ascending, start, tail, max(median / np.log(2), 1e-9))

    def probability(self, evidence: float) -> float:
        """That two who have nothing to do with each other have as much in common."""
        if evidence > self.start:
            beyond = np.exp(-(evidence - self.start) / self.scale)
            return float(max(self.tail * beyond, CERTAIN))
        count = self.sorted.size - np.searchsorted(self.sorted, evidence)
        return float(count / max(1, self.sorted.size))


@dataclass(frozen=True)
class Likeness:
    """What a class has in common, pair by pair.

    Attributes:
        students: their ids, (N,).
        first, second: places of the two of each pair in ``students``, (P,).
        names: the exercises, (E,).
        parts: evidence by kind (``KINDS``), exercise and pair, (3, E, P).
        chance: how its sum is distributed; None in a class that is too small.
        weights: by exercise, what each hash weighs that is evidence.
        texts: by exercise, what was compared of each student's text.
    """

    students: list[str]
    first: np.ndarray
    second: np.ndarray
    names: list[str]
    parts: np.ndarray
    chance: Chance | None
    weights: list[dict[int, float]]
    texts: list[dict[str, Compared]]

    @property
    def evidence(self) -> np.ndarray:
        """The sum for each pair, (P,)."""
        return self.parts.sum(axis=(0, 1))

    def ranked(self, most: int) -> list[int]:
        """The pairs with the most evidence, the strongest first."""
        evidence = self.evidence
        order = np.lexsort((self.second, self.first, -evidence.round(6)))
        return [int(pair) for pair in order[:most]]

    def expected(self, pair: int) -> float | None:
        """How many pairs of the class would be as alike if nobody had copied."""
        if self.chance is None:
            return None
        return self.first.size * self.chance.probability(float(self.evidence[pair]))


def likeness(class_: ClassWork) -> Likeness:
    """Compare each two works of a class.

    Time and memory grow with the length of the texts, and with the square of the class.

    Raises:
        TooLarge: the class has more than ``MOST_CLASS`` works.
    """
    size = len(class_.works)
    if size > MOST_CLASS:
        raise TooLarge(
            f"{size} submissions have {size * (size - 1) // 2:,} pairs; at most "
            f"{MOST_CLASS} submissions are compared: take some out of submitted/"
        )
    first, second = np.triu_indices(size, 1)  # (P,) each
    given = [compared(text) for text in class_.given]
    parts = np.zeros((len(KINDS), len(class_.names), first.size), dtype=np.float32)
    in_both, in_smaller = np.zeros((2, first.size), dtype=np.float32)
    weights, texts = [], []
    for number, name in enumerate(class_.names):
        found = {
            work.student: compared(work.texts[name])
            for work in class_.works
            if name in work.texts
        }
        readable = all(text.is_code for text in found.values())
        weight: dict[int, float] = {}
        for kind, take in enumerate((_code(readable), _rest)):
            known = _hashes(f for text in given for f in take(text))
            rows = [
                _hashes(take(found[work.student])) if work.student in found else None
                for work in class_.works
            ]
            shared, smaller, more = _shared(rows, known)
            shared, smaller = shared[first, second], smaller[first, second]  # (P,)
            in_both += shared
            in_smaller += smaller
            # By its share of the smaller: adding what nobody else has hides nothing.
            parts[kind, number] = _surprise(shared * (shared / smaller))
            weight |= more
        wrong = [work.outcomes.get(name, "") for work in class_.works]
        parts[2, number] = _surprise(_rarity(wrong, first, second))
        weights.append(weight)
        texts.append(found)
    likeness = Likeness(
        [work.student for work in class_.works],
        first,
        second,
        class_.names,
        parts,
        None,
        weights,
        texts,
    )
    if size < LEAST_CLASS:
        return likeness
    again = _again(size, first, second, in_both, in_smaller)
    if size - again.sum() < LEAST_CLASS:
        again[:] = False
    null = ~(again[first] | again[second])
    if again.any():
        for values in parts.reshape(-1, first.size):  # which keep their order
            values[:] = _surprise(values, null)
    return Likeness(**{**vars(likeness), "chance": Chance.of(likeness.evidence[null])})


def _again(
    size: int,
    first: np.ndarray,
    second: np.ndarray,
    in_both: np.ndarray,
    in_smaller: np.ndarray,
) -> np.ndarray:
    """Which works repeat another one, in groups of three or more.

    Args:
        size: how many works there are.
        first: place of one of each pair, (P,).
        second: place of the other, (P,).
        in_both: the weight that they share, (P,).
        in_smaller: the weight of the smaller of both, (P,); one line is no work.

    Returns:
        (N,) true for all of a group but the first.
    """
    equal = in_both >= NEARLY_EQUAL * in_smaller
    equal &= in_smaller >= 0.5 * np.median(in_smaller)
    first, second = first[equal], second[equal]
    group = np.arange(size)
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        low, high = sorted((group[one], group[other]))
        if low != high:
            group[group == high] = low
    sizes = np.bincount(group, minlength=size)
    return (sizes[group] > 2) & (group != np.arange(size))


def _code(readable: bool):
    """What is compared of the code of a text, if all texts are code or not."""

    def take(text: Compared) -> list[Features]:
        return [text.runs] if readable else [text.runs, text.as_text]

    return take


def _rest(text: Compared) -> list[Features]:
    return [text.details, text.words]


def _hashes(features: Iterable[Features]) -> np.ndarray:
    parts = [one.hashes for one in features]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)


def _shared(
    rows: Sequence[np.ndarray | None], known: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[int, float]]:
    """How much each two have in common of what not many have.

    A hash that ``d`` of ``N`` works have weighs ``log(N / d)``.

    Args:
        rows: the hashes of each work, each once; None if there is no text.
        known: the hashes of what everybody was given, ascending.

    Returns:
        (N, N) weights that two share, (N, N) weights of the smaller of both, more than
        zero, and what each hash weighs that two or more have.
    """
    size = len(rows)
    own = [np.zeros(0, np.uint64) if row is None else row for row in rows]
    own = [row[~np.isin(row, known, assume_unique=True)] for row in own]
    columns, inverse = np.unique(np.concatenate(own), return_inverse=True)
    counts = np.bincount(inverse, minlength=columns.size)
    several = (counts > 1) & (counts <= max(2, COMMON * size))
    weight = np.where(several, np.log(size / np.maximum(counts, 1)), 0.0)
    totals = np.zeros(size)
    owner = np.repeat(np.arange(size), [row.size for row in own])
    alone = np.where(counts == 1, np.log(size), weight)
    np.add.at(totals, owner, alone[inverse])
    place = np.cumsum(several) - 1  # of a column among those that are multiplied
    kept = several[inverse]
    owner, column = owner[kept], place[inverse[kept]]
    order = np.argsort(column, kind="stable")
    owner, column = owner[order], column[order]
    roots = np.sqrt(weight[several])
    shared = np.zeros((size, size), dtype=np.float32)
    for start in range(0, roots.size, _BLOCK):
        low, high = np.searchsorted(column, [start, start + _BLOCK])
        block = np.zeros((size, min(_BLOCK, roots.size - start)), dtype=np.float32)
        block[owner[low:high], column[low:high] - start] = 1.0
        block *= roots[start : start + _BLOCK]
        shared += block @ block.T  # (N, N)
    smaller = np.maximum(np.minimum(totals[:, None], totals), 1e-9)
    tellable = dict(
        zip(columns[several].tolist(), weight[several].tolist(), strict=True)
    )
    return shared, smaller, tellable


def _rarity(wrong: Sequence[str], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How rare the way is in which both of a pair are wrong; 0 for none, (P,)."""
    counts = Counter(filter(None, wrong))
    numbers = {said: number for number, said in enumerate(counts, 1)}
    code = np.array([numbers.get(said, 0) for said in wrong])
    rare = np.array([0.0, *(np.log(len(wrong) / count) for count in counts.values())])
    equal = (code[first] == code[second]) & (code[first] > 0)
    return np.where(equal, rare[code[first]], 0.0)


def _surprise(shared: np.ndarray, null: np.ndarray | slice = slice(None)) -> np.ndarray:
    """The negative logarithm of the share of null pairs with at least as much, (P,)."""
    ascending = np.sort(shared[null])
    at_least = ascending.size - np.searchsorted(ascending, shared, side="left")
    share = np.minimum(1.0, (at_least + 1) / (ascending.size + 1))
    return np.where(shared > 0, -np.log(share), 0.0)
