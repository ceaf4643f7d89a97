"""The pairs that are most alike, as one self-contained page for the instructor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from autograder.files import printable, write_atomically
from autograder.similarity.evidence import LEAST_CLASS, Likeness
from autograder.similarity.pairs import UNLIKELY, Pair, groups_of
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
    environment = Environment(
        loader=PackageLoader(__name__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"breakable": _breakable, "code": printable}
    return environment.get_template("similar.html").render(
        chapter=class_.chapter,
        size=len(class_.works),
        count=f"{found.first.size:,}",
        pairs=[_shown(pair) for pair in pairs],
        standing_out=sum(pair.stands_out for pair in pairs),
        groups=groups_of(pairs),
        left_out=sorted(class_.left_out.items()),
        graded=class_.graded,
        least_class=LEAST_CLASS,
        known=found.chance is not None,
        tail=f"{found.chance.tail:.0%}" if found.chance else "",
        unlikely=f"{UNLIKELY:g}",
    )


def _shown(pair: Pair) -> dict[str, Any]:
    return {
        "pair": pair,
        "said": in_words(pair.expected),
        "powers": [f"{power:.1f}" for power in pair.powers],
        "total": f"{sum(pair.powers):.1f}",
        "common": [
            {
                "part": part,
                "name": "cells of their own" if part.exercise == OWN_CELLS else None,
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


def _breakable(value: Any) -> Markup:
    """Plain characters, in which names may go on in the next line."""
    return Markup(escape(printable(str(value))).replace("_", Markup("_<wbr>")))
