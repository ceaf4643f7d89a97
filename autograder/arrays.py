"""Helpers for cases that only need NumPy: sizes and measures."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np


def different(rng: np.random.Generator, count: int, low: int, high: int) -> list[int]:
    """Whole numbers from low to high, all different, so that none can be confused."""
    return [int(n) for n in rng.choice(np.arange(low, high + 1), count, replace=False)]


def peak_bytes(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    """What a call returns, and the most bytes that it had allocated at one time."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    try:
        result = function(*arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not tracing:
            tracemalloc.stop()
    return result, peak - before


def noted(
    function: Callable[..., Any], note: Callable[..., Any] | None = None
) -> tuple[Callable[..., Any], list[Any]]:
    """A function that does the same, and what ``note`` says of each of its calls.

    The answer sees only the function. Notes kept as an attribute of it, or of the model
    behind it, could be changed by the answer.
    """
    notes: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if note is not None:
            notes.append(note(*args, **kwargs))
        return function(*args, **kwargs)

    return call, notes
