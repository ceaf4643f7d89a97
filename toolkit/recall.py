"""How many stored values a memory returns when it is given their keys.

One measure for every chapter that compares memories: keys and values are random unit
vectors, and a value counts as found if, of all stored values, it has the largest dot
product with the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

WIDTH = 16  # features of a key and of a value

Recall = Callable[[np.ndarray, np.ndarray], np.ndarray]


def fraction_found(
    recall: Recall,
    count: int,
    *,
    rewritten: bool = False,
    seeds: Iterable[int] = range(3),
    runs: int = 8,
) -> float:
    """The fraction of values that are found by their keys, over all seeds and runs.

    Args:
        recall: takes keys (count, 16) and values (count, 16), in the order in which
            they are stored, and returns the answers to these keys, (count, 16).
        count: how many different keys there are.
        rewritten: store each key twice, the second time with another value, which is
            the one to be found. ``recall`` then gets 2 * count pairs.
        seeds: one generator for each.
        runs: sets of keys and values drawn from each generator.
    """
    found, asked = 0, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        for _ in range(runs):
            keys, values = unit(rng.standard_normal((2, count, WIDTH)))
            if rewritten:
                newer = unit(rng.standard_normal((count, WIDTH)))
                keys = np.concatenate([keys, keys])
                values = np.concatenate([values, newer])
            nearest = (recall(keys, values)[-count:] @ values.T).argmax(axis=-1)
            found += int(np.sum(nearest == np.arange(len(values))[-count:]))
            asked += count
    return found / asked


def unit(vectors: np.ndarray) -> np.ndarray:
    """The vectors along the last axis, divided by their norms."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
