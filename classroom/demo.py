"""Make a course with a class of thirty and grade it: ``make demo``."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat

from autograder.__main__ import main
from autograder.book import chapter_names
from autograder.exercise import load_topic
from autograder.release.course import make_course
from classroom.submissions import cell_source, hand_in, right_answers, submission

STUDENTS = 30


def class_of(chapter: str, master: Any) -> dict[str, Any]:
    """Submissions by name: a fifth is right, one is blank, the others have a mistake.

    The mistake of rank r among all of the chapter is made 1/r as often as the first.
    """
    topic, chance = load_topic(chapter), random.Random(chapter)
    mistakes = [(name, m) for name in topic.exercises for m in topic.mistakes(name)]
    chance.shuffle(mistakes)
    weights = [1 / rank for rank in range(1, len(mistakes) + 1)]
    students = {"student_00": submission(master, {})}
    while len(students) < STUDENTS:
        answers = right_answers(chapter)
        if len(students) % 5:
            for name, mistake in chance.choices(mistakes, weights, k=2):
                answers[name] = cell_source(mistake, name)
        students[f"student_{len(students):02}"] = submission(master, answers)
    return students


def demonstrate(course: Path, chapter: str) -> int:
    """Release, hand in, grade and return feedback for one chapter.

    An earlier demonstration in the same folder is replaced.
    """
    if (course / "nbgrader_config.py").exists():
        shutil.rmtree(course)
    make_course(course, [chapter])
    master = nbformat.read(course / "release" / chapter / f"{chapter}.ipynb", 4)
    hand_in(course, chapter, class_of(chapter, master))
    for command in ("grade", "report", "feedback"):
        if status := main([command, chapter, "--course", str(course)]):
            return status
    print(f"Submissions:  {course / 'submitted'}")
    print(f"Reports:      {course / 'reports' / chapter}")
    print(f"Feedback:     {course / 'feedback'}")
    print(f"Gradebook:    {course / 'gradebook.db'}")
    return 0


if __name__ == "__main__":
    names = chapter_names()
    sys.exit(demonstrate(Path(sys.argv[1]).resolve(), names[0]))
