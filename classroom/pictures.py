"""The pictures of the instructor's guide: ``python -m classroom.pictures``.

Grades a made-up class of thirty, in which some mistakes are frequent and most are rare,
and takes pictures of its report and of a feedback page. Run it again when either page
looks different; it takes about two minutes.
"""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from PIL import Image

from autograder.__main__ import main
from autograder.exercise import load_topic
from autograder.release.course import make_course
from classroom.submissions import cell_source, hand_in, right_answers, submission
from tools.chromium import headless_chromium

FOLDER = Path(__file__).resolve().parents[1] / "chapters" / "teaching" / "pictures"
TOPIC = "simplified_attention"
STUDENTS = 30
SCALE = 1.4  # pixels of a picture for one of the page
COLOURS = 24  # of a picture; text has few, and its file is a third as large


def class_of(master: Any) -> dict[str, Any]:
    """Submissions by name: a fifth is right, one is blank, the others have a mistake.

    The mistake of rank r among all of the chapter is made 1/r as often as the first.
    """
    topic, chance = load_topic(TOPIC), random.Random(TOPIC)
    mistakes = [(name, m) for name in topic.exercises for m in topic.mistakes(name)]
    chance.shuffle(mistakes)
    weights = [1 / rank for rank in range(1, len(mistakes) + 1)]
    students = {"student_00": submission(master, {})}
    while len(students) < STUDENTS:
        answers = right_answers(TOPIC)
        if len(students) % 5:
            for name, mistake in chance.choices(mistakes, weights, k=2):
                answers[name] = cell_source(mistake, name)
        students[f"student_{len(students):02}"] = submission(master, answers)
    return students


def graded(course: Path) -> None:
    """Release a chapter, and grade what the class handed in."""
    make_course(course, [TOPIC])
    master = nbformat.read(course / "release" / TOPIC / f"{TOPIC}.ipynb", 4)
    hand_in(course, TOPIC, class_of(master))
    for command in ("grade", "report", "feedback"):
        if status := main([command, TOPIC, "--course", str(course)]):
            sys.exit(status)


def save(shot: bytes, name: str) -> None:
    """Keep a picture with few colours."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS)
    picture.save(FOLDER / f"{name}.png", optimize=True)
    size = (FOLDER / f"{name}.png").stat().st_size
    print(f"{FOLDER / name}.png: {size:,} bytes")


def take(course: Path) -> None:
    """Take both pictures of a graded course."""
    FOLDER.mkdir(exist_ok=True)
    with headless_chromium() as browser:
        page = browser.new_page(
            viewport={"width": 1000, "height": 800}, device_scale_factor=SCALE
        )
        page.goto((course / "reports" / f"{TOPIC}.html").as_uri())
        save(page.screenshot(), "class_report")
        for file in sorted((course / "feedback").glob(f"*/{TOPIC}/{TOPIC}.html")):
            page.goto(file.as_uri())
            wrong = page.locator(".attention-verdict.is-wrong")
            if wrong.count():
                wrong.first.locator("summary").first.click()  # its cases
                save(wrong.first.screenshot(), "feedback")
                break


if __name__ == "__main__":
    if len(sys.argv) > 1:
        take(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as folder:
            graded(Path(folder) / "course")
            take(Path(folder) / "course")
