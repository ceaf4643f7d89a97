"""Make a course with a class of thirty and grade it: ``make demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import nbformat

from autograder.__main__ import main
from autograder.book import chapter_names
from autograder.release.course import make_course
from classroom.submissions import hand_in, make_class

STUDENTS = 30


def demonstrate(course: Path, chapter: str) -> int:
    """Release, hand in, grade and return feedback for one chapter.

    An earlier demonstration in the same folder is replaced.
    """
    if (course / "nbgrader_config.py").exists():
        shutil.rmtree(course)
    make_course(course, [chapter])
    master = nbformat.read(course / "release" / chapter / f"{chapter}.ipynb", 4)
    hand_in(course, chapter, make_class(chapter, master, STUDENTS))
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
