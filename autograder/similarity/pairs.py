"""The pairs of a class that are most alike, with what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from autograder.similarity.evidence import RARE, Likeness
from autograder.similarity.winnow import Compared, hash_of_word, words_in
from autograder.similarity.works import ClassWork, Work

UNLIKELY = 0.05  # pairs expected by chance; below this, a pair stands out
LISTED = 1.0  # pairs expected by chance; below this, a pair is shown
AT_LEAST = 3  # pairs that are shown however likely they are
MAX_WORDS = 12
MAX_LINES = 400  # of one text
MAX_WIDTH = 300  # characters of a line


@dataclass(frozen=True)
class Line:
    """A line of a text, and whether the other text has it too."""

    text: str
    shared: bool


@dataclass(frozen=True)
class Common:
    """What two students have in common in one exercise.

    Attributes:
        exercise: its name.
        evidence: how much it adds, in powers of ten.
        shared: the share of lines of the shorter text that the longer one has too.
        words: rare names and words that both have.
        wrong: how both are wrong, if that is rare; else nothing.
        others: how many more in the class are wrong in that way.
        texts: both texts by lines.
    """

    exercise: str
    evidence: float
    shared: float
    words: list[str]
    wrong: list[str]
    others: int
    texts: tuple[list[Line], list[Line]]


@dataclass(frozen=True)
class Pair:
    """Two students whose works are alike.

    Attributes:
        students: their ids; who handed in first comes first, if that is known.
        times: when they handed in, as their files say.
        expected: how many pairs of the class would be as alike by chance.
        powers: evidence by kind, in powers of ten.
        common: by exercise, the strongest first.
    """

    students: tuple[str, str]
    times: tuple[str, str]
    expected: float | None
    powers: tuple[float, ...]
    common: list[Common]

    @property
    def stands_out(self) -> bool:
        """Whether chance hardly explains it."""
        return is_unlikely(self.expected)


def is_unlikely(expected: float | None) -> bool:
    """Whether so few pairs are expected by chance that one of them stands out."""
    return expected is not None and expected < UNLIKELY


def pairs_of(class_: ClassWork, found: Likeness, most: int) -> list[Pair]:
    """The pairs that chance may not explain: ``AT_LEAST`` or more, up to ``most``."""
    works = {work.student: work for work in class_.works}
    pairs = []
    for place in found.ranked(most):
        expected = found.expected(place)
        likely = expected is None or expected >= LISTED
        if likely and len(pairs) >= AT_LEAST:
            break
        if found.evidence[place] <= 0:
            break
        one = works[found.students[found.first[place]]]
        other = works[found.students[found.second[place]]]
        swapped = bool(one.time and other.time and other.time < one.time)
        pairs.append(
            _pair(class_, found, place, *((other, one) if swapped else (one, other)))
        )
    return pairs


def groups_of(pairs: list[Pair]) -> list[list[str]]:
    """Three students or more whom pairs that stand out join."""
    groups: list[set[str]] = []
    for pair in pairs:
        if pair.stands_out:
            joined = {*pair.students}
            apart = []
            for group in groups:
                if group & joined:
                    joined |= group
                else:
                    apart.append(group)
            groups = [*apart, joined]
    return sorted(sorted(group) for group in groups if len(group) > 2)


def _pair(
    class_: ClassWork, found: Likeness, place: int, one: Work, other: Work
) -> Pair:
    common = []
    for number, name in enumerate(found.names):
        evidence = float(found.parts[:, number, place].sum())
        if evidence > 0 and name in one.texts and name in other.texts:
            common.append(_common(class_, found, number, evidence, one, other))
    common.sort(key=lambda part: -part.evidence)
    powers = found.parts[:, :, place].sum(axis=1) / _TEN
    return Pair(
        (one.student, other.student),
        (one.time or "", other.time or ""),
        found.expected(place),
        tuple(float(power) for power in powers),
        common,
    )


_TEN = 2.302585092994046  # the natural logarithm of ten


def _common(
    class_: ClassWork,
    found: Likeness,
    number: int,
    evidence: float,
    one: Work,
    other: Work,
) -> Common:
    name = found.names[number]
    texts = one.texts[name], other.texts[name]
    both = [found.texts[number][work.student] for work in (one, other)]
    hashes = [_hashes_in(text) for text in both]
    shared = hashes[0] & hashes[1] & found.weights[number].keys()
    lines = [
        _lines(text, _marked(compared, shared))
        for text, compared in zip(texts, both, strict=True)
    ]
    least = float("inf")
    for said in lines:
        written = [line.shared for line in said if line.text.strip()]
        least = min(least, sum(written), len(written))
    shorter = min(sum(1 for line in said if line.text.strip()) for said in lines)
    wrong = one.outcomes.get(name, "")
    counts = Counter(work.outcomes.get(name, "") for work in class_.works)
    rare = counts[wrong] <= max(2, RARE * len(class_.works))
    is_shared = bool(wrong) and wrong == other.outcomes.get(name) and rare
    return Common(
        name,
        evidence / _TEN,
        least / max(1, shorter),
        _rare_words(texts[0], shared, found.weights[number], len(class_.works)),
        wrong.split("\n") if is_shared else [],
        counts[wrong] - 2,
        (lines[0], lines[1]),
    )


def _hashes_in(text: Compared) -> set[int]:
    parts = (text.runs, text.details, text.words, text.as_text)
    return {value for part in parts for value in part.hashes.tolist()}


def _marked(text: Compared, shared: Collection[int]) -> set[int]:
    """The lines of a text that are in code which the other text shares."""
    marked: set[int] = set()
    for part in (text.runs, text.details, text.as_text):
        for value, (first, last) in zip(
            part.hashes.tolist(), part.lines.tolist(), strict=True
        ):
            if value in shared:
                marked.update(range(first, min(last, first + MAX_LINES) + 1))
    return marked


def _lines(text: str, marked: Collection[int]) -> list[Line]:
    lines = text.split("\n")
    shown = [
        Line(line[:MAX_WIDTH] + " …" * (len(line) > MAX_WIDTH), number in marked)
        for number, line in enumerate(lines[:MAX_LINES], 1)
    ]
    if len(lines) > MAX_LINES:
        shown.append(Line(f"… and {len(lines) - MAX_LINES} more lines", False))
    return shown


def _rare_words(
    text: str, shared: Collection[int], weights: dict[int, float], size: int
) -> list[str]:
    """The rarest words that are shared, in small letters."""
    found = {}
    for line in text.split("\n")[:MAX_LINES]:
        for word in words_in(line):
            value = hash_of_word(word)
            if value in shared:
                found[word] = weights[value]
    # exp(-weight) is the share of the class that has it.
    rare = [w for w, weight in found.items() if _share(weight) <= max(RARE, 2 / size)]
    return sorted(rare, key=lambda word: (-found[word], word))[:MAX_WORDS]


def _share(weight: float) -> float:
    return 2.718281828459045**-weight
