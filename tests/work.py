"""How much work a call is, told without a clock, so that no other work adds to it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from unittest import mock


def work(do: Callable[[], Any]) -> int:
    """Lines of Python that run in a call, and characters that it has Python compile.

    What a function does that is written in C, such as a search for an expression,
    counts as the line that calls it.
    """
    lines = characters = 0
    compiles = builtins.compile

    def count(frame: FrameType, event: str, argument: Any) -> Callable:
        nonlocal lines
        lines += event == "line"
        return count

    def compile_counted(source: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal characters
        characters += len(source) if isinstance(source, str | bytes) else 0
        return compiles(source, *arguments, **options)

    before = sys.gettrace()
    with mock.patch.object(builtins, "compile", compile_counted):
        sys.settrace(count)
        try:
            do()
        finally:
            sys.settrace(before)
    return lines + characters
