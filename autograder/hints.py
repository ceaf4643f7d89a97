"""``hint(f)`` and ``solution(f)``: help in a notebook, a little more at each call."""

from __future__ import annotations

import html
import inspect
import re
from collections import Counter

from autograder.answer_key import NoKey
from autograder.book import chapter_file, chapter_title, without_code
from autograder.check import examine_here, find_exercise, self_study
from autograder.errors import GraderFault
from autograder.exercise import Exercise, Implementation, UnknownExercise, find_topic
from autograder.failing import Arguments, failing_calls
from autograder.judge import Report
from autograder.reasons import Reason
from autograder.show import STYLE, display_page, show_note


class Hints:
    """Hints on answers, one more at each call for the same exercise."""

    def __init__(self) -> None:
        """Nothing was asked for yet."""
        self._asked: Counter[str] = Counter()

    def __call__(self, implementation: Implementation) -> None:
        """Show a hint for your answer; one more at each call.

        Args:
            implementation: the function or class that an exercise asks for.
        """
        try:
            exercise = find_exercise(implementation)
            report = examine_here(exercise, implementation).report
        except (UnknownExercise, NoKey, GraderFault) as error:
            print(f"hint: {error}")
            return
        name = exercise.name
        if report.score == report.max_score:
            show_note(name, f"{name} has all its points: there is nothing to hint at.")
            return
        hints = list(exercise.hints) or [f"Read again: {where_to_read(name)}."]
        if _failing_call(exercise, implementation, report):
            hints.append(f"hint.inputs({name}) gives arguments on which it goes wrong.")
        self._asked[name] += 1
        asked = self._asked[name]
        shown = [f"{n}. {text}" for n, text in enumerate(hints, start=1)][:asked]
        if len(shown) < len(hints):
            last = f"hint({name}) once more gives the next hint."
        elif self_study():
            last = f"There are no more hints. solution({name}) shows the solution."
        else:
            last = "There are no more hints."
        show_note(name, *shown, last)

    def inputs(self, function: Implementation) -> Arguments | None:
        """The arguments of a call that goes wrong, to try by hand.

        ``inputs = hint.inputs(attend)``, and then ``attend(**inputs)``.

        Args:
            function: that an exercise asks for.
        """
        try:
            exercise = find_exercise(function)
            report = examine_here(exercise, function).report
        except (UnknownExercise, NoKey, GraderFault) as error:
            print(f"hint: {error}")
            return None
        found = _failing_call(exercise, function, report)
        if found is None:
            show_note(exercise.name, "No single call goes wrong.")
            return None
        title, arguments = found
        use = f"With inputs = hint.inputs({exercise.name}), {exercise.name}(**inputs)"
        show_note(
            exercise.name,
            f"The arguments of a call that goes wrong: {title}. {use} repeats it.",
        )
        return arguments


hint = Hints()


def solution(implementation: Implementation) -> None:
    """Show the solution of an exercise, where the course gives solutions.

    Args:
        implementation: the function or class that the exercise asks for, or its stub.
    """
    try:
        exercise = find_exercise(implementation)
    except UnknownExercise as error:
        print(f"solution: {error}")
        return
    name = exercise.name
    if not self_study():
        show_note(name, f"Solutions are not given in this course. Try hint({name}).")
        return
    source = inspect.getsource(find_topic(name).reference(name))
    page = f"<pre class='attention-solution'>{html.escape(source)}</pre>"
    display_page(STYLE + page, source)


def _failing_call(
    exercise: Exercise, function: Implementation, report: Report
) -> tuple[str, Arguments] | None:
    """The first call that goes wrong, with the title of its case; of a stub none."""
    if report.reason is Reason.STUB:
        return None
    return next(failing_calls(exercise, function, report), None)


def where_to_read(name: str) -> str:
    """The chapter and, where the chapters are at hand, the section of an exercise."""
    chapter = find_topic(name).name
    path = chapter_file(chapter)
    if not path.is_file():
        title = chapter_title(chapter)
        return f"chapter “{title}”, the section just above the exercise"
    title, section = _headings_above(path.read_text(encoding="utf-8"), name)
    return f"chapter “{title}”, section “{section}”"


def _headings_above(chapter: str, name: str) -> tuple[str, str]:
    """The title of a chapter and of the section that holds an exercise."""
    above = chapter.partition(f":label: exercise-{name}\n")[0]
    headings = re.findall(r"^##? (.+)$", without_code(above), re.MULTILINE)
    return headings[0], headings[-1]
