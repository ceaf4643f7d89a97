"""What teachers read is true: syllabuses, and the commands that the guides have."""

import re
import shlex
from pathlib import Path

import pytest

from autograder.__main__ import make_parser
from autograder.book import chapter_names
from autograder.exercise import load_topic

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
WORDS_A_MINUTE = 100
SYLLABUS = re.compile(r"^### (?P<title>.+)\n(?P<text>(?:(?!^##).*\n)*)", re.M)
WEEK = re.compile(
    r"^\| (?P<week>\d+) \| (?P<chapters>.+?) \| (?P<hours>[\d.]+) \|", re.M
)


def guide() -> str:
    return (CHAPTERS / "teachers_guide.md").read_text(encoding="utf-8")


def hours(chapter: str) -> float:
    """Of the exercises, as they say themselves, and of the text without its code."""
    source = (CHAPTERS / f"{chapter}.md").read_text(encoding="utf-8")
    exercises = re.findall(r"^★\S+ · (\d+) minutes", source, re.M)
    code = r"^(`{3,})\{code-cell\}.*?^\1$"
    words = re.findall(r"[A-Za-z]{2,}", re.sub(code, "", source, flags=re.M | re.S))
    return (sum(map(int, exercises)) + len(words) / WORDS_A_MINUTE) / 60


@pytest.fixture(params=SYLLABUS.finditer(guide()), ids=lambda found: found["title"][:8])
def syllabus(request: pytest.FixtureRequest) -> re.Match[str]:
    return request.param


def test_the_hours_of_a_week_are_those_of_its_chapters(syllabus):
    for row in WEEK.finditer(syllabus["text"]):
        chapters = re.findall(r"\{doc\}`(\w+)`", row["chapters"])
        exact = sum(hours(chapter) for chapter in chapters)
        assert float(row["hours"]) == pytest.approx(exact, abs=0.5), (
            f"week {row['week']} takes {exact:.1f} hours, not {row['hours']}"
        )


def test_the_longer_syllabuses_have_every_chapter_once_and_in_order():
    in_order = chapter_names()
    for found in SYLLABUS.finditer(guide()):
        rows = " ".join(row["chapters"] for row in WEEK.finditer(found["text"]))
        named = [c for c in re.findall(r"\{doc\}`(\w+)`", rows) if c in in_order]
        assert named == [c for c in in_order if c in named]
        assert found["title"].startswith("Four ") or named == in_order


def commands_in(page: Path) -> list[list[str]]:
    """The calls of our command line in the blocks of a page, and in its sentences."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(
        r"^(?:\.venv/bin/)?(?:python -m )?autograder (.+)$", text, re.M
    ) + re.findall(r"`autograder ([^`]+ [^`]+)`", text)
    return [shlex.split(words, comments=True) for words in found]


PAGES = [CHAPTERS / "quick_start.md", *sorted((CHAPTERS / "teaching").glob("*.md"))]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands_in(p)], ids=lambda p: p.stem
)
def test_each_command_of_the_guides_is_one_that_there_is(page):
    for words in commands_in(page):
        if words[0] == "COMMAND":  # of all commands
            continue
        given = make_parser().parse_args(words)  # exits where there is none such
        if "regrade" in words and given.chapter != "CHAPTER":
            exercises = load_topic(given.chapter).exercises.values()
            cases = {case.title for each in exercises for case in each.cases}
            mistakes = {
                m.name
                for e in exercises
                for m in load_topic(given.chapter).mistakes(e.name)
            }
            assert given.case is None or given.case in cases
            assert given.mistake is None or given.mistake in mistakes
