"""``check(f)``: judge an answer at once, in the notebook where it was written.

This is help for the person at the keyboard, not an examination: it runs in their own
process and uses seeds that never change.
"""

from __future__ import annotations

import html
import importlib.util
import inspect
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.answers import Answer, answer, decode
from autograder.exercise import (
    Exercise,
    Implementation,
    UnknownExercise,
    find_topic,
    load_topic,
)
from autograder.judge import (
    NOT_YET,
    Expected,
    Report,
    expect,
    judge,
    public_seeds,
    refuse,
)
from autograder.key import NoKey, read_key
from autograder.picture import first_difference, side_by_side
from autograder.record import cell_of, record

# The class stands twice, to weigh more than JupyterLab's style of tables.
STYLE = """
<style>
.attention-check { border-collapse: collapse; margin: .5em 0; font-size: .95em; }
.attention-check caption { text-align: left; font-weight: 600; padding: .3em 0; }
.attention-check.attention-check th, .attention-check.attention-check td {
  text-align: left; vertical-align: top; padding: .25em .8em .25em 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); background: transparent; }
.attention-check.attention-check .points { text-align: right; white-space: nowrap; }
.attention-hint { border-left: 4px solid #D55E00; padding: .3em .8em; margin: .5em 0;
  max-width: 46em; }
</style>
"""


class Points(float):
    """Points earned: a number to nbgrader, a short line to a reader."""

    def __new__(cls, earned: float, of: float) -> Points:
        """``earned`` points out of ``of``."""
        points = super().__new__(cls, earned)
        points.of = of
        return points

    def __repr__(self) -> str:
        """Only the number, which nbgrader reads as partial credit."""
        return f"{float(self):g}"

    def _repr_html_(self) -> str:
        return f"<strong>{float(self):g} of {self.of:g} points</strong>"


def check(implementation: Implementation) -> Points:
    """Check an answer, show what passed and what did not, return the points earned.

    Args:
        implementation: the function or class that an exercise asks for, under the
            name that its stub has.

    Returns:
        The points, a number.
    """
    try:
        exercise = find_exercise(implementation)
    except UnknownExercise as error:
        print(f"check: {error}")
        return Points(0, 0)
    try:
        judged = examine_here(exercise, implementation)
    except NoKey as error:
        print(f"check: {error}")
        return Points(0, exercise.points)
    report = judged.report
    picture = ""
    if self_study() and _in_kernel() and judged.given:
        found = first_difference(exercise, report, judged.given, judged.reference)
        picture = side_by_side(*found) if found else ""
    show(report, picture, record(report, cell_of(implementation)))
    return Points(report.score, report.max_score)


@dataclass(frozen=True)
class Judged:
    """A report on an answer, with the answers given (none if refused) and expected."""

    report: Report
    given: list[Answer]
    reference: list[Answer]


def find_exercise(implementation: Implementation) -> Exercise:
    """The exercise that ``implementation`` answers, by its name.

    Raises:
        UnknownExercise: there is none, or it is no function or class.
    """
    name = getattr(implementation, "__name__", None)
    if name is None:
        raise UnknownExercise(
            f"expected a function or a class, not {type(implementation)}"
        )
    return find_topic(name).exercises[name]


def examine_here(exercise: Exercise, implementation: Implementation) -> Judged:
    """Judge an answer in this process, on the public seeds.

    Raises:
        NoKey: neither solutions nor a usable key are at hand.
    """
    expected = _expected(find_topic(exercise.name).name, exercise.name)
    used = exercise.forbidden_calls(_source(implementation))
    if used:
        return Judged(refuse(exercise, forbidden_message(used)), [], expected.reference)
    given = [
        decode(answer(case, implementation, seed))
        for case, seed in zip(exercise.cases, expected.seeds, strict=True)
    ]
    return Judged(judge(exercise, given, expected), given, expected.reference)


def self_study() -> bool:
    """Whether the solutions are at hand, so that nothing is to be kept from anybody."""
    return importlib.util.find_spec("solutions") is not None


def forbidden_message(used: list[str]) -> str:
    """Why an answer that uses what it should rebuild earns nothing."""
    return f"uses {', '.join(used)}, which this exercise asks you to build yourself"


@cache
def _expected(topic_name: str, exercise_name: str) -> Expected:
    """From the solutions where there are any, else from the key of the chapter."""
    topic = load_topic(topic_name)
    exercise = topic.exercises[exercise_name]
    if not self_study():
        return read_key(topic, exercise, Path.cwd())
    return expect(topic, exercise, public_seeds(exercise))


def _source(implementation: Implementation) -> str:
    """The whole cell in a notebook, as in grading; else the definition."""
    cell = cell_of(implementation) if _in_kernel() else ""
    if cell:
        return cell
    try:
        return inspect.getsource(implementation)
    except (OSError, TypeError):
        return ""


def show(
    report: Report, picture: str = "", metadata: dict[str, Any] | None = None
) -> None:
    """Display a report: a table in Jupyter, plain text elsewhere."""
    page, text = as_html(report) + picture, as_text(report)
    if report.score < report.max_score and report.message != NOT_YET:
        call = f"hint({report.name})"
        if "hint" not in _names_in_notebook():
            call = f"from autograder.hints import hint; {call}"
        page += f"<p>Stuck? <code>{html.escape(call)}</code></p>"
        text += f"\n  Stuck? {call}"
    display_page(page, text, metadata)


def display_page(page: str, text: str, metadata: dict[str, Any] | None = None) -> None:
    """Display HTML in Jupyter, and the plain text elsewhere."""
    if _in_kernel():
        from IPython.display import display

        data = {"text/html": page, "text/plain": text}
        display(data, raw=True, metadata=metadata)
    else:
        print(text)


def _in_kernel() -> bool:
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


def _names_in_notebook() -> dict[str, Any]:
    """What the cells of the notebook have defined; nothing elsewhere."""
    if not _in_kernel():
        return {}
    from IPython import get_ipython

    return get_ipython().user_ns


def as_text(report: Report) -> str:
    """The report as plain text, a line for each case."""
    lines = []
    if report.message != NOT_YET:
        for case in report.cases:
            mark = "passed" if case.passed else "failed"
            line = f"  {mark}  {case.points:g}  {case.title}"
            lines.append(f"{line}: {case.message}" if case.message else line)
    head = f"{report.name}: {report.score:g} of {report.max_score:g} points"
    if report.message:
        lines.append(f"  {_advice(report)}")
    if lines and report.score < report.max_score:
        lines.append(f"  {_where_to_read(report)}")
    return "\n".join([head, *lines])


def _where_to_read(report: Report) -> str:
    try:
        chapter = find_topic(report.name).name.replace("_", " ")
    except UnknownExercise:
        return ""
    return f"To read again: chapter “{chapter}”, up to the exercise {report.name}."


def _advice(report: Report) -> str:
    if report.message == NOT_YET:
        return "Not implemented yet. Replace the line that raises NotImplementedError."
    return report.message


def as_html(report: Report) -> str:
    """The report as an HTML table with its own small style sheet."""
    title = html.escape(report.name)
    if report.message == NOT_YET:
        return (
            f"{STYLE}<p class='attention-hint'><code>{title}</code>: "
            f"{html.escape(_advice(report))}</p>"
        )
    rows = "".join(
        f"<tr><td>{'✓ passed' if case.passed else '✗ failed'}</td>"
        f"<td>{html.escape(case.title)}</td>"
        f"<td>{html.escape(case.message)}</td>"
        f"<td class='points'>{case.points if case.passed else 0:g} / "
        f"{case.points:g}</td></tr>"
        for case in report.cases
    )
    table = (
        f"<table class='attention-check'><caption><code>{title}</code></caption>"
        "<thead><tr><th scope='col'>result</th><th scope='col'>case</th>"
        "<th scope='col'>what differed</th><th scope='col' class='points'>points</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )
    hint = ""
    if report.message:
        lead = "Likely cause. " if report.mistake else ""
        hint = (
            f"<p class='attention-hint'><strong>{lead}</strong>"
            f"{html.escape(report.message)}</p>"
        )
    if report.score < report.max_score:
        hint += f"<p>{html.escape(_where_to_read(report))}</p>"
    return f"{STYLE}{table}{hint}"
