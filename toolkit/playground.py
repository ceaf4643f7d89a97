"""Give a trained model away, so that a page of the book can run it in the browser.

    playground.give_away("dates", model, source=characters, ...)

The weights become an output of the cell, which is kept with the other outputs of the
chapter. When the book is built, ``tools/playground.py`` writes each model into a script
of its own, ``_static/playground/dates.weights.js``, which holds one object:

    format   1; to be raised when the meaning of anything here changes
    model    the class that was trained
    facts    how its layers compute, and what was said about its data
    tensors  names and shapes, in the order of the numbers
    numbers  all numbers as base64 of little-endian float32
    crc32    checksum of the numbers' bytes
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any

from torch import nn

from toolkit.decoder_block import Block

FORMAT = 1
LARGEST = 1_600_000  # bytes of a script; the book rounds its weights to a quarter
MIME = "application/vnd.attention-from-scratch.model+json"


class GivenAway:
    """A trained model as Sphinx reads it: name and file.

    Args:
        name: what the script is to be called.
        model: a trained model. Buffers are left out: they can be computed.
        facts: what the page needs besides; anything that JSON can hold.

    Raises:
        ValueError: the layers do not all compute in the same way, or the script would
            be too large for a page.
    """

    def __init__(self, name: str, model: nn.Module, facts: dict[str, Any]) -> None:
        self.name = name
        self.file = packed(model, {**computation(model), **facts})
        size = len(script(name, self.file))
        if size > LARGEST:
            raise ValueError(
                f"{name} would take {size:,} bytes, more than the {LARGEST:,} that a "
                "page should load"
            )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        count = sum(math.prod(shape) for _, shape in self.file["tensors"])
        return {
            MIME: {"name": self.name, "file": self.file},
            "text/plain": f"{count:,} numbers for the playground",
        }


def give_away(name: str, model: nn.Module, **facts: Any) -> None:
    """Display the weights of a model as an output from which the book takes them.

    Args:
        name: what the script is to be called.
        model: a trained model.
        facts: what the page needs besides; anything that JSON can hold.

    Raises:
        ValueError: the layers do not all compute in the same way, or the script would
            be too large for a page.
    """
    from IPython.display import display

    display(GivenAway(name, model, facts))


def computation(model: nn.Module) -> dict[str, Any]:
    """What the weights do not tell about how a transformer computes.

    Raises:
        ValueError: two layers differ, or there are none.
    """
    kinds = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer | Block
    layers = [part for part in model.modules() if isinstance(part, kinds)]
    own = [(x.num_heads, True, "relu") for x in layers if isinstance(x, Block)]
    torchs = [
        (x.self_attn.num_heads, x.norm_first, x.activation.__name__)
        for x in layers
        if not isinstance(x, Block)
    ]
    facts = {
        "heads": {heads for heads, _, _ in own + torchs},
        "norm_first": {norm_first for _, norm_first, _ in own + torchs},
        "activation": {activation for _, _, activation in own + torchs},
        "eps": {p.eps for p in model.modules() if isinstance(p, nn.LayerNorm)},
    }
    for name, found in facts.items():
        if len(found) != 1:
            raise ValueError(f"one {name} for all layers is needed, found {found}")
    return {name: found.pop() for name, found in facts.items()}


def packed(model: nn.Module, facts: dict[str, Any]) -> dict[str, Any]:
    """The object that the module's docstring describes."""
    tensors, numbers = [], b""
    for name, parameter in model.named_parameters():
        tensors.append([name, list(parameter.shape)])
        numbers += parameter.detach().cpu().numpy().astype("<f4").tobytes()
    return {
        "format": FORMAT,
        "model": type(model).__name__,
        "facts": facts,
        "tensors": tensors,
        "numbers": base64.b64encode(numbers).decode(),
        "crc32": zlib.crc32(numbers),
    }


def script(name: str, file: dict[str, Any]) -> str:
    """JavaScript that leaves the object where ``weights.js`` looks for it.

    It is a script and no JSON, because browsers refuse to fetch data from files.
    """
    data = json.dumps(file, separators=(",", ":"), ensure_ascii=True)
    return (
        "globalThis.Playground ??= {};\n"
        "Playground.files ??= {};\n"
        f"Playground.files[{json.dumps(name)}] = {data};\n"
    )
