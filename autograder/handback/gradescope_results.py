"""A report in the form in which Gradescope reads it: ``results.json``."""

from __future__ import annotations

from typing import Any


def gradescope_results(report: dict[str, Any]) -> dict[str, Any]:
    """What ``results.json`` says of a report."""
    lines = [report["refused"]] if report["refused"] else list(report["notes"])
    cases = [case for e in report["exercises"] for case in e["cases"]]
    if report["score"] != sum(case["points"] for case in cases if case["passed"]):
        lines.append(
            "The score counts marks by hand, points given back by a regrade, and "
            "points lost for lateness."
        )
    return {
        "score": report["score"],
        "output_format": "text",
        "output": "\n".join(lines),
        "tests": [
            {
                "name": f"{exercise['name']}: {case['title']}",
                "score": case["points"] if case["passed"] else 0,
                "max_score": case["points"],
                "output": _why(exercise, case),
                "output_format": "text",
                "visibility": "visible",
            }
            for exercise in report["exercises"]
            for case in exercise["cases"]
        ],
    }


def _why(exercise: dict[str, Any], case: dict[str, Any]) -> str:
    """What is said about a case; with the first fault comes the exercise's hint."""
    failed = [other for other in exercise["cases"] if not other["passed"]]
    said = [case["message"]]
    if failed and case is failed[0]:
        said.append(exercise["message"])
    return "\n\n".join(text for text in dict.fromkeys(said) if text)
