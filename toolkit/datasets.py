"""Data that chapters share: dates as people write them, in many languages.

A *line* holds one date or several, as the locale formats of Babel (the Unicode CLDR)
write them; its translation holds the same dates as ``YYYY-MM-DD``:

    Freitag, 3. Juli 2026; 9. Mai 1984   ->   2026-07-03 1984-05-09

``dates`` draws lines, ``Vocabulary`` turns text into ids and back. Every eleventh day
of the calendar is held out: it occurs in no line for training.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch
from torch import Tensor

LOCALES = {
    "en_US": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "el": "Greek",
    "fi": "Finnish",
    "hu": "Hungarian",
    "lv": "Latvian",
}  # month, day and year come in four orders
# Not "short": 04/07/26 means three different days in three countries.
FORMATS = ("medium", "long", "full")

FIRST_DAY, LAST_DAY = datetime.date(1930, 1, 1), datetime.date(2069, 12, 31)
SEPARATOR = "; "  # between dates in a source; in a target it is a space


@dataclass(frozen=True)
class Line:
    """One or more dates in one language, and the same dates as ``YYYY-MM-DD``."""

    source: str
    target: str
    locale: str

    @property
    def num_dates(self) -> int:
        """How many dates the line holds."""
        return self.target.count(" ") + 1


def dates(
    num: int,
    rng: np.random.Generator,
    *,
    locales: Sequence[str] = tuple(LOCALES),
    dates_per_line: int | tuple[int, int] = 1,
    held_out: bool = False,
) -> list[Line]:
    """Draw lines of dates.

    Args:
        num: how many lines.
        rng: what decides on language, days and formats.
        locales: Babel's names of the languages to draw from.
        dates_per_line: a number, or the smallest and the largest number to draw from.
        held_out: draw from the days that are kept for testing, in place of those that
            are for training. No day is in both.

    Returns:
        ``num`` lines, each in one language, the format of each date drawn on its own.
    """
    fewest, most = (
        (dates_per_line, dates_per_line)
        if isinstance(dates_per_line, int)
        else dates_per_line
    )
    counts = rng.integers(fewest, most + 1, num)
    languages = rng.integers(len(locales), size=num)
    formats = rng.integers(len(FORMATS), size=(num, most))
    days = rng.choice(_days(held_out), (num, most))
    return [
        write_line(
            [datetime.date.fromordinal(day) for day in days[n, :count].tolist()],
            locales[languages[n]],
            [FORMATS[style] for style in formats[n, :count]],
        )
        for n, count in enumerate(counts)
    ]


def write_line(
    days: Sequence[datetime.date], locale: str, formats: Sequence[str]
) -> Line:
    """The line that holds ``days``, each in its own format of the language."""
    from babel.dates import format_date

    return Line(
        SEPARATOR.join(
            format_date(day, style, locale=locale)
            for day, style in zip(days, formats, strict=True)
        ),
        " ".join(day.isoformat() for day in days),
        locale,
    )


def is_held_out(day: datetime.date) -> bool:
    """Whether a day is kept for testing: every eleventh is.

    Eleven shares no factor with seven, so all days of the week are held out alike.
    """
    return day.toordinal() % 11 == 0


@cache
def _days(held_out: bool) -> np.ndarray:
    """Ordinals of all days of one kind."""
    span = range(FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1)
    return np.array(
        [n for n in span if is_held_out(datetime.date.fromordinal(n)) == held_out]
    )


class Vocabulary:
    """Characters and their ids; three ids are kept for padding, start and end.

    Args:
        characters: those that texts may hold, in any order.
    """

    pad_id, start_id, end_id = 0, 1, 2
    _NUM_SPECIAL = 3

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = "".join(sorted(set(characters)))
        self._ids = {
            character: position + self._NUM_SPECIAL
            for position, character in enumerate(self.characters)
        }

    def __len__(self) -> int:
        return len(self.characters) + self._NUM_SPECIAL

    def encode(self, text: str, *, end: bool = False) -> list[int]:
        """The ids of ``text``, with the id of the end behind them if asked for.

        Raises:
            ValueError: the text has a character that the vocabulary lacks.
        """
        unknown = sorted(set(text) - set(self._ids))
        if unknown:
            raise ValueError(f"{text!r} has characters that are not known: {unknown}")
        return [self._ids[character] for character in text] + [self.end_id] * end

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``, up to the first end; padding and starts are left out."""
        text = []
        for token in map(int, ids):
            if token == self.end_id:
                break
            if token >= self._NUM_SPECIAL:
                text.append(self.characters[token - self._NUM_SPECIAL])
        return "".join(text)

    def batch(self, texts: Sequence[str], *, end: bool = False) -> Tensor:
        """The ids of several texts as one tensor (B, T), short rows padded behind."""
        rows = [self.encode(text, end=end) for text in texts]
        ids = torch.full((len(rows), max(map(len, rows), default=0)), self.pad_id)
        for row, tokens in zip(ids, rows, strict=True):
            row[: len(tokens)] = torch.tensor(tokens)
        return ids


@cache
def date_vocabularies(
    locales: tuple[str, ...] = tuple(LOCALES),
) -> tuple[Vocabulary, Vocabulary]:
    """Vocabularies of the source and the target of lines in these languages."""
    days = [datetime.date(2026, month, 1) for month in range(1, 13)]  # every month and
    days += [datetime.date(2026, 3, day) for day in range(2, 9)]  # every day of a week
    written = {
        character
        for day, locale, style in product(days, locales, FORMATS)
        for character in write_line([day], locale, [style]).source
    }
    digits = set("0123456789")
    return Vocabulary(written | digits | set(SEPARATOR)), Vocabulary(digits | set("- "))
