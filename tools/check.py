"""``make check NAME``: is one exercise, one chapter or one file right?

Everything that the test suite asks of each exercise and of each chapter, asked of this
one alone, in one process: the form of its files, the reference against its oracle, the
cases, the known mistakes, other right answers, answers that take no thought, what ships
to students, stub against reference and, for a chapter, its page. Of the book, that page
alone is built again.

Nothing here names a test. A test file takes part if it is named after the topic, or if
it goes through all topics; of the latter, the tests run whose parameters name the topic
or the exercise. Attacks and what ``make`` does not build are left to ``make test-all``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# How a test file obtains the exercises or the chapters that it goes through.
THROUGH_ALL = re.compile(r"\b(topic_names|chapter_names|pages_of_the_(site|book))\b")


@dataclass(frozen=True)
class Subject:
    """What is checked: a topic, one exercise of it, or test files that stand alone."""

    files: tuple[Path, ...]  # for ruff
    tests: tuple[Path, ...]
    topic: str = ""
    exercise: str = ""

    def concerns(self, test: str) -> bool:
        """Whether a test takes part.

        Args:
            test: its name and parameters, as in ``test_stub[masking-causal_mask]``.
        """
        from autograder.exercise import load_topic

        if not self.topic:
            return True
        named = set(re.findall(r"\w+", test.partition("[")[2]))
        if not named & {self.topic, self.exercise}:
            return False
        if not self.exercise or self.exercise in named:
            return True
        return not named & set(load_topic(self.topic).exercises)


class Unknown(Exception):
    """A name that is neither an exercise nor a chapter nor a file."""


def subject_of(name: str) -> Subject:
    """What a name on the command line stands for.

    Raises:
        Unknown: nothing has this name.
    """
    from autograder.book import chapter_names
    from autograder.exercise import load_topic, topic_names

    path = Path(name)
    if path.suffix and not path.is_file():
        raise Unknown(f"There is no file {name}.")
    topic = path.stem.removeprefix("test_") if path.suffix else name
    own = files_of(topic)
    if own and (not path.suffix or path.resolve() in own):
        return of_topic(topic)
    if path.suffix:
        return of_file(path)
    for topic in topic_names():
        if name in load_topic(topic).exercises:
            return of_topic(topic, name)
    raise Unknown(
        f"{name!r} is no exercise, no chapter and no file. "
        f"Chapters: {', '.join(chapter_names())}."
    )


def files_of(topic: str) -> list[Path]:
    """The files of a chapter or another page of the book, its tests last."""
    named = [
        ROOT / "chapters" / f"{topic}.md",
        ROOT / "solutions" / f"{topic}.py",
        ROOT / "solutions" / "mistakes" / f"{topic}.py",
        ROOT / "autograder" / "exercises" / f"{topic}.py",
        ROOT / "tests" / "alternatives" / f"{topic}.py",
        ROOT / "tests" / "solutions" / f"test_{topic}.py",
    ]
    return [file for file in named if file.is_file()]


def of_topic(topic: str, exercise: str = "") -> Subject:
    """A topic with the tests for it; those of its page are left out for an exercise."""
    python = [file for file in files_of(topic) if file.suffix == ".py"]
    own = [file for file in python if file.name == f"test_{topic}.py"]
    through_all = [  # without those of the project as a whole, in tests/ itself
        file
        for file in sorted((ROOT / "tests").glob("*/**/test_*.py"))
        if THROUGH_ALL.search(file.read_text(encoding="utf-8"))
        and not (exercise and needs_pages(file))
    ]
    return Subject(
        files=tuple(python),
        tests=tuple(own + through_all),
        topic=topic,
        exercise=exercise,
    )


def needs_pages(test: Path) -> bool:
    """Whether a test looks at built pages or opens JupyterLab."""
    return bool({"book", "lab"} & set(test.relative_to(ROOT).parts))


def of_file(path: Path) -> Subject:
    """A Python file with the tests that mirror it.

    Raises:
        Unknown: it is no Python file, or no test mirrors it.
    """
    if path.suffix != ".py":
        raise Unknown(f"{path} is neither a chapter nor Python: see `make test`.")
    if path.name.startswith("test_"):
        return Subject(files=(path,), tests=(path.resolve(),))
    folder = (ROOT / "tests" / path.resolve().relative_to(ROOT)).parent
    mirrored = folder / f"test_{path.stem}.py"
    tests = (mirrored,) if mirrored.is_file() else tuple(folder.glob("test_*.py"))
    if not tests:
        raise Unknown(f"No test mirrors {path}: see `make test`.")
    return Subject(files=(path,), tests=tests)


def has_form(files: Iterable[Path]) -> bool:
    """Whether ruff has nothing to say; it says the rest itself."""
    ruff, names = Path(sys.executable).with_name("ruff"), [str(f) for f in files]
    checks = (["format", "--diff", "--quiet"], ["check", "--quiet"])
    ended = [subprocess.run([str(ruff), *check, *names]).returncode for check in checks]
    return not any(ended)


class OnlyFor:
    """A pytest plugin that leaves out tests of other topics and exercises."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def pytest_collection_modifyitems(self, config, items) -> None:
        """Deselect what does not concern the subject."""
        from tests.suites import REASONS

        own = f"test_{self.subject.topic}.py"
        kept = [
            item
            for item in items
            if item.path.name == own or self.subject.concerns(item.name)
            if not self.subject.topic or not set(REASONS) & set(item.fixturenames)
        ]
        config.hook.pytest_deselected(items=[i for i in items if i not in set(kept)])
        items[:] = kept


def check(subject: Subject) -> int:
    """Check one subject; the exit status of pytest, or 1 for a matter of form."""
    import pytest

    formed = has_form(subject.files)
    os.environ["BOOK_PAGE"] = subject.topic  # what the tests have make build
    options = ["-q", "--no-header", *map(str, subject.tests)]
    tested = pytest.main(options, plugins=[OnlyFor(subject)])
    return int(tested) or (0 if formed else 1)


def main() -> int:
    """Check what the command line names."""
    parser = argparse.ArgumentParser(prog="make check", description=__doc__)
    parser.add_argument("name", help="an exercise, a chapter, or a file")
    begun = time.monotonic()
    name = parser.parse_args().name
    try:
        subject = subject_of(name)
    except Unknown as error:
        print(f"make check: {error}", file=sys.stderr)
        return 2
    status = check(subject)
    outcome = "is right" if not status else "is not right yet"
    print(f"{name} {outcome} ({time.monotonic() - begun:.0f} s)")
    return status


if __name__ == "__main__":
    sys.exit(main())
