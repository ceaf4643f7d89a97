"""Tell which answers to an instructor's questions changed since they were marked.

The report of an earlier run holds a digest of each. Where it is lost, or older than
these digests, the notebook that was kept for feedback tells nearly as much.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

DIGESTS = "answers_by_hand"  # another name when something else is digested
CERTAIN = "was rewritten; its mark by hand is of the earlier text"
GONE = "is no longer there; its mark by hand is of an earlier text"
UNCERTAIN = (
    "may have been rewritten since its mark by hand: look again, since the report on "
    "the earlier text is missing"
)


def rewritten(
    said: Mapping[str, Any],
    report: Mapping[str, Any],
    marked: Collection[str],
    kept: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> dict[str, str]:
    """The answers that have a mark by hand, and were another when they got it.

    Args:
        said: the report of an earlier run; empty if there is none.
        report: of this run.
        marked: the grade ids of the cells that have a mark by hand.
        kept: the notebook of an earlier run, empty if there is none, and of this one.

    Returns:
        What to tell about each of them, by grade id.
    """
    now, known = report.get(DIGESTS) or {}, said.get(DIGESTS) or {}
    before, after = map(_sections, kept)
    found: dict[str, str] = {}
    for name in sorted(set(marked) & (now.keys() | known.keys())):
        if name not in now:
            found[name] = GONE
        elif name in known:
            found |= {} if known[name] == now[name] else {name: CERTAIN}
        elif said.get("refused") or before.get(name) != after.get(name, ""):
            found[name] = UNCERTAIN  # refused: another text, or none, was marked before
    return found


def _sections(notebook: Mapping[str, Any]) -> dict[str, str]:
    """The text of each cell with a grade id and of those below it that have none.

    nbgrader's own autograder keeps cells as they were handed in, so their metadata may
    be anything.
    """
    found: dict[str, str] = {}
    name = ""
    for cell in notebook.get("cells", ()):
        parts = cell if isinstance(cell, dict) else {}
        for key in ("metadata", "nbgrader"):
            inner = parts.get(key)
            parts = inner if isinstance(inner, dict) else {}
        name = str(parts.get("grade_id", name))
        found[name] = f"{found.get(name, '')}{_source(cell)}\n\n"
    return found


def _source(cell: Any) -> str:
    source = cell.get("source") if isinstance(cell, dict) else ""
    lines = source if isinstance(source, list) else [source]
    return "".join(map(str, lines))
