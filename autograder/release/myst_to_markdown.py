"""MyST markdown of a chapter to plain Markdown, which every notebook program shows.

Directives that a chapter may use are listed here; any other stops the release, so
that no student ever sees a raw one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import ascii_uppercase

from autograder.errors import AutograderError
from autograder.release.quiz import read_quiz

_FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<name>[\w:-]+)\}[ ]*(?P<title>.*)$")
_PLAIN_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?!\{)")
_TARGET = re.compile(r"^\([\w-]+\)=\s*$")
_OPTION = re.compile(r"^:[\w-]+:")
_ROLE = re.compile(r"\{(?P<role>[\w:-]+)\}`(?P<text>[^`]+)`")
_WITH_TARGET = re.compile(r"^(?P<text>.*\S)\s*<(?P<target>[^>]+)>$", re.DOTALL)
_FOOTNOTE_TEXT = re.compile(r"^\[\^\w+\]:\s*(?P<text>.*(?:\n[ ]+\S.*)*)", re.MULTILINE)
_FOOTNOTE_MARK = re.compile(r"\[\^\w+\]")
EQUATION_LABEL = re.compile(r"^\$\$\s*\((?P<label>[\w:-]+)\)\s*$", re.MULTILINE)

ADMONITIONS = ("note", "tip", "hint", "important", "warning")


class UnknownMarkup(AutograderError):
    """A chapter uses markup that has no plain form."""


def plain_markdown(
    text: str,
    bibliography: Path | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Plain Markdown that says the same as the MyST markdown ``text``.

    Args:
        text: MyST markdown, without code cells.
        bibliography: BibTeX file in which citations are looked up.
        names: what a reader sees for each label that is referred to: "Figure 2" for a
            figure, "(3)" for an equation, its title for a chapter.

    Raises:
        UnknownMarkup: the text uses a directive or a role that has no plain form, or
            refers to something that has no name.
    """
    names = names or {}

    def role(match: re.Match) -> str:
        return _plain_role(match["role"], match["text"], bibliography, names)

    def equation_number(match: re.Match) -> str:
        number = names.get(match["label"])
        return f"\\tag{{{number.strip('()')}}}\n$$" if number else "$$"

    blocks = "\n".join(_plain_lines(text.splitlines()))
    blocks = EQUATION_LABEL.sub(equation_number, blocks)
    blocks = _FOOTNOTE_TEXT.sub(_plain_footnote, blocks)
    blocks = _FOOTNOTE_MARK.sub(r"\\*", blocks)

    return re.sub(r"\n{3,}", "\n\n", _ROLE.sub(role, blocks)).strip()


def _plain_lines(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line = lines[position]
        fence, plain = _FENCE.match(line), _PLAIN_FENCE.match(line)
        if fence or plain:
            marker = (fence or plain)["fence"]
            end = _end_of_block(lines, position, marker)
            body = lines[position + 1 : end]
            if fence:
                yield from _plain_directive(fence["name"], fence["title"], body)
            else:
                yield from lines[position : end + 1]
            position = end + 1
            continue
        if not _TARGET.match(line) and not line.startswith("% "):
            yield line
        position += 1


def _end_of_block(lines: list[str], start: int, marker: str) -> int:
    closing = re.compile(rf"^{re.escape(marker[0])}{{{len(marker)},}}\s*$")
    for end in range(start + 1, len(lines)):
        if closing.match(lines[end]):
            return end
    raise UnknownMarkup(f"the block that begins with {lines[start]!r} is never closed")


def _plain_directive(name: str, title: str, body: list[str]) -> Iterator[str]:
    while body and (_OPTION.match(body[0]) or not body[0].strip()):
        body = body[1:]
    if name == "solution":
        return
    if name == "exercise":
        yield from ["", f"### Exercise: {title.strip()}", ""]
        yield from _plain_lines(body)
    elif name == "predict":  # the answer stays in the chapter
        yield from ["", "**Predict.** " + " ".join(body).strip(), ""]
    elif name == "margin":
        yield from ["", *_plain_lines(body), ""]
    elif name == "quiz":
        yield from _plain_quiz(body)
    elif name == "admonition" or name in ADMONITIONS and not title:
        yield from ["", f"> **{title.strip() or name.capitalize()}**", ">"]
        yield from (f"> {line}".rstrip() for line in _plain_lines(body))
        yield ""
    else:
        raise UnknownMarkup(f"the directive {{{name}}} has no plain Markdown form")


def _plain_footnote(match: re.Match) -> str:
    """A paragraph of its own, where it was written."""
    return r"\* " + " ".join(match["text"].split())


def _plain_quiz(body: list[str]) -> Iterator[str]:
    """Questions with lettered options; the answers unfold, as they do on the page."""
    for number, question in enumerate(read_quiz(body), start=1):
        lettered = list(zip(ascii_uppercase, question.options, strict=False))
        yield from ["", f"**Question {number}.** {question.text}", ""]
        for letter, option in lettered:
            yield f"* **{letter}.** {_indented(option.text)}"
        yield from ["", "<details><summary>Answer</summary>", ""]
        for letter, option in lettered:
            verdict = "Right." if option.right else "No."
            yield f"* **{letter}. {verdict}** {_indented(option.explanation)}"
        yield from ["", "</details>", ""]


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _plain_role(
    role: str, text: str, bibliography: Path | None, names: Mapping[str, str]
) -> str:
    named = _WITH_TARGET.match(text)
    if role.startswith("cite"):
        return _citation(role, text, bibliography)
    if role not in ("ref", "doc", "term", "numref", "eq"):
        raise UnknownMarkup(f"the role {{{role}}} has no plain Markdown form")
    if named or role == "term":
        return named["text"] if named else text
    target = text.rpartition("/")[2]
    if target not in names:
        raise UnknownMarkup(f"{{{role}}}`{text}` refers to something without a name")
    return names[target]


def _citation(role: str, keys: str, bibliography: Path | None) -> str:
    names = [_author_and_year(key.strip(), bibliography) for key in keys.split(",")]
    if role == "cite:t":
        return ", ".join(f"{author} ({year})" for author, year in names)
    return "(" + "; ".join(f"{author}, {year}" for author, year in names) + ")"


def _author_and_year(key: str, bibliography: Path | None) -> tuple[str, str]:
    entries = _entries(bibliography) if bibliography else {}
    if key not in entries:
        raise UnknownMarkup(f"the bibliography has no entry {key!r}")
    entry = entries[key]
    people = [" ".join(p.prelast_names + p.last_names) for p in entry.persons["author"]]
    people = [re.sub(r"[{}]", "", name) for name in people]
    if len(people) > 2:
        return f"{people[0]} et al.", entry.fields["year"]
    return " and ".join(people), entry.fields["year"]


@cache
def _entries(bibliography: Path) -> dict:
    from pybtex.database import parse_file

    return dict(parse_file(str(bibliography)).entries)
