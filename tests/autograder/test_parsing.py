"""What is nested too deeply for Python's parser is unreadable, and no crash."""

from __future__ import annotations

import pytest

from autograder.parsing import UNREADABLE, parse


@pytest.mark.parametrize("source", ["-" * 100_000 + "1", "lambda:" * 10_000 + "1"])
def test_what_is_nested_too_deeply_cannot_be_read(source):
    with pytest.raises(UNREADABLE):
        parse(source)
