"""Dictionaries with other names than asked for, such as those of parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.symptoms.outcomes import Outcome, agree, aligned, valued

MOST_NAMES = 4  # that are listed
MOST_SIZES = 8  # of a shape
_NAME = re.compile(r"[\w.]+")  # and nothing that a case counts, in several words
NAMES_TOO_MANY = (
    "All the names that are asked for are there, and others besides, such as those of "
    "parameters that the task does not name. Other differences may follow from what "
    "they stand for."
)


def names_differ(outcomes: Sequence[Outcome]) -> str:
    """All that is wrong are the names in a dictionary; what both have is right."""
    found, common = [], 0
    for outcome in valued(outcomes):
        for _, right, given in aligned(outcome):
            if agree(outcome, right, given):
                continue
            if not isinstance(right, dict) or not isinstance(given, dict):
                return ""
            shared = right.keys() & given.keys()
            if not all(agree(outcome, right[name], given[name]) for name in shared):
                return ""
            common += len(shared)
            lacks, more = right.keys() - given.keys(), given.keys() - right.keys()
            found.append((bool(lacks), bool(more)))
    if not found or not common:
        return ""
    some_lack, some_more = (any(side) for side in zip(*found, strict=True))
    if some_lack and some_more:
        what = "Names are missing and others are too many: some are spelled otherwise"
    else:
        what = (
            "Names are missing" if some_lack else "There are more names than asked for"
        )
    return f"{what}. Everything under the other names is right."


def other_names(outcomes: Sequence[Outcome]) -> str:
    """Names that a dictionary lacks or has too many, such as that of parameters."""
    missing: dict[str, None] = {}
    some_more = False
    alike = True  # are as many others there, of the same shapes?
    for outcome in valued(outcomes):
        for _, right, given in aligned(outcome):
            if not isinstance(right, dict) or not isinstance(given, dict):
                continue
            lacks, more = right.keys() - given.keys(), given.keys() - right.keys()
            some_more |= any(_NAME.fullmatch(name) for name in more)
            for name in sorted(lacks):
                missing[re.sub(r"(?<=\.)\d+(?=\.)", "N", name)] = None
            alike &= sorted(_form(right[name]) for name in lacks) == sorted(
                _form(given[name]) for name in more
            )
    if not missing:
        return NAMES_TOO_MANY if some_more else ""
    first = ", ".join(f"`{name}`" for name in list(missing)[:MOST_NAMES])
    told = f"Names are missing: {first}"
    if len(missing) > MOST_NAMES:
        told += f" and {len(missing) - MOST_NAMES} more"
    if any(".N." in name for name in missing):
        told += " (N stands for any number)"
    if alike:
        told += (
            ". What is there under other names has the same shapes, so it may well be "
            "what is missing"
        )
    return (
        f"{told}. Correct the names first: other differences may follow from them, as "
        "where parameters are set by name."
    )


def _form(value: Any) -> tuple:
    """The shape of an array; of numbers in a list, as of a shape, these themselves."""
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, list):
        first = value[:MOST_SIZES]
        return tuple(int(n) for n in first if isinstance(n, np.ndarray) and _whole(n))
    return ()


def _whole(number: np.ndarray) -> bool:
    return number.shape == () and number.dtype.kind in "iu"
