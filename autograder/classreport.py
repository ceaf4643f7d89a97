"""What a class got wrong: one self-contained page, and tables for other programs.

Everything is computed from the reports that ``grade`` left and from the marks in the
gradebook, so it can be made anew at any time. The page loads nothing and runs nothing.
"""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.rebuild import Unusable, plain_file

if TYPE_CHECKING:
    from autograder.gradebook import Marks

# Where a formula may begin: also after what some countries' spreadsheets take for the
# end of a cell.
_FORMULA = re.compile(r"""((?:^|[;\t\r\n])[\s"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")


_NUMBERS = ("score", "max_score")
MAX_REPORT = 64 * 2**20  # bytes


class NoReports(RuntimeError):
    """The chapter was not graded yet."""


@dataclass(frozen=True)
class ClassReport:
    """The reports on one chapter, in the order of the students' names.

    ``score`` in a report is what counts: with scores by hand, extra credit and late
    penalties, where the gradebook has them.
    """

    chapter: str
    reports: list[dict[str, Any]]

    @property
    def max_score(self) -> float:
        """Points that can be had."""
        return max(report["max_score"] for report in self.reports)

    @property
    def names(self) -> list[str]:
        """All that has a score: exercises, and an instructor's own cells."""
        return list(dict.fromkeys(n for r in self.reports for n in _scores(r)))

    @property
    def examined(self) -> list[dict[str, Any]]:
        """Reports on submissions that could be examined."""
        return [report for report in self.reports if not report["refused"]]

    def pass_rates(self) -> list[tuple[str, str, float]]:
        """Exercise, case and the share of examined submissions that passed it."""
        passed: Counter = Counter()
        cases: dict[tuple[str, str], None] = {}
        for report in self.examined:
            for exercise in report["exercises"]:
                for case in exercise["cases"]:
                    where = (exercise["name"], case["title"])
                    cases[where] = None
                    passed[where] += case["passed"]
        total = max(1, len(self.examined))
        return [(*where, passed[where] / total) for where in cases]

    def misconceptions(self) -> list[tuple[str, str, str, list[str]]]:
        """Exercise, mistake, hint and who made it; the most common first."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for report in self.examined:
            for exercise in report["exercises"]:
                if exercise["mistake"]:
                    key = (exercise["name"], exercise["mistake"], exercise["message"])
                    found.setdefault(key, []).append(report["student"])
        ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return [(*key, students) for key, students in ranked]

    def troubles(self) -> list[tuple[str, str]]:
        """Student and what happened, where something did."""
        return [
            (report["student"], line)
            for report in self.reports
            for line in ([report["refused"]] if report["refused"] else report["notes"])
        ]


def read_reports(
    course: Path, chapter: str, marks: Mapping[str, Marks] | None = None
) -> ClassReport:
    """The reports on a chapter.

    Args:
        course: folder of the course.
        chapter: its name.
        marks: what the gradebook holds, by student.

    Raises:
        NoReports: there are none.
    """
    folder = course / "reports" / chapter
    reports = []
    for path in sorted(folder.glob("*.json")):
        report = _report_in(path)
        if report is None or (marks is not None and path.stem not in marks):
            continue  # no report, or of a student who was removed from the gradebook
        reports.append(_with_marks(report, marks and marks[path.stem]))
    if not reports:
        raise NoReports(
            f"{chapter} has no reports in {course}: grade it first with "
            f"`python -m autograder grade {chapter} --course {course}`"
        )
    return ClassReport(chapter, reports)


def _report_in(path: Path) -> dict[str, Any] | None:
    """What a file holds if it is a report, and not something that lies beside."""
    try:
        report = json.loads(plain_file(path, MAX_REPORT))
        numbers = [report["score"], report["max_score"]]
        numbers += [e[key] for e in report["exercises"] for key in _NUMBERS]
        if report["student"] != path.stem or not all(map(math.isfinite, numbers)):
            return None
        [
            (e["name"], e["message"], e["mistake"], e["cases"])
            for e in report["exercises"]
        ]
        return {**report, "notes": [str(note) for note in report["notes"]]}
    except (Unusable, ValueError, KeyError, TypeError, RecursionError):
        return None  # a run that was killed writes it anew


def _with_marks(report: dict[str, Any], marks: Marks | None) -> dict[str, Any]:
    """A report with the scores that count in place of its own."""
    if marks is None:
        return {**report, "late_penalty": 0.0, "own": {}}
    exercises = [
        {**exercise, "score": marks.final.get(exercise["name"], exercise["score"])}
        for exercise in report["exercises"]
    ]
    names = {exercise["name"] for exercise in exercises}
    return {
        **report,
        "score": marks.total,
        "max_score": sum(marks.most.values()),
        "late_penalty": marks.penalty,
        "exercises": exercises,
        "own": {name: s for name, s in marks.final.items() if name not in names},
    }


def _scores(report: dict[str, Any]) -> dict[str, float]:
    return {e["name"]: e["score"] for e in report["exercises"]} | report["own"]


def write_class_report(
    course: Path, chapter: str, marks: Mapping[str, Marks] | None = None
) -> dict[str, Path]:
    """Write the page and the tables of a chapter into ``reports/``.

    For the arguments and errors, see ``read_reports``.

    Returns:
        What was written: ``page``, ``scores``, ``cases``, ``canvas``, ``moodle`` and
        ``gradescope`` (a folder with a ``results.json`` for each student).
    """
    report = read_reports(course, chapter, marks)
    folder = course / "reports"
    paths = {
        "page": folder / f"{chapter}.html",
        "scores": folder / f"{chapter}_scores.csv",
        "cases": folder / f"{chapter}_cases.csv",
        "canvas": folder / f"{chapter}_canvas.csv",
        "moodle": folder / f"{chapter}_moodle.csv",
        "gradescope": folder / f"{chapter}_gradescope",
    }
    paths["page"].write_text(as_page(report), encoding="utf-8")
    names = report.names
    _write_csv(
        paths["scores"],
        ["student", "score", "max_score", "late_penalty", *names, "refused"],
        (
            [r["student"], r["score"], r["max_score"], r["late_penalty"]]
            + [_scores(r).get(name, "") for name in names]
            + [r["refused"] or ""]
            for r in report.reports
        ),
    )
    _write_csv(
        paths["cases"],
        ["exercise", "case", "pass_rate"],
        ([*where, f"{rate:.3f}"] for *where, rate in report.pass_rates()),
    )
    # Canvas matches students by "SIS Login ID"; the second row holds the points.
    _write_csv(
        paths["canvas"],
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", chapter],
        [
            ["    Points Possible", "", "", "", "", report.max_score],
            *(
                [r["student"], "", "", r["student"], "", r["score"]]
                for r in report.reports
            ),
        ],
    )
    _write_csv(
        paths["moodle"],
        ["username", chapter, "feedback"],
        ([r["student"], r["score"], _in_words(r)] for r in report.reports),
    )
    paths["gradescope"].mkdir(exist_ok=True)
    for old in paths["gradescope"].glob("*.json"):
        old.unlink()
    for r in report.reports:
        results = json.dumps(gradescope_results(r), indent=1)
        path = paths["gradescope"] / f"{r['student']}.json"
        path.write_text(results, encoding="utf-8")
    return paths


def gradescope_results(report: dict[str, Any]) -> dict[str, Any]:
    """A report in the form of Gradescope's ``results.json``."""
    lines = [report["refused"]] if report["refused"] else list(report["notes"])
    cases = [case for e in report["exercises"] for case in e["cases"]]
    if report["score"] != sum(case["points"] for case in cases if case["passed"]):
        lines.append("The score counts marks by hand and points lost for lateness.")
    return {
        "score": report["score"],
        "output_format": "text",
        "output": "\n".join(lines),
        "tests": [
            {
                "name": f"{exercise['name']}: {case['title']}",
                "score": case["points"] if case["passed"] else 0,
                "max_score": case["points"],
                "output": case["message"] or exercise["message"],
                "output_format": "text",
                "visibility": "visible",
            }
            for exercise in report["exercises"]
            for case in exercise["cases"]
        ],
    }


def _in_words(report: dict[str, Any]) -> str:
    if report["refused"]:
        return report["refused"]
    return " ".join(
        f"{exercise['name']}: {exercise['message']}"
        for exercise in report["exercises"]
        if exercise["message"]
    )


def _write_csv(path: Path, header: list[str], rows: Iterable[list[Any]]) -> None:
    """A CSV file that no spreadsheet takes for formulas."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    """Whole numbers without a point, text without formulas."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def as_page(report: ClassReport) -> str:
    """The class report as one HTML page without scripts or outside resources."""
    scores = [r["score"] for r in report.reports]
    seconds = [r.get("seconds", 0.0) for r in report.examined]
    facts = [
        ("submissions", len(scores)),
        ("could not be examined", len(scores) - len(report.examined)),
        ("points to be had", f"{report.max_score:g}"),
        ("mean", f"{statistics.fmean(scores):.1f}"),
        ("median", f"{statistics.median(scores):.1f}"),
        ("full points", sum(score >= report.max_score for score in scores)),
        (
            "seconds a submission, and the longest",
            f"{statistics.fmean(seconds):.2f}, {max(seconds):.2f}" if seconds else "-",
        ),
    ]
    chapter = html.escape(report.chapter)
    misconceptions = [
        [len(who), exercise, mistake.replace("_", " "), hint, ", ".join(sorted(who))]
        for exercise, mistake, hint, who in report.misconceptions()
    ]
    rates = [
        [exercise, case, f"{rate:.0%}"] for exercise, case, rate in report.pass_rates()
    ]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Class report: {chapter}</title><style>{_STYLE}</style></head>",
            f"<body><main><h1>Class report: {chapter}</h1>",
            _table(["", ""], [list(fact) for fact in facts], "In short"),
            _picture(_score_figure(report), "Distribution of the scores"),
            _picture(_rate_figure(report), "Share with full points in each exercise"),
            "<h2>Misconceptions</h2>",
            _table(
                ["students", "exercise", "mistake", "what they were told", "who"],
                misconceptions,
                "The most common first",
            ),
            "<h2>Cases</h2>",
            _table(["exercise", "case", "passed"], rates, "Share that passed"),
            "<h2>Irregularities</h2>",
            _table(
                ["student", "what happened"],
                [list(pair) for pair in report.troubles()],
                "What could not be examined, and limits that were hit",
            ),
            "</main></body></html>",
        ]
    )


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #ccc; overflow-wrap: anywhere; min-width: 5.5em; }
img { max-width: 100%; height: auto; }
@media print { main { max-width: none; } h2 { break-after: avoid; } }
"""


def _table(header: list[str], rows: list[list[Any]], caption: str) -> str:
    if not rows:
        return f"<p>{html.escape(caption)}: none.</p>"
    head = "".join(f'<th scope="col">{html.escape(h)}</th>' for h in header)
    head = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{_breakable(v)}</td>" for v in row) + "</tr>"
        for row in rows
    )
    caption = html.escape(caption)
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def _breakable(value: Any) -> str:
    """Text for a cell, in which names may go on in the next line."""
    return html.escape(str(value)).replace("_", "_<wbr>")


def _picture(figure: Any, caption: str) -> str:
    """A matplotlib figure as an embedded picture with its data as alt text."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, bbox_inches="tight")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    alt = html.escape(f"{caption}. {figure.get_label()}", quote=True)
    image = f'<img alt="{alt}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _score_figure(report: ClassReport) -> Any:
    from matplotlib.figure import Figure

    scores = [r["score"] for r in report.reports]
    figure = Figure(figsize=(7, 2.6))
    figure.set_label(
        f"From {min(scores):g} to {max(scores):g} of {report.max_score:g} points, "
        f"median {statistics.median(scores):g}."
    )
    ax = figure.add_subplot()
    bins = min(20, max(1, int(report.max_score)))
    ax.hist(
        scores, bins=bins, range=(0, max(report.max_score, *scores)), color="#0072B2"
    )
    ax.set(xlabel=f"points of {report.max_score:g}", ylabel="students")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _rate_figure(report: ClassReport) -> Any:
    from matplotlib.figure import Figure

    most = {e["name"]: e["max_score"] for r in report.reports for e in r["exercises"]}
    total = max(1, len(report.examined))
    names = list(most)
    rates = [
        sum(_scores(r).get(name, 0) >= most[name] for r in report.examined) / total
        for name in names
    ]
    figure = Figure(figsize=(7, 0.8 + 0.35 * len(names)))
    figure.set_label(
        "; ".join(f"{n}: {rate:.0%}" for n, rate in zip(names, rates, strict=True))
    )
    ax = figure.add_subplot()
    bars = ax.barh(names, [100 * rate for rate in rates], color="#0072B2")
    ax.bar_label(bars, fmt="%.0f %%", padding=3)
    ax.invert_yaxis()
    ax.set(xlabel="percent with full points", xlim=(0, 112))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
