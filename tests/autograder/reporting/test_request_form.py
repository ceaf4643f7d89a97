"""The form with which students ask for another look, as their mail program reads it."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from autograder.release.settings import CourseError, settings_of
from autograder.reporting.request_form import QUESTION, request_form

ADDRESS = "grading+attention@example.edu"
HOSTILE = 'a&body=x"><script>alert(1)</script>\u00e9'


class Links(HTMLParser):
    """The addresses of links, and the tags there are."""

    def __init__(self, page):
        super().__init__()
        self.found, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "a":
            self.found.append(dict(attrs)["href"])


def report(student="student01", **more):
    def case(title, passed, message=""):
        return {"title": title, "points": 1, "passed": passed, "message": message}

    softmax = [case("one row", True), case("rows & <columns>", False, "a[0] differs")]
    stub = [
        case("one", False, "not implemented yet"),
        case("two", False, "the same NotImplementedError as above"),
    ]
    return {
        "student": student,
        "chapter": "simplified_attention",
        "submission": "0123456789abcdef",
        "refused": None,
        "exercises": [
            {"name": "softmax", "cases": softmax},
            {"name": "attend", "cases": stub},
        ],
        **more,
    }


@pytest.mark.parametrize("student", ["student01", HOSTILE])
def test_form_is_one_letter_for_each_case_that_failed(student):
    page = Links(request_form(report(student), ADDRESS))
    (link,) = page.found
    address = urlsplit(link)
    assert (address.scheme, address.path) == ("mailto", ADDRESS.replace("+", "%2B"))
    fields = parse_qs(address.query, strict_parsing=True)
    assert fields["subject"] == ["Regrade request: simplified_attention, softmax"]
    (body,) = fields["body"]
    assert body.split("\r\n") == [
        f"Student: {student}",
        "Chapter: simplified_attention",
        "Exercise: softmax",
        "Case: rows & <columns>",
        "Submission: 0123456789ab",
        "",
        QUESTION,
        "",
        "",
    ]
    assert page.tags == {"div", "details", "summary", "p", "ul", "li", "a", "pre"}


def test_no_form_without_address_or_without_a_case_to_ask_about():
    assert request_form(report(), "") == ""
    assert request_form(None, ADDRESS) == ""
    assert request_form(report(refused="no notebook"), ADDRESS) == ""
    assert request_form(report(exercises=[]), ADDRESS) == ""


@pytest.mark.parametrize("given", ["me", "a@b?cc=x@y", "a@b, c@d", 7, "a b@c.d"])
def test_setting_that_is_no_address_is_one_line(tmp_path, given):
    (tmp_path / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Regrade.requests_to = {given!r}\n"
    )
    with pytest.raises(CourseError, match="expected an e-mail address"):
        settings_of(tmp_path)
