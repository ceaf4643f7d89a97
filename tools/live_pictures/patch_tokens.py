"""A vision transformer: a patch is chosen in an image, and becomes a token.

The digit, the model and its seed are those of the chapter, where nothing has been
learned yet at this place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from autograder.exercise import load_topic
from toolkit import images
from tools.live_pictures.markup import Picture, element, fixed, hint, says

DIGIT = 13  # among the training images
PATCH, SIDE = 2, 4  # pixels along a patch, patches along the image
SIZES = {
    "image_size": PATCH * SIDE, "patch_size": PATCH, "channels": 1, "embed_dim": 64,
    "num_layers": 4, "num_heads": 4, "mlp_dim": 128, "num_classes": 10,
}  # fmt: skip
START = (5, 11)  # the patch and the feature, counted from 0
DECIMALS = 4  # of the parameters in the page
LEFT, STEP = 10, 5  # of the bars, one for each feature
BASES = {"projected": 40, "position": 96, "token": 152}  # the middle of each row
HIGHEST = 22  # of a bar
TRACK = 196  # on which the feature is chosen


class Parts(NamedTuple):
    """An image, and what makes its tokens.

    Attributes:
        image: (8, 8) from 0, blank, to 1, full ink.
        weight: (E, 4) the projection.
        bias: (E,)
        positions: (16, E), without that of the class token.
    """

    image: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    positions: np.ndarray


def parts() -> Parts:
    """The digit, and the parameters of the reference of the chapter before training."""
    with torch.random.fork_rng():  # whoever builds the page keeps their random numbers
        torch.manual_seed(0)
        model = load_topic("vision_transformer").reference("VisionTransformer")(**SIZES)
    made = model.embedding
    tensors = (made.projection.weight, made.projection.bias, made.positions[0, 1:])
    rounded = [t.detach().double().numpy().round(DECIMALS) for t in tensors]
    return Parts(images.digits().images[DIGIT, 0].double().numpy(), *rounded)


def flat_patches(image: np.ndarray) -> np.ndarray:
    """(16, 4) the patches row by row, and the pixels of each row by row."""
    cut = image.reshape(SIDE, PATCH, SIDE, PATCH).swapaxes(1, 2)
    return cut.reshape(SIDE * SIDE, PATCH * PATCH)


def sentence(patch: int, values: Sequence[float]) -> str:
    """What the picture shows, in the words of the script."""
    row, column = patch // SIDE + 1, patch % SIDE + 1
    where = f"Patch {patch + 1} (row {row}, column {column})"
    if not any(values):
        return (
            f"{where} is blank. Its projection is the bias alone; only position "
            f"{patch + 1} distinguishes its token from those of other blank patches."
        )
    *most, last = [fixed(value, 2) for value in values]
    return (
        f"{where} holds {', '.join(most)} and {last}. Its projection plus position "
        f"{patch + 1} is token {patch + 1} of the sequence; token 0 is the class token."
    )


def about_feature(feature: int, projected: float, position: float) -> str:
    """The numbers of one feature."""
    return (
        f"Feature {feature + 1}: projected {fixed(projected, 3)}, position "
        f"{fixed(position, 3)}, token {fixed(projected + position, 3)}"
    )


def picture() -> Picture:
    """One patch in the image, and the way to its token."""
    patch, feature = START
    made = parts()
    patches = flat_patches(made.image)
    projected = patches @ made.weight.T + made.bias  # (16, E)
    scale = HIGHEST / np.abs(projected).max()
    rows = {
        "projected": projected[patch],
        "position": made.positions[patch],
        "token": projected[patch] + made.positions[patch],
    }
    numbers = about_feature(
        feature, rows["projected"][feature], rows["position"][feature]
    )
    right = (
        _flattened(patch, patches[patch])
        + _drawing(rows, scale, feature)
        + element("p", numbers, class_="patches-feature")
    )
    body = "\n".join(
        [
            element(
                "div",
                _image(made.image, patch) + element("div", right, class_="patches-way"),
                class_="live-columns patches",
            ),
            _sequence(patch),
            says(sentence(patch, patches[patch])),
            hint(
                "Press a patch, or go from patch to patch with the arrow keys. Drag "
                "the mark below the bars to read one feature of the token."
            ),
        ]
    )
    data = {
        "patches": patches.tolist(),
        "weight": made.weight.tolist(),
        "bias": made.bias.tolist(),
        "positions": made.positions.tolist(),
        "start": START,
        "left": LEFT,
        "step": STEP,
        "bases": BASES,
        "scale": round(float(scale), 3),
        "track": TRACK,
    }
    return Picture("From a patch to its token", body, data)


def _image(image: np.ndarray, chosen: int) -> str:
    """The pixels, and above them a button for each patch."""
    pixels = "".join(
        element("rect", x=column, y=row, width=1, height=1, fill_opacity=f"{ink:.4g}")
        for (row, column), ink in np.ndenumerate(image)
        if ink
    )
    side = len(image)
    drawing = element(
        "svg", pixels, class_="patches-pixels", viewBox=f"0 0 {side} {side}",
        shape_rendering="crispEdges", role="img",
        aria_label="A handwritten digit of eight by eight pixels, cut into four rows "
        "of four patches of two by two pixels each.",
    )  # fmt: skip
    buttons = "".join(
        element(
            "button",
            element("span", str(n + 1)),
            type="button",
            class_="patches-patch",
            aria_pressed=str(n == chosen).lower(),
            aria_label=f"Patch {n + 1}: row {n // SIDE + 1}, column {n % SIDE + 1}",
            disabled=True,
        )
        for n in range(SIDE * SIDE)
    )
    grid = element(
        "div", buttons, class_="patches-grid", role="group", aria_label="Patches"
    )
    return element("div", drawing + grid, class_="patches-image")


def _flattened(patch: int, values: Sequence[float]) -> str:
    """The pixels of the patch, and the vector of the same numbers."""

    def cells(count: int) -> str:
        made = "".join(
            element("span", fixed(value, 2), style=f"--ink:{value:.4g}")
            for value in values
        )
        return element("span", made, class_=f"patches-values is-{count}")

    return element(
        "p",
        element("b", f"Patch {patch + 1}") + cells(PATCH)
        + element("span", "→", class_="patches-arrow", aria_hidden="true")
        + cells(PATCH * PATCH),
        class_="patches-flattened",
    )  # fmt: skip


def bars(values: Sequence[float], base: float, scale: float) -> str:
    """The path of a row of bars, up or down from their base."""
    return "".join(
        f"M{LEFT + STEP * n} {base}V{base - scale * value:.2f}"
        for n, value in enumerate(values)
    )


def _drawing(rows: dict[str, np.ndarray], scale: float, feature: int) -> str:
    names = {
        "projected": "projected: W p + b",
        "position": "+ position",
        "token": "= token",
    }
    last = LEFT + STEP * (SIZES["embed_dim"] - 1)
    strips = "".join(
        element("path", d=f"M{LEFT} {base}H{last}", class_="plane-axes")
        + element("path", d=bars(rows[name], base, scale),
                  class_=f"patches-bars of-{name}")
        + element("text", names[name], x=LEFT - 2, y=base - HIGHEST - 4,
                  class_="spread-name")
        for name, base in BASES.items()
    )  # fmt: skip
    x = LEFT + STEP * feature
    mark = element(
        "g",
        element("path", d=f"M0 0V{12 - TRACK}", class_="patches-line")
        + element("circle", r=22, class_="live-reach") + element("circle", r=8),
        class_="patches-mark live-handle", transform=f"translate({x} {TRACK})",
    )  # fmt: skip
    track = element("path", d=f"M{LEFT} {TRACK}H{last}", class_="spread-track")
    return element(
        "svg", strips + track + mark, class_="patches-bars-of-token",
        viewBox=f"0 0 {last + LEFT} {TRACK + 14}", role="img",
        aria_label="Three rows of 64 bars, one for each feature of a token. The first "
        "row, the projected patch, and the third, the token, look alike. In the "
        "second, the position, all bars are so short that they hardly show.",
    )  # fmt: skip


def _sequence(patch: int) -> str:
    """All tokens of the image in their order."""
    tokens = "".join(
        element("li", name, class_="is-chosen" if n == patch + 1 else "")
        for n, name in enumerate(["class", *map(str, range(1, SIDE * SIDE + 1))])
    )
    return element(
        "div",
        element("p", "Sequence of tokens", id="patches-sequence")
        + element("ol", tokens, aria_labelledby="patches-sequence"),
        class_="patches-sequence",
    )
