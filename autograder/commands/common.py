"""Options, words and errors that commands share."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.errors import AutograderError
from autograder.files import printable
from autograder.tables import number_in


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
) -> argparse.ArgumentParser:
    """Add a command about one chapter of a course."""
    parser = commands.add_parser(name, help=about)
    parser.add_argument("chapter")
    add_course(parser)
    parser.set_defaults(run=run)
    return parser


def add_course(parser: argparse.ArgumentParser) -> None:
    """The option that says where the course is."""
    parser.add_argument("--course", type=Path, required=True, metavar="DIR")


def progress_bar(unit: str) -> Callable[[Any, int], Any]:
    """Draws how much of a number of things is done, where there is a terminal."""
    from tqdm import tqdm

    def progress(items: Any, total: int) -> Any:
        return tqdm(items, total=total, unit=unit, disable=None)

    return progress


def say(text: str, **where: Any) -> None:
    """Print lines with characters that act on a terminal escaped."""
    print("\n".join(map(printable, text.split("\n"))), **where)


def positive(text: str) -> int:
    """A whole number of one or more, as an option gives it."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def points_given(text: str) -> float:
    """A number above zero, as an option gives it."""
    points = number_in(text)
    if not points:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return points


def can_grade() -> bool:
    """Whether the grader works here: with the solutions, and not on Windows."""
    return sys.platform != "win32" and importlib.util.find_spec("solutions") is not None


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Name the extra to install where one of its packages is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise AutograderError(
            f"{error.name} is not installed: call "
            f"`pip install 'attention-from-scratch[{name}]'`"
        ) from None
