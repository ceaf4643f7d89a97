"""Positions: a query and a key are dragged along them, and their dot product is read.

The codes are sinusoidal, as wide as those that the chapter compares.
"""

from __future__ import annotations

import numpy as np

from autograder.exercise import load_topic
from tools.live_pictures.markup import Picture, element, fixed, hint, says

LENGTH, DIM = 64, 64
START = (20, 27)  # positions of the query and of the key
WIDTH, LEFT, RIGHT = 340, 30, 326  # of the drawing and of its axis
TOP, GROUND = 20, 180  # heights of the largest cosine, 1, and of 0


def similarities() -> np.ndarray:
    """(LENGTH, LENGTH) cosines of all codes, by the reference of the chapter."""
    encode = load_topic("positional_encoding").reference("sinusoidal_encoding")
    codes = encode(LENGTH, DIM)  # (LENGTH, DIM)
    return codes @ codes.T / (DIM / 2)  # each code has this squared norm


def across(position: float) -> float:
    """Where a position is on the axis."""
    return LEFT + (RIGHT - LEFT) * position / (LENGTH - 1)


def up(cosine: float) -> float:
    """Where a cosine is above the axis."""
    return GROUND - (GROUND - TOP) * cosine


def sentence(query: int, key: int, cosine: float) -> str:
    """What the picture shows, in the words of the script."""
    apart = abs(key - query)
    if apart == 0:
        where = "the same position"
    else:
        side = "after" if key > query else "before"
        where = f"{apart} position{'s' * (apart != 1)} {side} it"
    return (
        f"Query at position {query}, key at position {key}, {where}: "
        f"cosine {fixed(cosine, 3)}."
    )


def picture() -> Picture:
    """The cosines of one position with all others."""
    query, key = START
    row = similarities()[query]
    body = "\n".join(
        [
            _drawing(row),
            says(sentence(query, key, row[key])),
            hint(
                "Drag the round query or the square key, press a place to send the "
                "query there, or use the arrow keys (Shift for ten positions)."
            ),
        ]
    )
    data = {
        "length": LENGTH,
        "dim": DIM,
        "start": START,
        "left": LEFT,
        "right": RIGHT,
        "top": TOP,
        "ground": GROUND,
    }
    return Picture("Dot products of positions", body, data)


def _drawing(row: np.ndarray) -> str:
    query, key = START
    points = [f"{across(j):.2f} {up(cosine):.2f}" for j, cosine in enumerate(row)]
    return element(
        "svg",
        _axes()
        + element("path", d=f"M{'L'.join(points)}", class_="position-curve")
        + element("path", d=f"M{across(query):.2f} {TOP}V{GROUND}",
                  class_="position-line")
        + element(
            "g",
            element("rect", x=-22, y=-22, width=44, height=44, class_="live-reach")
            + element("rect", x=-7, y=-7, width=14, height=14)
            + element("text", "k", x=11, y=-9),
            class_="position-key live-handle",
            transform=f"translate({across(key):.2f} {up(row[key]):.2f})",
        )
        + element(
            "g",
            element("circle", r=22, class_="live-reach") + element("circle", r=9)
            + element("text", "q", x=12, y=-9),
            class_="position-query live-handle",
            transform=f"translate({across(query):.2f} {GROUND})",
        ),
        class_="positions", viewBox=f"0 0 {WIDTH} {GROUND + 46}", role="img",
        aria_label="A curve over the positions of a sequence: the cosine of the code "
        "of one of them, the query, with the codes of all. It is one at the query, "
        "falls quickly on both sides, and then wavers. A square, the key, is on it.",
    )  # fmt: skip


def _axes() -> str:
    lines = "".join(f"M{LEFT} {up(c):g}H{RIGHT}" for c in (0, 0.5, 1))
    names = [("0", 0.0), ("0.5", 0.5), ("1", 1.0)]
    numbers = "".join(
        element("text", name, x=LEFT - 6, y=f"{up(c) + 4:g}", text_anchor="end")
        for name, c in names
    ) + "".join(
        element("text", str(p), x=f"{across(p):.2f}", y=GROUND + 26,
                text_anchor="middle")
        for p in range(0, LENGTH, 10)
    )  # fmt: skip
    return (
        element("path", d=lines, class_="plane-grid")
        + element("g", numbers, class_="spread-ticks")
        + element("text", "position", x=RIGHT, y=GROUND + 42, text_anchor="end",
                  class_="spread-name")
    )  # fmt: skip
