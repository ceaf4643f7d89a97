"""Fingerprints of a text, by winnowing: the fewest that cannot miss a long match.

Every run of ``K`` tokens is hashed, and of each ``WINDOW`` hashes in a row the smallest
is kept. Any match of ``WINDOW + K - 1`` tokens has a fingerprint, and nothing shorter
than ``K`` tokens does. Time and memory are linear in the length of the text.

Source: Schleimer, Wilkerson and Aiken (2003), "Winnowing: local algorithms for document
fingerprinting".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from autograder.similarity.syntax import (
    KEYWORDS,
    MAX_TOKENS,
    Token,
    Tree,
    tokens_of,
    trees_of,
)

K = 6  # tokens of a run
WINDOW = 4  # runs, of which one is kept
SHAPE = (3, 60)  # nodes of a tree that counts as a shape of its own
LONGEST_WORD = 60  # characters
MAX_LINE = 2_000  # characters; words of longer lines are not looked at
MAX_WORDS = 5_000  # of one text
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NAME = re.compile(r"[^\W\d_]\w{2,}")


class Features(NamedTuple):
    """What is compared of a text: hashes, and the lines that each stands for.

    ``hashes`` are (F,) unsigned; ``lines`` are (F, 2), the first line and the last,
    counted from 1.
    """

    hashes: np.ndarray
    lines: np.ndarray


class Compared(NamedTuple):
    """A text as it is compared.

    Attributes:
        runs: fingerprints of its normalised code.
        details: of single expressions and statements, whatever stands around them.
        words: names, and words of comments and texts, as they are written.
        as_text: fingerprints of its words and signs, for when one of the texts that
            are compared cannot be read as Python.
        is_code: whether Python can read it.
        cut: whether it has more tokens or words than are compared.
    """

    runs: Features
    details: Features
    words: Features
    as_text: Features
    is_code: bool
    cut: bool


def compared(source: str) -> Compared:
    """All that is compared of a text."""
    trees = trees_of(source)
    plain, words = tokens_of(source, None), words_of(source)
    tokens = plain if trees is None else tokens_of(source, trees)
    cut = len(tokens) == MAX_TOKENS or len(words.hashes) == MAX_WORDS
    as_text = fingerprints(plain)
    if trees is None:
        return Compared(as_text, _NONE, words, as_text, False, cut)
    return Compared(fingerprints(tokens), _details(trees), words, as_text, True, cut)


def fingerprints(tokens: Sequence[Token]) -> Features:
    """The fingerprints of a sequence of tokens."""
    if len(tokens) < K:
        return _NONE
    labels = np.array([_hash(token.label) for token in tokens], dtype=np.uint64)
    count = len(tokens) - K + 1
    with np.errstate(over="ignore"):
        runs = np.zeros(count, dtype=np.uint64)
        for step in range(K):
            runs = runs * _MIX + labels[step : step + count]
            runs ^= runs >> np.uint64(29)  # (count,)
    window = min(WINDOW, count)
    windows = np.lib.stride_tricks.sliding_window_view(runs, window)
    # The rightmost of equal ones, as in the paper.
    kept = np.arange(len(windows)) + window - 1 - windows[:, ::-1].argmin(axis=1)
    kept = np.unique(kept)  # (F,)
    lines = np.array([[token.line, token.line] for token in tokens])
    lines = np.sort(np.stack([lines[kept, 0], lines[kept + K - 1, 1]], axis=1), axis=1)
    return Features(runs[kept], lines)


def words_of(source: str) -> Features:
    """The words of a text, names in code among them."""
    hashes, lines = [], []
    for number, line in enumerate(source.split("\n"), 1):
        for word in words_in(line):
            if len(hashes) == MAX_WORDS:
                break
            hashes.append(hash_of_word(word))
            lines.append((number, number))
    return _features(hashes, lines)


def words_in(line: str) -> list[str]:
    """The words of a line without Python's own, in small letters, cut if long."""
    found = _NAME.findall(line) if len(line) <= MAX_LINE else []
    return [word[:LONGEST_WORD].casefold() for word in found if word not in KEYWORDS]


def hash_of_word(word: str) -> int:
    """The hash by which a word is compared."""
    return _hash("word " + word)


def _details(trees: list[Tree]) -> Features:
    """Trees of moderate size, each as a whole, wherever they are."""
    hashes, lines = [], []
    for tree in trees:
        for node in tree.walk():
            if SHAPE[0] <= node.size <= SHAPE[1]:
                hashes.append(int.from_bytes(node.digest, "big"))
                lines.append((node.line, node.last))
    return _features(hashes, lines)


def _features(hashes: list[int], lines: list[tuple[int, int]]) -> Features:
    return Features(
        np.array(hashes, dtype=np.uint64),
        np.array(lines, dtype=np.int64).reshape(-1, 2),
    )


@lru_cache(maxsize=4096)
def _hash(text: str) -> int:
    data = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(data, "big")


_NONE = _features([], [])
