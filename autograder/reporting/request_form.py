"""A form on the page of a student, with which to ask for another look at a case.

It is a letter that the student's own mail program opens, or a text to copy. It names
the chapter, the exercise and the case as ``regrade --case`` takes them. Nothing is sent
by the page itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import escape

from autograder.marks.rules import was_tried

QUESTION = "Why I think that this case should pass:"


def request_form(report: Mapping[str, Any] | None, address: str) -> str:
    """The form as HTML; empty if there is no address, or no case to ask about.

    Args:
        report: on the submission of the student, as ``grade`` left it.
        address: where requests go.
    """
    if not address or report is None or report["refused"]:
        return ""
    items = [
        _item(report, exercise["name"], case["title"], address)
        for exercise in report["exercises"]
        for case in exercise["cases"]
        if not case["passed"] and was_tried(case)
    ]
    if not items:
        return ""
    return (
        '<div class="container" id="regrade-request"><details>'
        "<summary>Ask for another look at a case</summary>"
        f"<p>Each link opens a letter to {escape(address)} that names the case. Say in "
        "it why your answer is right. If no mail program opens, copy the text below "
        f"the link. Nothing is sent before you send it.</p><ul>{''.join(items)}</ul>"
        "</details></div>"
    )


def _item(report: Mapping[str, Any], exercise: str, case: str, address: str) -> str:
    student, chapter = report["student"], report["chapter"]
    subject = f"Regrade request: {chapter}, {exercise}"
    letter = (
        f"Student: {student}\nChapter: {chapter}\nExercise: {exercise}\nCase: {case}\n"
        f"Submission: {report.get('submission', '')[:12]}\n\n{QUESTION}\n\n"
    )
    # A letter has CRLF at the ends of its lines (RFC 6068).
    body = quote(letter.replace("\n", "\r\n"), safe="", errors="replace")
    link = f"mailto:{quote(address, safe='@')}?subject={quote(subject, safe='')}"
    return (
        f'<li><a href="{escape(f"{link}&body={body}")}">{escape(exercise)}: '
        f"{escape(case)}</a><pre>{escape(letter)}</pre></li>"
    )
