"""The numbers in the prose of an executed page, and whether the page supports them.

A number is supported if a cell of the page prints it, or if it is in the page's code.
What is printed is rounded to as many digits as the prose has. Words such as "about" and
"more than" widen this: how far, ``NEARLY`` and ``BEYOND`` say. What stands in no cell
has an entry in ``known_numbers.py``.

Not read as numbers: formulas, code within a sentence, citations, section and figure
numbers, years, single digits, words up to ten, comparisons ("twice as many"), vague
plurals ("hundreds") and what belongs to a name ("ViT-B/16", "float16").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bs4 import BeautifulSoup, Tag

NEARLY = 0.1  # "about 200": from 180 to 220
NEARLY_PERCENT = 2.0  # "about 99 %": percentage points either way
BEYOND = 0.25  # "more than 200": up to 250
BEYOND_PERCENT = 5.0  # "more than 95 %": up to 100 %

SMALL = {
    **{"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6},
    **{"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12},
    **{"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17},
    **{"eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40},
    **{"fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90},
}
LARGE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
READ_AS_WORD_FROM = 11
ROUNDED_FROM = 100  # "346" may be printed as 346.3, but "20" not as 19.6

NAME = r"(?<!PyTorch\s)(?<!Python\s)(?<!version\s)"
DIGITS = NAME + r"(?<![\w.,/–-])[−-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?!\w|\.\d|,\d)"
SPELT = "|".join(SMALL)
WORDS = rf"\b(?:{SPELT})(?:[- ](?:{SPELT}))?\b"
SIZES = "|".join(LARGE)
COUNT = re.compile(
    rf"(?:(?P<digits>{DIGITS})|(?P<words>{WORDS})|\b(?P<one>an?)\b)?"
    rf"(?P<sizes>(?:[- ]?\b(?:{SIZES})\b)*)(?P<percent>\s?%|\sper\s?cent\b)?",
    re.I,
)
YEAR = re.compile(r"(?:19|20)\d\d")
ABOUT = re.compile(
    r"\b(?:about|around|almost|nearly|roughly|some|close to)\s\W*$", re.I
)
MORE = re.compile(r"\b(?:more than|above|over|at least|well)\s\W*$", re.I)
LESS = re.compile(r"\b(?:less than|below|under|at most|up to)\s\W*$", re.I)
PRINTED = re.compile(r"[−-]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?\s?%?")

OUTPUTS = ".output.stream, .output.text_plain, .cell_output table"
NO_PROSE = (
    "script, style, pre, code, .math, .reference, .headerlink, .cell_input, "
    ".live-picture"  # it computes its numbers: see test_live_pictures.py
)
NUMBERED = (
    ".section-number, .caption-number, .exercise-notebook, .reading-time, "
    ".admonition-title"
)
PROSE = "p, li, td, th, dd, dt, figcaption, h2, h3"
GAP = "\N{OBJECT REPLACEMENT CHARACTER}"
MINUTES = re.compile(r"[★☆]+ · \d+ minutes")


@dataclass(frozen=True)
class Number:
    """A number in a sentence.

    Attributes:
        text: as it stands in the prose.
        value: what it means; of a percentage, what stands before the sign.
        step: one unit of its last digit; 0 for a small count, which has to be exact.
        percent: whether it is a percentage.
        below: how far below it a printed number may be, after "about" or "less than".
        above: how far above it.
        paragraph: the text in which it stands.
        start: where in it.
    """

    text: str
    value: float
    step: float
    percent: bool
    below: float
    above: float
    paragraph: str
    start: int

    def is_close_to(self, other: float) -> bool:
        """Whether ``other``, rounded as this number is, or nearly, is this number."""
        beyond = abs(other) - abs(self.value)
        rounding = 0.5 * self.step * (1 + 1e-6) + 1e-9
        return -self.below - rounding <= beyond <= self.above + rounding

    def context(self) -> str:
        """The words around it, for a message."""
        end = self.start + len(self.text)
        return self.paragraph[max(0, self.start - 45) : end + 30]


@dataclass(frozen=True)
class Page:
    """An executed page: its paragraphs, and all that its cells print and contain."""

    paragraphs: list[str]
    printed: str
    code: str

    def numbers(self) -> list[Number]:
        """All numbers in the prose."""
        return self._numbers

    @cached_property
    def _numbers(self) -> list[Number]:
        return [n for paragraph in self.paragraphs for n in numbers_in(paragraph)]

    @cached_property
    def _values(self) -> list[tuple[str, float]]:
        return list(values_in(self.printed + " " + self.code))

    def supports(self, number: Number) -> bool:
        """Whether a cell prints this number, or it is in the code."""
        return any(
            number.is_close_to(value)
            for text, value in self._values
            for value in ((value, 100 * value) if number.percent else (value,))
            if number.percent or not text.endswith("%")
        )

    def contains(self, text: str) -> bool:
        """Whether a number is printed or in the code, exactly."""
        return value_of(text) in {value for _, value in self._values}


# Hundreds of elements each, of which nothing is read.
FORMULA = re.compile(r"<mjx-container.*?</mjx-container>", re.S)


def read_page(html: str) -> Page:
    """Take an executed page apart."""
    html = FORMULA.sub("", html)
    article = BeautifulSoup(html, "html.parser").select_one("article")
    printed = [output.get_text() for output in article.select(OUTPUTS)]
    for caption in article.select(".cell_output figcaption"):
        caption.find_parent(class_="cell_output").insert_after(caption.extract())
    for output in article.select(".cell_output"):
        output.decompose()
    for part in article.select(NUMBERED):
        part.decompose()
    code = [cell.get_text() for cell in article.select(".cell_input, pre, code")]
    for part in article.select(NO_PROSE):
        part.replace_with(f" {GAP} ")
    paragraphs = [text_of(p) for p in article.select(PROSE) if not p.select_one(PROSE)]
    return Page(paragraphs, "\n".join(printed), "\n".join(code))


def text_of(paragraph: Tag) -> str:
    """A paragraph on one line, without the header of an exercise."""
    return MINUTES.sub("", re.sub(r"\s+", " ", paragraph.get_text()))


def numbers_in(paragraph: str) -> Iterator[Number]:
    """The numbers of one paragraph."""
    for found in COUNT.finditer(paragraph):
        if found[0] and (value := count_value(found)) is not None:
            yield number(paragraph, found, value)


def number(paragraph: str, found: re.Match, value: float) -> Number:
    """What was found, with all that surrounds it."""
    percent, start = bool(found["percent"]), found.start()
    step = step_of(found["digits"] or "", found["sizes"], percent)
    step = step or float(value >= ROUNDED_FROM)
    before = paragraph[:start]
    nearly = NEARLY_PERCENT if percent else NEARLY * abs(value)
    beyond = BEYOND_PERCENT if percent else BEYOND * abs(value)
    around = nearly if ABOUT.search(before) else 0.0
    below = beyond if LESS.search(before) else around
    above = beyond if MORE.search(before) else around
    text = found[0].strip()
    return Number(text, value, step, percent, below, above, paragraph, start)


def step_of(digits: str, sizes: str, percent: bool) -> float:
    """One unit of the last digit that is given; 0 for a count."""
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    factor = product_of(sizes)
    if not (decimals or exponent or percent or factor > 1):
        return 0.0
    return 10 ** (int(exponent or 0) - decimals) * factor


def product_of(sizes: str) -> float:
    """A hundred thousand is 1e5; nothing is 1."""
    return math.prod(LARGE[word.lower()] for word in re.findall(SIZES, sizes, re.I))


def count_value(found: re.Match) -> float | None:
    """The value of a count, None if it is not to be checked."""
    factor = product_of(found["sizes"])
    if not (found["digits"] or found["words"] or (found["one"] and factor > 1)):
        return None
    if found["digits"] and YEAR.fullmatch(found["digits"]) and not found["percent"]:
        return None
    value = value_of(found["digits"] or found["words"] or "one") * factor
    if found["words"] and value < READ_AS_WORD_FROM and not found["percent"]:
        return None
    single = found["digits"] and re.fullmatch(r"[−-]?\d", found["digits"])
    return None if single and factor == 1 and not found["percent"] else value


def value_of(text: str) -> float:
    """The value of digits ("1,797", "−0.5") or of words ("thirty-two")."""
    if not any(character.isdigit() for character in text):
        return float(sum(SMALL[word] for word in re.split("[- ]", text.lower())))
    return float(re.sub(r"[,_\s%]", "", text).replace("−", "-"))


def values_in(text: str) -> Iterator[tuple[str, float]]:
    """All numbers of an output or of code, each as it stands there and its value."""
    for found in PRINTED.findall(text):
        yield found, value_of(found)
