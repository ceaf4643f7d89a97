"""Remove people from texts, as far as they can be found.

A text is cut into runs of letters and of digits, and names are looked for among these,
whatever stands between: "Doe, Jane", ``jane_doe`` and ``JaneDoe`` are one name, and so
is one with other accents or in capitals. One pass finds all names of a class.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from autograder.magics import parsed

PERSON, ADDRESS, LINK, TIME, FOLDER = "PERSON", "ADDRESS", "LINK", "TIME", "/FOLDER"
LEAST_OTHER = 3  # letters of a name of somebody else that is looked for by itself
LEAST_INSIDE = 7  # letters of a name that is looked for inside other words
LONGEST_WORD = 100  # letters; of longer runs no name is the greater part
LEAST_NUMBER = 5  # digits of a number that stands by itself
MANY = 5  # people; a part that more than these and a fifth of a class share is no name
MAX_GAP = 3  # characters between the parts of a name
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_ADDRESS = re.compile(  # with a path on that host, as in git@host.org:jane/work
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}(?!mT\b|mH\b)[^\W\d_]{2,24}\b"
    r"(?::[\w./~-]{1,200})?"
)
# In broken code: not query@key.softmax(-1), nor a part of it.
_ADDRESS_IN_CODE = re.compile(_ADDRESS.pattern + r"(?![(\[]|\.\w)")
_LINK = re.compile(
    r"\b(?:(?:https?|s?ftps?|file|ssh|git|s3|gs)://|(?:github|gitlab|kaggle)\.com/|"
    r"bitbucket\.org/|huggingface\.co/)[^\s\"'<>)\]]+",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"(?:/home|/Users|/export/home|/mnt/[a-z]/Users|\\\\\w+|\b[A-Za-z]:[/\\]+Users)"
    r"[/\\][^\s\"'<>:|*?]*",
    re.IGNORECASE,
)
_DRIVE = re.compile(r"/content/drive/[^\s\"'<>:|*?]*")
_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b"
)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# Magics whose lines and cells are Python; all others are read by IPython or a shell.
_PYTHON = r"%%?(?:time|timeit|prun|memit|mprun|lprun|capture)\b"
# Comments, texts and commands in code; the rest of it is read by Python.
_PROSE = re.compile(
    r"(?P<command>^[ \t]*(?:[\w.,][\w., ]*=[ \t]*)?"
    rf"(?!{_PYTHON})[%!](?!=)(?:\\\r?\n|.)*)"
    r'|"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?|#.*',
    re.MULTILINE,
)
_COMMANDS = re.compile(rf"\s*(?!{_PYTHON})%%")  # a cell that is no Python at all
_TILDE = re.compile(r"(?<![^\s\"'=:])~[\w/][^\s\"'<>:|*?]*")  # ~jane/work
_SIGNS_AS = re.compile(r"(\buser\.name[ \t=]+)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']+)")
_OF_THE_LANGUAGE = frozenset(
    word.casefold() for word in [*dir(builtins), *keyword.kwlist, "self", "cls"]
)
Parts = tuple[str, ...]


@dataclass(frozen=True)
class _Piece:
    """A run of letters or digits, folded, and where it stands."""

    text: str
    start: int
    end: int


class Scrubber:
    """Takes the people of a class out of texts.

    Args:
        people: by student, all their names, addresses and numbers.
        given: texts that everybody was given. A word in them that is also part of a
            name (``max``, ``mark``) counts as a name only with a capital letter, and
            never in code.
    """

    def __init__(self, people: Mapping[str, Collection[str]], given: Iterable[str]):
        given = list(given)
        self._usual = _OF_THE_LANGUAGE | {
            piece.text for text in given for piece in _pieces(text)
        }
        self._links = {link for text in given for link in _LINK.findall(text)}
        self._whole: dict[str, set[Parts]] = {}  # by their first part
        self._single: set[str] = set()
        self._own: dict[str, set[str]] = {}
        for student, names in people.items():
            own = self._own.setdefault(student, set())
            for name in names:
                for parts in _spellings(name):
                    self._learn(parts, own)
        # What many ids begin with, as student01 does, is nobody's name.
        most = max(MANY, len(people) // 5)
        shared = Counter(part for own in self._own.values() for part in own)
        many = {part for part, count in shared.items() if count > most}
        self._single -= many
        for own in self._own.values():
            own -= many
        self._long = {
            part
            for part in self._single - self._usual
            if len(part) >= LEAST_INSIDE and not part.isdigit()
        }
        self._lengths = sorted({len(part) for part in self._long})

    def _learn(self, parts: Parts, own: set[str]) -> None:
        if len(parts) > 1:
            self._whole.setdefault(parts[0], set()).add(parts)
        letters = [part for part in parts if not part.isdigit()]
        numbers = [part for part in parts if part.isdigit()]
        own |= {part for part in letters if len(part) > 1}
        self._single |= {part for part in letters if len(part) >= LEAST_OTHER}
        self._single |= {part for part in numbers if len(part) >= LEAST_NUMBER}
        own |= {part for part in numbers if len(part) >= LEAST_NUMBER}
        if 2 <= len(letters) <= 4:  # janedoe, doejane, jdoe
            first, last = letters[0], letters[-1]
            joined = {"".join(letters), last + first, first[0] + last, first + last[0]}
            self._single |= {one for one in joined if len(one) > LEAST_OTHER}

    def prose(self, text: str, student: str = "") -> str:
        """A text that people read, such as an output, without people.

        Args:
            text: of any length; the time is in proportion to it.
            student: whose it is; short parts of this name are looked for as well.
        """
        text = self._without_links(_visible(text))
        text = _ADDRESS.sub(ADDRESS, text)
        text = _DRIVE.sub(FOLDER, _HOME.sub(FOLDER, text))
        return self._names(_TIME.sub(TIME, text), student, is_code=False)

    def code(self, text: str, student: str = "") -> str:
        """A cell of code without people; names in it stay names that Python takes.

        Args:
            text: of any length; the time is in proportion to it.
            student: whose it is; short parts of this name are looked for as well.
        """
        text, done, place = _visible(text), [], 0
        if _COMMANDS.match(text):
            return self._command(text, student)
        broken = parsed(text) is None
        for match in _PROSE.finditer(text):
            done.append(self._in_code(text[place : match.start()], student, broken))
            kind = self._command if match["command"] else self.prose
            done.append(kind(match[0], student))
            place = match.end()
        return "".join([*done, self._in_code(text[place:], student, broken)])

    def _command(self, text: str, student: str) -> str:
        """What IPython or a shell reads, as ``!git config user.name jane``."""
        text = _SIGNS_AS.sub(rf"\1{PERSON}", text)
        return self.prose(_TILDE.sub(FOLDER, text), student)

    def _in_code(self, text: str, student: str, broken: bool) -> str:
        # Neither a link nor a folder is Python; a@b.of and 1/2/1024 may be.
        text = self._without_links(text)
        text = _DRIVE.sub(FOLDER, _HOME.sub(FOLDER, text))
        if broken:
            text = _TIME.sub(TIME, _ADDRESS_IN_CODE.sub(ADDRESS, text))
        return self._names(text, student, is_code=True)

    def _without_links(self, text: str) -> str:
        return _LINK.sub(lambda m: m[0] if m[0] in self._links else LINK, text)

    def _names(self, text: str, student: str, is_code: bool) -> str:
        pieces, own = list(_pieces(text)), self._own.get(student, set())
        kept, place, number = [], 0, 0
        while number < len(pieces):
            piece = pieces[number]
            count = self._whole_at(pieces, number)
            if not count and self._is_name(text, piece, own, is_code):
                count = 1
            if count:
                kept += [text[place : piece.start], PERSON]
                place = pieces[number + count - 1].end
            number += max(1, count)
        return "".join([*kept, text[place:]])

    def _whole_at(self, pieces: list[_Piece], number: int) -> int:
        """How many pieces from here on are one name of several parts."""
        found = 0
        for parts in self._whole.get(pieces[number].text, ()):
            here = pieces[number : number + len(parts)]
            near = all(
                after.start - before.end <= MAX_GAP for before, after in pairwise(here)
            )
            if near and tuple(piece.text for piece in here) == parts:
                found = max(found, len(parts))
        return found

    def _is_name(self, text: str, piece: _Piece, own: set[str], is_code: bool) -> bool:
        if piece.text not in self._single and piece.text not in own:
            return self._is_inside(piece.text)
        if piece.text not in self._usual and len(piece.text) > 2:
            return True
        # "Max", but neither "max" nor np.max; "Li" and "LI", but not "li".
        return not is_code and text[piece.start].isupper()

    def _is_inside(self, text: str) -> bool:
        """Whether a long name is part of a word, as in zwackelmannsoftmax."""
        return LEAST_INSIDE < len(text) <= LONGEST_WORD and any(
            text[start : start + length] in self._long
            for length in self._lengths
            for start in range(len(text) - length + 1)
        )


def _visible(text: str) -> str:
    """A text without what nobody sees, which could part a name."""
    text = _ESCAPES.sub("", text)
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cs"))


def _pieces(text: str) -> Iterator[_Piece]:
    for match in _PIECE.finditer(text):
        start, run = match.start(), match[0]
        humps = [
            place  # as between the names in JaneDoe
            for place in range(1, len(run))
            if run[place].isupper() and run[place - 1].islower()
        ]
        for first, last in pairwise([0, *humps, len(run)]):
            yield _Piece(_folded(run[first:last]), start + first, start + last)


def _folded(text: str) -> str:
    """In small letters without accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


def _spellings(name: str) -> set[Parts]:
    """A name in parts, as it may be written: with umlauts, and the last part first.

    Of an address, that is what stands before the @; the rest is not the person's alone.
    """
    found = set()
    name = name.partition("@")[0]
    for text in (name, name.casefold().translate(_UMLAUTS)):
        parts = tuple(piece.text for piece in _pieces(text))
        if parts:
            found |= {parts, parts[::-1]} if len(parts) <= 4 else {parts}
    return found
