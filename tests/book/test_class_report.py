"""The pages for instructors in a browser: wide and narrow, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from autograder.book import chapter_title
from autograder.marks.reports import ClassReport
from autograder.reporting.classreport import as_page
from tests.autograder.made_up import exercise, report

WORTH = {"one row": 2, "any number of rows, and a title that is not short": 3}
TITLE = f"Class report: {chapter_title('simplified_attention')}"
HOSTILE = "<script>document.title = 'run'</script><b onclick=alert(1)>\u202e"


def a_class() -> ClassReport:
    """Thirty students: right, wrong in several ways, unread; and some without marks."""
    reports = []
    for number in range(30):
        one, two = number % 3 > 0, number % 5 > 1
        softmax = exercise("softmax", dict(zip(WORTH, (one, two), strict=True)), WORTH)
        attend = exercise("attend", dict(zip(WORTH, (two, one), strict=True)), WORTH)
        if not one:
            softmax |= {"mistake": "wrong_axis", "message": "You took the other axis."}
            attend |= {"message": f"Each row sums to 1.{number}. {HOSTILE}"}
        if number == 0:
            softmax |= {"mistake": "rows_swapped", "message": "You swapped the rows."}
        reports.append(report(f"student{number:02}", [softmax, attend]))
    reports.append(report(f"x{HOSTILE}", [], f"not JSON {HOSTILE}"))
    return ClassReport(
        "simplified_attention", reports, ["y\u202e"], ["z"], ["student01"]
    )


@pytest.fixture(scope="module")
def chapter() -> str:
    return as_page(a_class())


@contextmanager
def opened(browser: Browser, page: str, width: int, **look: str) -> Iterator[Page]:
    with browser.new_context(viewport={"width": width, "height": 800}, **look) as found:
        tab = found.new_page()
        tab.set_content(page)
        yield tab


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 360)])
def test_axe_finds_nothing(chapter: str, browser: Browser, theme: str, width: int):
    with opened(browser, chapter, width, color_scheme=theme) as tab:
        found = Axe().run(tab).response["violations"]
        wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert [(rule["id"], rule["nodes"][0]["target"]) for rule in found] == []
    assert wide <= 0


def test_what_students_wrote_is_never_run(chapter: str, browser: Browser):
    assert "\u202e" not in chapter
    with opened(browser, chapter, 1440) as tab:
        assert tab.title() == TITLE
        assert tab.locator("[onclick]").count() == 0
        assert tab.locator("script").count() == 0


def test_a_script_that_gets_past_the_escaping_is_not_run(
    chapter: str, browser: Browser
):
    script = "<script>document.title = 'run'</script>"
    with opened(browser, chapter.replace("</main>", f"{script}</main>"), 1440) as tab:
        assert tab.locator("script").count() == 1
        assert tab.title() == TITLE


def test_each_student_has_a_row_and_headings_leave_out_no_level(
    chapter: str, browser: Browser
):
    with opened(browser, chapter, 1440) as tab:
        assert tab.locator("#students + .table tbody tr").count() == 33
        levels = [
            int(heading.evaluate("h => h.tagName")[1])
            for heading in tab.locator("h1, h2, h3").all()
        ]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
