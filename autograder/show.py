"""How a report looks: first what is wrong, then the tests, folded.

It is HTML in Jupyter, in feedback and in the pages of the book, and lines of text
elsewhere.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Sequence
from typing import Any

from autograder.judge import Report
from autograder.reasons import Reason
from autograder.rows import NOT_YET, CaseReport, points_in_words

STUB = "Not implemented yet. Replace the line that raises NotImplementedError."
# The classes are repeated so that the rules outrank JupyterLab's table style. What is
# wrong and what is right have colours of their own, not those of keys and values.
STYLE = """
<style>
.attention-verdict { --wrong: var(--verdict-wrong, #b3261e);
  --right: var(--verdict-right, #2d7a1f); margin: .5em 0; padding: .5em 0 .5em 1em;
  border-left: 4px solid #767676; max-width: 52em; }
[data-jp-theme-light="false"] .attention-verdict, .vscode-dark .attention-verdict {
  --wrong: #ff8f85; --right: #86d96b; }
.attention-verdict.is-wrong { border-left-color: var(--wrong); }
.attention-verdict.is-right { border-left-color: var(--right); }
.attention-verdict p { margin: 0 0 .5em; }
.attention-verdict .attention-headline { font-size: 18px; font-weight: 600;
  line-height: 1.35; }
.attention-verdict.is-right .attention-headline::before { content: "✓ ";
  color: var(--right); }
.attention-pair { display: flex; flex-wrap: wrap; gap: .25em 2em; }
.attention-pair.attention-pair figure { margin: 0 0 .75em; padding: 0;
  max-width: 100%; overflow-x: auto; }
.attention-pair figcaption { margin: 0 0 .25em; font-size: .875em; text-align: left; }
.attention-grid.attention-grid { display: table; width: auto; margin: 0; border: 0;
  border-collapse: separate; border-spacing: 1px; font-size: .8125em;
  font-variant-numeric: tabular-nums; }
.attention-grid.attention-grid td { min-width: 3.2em; padding: .25em .4em; border: 0;
  text-align: right; white-space: nowrap; color: inherit;
  background: rgb(140 95 185 / var(--share)); }
.attention-grid.attention-grid th { padding: .25em .4em; border: 0; background: none;
  color: inherit; font-weight: 400; text-align: right; white-space: nowrap; }
.attention-payoff { margin-top: .75em; }
.attention-grid.is-map td { min-width: 0; width: .7em; height: .7em; padding: 0; }
.attention-grid.attention-grid td.off { box-shadow: inset 0 0 0 2px var(--wrong); }
.attention-tests summary { width: fit-content; cursor: pointer; font-size: .875em; }
.attention-tests summary u { text-underline-offset: .2em; }
.attention-pip { display: inline-block; width: 1.5em; height: .5em; margin-right: .25em;
  border: 1px solid #767676; border-radius: .25em; vertical-align: middle; }
.attention-pip.passed { background: var(--right); border-color: var(--right); }
.attention-pip.failed { background: var(--wrong); border-color: var(--wrong); }
.attention-pip.not-yet { background: repeating-linear-gradient(135deg, #767676 0 1px,
  transparent 1px 4px); }
.attention-check { border-collapse: collapse; margin: .5em 0; font-size: .875em; }
.attention-check caption { text-align: left; font-weight: 600; padding: .3em 0; }
.attention-check.attention-check th, .attention-check.attention-check td {
  text-align: left; vertical-align: top; padding: .25em .8em .25em 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); background: transparent; }
.attention-check.attention-check .points { text-align: right; white-space: nowrap; }
.attention-check .failed .result { color: var(--wrong); font-weight: 600; }
.attention-check td { overflow-wrap: anywhere; }
.attention-check .result { white-space: nowrap; }
.attention-hint { border-left: 4px solid #767676; padding: .3em .8em; margin: .5em 0;
  max-width: 46em; }
@media (max-width: 40rem) { /* a test in two lines: what differed is below it */
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
# Ends a sentence: a full stop that a new one follows.
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`“(])")


def show(
    report: Report, beside: str = "", metadata: dict[str, Any] | None = None
) -> None:
    """Display a report: a verdict in Jupyter, plain text elsewhere."""
    page, text = as_html(report, beside), as_text(report)
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


def show_note(name: str, *paragraphs: str) -> None:
    """Display paragraphs about an exercise: as HTML in Jupyter, lines elsewhere."""
    page = f"<code>{html.escape(name)}</code>"
    page += "".join(f"<p>{with_code(text)}</p>" for text in paragraphs)
    display_page(
        f"{STYLE}<div class='attention-hint'>{page}</div>",
        "\n".join([f"{name}:", *(f"  {text}" for text in paragraphs)]),
    )


def as_text(report: Report) -> str:
    """The report as plain text: what is wrong, and a line for each test."""
    lines = [f"{report.name}: {_points(report)}"]
    if report.message:
        lines.append(f"  {_advice(report)}")
    if not _is_stub(report):
        for case in in_reading_order(report):
            line = f"  {_state(case):8}  {case.points:g}  {case.title}"
            lines.append(f"{line}: {case.message}" if case.message else line)
    return "\n".join(lines)


def _points(report: Report) -> str:
    return points_in_words(report.score, report.max_score, report.later)


def in_reading_order(report: Report) -> list[CaseReport]:
    """The tests that pass, those that fail, and those that showed nothing yet."""
    return sorted(report.cases, key=lambda case: (not case.passed, not case.judged))


def _state(case: CaseReport) -> str:
    if case.passed:
        return "passed"
    return "failed" if case.judged else "not yet"


def _is_stub(report: Report) -> bool:
    return report.reason is Reason.STUB


def _advice(report: Report) -> str:
    return STUB if report.message == NOT_YET else report.message


def headline(report: Report) -> tuple[str, str]:
    """What matters most in one sentence, and the rest of what there is to say."""
    first = next((c for c in in_reading_order(report) if not c.passed), None)
    if report.message:
        head, rest = first_sentence(_advice(report))
        if report.reason is Reason.ERROR and first and first.message:
            rest = f"{rest} {_as_sentence(first.message)}".strip()  # in which line
        return head, rest
    if report.later:
        return f"{_points(report)}.", ""
    titles = [case.title for case in report.cases if case.passed]
    if not report.lacks_points:
        tests = "the test passes" if len(titles) == 1 else "all tests pass"
        return f"Right: {tests}.", ""
    lead = "Nearly" if 2 * len(titles) >= len(report.cases) else "Not right yet"
    return f"{lead}: {first.title}.", _as_sentence(first.message)


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def first_sentence(text: str) -> tuple[str, str]:
    """A text in two: its first sentence and the rest; code is left in one piece."""
    for end in _SENTENCE.finditer(text):
        if text[: end.start()].count("`") % 2 == 0:
            return text[: end.start()], text[end.end() :]
    return text, ""


def as_html(report: Report, beside: str = "") -> str:
    """The report as HTML with its own small style sheet: first what is wrong.

    Args:
        report: of the judge.
        beside: HTML of yours beside the expected, from ``picture``; or of what a right
            answer is good for, from ``payoffs``, which comes last.
    """
    head, rest = headline(report)
    kind = "wrong" if report.lacks_points else "open" if report.later else "right"
    page = f"<p class='attention-headline'>{with_code(head)}</p>"
    page += f"<p>{with_code(rest)}</p>" if rest else ""
    if _is_stub(report):
        kind = "stub"
    else:
        parts = [beside, _tests(report)]
        page += "".join(reversed(parts) if kind == "right" else parts)
    return f"{STYLE}<div class='attention-verdict is-{kind}'>{page}</div>"


def _tests(report: Report) -> str:
    """A pip for each test, which the table unfolds from."""
    pips = "".join(
        f"<span class='attention-pip {_state(case).replace(' ', '-')}'></span>"
        for case in report.cases
    )
    passed = sum(case.passed for case in report.cases)
    noun = "test passes" if len(report.cases) == 1 else "tests pass"
    said = f"{passed} of {len(report.cases)} {noun}"
    if passed < len(report.cases) and (left := _not_yet(report)):
        said += f", {left}"
    caption = f"<caption><code>{html.escape(report.name)}</code>: {_points(report)}"
    return (
        f"<details class='attention-tests'><summary><span aria-hidden='true'>{pips}"
        f"</span>{said}, <u>show tests</u></summary>"
        f"{_table(f'{caption}</caption>', in_reading_order(report))}</details>"
    )


def _not_yet(report: Report) -> str:
    """How many tests showed nothing yet, in words; empty if all did."""
    later = sum(case.at_grading for case in report.cases)
    open_ = sum(not case.passed and not case.judged for case in report.cases) - later
    parts = [f"{open_} not judged yet"] if open_ else []
    if later:
        parts.append(f"{later} {'is' if later == 1 else 'are'} judged at grading")
    return ", ".join(parts)


def _table(caption: str, cases: Sequence[CaseReport]) -> str:
    marks = {
        "passed": "✓ passes",
        "failed": "✗ fails",
        "not yet": "– not judged yet",
    }
    rows = "".join(
        f"<tr class='{_state(case).replace(' ', '-')}'>"
        f"<td class='result'>{marks[_state(case)]}</td>"
        f"<td>{html.escape(case.title)}</td>"
        f"<td>{with_code(case.message)}</td>"
        f"<td class='points'>{_earned(case)} / {case.points:g}</td></tr>"
        for case in cases
    )
    return (
        f"<table class='attention-check'>{caption}"
        "<thead><tr><th scope='col'>result</th><th scope='col'>test</th>"
        "<th scope='col'>what differed</th><th scope='col' class='points'>points</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def _earned(case: CaseReport) -> str:
    if case.at_grading:
        return "–"
    return f"{case.points if case.passed else 0:g}"


def with_code(message: str) -> str:
    """A message, escaped, with what stands between backquotes set as code."""
    pieces = html.escape(message).split("`")
    if len(pieces) % 2 == 0:  # one that is not closed
        return "`".join(pieces)
    return "".join(
        f"<code>{piece}</code>" if number % 2 else piece
        for number, piece in enumerate(pieces)
    )
