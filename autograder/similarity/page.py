"""The pairs that are most alike, as one self-contained page for the instructor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograder.files import write_atomically
from autograder.reporting.pages import templates
from autograder.similarity.evidence import LEAST_CLASS, Likeness
from autograder.similarity.pairs import UNLIKELY, Pair, groups_of, is_unlikely
from autograder.similarity.works import OWN_CELLS, ClassWork

KEPT = 0.05  # powers of ten; an exercise that adds less is not shown
NEVER = 1e-6  # pairs expected by chance; fewer are not told exactly


def write_page(
    course: Path, class_: ClassWork, found: Likeness, pairs: list[Pair]
) -> Path:
    """Write ``reports/CHAPTER_similar.html``; where it is.

    Only its owner can read it: it accuses people.
    """
    path = course / "reports" / f"{class_.chapter}_similar.html"
    write_atomically(path, as_page(class_, found, pairs))
    path.chmod(0o600)
    return path


def as_page(class_: ClassWork, found: Likeness, pairs: list[Pair]) -> str:
    """The page, without scripts or outside resources."""
    return (
        templates(__package__)
        .get_template("similar.html")
        .render(
            chapter=class_.chapter,
            size=len(class_.works),
            count=f"{found.first.size:,}",
            pairs=[_shown(pair) for pair in pairs],
            standing_out=sum(pair.stands_out for pair in pairs),
            groups=groups_of(pairs),
            left_out=sorted(class_.left_out.items()),
            cut=cut_short(class_, found),
            more=stand_out_unseen(found, pairs),
            graded=class_.graded,
            least_class=LEAST_CLASS,
            known=found.chance is not None,
            tail=f"{found.chance.tail:.0%}" if found.chance else "",
            unlikely=f"{UNLIKELY:g}",
        )
    )


def stand_out_unseen(found: Likeness, pairs: list[Pair]) -> bool:
    """Whether more pairs stand out than those that are shown, which a ring may fill."""
    following = found.ranked(len(pairs) + 1)[len(pairs) :]
    return any(is_unlikely(found.expected(pair)) for pair in following)


def cut_short(class_: ClassWork, found: Likeness) -> dict[str, list[str]]:
    """By student, the exercises in which not all of the code was compared."""
    cut: dict[str, list[str]] = {}
    for name, texts in zip(found.names, found.texts, strict=True):
        for work in class_.works:
            if name in work.cut or (work.student in texts and texts[work.student].cut):
                cut.setdefault(work.student, []).append(_title(name))
    return dict(sorted(cut.items()))


def _title(exercise: str) -> str:
    return "cells of their own" if exercise == OWN_CELLS else exercise


def _shown(pair: Pair) -> dict[str, Any]:
    return {
        "pair": pair,
        "said": in_words(pair.expected),
        "powers": [f"{power:.1f}" for power in pair.powers],
        "total": f"{sum(pair.powers):.1f}",
        "common": [
            {
                "part": part,
                "name": _title(part.exercise),
                "evidence": f"{part.evidence:.1f}",
                "shared": f"{part.shared:.0%}",
            }
            for part in pair.common
            if part.evidence >= KEPT
        ],
    }


def in_words(expected: float | None) -> str:
    """How often chance makes a pair that is as alike, for a reader."""
    if expected is None:
        return "too few submissions to say how likely that is by chance"
    if expected < NEVER:
        return f"by chance in fewer than one of {1 / NEVER:,.0f} classes like this"
    if expected < 0.5:
        return f"by chance in about one of {_round(1 / expected):,} classes like this"
    return (
        f"by chance, a class like this has about {max(1, round(expected)):,} such "
        f"{'pair' if round(expected) <= 1 else 'pairs'}"
    )


def _round(value: float) -> int:
    """Two digits: more are not known."""
    return int(round(value, 2 - len(str(int(value)))))
