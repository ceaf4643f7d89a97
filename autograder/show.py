"""How a report looks: a table in Jupyter and in feedback, lines of text elsewhere."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from typing import Any

from autograder.book import chapter_title
from autograder.exercise import UnknownExercise, find_topic
from autograder.judge import Report
from autograder.reasons import Reason
from autograder.rows import NOT_YET, CaseReport, points_in_words

STUB = "Not implemented yet. Replace the line that raises NotImplementedError."
# The class is repeated so that the rule outranks JupyterLab's table style.
STYLE = """
<style>
.attention-check { border-collapse: collapse; margin: .5em 0; font-size: .95em; }
.attention-check caption { text-align: left; font-weight: 600; padding: .3em 0; }
.attention-check.attention-check th, .attention-check.attention-check td {
  text-align: left; vertical-align: top; padding: .25em .8em .25em 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); background: transparent; }
.attention-check.attention-check .points { text-align: right; white-space: nowrap; }
.attention-check .failed .result { color: #C24700; font-weight: 600; }
.attention-check .not-judged td { color: #767676; }
.attention-check td { overflow-wrap: anywhere; }
.attention-check .result { white-space: nowrap; }
.attention-rest { margin: .5em 0; }
.attention-hint { border-left: 4px solid #D55E00; padding: .3em .8em; margin: .5em 0;
  max-width: 46em; }
@media (max-width: 40rem) { /* a case in two lines: what differed is below it */
  .attention-check.attention-check, .attention-check.attention-check tbody,
  .attention-check.attention-check caption { display: block; }
  .attention-check.attention-check thead { position: absolute; width: 1px;
    height: 1px; overflow: hidden; clip-path: inset(50%); }
  .attention-check.attention-check tr { display: grid;
    grid-template-columns: auto 1fr auto;
    border-bottom: 1px solid rgba(128, 128, 128, .35); }
  .attention-check.attention-check td { border-bottom: 0; }
  .attention-check.attention-check td:nth-child(3) { grid-area: 2 / 1 / auto / -1; }
  .attention-check.attention-check td:nth-child(3):empty { display: none; }
  .attention-check.attention-check .points { grid-area: 1 / 3; padding-right: 0; }
}
</style>
"""


def show(
    report: Report, picture: str = "", metadata: dict[str, Any] | None = None
) -> None:
    """Display a report: a table in Jupyter, plain text elsewhere."""
    page, text = as_html(report) + picture, as_text(report)
    if report.lacks_points and not _is_stub(report):
        call = f"hint({report.name})"
        if "hint" not in names_in_notebook():
            call = f"from autograder.hints import hint; {call}"
        page += f"<p>Stuck? <code>{html.escape(call)}</code></p>"
        text += f"\n  Stuck? {call}"
    display_page(page, text, metadata)


def display_page(page: str, text: str, metadata: dict[str, Any] | None = None) -> None:
    """Display HTML in Jupyter, and the plain text elsewhere."""
    if in_kernel():
        from IPython.display import display

        data = {"text/html": page, "text/plain": text}
        display(data, raw=True, metadata=metadata)
    else:
        print(text)


def in_kernel() -> bool:
    """Whether this code runs in a Jupyter kernel."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"


def names_in_notebook() -> dict[str, Any]:
    """What the cells of the notebook have defined; nothing elsewhere."""
    if not in_kernel():
        return {}
    from IPython import get_ipython

    return get_ipython().user_ns


def executed_cells() -> list[str]:
    """The cells of the notebook that were run, in this order; none elsewhere."""
    if not in_kernel():
        return []
    from IPython import get_ipython

    return list(get_ipython().history_manager.input_hist_parsed)


def show_note(name: str, text: str) -> None:
    """Display a paragraph about an exercise: as HTML in Jupyter, a line elsewhere."""
    page = f"<p class='attention-hint'><code>{html.escape(name)}</code>: "
    display_page(f"{STYLE}{page}{_with_code(text)}</p>", f"{name}: {text}")


def as_text(report: Report) -> str:
    """The report as plain text, a line for each case: first what is right."""
    lines = []
    if not _is_stub(report):
        for case in in_reading_order(report):
            line = f"  {_state(case):10}  {case.points:g}  {case.title}"
            lines.append(f"{line}: {case.message}" if case.message else line)
    head = f"{report.name}: {_points(report)}"
    if report.message:
        lines.append(f"  {_advice(report)}")
    if lines and report.lacks_points:
        lines.append(f"  {_where_to_read(report)}")
    return "\n".join([head, *lines])


def _points(report: Report) -> str:
    return points_in_words(report.score, report.max_score, report.later)


def in_reading_order(report: Report) -> list[CaseReport]:
    """The cases that passed, those that failed, and those that could not be judged."""
    return sorted(report.cases, key=lambda case: (not case.passed, not case.judged))


def _state(case: CaseReport) -> str:
    if case.passed:
        return "passed"
    return "failed" if case.judged else "not judged"


def _where_to_read(report: Report) -> str:
    try:
        topic = find_topic(report.name).name
    except UnknownExercise:
        return ""
    title = chapter_title(topic)
    return f"To read again: chapter “{title}”, up to the exercise {report.name}."


def _is_stub(report: Report) -> bool:
    return report.reason is Reason.STUB


def _advice(report: Report) -> str:
    return STUB if report.message == NOT_YET else report.message


def as_html(report: Report) -> str:
    """The report as an HTML table with its own small style sheet."""
    title = html.escape(report.name)
    if _is_stub(report):
        return (
            f"{STYLE}<p class='attention-hint'><code>{title}</code>: "
            f"{html.escape(_advice(report))}</p>"
        )
    rows = in_reading_order(report)
    passed = sum(case.passed for case in rows)
    first, rest = rows[: passed + 1], rows[passed + 1 :]
    caption = f"<caption><code>{title}</code>: {_points(report)}</caption>"
    page = _table(caption, first)
    if report.message:
        lead = "Likely cause. " if report.reason is Reason.MISTAKE else ""
        page += (
            f"<p class='attention-hint'><strong>{lead}</strong>"
            f"{_with_code(report.message)}</p>"
        )
    if rest:
        page += (
            f"<details class='attention-rest'><summary>{_count(rest)}</summary>"
            f"{_table('', rest)}</details>"
        )
    if report.lacks_points:
        page += f"<p>{html.escape(_where_to_read(report))}</p>"
    return f"{STYLE}{page}"


def _table(caption: str, cases: Sequence[CaseReport]) -> str:
    marks = {"passed": "✓ passed", "failed": "✗ failed", "not judged": "– not judged"}
    rows = "".join(
        f"<tr class='{_state(case).replace(' ', '-')}'>"
        f"<td class='result'>{marks[_state(case)]}</td>"
        f"<td>{html.escape(case.title)}</td>"
        f"<td>{_with_code(case.message)}</td>"
        f"<td class='points'>{_earned(case)} / {case.points:g}</td></tr>"
        for case in cases
    )
    return (
        f"<table class='attention-check'>{caption}"
        "<thead><tr><th scope='col'>result</th><th scope='col'>case</th>"
        "<th scope='col'>what differed</th><th scope='col' class='points'>points</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _earned(case: CaseReport) -> str:
    if case.at_grading:
        return "–"
    return f"{case.points if case.passed else 0:g}"


def _count(rest: Sequence[CaseReport]) -> str:
    """What is folded: the cases after the first one that failed."""
    failed = sum(case.judged for case in rest)
    later = sum(case.at_grading for case in rest)
    grey = len(rest) - failed - later
    parts = []
    if failed:
        parts.append(f"{failed} more {'case fails' if failed == 1 else 'cases fail'}")
    if grey:
        parts.append(f"{grey} could not be judged")
    if later:
        parts.append(f"{later} more {'is' if later == 1 else 'are'} judged at grading")
    return ", ".join(parts)


def _with_code(message: str) -> str:
    """A message, escaped, with what stands between backquotes set as code."""
    pieces = html.escape(message).split("`")
    if len(pieces) % 2 == 0:  # one that is not closed
        return "`".join(pieces)
    return "".join(
        f"<code>{piece}</code>" if number % 2 else piece
        for number, piece in enumerate(pieces)
    )
