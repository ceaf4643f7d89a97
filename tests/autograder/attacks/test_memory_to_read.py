"""What takes far more memory than its file must not be read into the trusted side.

Whoever reads a notebook reads all of it, with the parser of the standard library: the
grader's workers, and ``report``, ``oral`` and others in one process for the whole
class. A file of 40 MB took up to 1.3 GB.
"""

from __future__ import annotations

import json
import tracemalloc

import pytest

from autograder import notebooks
from autograder.files import Unusable
from autograder.notebooks import MAX_FILE_BYTES, parse_notebook

# The smallest values of each kind; a number in one makes each of them another one.
SMALL = {
    "objects with a key": '{"":0}',
    "objects with keys of their own": '{"%x":0}',
    "objects with two keys": '{"x":1,"y":2}',
    "empty objects": "{}",
    "lists": "[]",
    "lists of a list": "[[]]",
    "whole numbers": "999",
    "other numbers": "1.5",
    "texts": '"ab"',
    "texts of wide letters": '"\u0101"',
    "texts of wider letters": '"\U00010101"',
    "escaped texts": '"\\u0101"',
    "quotes": '"\\""',
}
KEYS = {"keys": '"%x":0', "keys of wide letters": '"\u0101%x":0'}
EMPTY = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def notebook_with(values: str) -> bytes:
    """A notebook with such a value in its metadata, where nobody looks for it."""
    text = json.dumps({**EMPTY, "metadata": {"x": "VALUES"}})
    return text.replace('"VALUES"', values).encode()


def many(small: str, count: int) -> str:
    """This many small values, in a list or in an object."""
    values = ",".join(small % n if "%" in small else small for n in range(count))
    return f"{{{values}}}" if small in KEYS.values() else f"[{values}]"


def peak_of(function, *arguments) -> int:
    """The most bytes that Python takes during a call."""
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["objects with a key", "lists", "whole numbers"])
def test_a_file_full_of_small_values_is_refused_before_it_is_read(kind):
    small = SMALL[kind]
    room = MAX_FILE_BYTES - len(notebook_with("[]")) - 1
    values = f"[{small}{f',{small}' * (room // (len(small) + 1) - 1)}]"
    content = notebook_with(values)
    assert MAX_FILE_BYTES - 100 < len(content) <= MAX_FILE_BYTES

    def refuse():
        with pytest.raises(Unusable, match="so many values that reading it"):
            parse_notebook(content)

    assert peak_of(refuse) < 6 * MAX_FILE_BYTES  # its text, with letters of 4 bytes


@pytest.mark.parametrize("kind", [*SMALL, *KEYS])
@pytest.mark.parametrize("count", [5462, 10_923, 12_000])  # tables grow
def test_what_is_read_takes_no_more_than_was_estimated(monkeypatch, kind, count):
    content = notebook_with(many((SMALL | KEYS)[kind], count))
    text = len(content.decode()) * 4
    peak = peak_of(parse_notebook, content)
    monkeypatch.setattr(notebooks, "MAX_READ", peak - text - 20_000)
    with pytest.raises(Unusable, match="so many values"):
        parse_notebook(content)


@pytest.mark.parametrize(
    "text",
    [
        "{[,:" * 1_500_000,
        '"{[,:' * 1_400_000,
        '\\"{[,:' * 1_300_000,
        '\\\\","{[,:' * 1_200_000,
        "a" * (notebooks.PIECE - 91) + '","' + "{[,:" * 1_500_000,
    ],
    ids=["signs", "quotes", "escaped quotes", "backslashes", "across pieces"],
)
def test_signs_in_texts_are_no_values(text):
    data = {**EMPTY, "metadata": {"x": text, "y": ["\\", '"', "\\"]}}
    assert parse_notebook(json.dumps(data).encode()) == data


def test_large_charts_are_read():
    """Half a million numbers and as many points, as Jupyter writes them."""
    points = [{"x": 1, "y": 2}] * 500_000
    chart = {"data": [n / 3 for n in range(500_000)], "points": points}
    output = {"data": {"application/json": chart}, "output_type": "display_data"}
    cell = {"cell_type": "code", "source": "", "metadata": {}, "outputs": [output]}
    content = json.dumps({**EMPTY, "cells": [cell]}, indent=1).encode()
    assert parse_notebook(content)["cells"] == [cell]
    assert len(content) < MAX_FILE_BYTES
