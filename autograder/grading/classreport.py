"""What a class got wrong, as one self-contained page.

Everything is computed from the reports that ``grade`` left and from the marks in the
gradebook, so it can be made anew at any time. The page loads nothing and runs nothing.
"""

from __future__ import annotations

import base64
import io
import statistics
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from autograder.files import printable
from autograder.grading.reports import HANDED_IN, ClassReport, scores_of


def as_page(report: ClassReport) -> str:
    """The class report as one HTML page without scripts or outside resources."""
    scores = [r["score"] for r in report.reports]
    seconds = [r.get("seconds", 0.0) for r in report.examined]
    facts = [
        ("submissions that count", len(scores)),
        ("of these late", len(report.late)),
        ("not handed in, so without a mark", len(report.missing)),
        ("excused, so without a mark", len(report.excused)),
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
    misconceptions = [
        [len(who), exercise, mistake.replace("_", " "), hint, ", ".join(sorted(who))]
        for exercise, mistake, hint, who in report.misconceptions()
    ]
    rates = [
        [exercise, case, f"{rate:.0%}"] for exercise, case, rate in report.pass_rates()
    ]
    states = [
        [student, report.state_of(student), report.extended.get(student, "")]
        for student in report.everybody
        if report.state_of(student) != HANDED_IN or student in report.extended
    ]
    template = templates().get_template("classreport.html")
    return template.render(
        report=report,
        facts=facts,
        misconceptions=misconceptions,
        rates=rates,
        states=states,
        score_figure=drawn(_score_figure(report)),
        rate_figure=drawn(_rate_figure(report)),
    )


def templates() -> Environment:
    """The templates of this package; what is put into them is escaped."""
    templates = Environment(loader=PackageLoader(__name__), autoescape=True)
    templates.filters["breakable"] = _breakable
    return templates


def _breakable(value: Any) -> Markup:
    """Plain characters for a cell, in which names may go on in the next line."""
    return Markup(escape(printable(str(value))).replace("_", Markup("_<wbr>")))


def drawn(figure: Figure) -> dict[str, str]:
    """A figure as a PNG picture in base64, with its data as alternative text."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, bbox_inches="tight")
    png = base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"png": png, "alt": figure.get_label()}


def _score_figure(report: ClassReport) -> Figure:
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


def _rate_figure(report: ClassReport) -> Figure:
    most = {e["name"]: e["max_score"] for r in report.reports for e in r["exercises"]}
    total = max(1, len(report.examined))
    names = list(most)
    rates = [
        sum(scores_of(r).get(name, 0) >= most[name] for r in report.examined) / total
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
