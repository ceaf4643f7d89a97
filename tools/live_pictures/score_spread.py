"""Scaling: the width of random vectors, and how far their dot products spread.

One query and some keys are drawn once; a width of d uses the first d entries of each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from autograder.exercise import load_topic
from tools.attention_scene import percent
from tools.live_pictures.markup import Picture, element, fixed, hint, says

SEED, NUM_KEYS, LARGEST = 4, 24, 12  # widths are the powers of two up to 2**LARGEST
START = 6  # d = 64
WIDTH, LEFT, RIGHT = 340, 14, 326  # of the drawing and of its axes
STRIPS = {"raw": (26, 92), "scaled": (130, 196)}  # where each begins and ends
AXIS, TRACK = 214, 268  # heights of the axis of scores and of that of widths
REACH = 160.0  # the end of the axis of scores
TICKS = (-100, -30, -10, -3, 0, 3, 10, 30, 100)
SMALLEST, GROWTH = 2.5, 8.0  # pixels: radius of a dot without weight, and more with it


class Spread(NamedTuple):
    """Scores (N,) and their softmax (N,)."""

    scores: np.ndarray
    weights: np.ndarray


def products() -> np.ndarray:
    """(LARGEST + 1, N) dot products of the query with each key, for each width."""
    rng = np.random.default_rng(SEED)
    query = rng.standard_normal(2**LARGEST)
    keys = rng.standard_normal((NUM_KEYS, 2**LARGEST))
    summed = np.cumsum(keys * query, axis=1)  # (N, 2**LARGEST)
    return summed[:, 2 ** np.arange(LARGEST + 1) - 1].T


def spread(raw: np.ndarray, power: int) -> dict[str, Spread]:
    """Scores and weights without a scale, and divided by sqrt(d)."""
    softmax = load_topic("simplified_attention").reference("softmax")
    found = {"raw": raw[power], "scaled": raw[power] / math.sqrt(2**power)}
    return {name: Spread(s, softmax(s)) for name, s in found.items()}


def across(score: float) -> float:
    """Where a score is on the axis: linear near zero, logarithmic far out."""
    middle, half = (LEFT + RIGHT) / 2, (RIGHT - LEFT) / 2
    return middle + half * math.asinh(score) / math.asinh(REACH)


def sentence(power: int, found: dict[str, Spread]) -> str:
    """What the picture shows, in the words of the script."""
    (raw, scaled) = (found["raw"], found["scaled"])
    return (
        f"d = {2**power}: the scores have a standard deviation of "
        f"{fixed(raw.scores.std(), 1)}, and the largest weight is "
        f"{percent(raw.weights.max())}. Divided by √d, they have one of "
        f"{fixed(scaled.scores.std(), 1)}, and the largest weight is "
        f"{percent(scaled.weights.max())}."
    )


def picture() -> Picture:
    """Both distributions at the first width, and the axis on which it is changed."""
    raw = np.round(products(), 3)
    found = spread(raw, START)
    body = "\n".join(
        [
            _drawing(found),
            says(sentence(START, found)),
            hint(
                "Drag d along its axis, press a place on the axis, or use the arrow "
                "keys. Point at a dot to read its numbers."
            ),
        ]
    )
    data = {
        "products": raw.tolist(),
        "start": START,
        "left": LEFT,
        "right": RIGHT,
        "reach": REACH,
        "smallest": SMALLEST,
        "growth": GROWTH,
    }
    return Picture("How far dot products spread", body, data)


def _drawing(found: dict[str, Spread]) -> str:
    titles = {"raw": "q · k", "scaled": "q · k / √d"}
    parts = [_strip(name, titles[name], *STRIPS[name], found[name]) for name in STRIPS]
    return element(
        "svg", "".join([_scores_axis(), *parts, _widths_axis()]), class_="spread",
        viewBox=f"0 0 {WIDTH} {TRACK + 34}", role="img",
        aria_label="Two rows of dots, one for each of the keys, on a common axis of "
        "scores. The dot products themselves are spread far apart, and one large dot "
        "on the right has nearly all the weight. Divided by the root of d, the dots "
        "stay close to zero and have similar weights.",
    )  # fmt: skip


def height(key: int, top: float, bottom: float) -> float:
    """Where the dot of a key is in its strip: keys keep their own height."""
    return top + 18 + (bottom - top - 26) * ((key * 0.618034) % 1)


def _strip(name: str, title: str, top: float, bottom: float, found: Spread) -> str:
    dots = "".join(
        element(
            "circle",
            element("title", dot_title(score, weight)),
            cx=f"{across(score):.2f}",
            cy=f"{height(key, top, bottom):.2f}",
            r=f"{SMALLEST + GROWTH * weight**0.5:.2f}",
            fill_opacity=f"{0.25 + 0.75 * weight**0.5:.3f}",
        )
        for key, (score, weight) in enumerate(
            zip(found.scores, found.weights, strict=True)
        )
    )
    line = element("path", d=f"M{LEFT} {bottom}H{RIGHT}", class_="spread-ground")
    name_of_it = element("text", title, x=LEFT, y=top, class_="spread-name")
    return line + name_of_it + element("g", dots, class_=f"spread-dots is-{name}")


def dot_title(score: float, weight: float) -> str:
    """What is told under the pointer."""
    return f"score {fixed(score, 2)}, weight {percent(weight)}"


def _scores_axis() -> str:
    lines = "".join(f"M{across(tick):.2f} 34V{AXIS - 14}" for tick in TICKS)
    numbers = "".join(
        element("text", fixed(tick, 0), x=f"{across(tick):.2f}", y=AXIS,
                text_anchor="middle", class_="is-between" if abs(tick) == 30 else None)
        for tick in TICKS
    )  # fmt: skip
    return element("path", d=lines, class_="plane-grid") + element(
        "g", numbers, class_="spread-ticks"
    )


def _widths_axis() -> str:
    def at(power: int) -> float:
        return LEFT + 14 + (RIGHT - LEFT - 28) * power / LARGEST

    names = "".join(
        element("text", str(2**power), x=f"{at(power):.2f}", y=TRACK + 28,
                text_anchor="middle")
        for power in range(0, LARGEST + 1, 2)
    )  # fmt: skip
    return (
        element("path", d=f"M{at(0)} {TRACK}H{at(LARGEST)}", class_="spread-track")
        + element("g", names, class_="spread-ticks")
        + element("text", "width d", x=LEFT, y=TRACK - 14, class_="spread-name")
        + element(
            "g",
            element("circle", r=22, class_="live-reach") + element("circle", r=9),
            class_="spread-width live-handle",
            transform=f"translate({at(START):g} {TRACK})",
        )
    )
